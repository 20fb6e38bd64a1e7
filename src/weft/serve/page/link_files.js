/**
 * Files of links, as weft/links.py reads them: Pharaoh (`0-0 1-2`), gold with possible links (`1-1 2p3`) and the format
 * of NAACL 2003; and scores of links against others, as weft/scoring.py computes them.
 */
"use strict";
(() => {
  const weft = (globalThis.weft ??= {});

  /** @typedef {{sure: Set<string>, possible: Set<string>}} Gold links by name, `3-4`; sure ones are possible, too */

  const LINK = /^(\d{1,9})([-p])(\d{1,9})(?::[\d.]+)?$/;
  const WORD_ZERO = /(?:^|\s)(?:0+[-p]\d+|\d+[-p]0+)(?![-p\d])/; // a link of the first word, if it counts from zero
  const NAACL = /^\s*0*(\d{1,9})\s+(\d{1,9})\s+(\d{1,9})(?:\s+([SP]))?(?:\s+[\d.]+)?\s*$/;
  const HOLES = 10; // sentences without links for each that has some; more are a mistake

  /** Return the name of a link. */
  const nameOf = (source, target) => `${source}-${target}`;

  /** Tell whether lines look like a file of links. @param {string[]} lines */
  function areLinks(lines) {
    const first = lines.find((line) => line.trim());
    return (
      first !== undefined &&
      (NAACL.test(first) ||
        first
          .trim()
          .split(/\s+/)
          .every((token) => LINK.test(token)))
    );
  }

  /**
   * Return the links of every line. Raises Error for what is no link.
   * @param {string[]} lines @param {0 | 1} base the number of the first word @returns {Gold[]}
   */
  function parseLinks(lines, base) {
    const first = lines.find((line) => line.trim());
    if (first !== undefined && NAACL.test(first)) return parseNaacl(lines);
    return lines.map((line, number) => {
      const gold = { sure: new Set(), possible: new Set() };
      for (const token of line.split(/\s+/).filter(Boolean)) {
        const match = LINK.exec(token);
        if (!match) throw new Error(`line ${number + 1}: “${token.slice(0, 50)}” is not a link such as 3-4 or 3p4`);
        const [source, target] = [match[1] - base, match[3] - base];
        if (source < 0 || target < 0)
          throw new Error(`line ${number + 1}: ${token} in links that count from one; choose zero`);
        gold.possible.add(nameOf(source, target));
        if (match[2] === "-") gold.sure.add(nameOf(source, target));
      }
      return gold;
    });
  }

  /** Read lines of `sentence source target S|P`, which count from one; word 0 is no word. */
  function parseNaacl(lines) {
    const found = new Map();
    lines.forEach((line, number) => {
      if (!line.trim()) return;
      const match = NAACL.exec(line);
      if (!match || Number(match[1]) === 0) throw new Error(`line ${number + 1}: not “sentence source target S|P”`);
      const sentence = Number(match[1]);
      const gold = found.get(sentence) ?? { sure: new Set(), possible: new Set() };
      found.set(sentence, gold);
      if (match[2] === "0" || match[3] === "0") return;
      const link = nameOf(match[2] - 1, match[3] - 1);
      gold.possible.add(link);
      if (match[4] !== "P") gold.sure.add(link);
    });
    const last = Math.max(0, ...found.keys());
    if (last > 1000 + HOLES * found.size)
      throw new Error(`sentence ${last}, but the file has links of ${found.size} sentences`);
    return Array.from({ length: last }, (_, place) => found.get(place + 1) ?? { sure: new Set(), possible: new Set() });
  }

  /** Return the number that lines of links most probably begin to count with. @param {string[]} lines */
  function guessBase(lines) {
    return lines.some((line) => WORD_ZERO.test(line)) ? 0 : 1;
  }

  /**
   * Return links as a line, with `-` between words that are surely linked, and `p` if possibly.
   * @param {[number, number, "sure" | "possible"][]} links @param {0 | 1} base the number of the first word
   */
  function formatGold(links, base) {
    return links
      .map(([source, target, mark]) => `${source + base}${mark === "possible" ? "p" : "-"}${target + base}`)
      .join(" ");
  }

  /** Return |A|, |S|, |A ∩ S| and |A ∩ P|. @param {Iterable<string>} links @param {Gold} gold */
  function countLinks(links, gold) {
    const counts = [0, gold.sure.size, 0, 0];
    for (const link of links) {
      counts[0] += 1;
      if (gold.sure.has(link)) counts[2] += 1;
      if (gold.possible.has(link)) counts[3] += 1;
    }
    return counts;
  }

  /**
   * Return the scores of counts, summed over pairs.
   * @param {number[][]} rows @returns {{aer: number, precision: number, recall: number, pairs: number}}
   */
  function scoreOf(rows) {
    const [links, sure, inSure, inPossible] = [0, 1, 2, 3].map((column) =>
      rows.reduce((sum, row) => sum + row[column], 0),
    );
    return {
      aer: links + sure ? 1 - (inSure + inPossible) / (links + sure) : 0,
      precision: links ? inPossible / links : 1,
      recall: sure ? inSure / sure : 1,
      pairs: rows.length,
    };
  }

  weft.linkFiles = { nameOf, areLinks, parseLinks, guessBase, formatGold, countLinks, scoreOf };
})();
