/**
 * Where long sentences break. Two sentences are cut into bands, each a line of source words above the line of target
 * words that belongs to it, so that the curves between them stay short however long the sentences are.
 */
"use strict";
(() => {
  const weft = (globalThis.weft ??= {});
  const { element } = weft.dom;

  const SIDES = ["source", "target"];
  const SPREAD = 40; // pixels that may be put between words, so that the shorter line of a band is as long as the other
  const LEAST_ROOM = 36; // pixels between the lines of a band,
  const MOST_ROOM = 116;
  const STEEPNESS = 0.22; // and how they grow with the reach of its curves
  const WASTE = 8; // an empty line costs as much as this many links between bands
  const EVEN = 1.05; // how much longer than the last line the others should be
  const TORN = 0.5; // what a line costs that begins with a word without a space before it, such as a comma
  const DRIFT = 0.1; // what a word costs that is out of step with the other side

  /** @typedef {{widths: number[], joined: boolean[]}} Line how wide words are, and whether no space is before them */

  /** Return sums of the values before each place. @param {number[]} values @returns {Float64Array} */
  function sumsBefore(values) {
    const sums = new Float64Array(values.length + 1);
    values.forEach((value, place) => (sums[place + 1] = sums[place] + value));
    return sums;
  }

  /** Return the end of the longest line from `start` that fits: at least one word, if there is any. */
  function fittingEnd(sums, start, width) {
    let end = Math.min(start + 1, sums.length - 1);
    while (end + 1 < sums.length && sums[end + 1] - sums[start] <= width) end += 1;
    return end;
  }

  /** Return how long a line should be for all that are needed to be of about one length. */
  function evenShare(length, width) {
    return Math.min(width, (EVEN * length) / Math.ceil(length / width));
  }

  /**
   * Count, for any two places, the links between words before them.
   * @param {[number, number][]} links @returns {(source: number, target: number) => number}
   */
  function linkCounter(sources, targets, links) {
    const columns = targets + 1;
    const counts = new Uint32Array((sources + 1) * columns);
    for (const [source, target] of links) counts[(source + 1) * columns + target + 1] += 1;
    for (let source = 1; source <= sources; source += 1) {
      for (let target = 1; target <= targets; target += 1) {
        const place = source * columns + target;
        counts[place] += counts[place - 1] + counts[place - columns] - counts[place - columns - 1];
      }
    }
    return (source, target) => counts[source * columns + target];
  }

  /**
   * Cut two sentences into bands that are no wider than the page, where the fewest links are cut.
   * @param {Line} sourceLine all words of the sentence
   * @param {Line} targetLine
   * @param {[number, number][]} links source and target word
   * @param {number} width of the page
   * @returns {{source: [number, number], target: [number, number]}[]} first word and end of each line
   */
  function cutIntoBands(sourceLine, targetLine, links, width) {
    const [sourceSums, targetSums] = [sourceLine, targetLine].map(({ widths }) => sumsBefore(widths));
    const [sources, targets] = [sourceLine, targetLine].map(({ widths }) => widths.length);
    const before = linkCounter(sources, targets, links);
    const cutLinks = (source, target) => before(source, targets) + before(sources, target) - 2 * before(source, target);
    const bands = [];
    let [source, target] = [0, 0];
    while (source < sources || target < targets) {
      const sourceEnd = fittingEnd(sourceSums, source, width);
      const targetEnd = fittingEnd(targetSums, target, width);
      let best = [sourceEnd, targetEnd];
      let lowest = Infinity;
      if (sourceEnd < sources || targetEnd < targets) {
        const even = evenShare(
          Math.max(sourceSums[sources] - sourceSums[source], targetSums[targets] - targetSums[target]),
          width,
        );
        for (let nextSource = source; nextSource <= sourceEnd; nextSource += 1) {
          for (let nextTarget = target; nextTarget <= targetEnd; nextTarget += 1) {
            if (nextSource === source && nextTarget === target) continue;
            const filled = Math.max(
              sourceSums[nextSource] - sourceSums[source],
              targetSums[nextTarget] - targetSums[target],
            );
            const drift = Math.abs((nextSource * targets) / Math.max(sources, 1) - nextTarget);
            const uneven = Math.max(1 - filled / even, (filled / even - 1) / 4);
            const torn = Number(sourceLine.joined[nextSource] ?? 0) + Number(targetLine.joined[nextTarget] ?? 0);
            const cost = cutLinks(nextSource, nextTarget) + WASTE * uneven + DRIFT * drift + TORN * torn;
            if (cost < lowest) [best, lowest] = [[nextSource, nextTarget], cost];
          }
        }
      }
      bands.push({ source: [source, best[0]], target: [target, best[1]] });
      [source, target] = best;
    }
    return bands;
  }

  /** Return where the middle of a word is, from the left. @param {HTMLElement} word */
  const middle = (word) => word.offsetLeft + word.offsetWidth / 2;

  const sum = (values) => values.reduce((all, one) => all + one, 0);

  /** Return how wide words are, with the space around them. @param {HTMLElement[]} words @param {number} most */
  function widthsOf(words, most) {
    return words.map((word) => {
      const { marginInlineStart, marginInlineEnd } = getComputedStyle(word);
      const margins = parseFloat(marginInlineStart) + parseFloat(marginInlineEnd);
      return Math.min(word.getBoundingClientRect().width + margins, most);
    });
  }

  /**
   * Put words into bands that are as wide as an element.
   * @param {HTMLElement} root the element; bands are added to what it contains
   * @param {{source: HTMLElement[], target: HTMLElement[]}} words
   * @param {{source: "ltr" | "rtl", target: "ltr" | "rtl"}} directions in which lines run
   * @param {{source: number, target: number}[]} links
   * @returns {{source: number[], target: number[]}} the band of each word
   */
  function layOut(root, words, directions, links) {
    const line = (side, first, end) =>
      element("div", { class: `words ${side}`, dir: directions[side] }, ...words[side].slice(first, end));
    const whole = SIDES.map((side) => line(side));
    root.append(...whole);
    const widths = SIDES.map((side) => widthsOf(words[side], root.clientWidth));
    const joined = SIDES.map((side) => words[side].map((word) => word.classList.contains("joined")));
    const sentences = SIDES.map((_, place) => ({ widths: widths[place], joined: joined[place] }));
    const ends = links.map(({ source, target }) => [source, target]);
    const bands = cutIntoBands(...sentences, ends, root.clientWidth);
    const shown = bands.map((band) => {
      const lines = SIDES.map((side) => line(side, ...band[side]));
      spread(
        lines,
        SIDES.map((side, place) => sum(widths[place].slice(...band[side]))),
      );
      return element("div", { class: "band" }, ...lines);
    });
    for (const one of whole) one.remove();
    root.append(...shown);
    const bandOf = Object.fromEntries(
      SIDES.map((side) => [side, bands.flatMap((band, number) => Array(band[side][1] - band[side][0]).fill(number))]),
    );
    makeRoom(shown, words, bandOf, links);
    return bandOf;
  }

  /** Put space between the words of the shorter of two lines. @param {HTMLElement[]} lines @param {number[]} lengths */
  function spread(lines, lengths) {
    const shorter = lines[lengths[0] < lengths[1] ? 0 : 1];
    const gaps = shorter.childElementCount - 1;
    if (gaps > 0) shorter.style.columnGap = `${Math.min(Math.abs(lengths[0] - lengths[1]) / gaps, SPREAD)}px`;
  }

  /** Put the lines of a band as far from each other as it takes for their curves not to be flat. */
  function makeRoom(bands, words, bandOf, links) {
    const reach = bands.map(() => 0);
    for (const { source, target } of links) {
      const band = bandOf.source[source];
      if (band !== bandOf.target[target]) continue;
      reach[band] = Math.max(reach[band], Math.abs(middle(words.source[source]) - middle(words.target[target])));
    }
    bands.forEach((band, number) => {
      band.style.rowGap = `${Math.min(MOST_ROOM, LEAST_ROOM + reach[number] * STEEPNESS)}px`;
    });
  }

  weft.bands = { cutIntoBands, layOut, middle };
})();
