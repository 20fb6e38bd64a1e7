/**
 * Where long sentences break. Two sentences are cut into bands, each a line of source words above the line of target
 * words that belongs to it, so that the curves between them stay short however long the sentences are.
 */
"use strict";
(() => {
  const weft = (globalThis.weft ??= {});

  const WASTE = 8; // an empty line costs as much as this many links that leave their band
  const DRIFT = 0.1; // what a word costs that is out of step with the other side

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
   * @param {number[]} sourceWidths of the words, with the space before them
   * @param {number[]} targetWidths
   * @param {[number, number][]} links source and target word
   * @param {number} width of the page
   * @returns {{source: [number, number], target: [number, number]}[]} first word and end of each line
   */
  function cutIntoBands(sourceWidths, targetWidths, links, width) {
    const sourceSums = sumsBefore(sourceWidths),
      targetSums = sumsBefore(targetWidths);
    const sources = sourceWidths.length,
      targets = targetWidths.length;
    const before = linkCounter(sources, targets, links);
    const cutLinks = (source, target) => before(source, targets) + before(sources, target) - 2 * before(source, target);
    const bands = [];
    let source = 0,
      target = 0;
    while (source < sources || target < targets) {
      const sourceEnd = fittingEnd(sourceSums, source, width),
        targetEnd = fittingEnd(targetSums, target, width);
      let best = [sourceEnd, targetEnd],
        lowest = Infinity;
      if (sourceEnd < sources || targetEnd < targets) {
        for (let nextSource = source; nextSource <= sourceEnd; nextSource += 1) {
          for (let nextTarget = target; nextTarget <= targetEnd; nextTarget += 1) {
            if (nextSource === source && nextTarget === target) continue;
            const filled = Math.max(
              sourceSums[nextSource] - sourceSums[source],
              targetSums[nextTarget] - targetSums[target],
            );
            const drift = Math.abs((nextSource * targets) / Math.max(sources, 1) - nextTarget);
            const cost = cutLinks(nextSource, nextTarget) + WASTE * Math.max(0, 1 - filled / width) + DRIFT * drift;
            if (cost < lowest) [best, lowest] = [[nextSource, nextTarget], cost];
          }
        }
      }
      bands.push({ source: [source, best[0]], target: [target, best[1]] });
      [source, target] = best;
    }
    return bands;
  }

  weft.bands = { cutIntoBands };
})();
