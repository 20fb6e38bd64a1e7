/**
 * Files of sentence pairs: read, in order of doubt, and the corrections of their links, which the browser remembers.
 */
"use strict";
(() => {
  const weft = (globalThis.weft ??= {});
  const { areLinks, formatGold, nameOf } = weft.linkFiles;
  const { toStringSpans } = weft.offsets;

  const SLICE = 40; // milliseconds of work before the browser may draw and answer
  const REPORT = 200; // milliseconds between two reports of progress

  /** @typedef {{name: string, rows: weft.pairs.Row[], links: string[] | null}} Corpus */

  /**
   * Return the lines of a file, which may be compressed. Raises Error.
   * @param {File} file @returns {Promise<string[]>}
   */
  async function linesOf(file) {
    let stream = file.stream();
    if (file.name.toLowerCase().endsWith(".gz")) stream = stream.pipeThrough(new DecompressionStream("gzip"));
    let text;
    try {
      text = new TextDecoder("utf-8", { fatal: true }).decode(await new Response(stream).arrayBuffer());
    } catch {
      throw new Error(`${file.name}: is neither text in UTF-8 nor such text in .gz`);
    }
    const lines = text.split("\n");
    if (lines.at(-1) === "") lines.pop(); // after the last line's end
    return lines;
  }

  /** Tell what lines are: of objects, of links, of both sides, or of one side. */
  function kindOf(lines) {
    const first = lines.find((line) => line.trim()) ?? "";
    if (first.startsWith("{")) return "jsonl";
    if (areLinks(lines)) return "links";
    return first.includes("\t") || first.includes("|||") ? "columns" : "side";
  }

  /** @returns {weft.pairs.Row} */
  function rowOfColumns(line) {
    if (!line.trim()) return { source: { text: "" }, target: { text: "" } };
    const columns = line.split(line.includes("\t") ? "\t" : "|||");
    if (columns.length === 2) return { source: { text: columns[0] }, target: { text: columns[1] } };
    return badRow(`expected two columns, found ${columns.length}`);
  }

  function badRow(problem) {
    return { source: { text: "" }, target: { text: "" }, problem };
  }

  /** Return what an object of `weft align`, of this page or of a data set says. @returns {weft.pairs.Row} */
  function rowOfJson(line) {
    let given;
    try {
      given = JSON.parse(line);
    } catch {
      return badRow("not an object of JSON");
    }
    const side = (one) => (typeof one === "string" ? { text: one } : { text: one?.text, offsets: one?.offsets });
    const isOfDataSet = given?.source === undefined && given?.translation instanceof Object; // a text for each language
    const sides = (isOfDataSet ? Object.values(given.translation) : [given?.source, given?.target]).map(side);
    if (sides.length !== 2 || !sides.every((one) => typeof one.text === "string"))
      return badRow('expected an object with "source" and "target"');
    const hasWords = sides.every((one) => isSpans(one.offsets, one.text));
    const row = Object.fromEntries(
      sides.map(({ text, offsets }, place) => [
        place ? "target" : "source",
        hasWords ? { text, spans: toStringSpans(text, offsets) } : { text },
      ]),
    );
    const [links, possible, automatic] = [given.links, given.possible, given.automatic].map(linksOfJson);
    if (!hasWords || !links) return row;
    const isInside = ([source, target]) => isWord(source, sides[0]) && isWord(target, sides[1]);
    if (![links, possible ?? [], automatic ?? []].flat().every(isInside)) {
      return { ...row, problem: "a link leads out of the sentences" };
    }
    const score = typeof given.score === "number" ? given.score : undefined;
    if (!given.checked) return { ...row, links, score };
    const names = new Set((possible ?? []).map(([source, target]) => nameOf(source, target)));
    const markOf = (source, target) => (names.has(nameOf(source, target)) ? "possible" : "sure");
    const corrected = links.map(([source, target]) => [source, target, markOf(source, target)]);
    return { ...row, links: automatic, score, corrected };
  }

  /** Return links of JSON in order, each with a probability; undefined if there are none. */
  function linksOfJson(links) {
    if (!Array.isArray(links)) return undefined;
    const withProbability = (link) => [link?.[0], link?.[1], typeof link?.[2] === "number" ? link[2] : 1];
    return links.map(withProbability).sort((one, two) => one[0] - two[0] || one[1] - two[1]);
  }

  const isWord = (place, side) => Number.isInteger(place) && place >= 0 && place < side.offsets.length;

  function isSpans(offsets, text) {
    const length = [...text].length;
    return (
      Array.isArray(offsets) &&
      offsets.every(([start, end] = []) => Number.isInteger(start) && start >= 0 && start <= end && end <= length)
    );
  }

  /**
   * Read files that belong together: sentence pairs, a file of links, or both. Raises Error.
   * @param {File[]} files @returns {Promise<Corpus | {rows: null, links: string[], name: string}>}
   */
  async function readFiles(files) {
    const read = await Promise.all(files.map(async (file) => ({ name: file.name, lines: await linesOf(file) })));
    const byKind = Object.groupBy(read, ({ lines }) => kindOf(lines));
    const { columns = [], jsonl = [], side = [], links = [] } = byKind;
    const ways = columns.length + jsonl.length + (side.length > 0);
    if (ways > 1 || links.length > 1)
      throw new Error("Give one file of pairs, or two of one side each, and one file of links at most.");
    const name = [...columns, ...jsonl, ...side].map((one) => one.name).join(" + ");
    const found = { name, rows: null, links: links[0]?.lines ?? null };
    if (columns.length) found.rows = columns[0].lines.map(rowOfColumns);
    if (jsonl.length) found.rows = jsonl[0].lines.map(rowOfJson);
    const xml = side.find(({ lines }) => lines[0]?.startsWith("<?xml"));
    if (xml)
      throw new Error(`${xml.name}: is XML; give what \`weft align --raw ${xml.name} --format jsonl\` makes of it.`);
    if (side.length === 1)
      throw new Error(`${side[0].name}: has one side alone; give the file of the other side with it.`);
    if (side.length > 2) throw new Error("Give two files of one side each, not more.");
    if (side.length === 2) found.rows = rowsOfTwo(...side);
    if (found.rows && !found.rows.some((row) => row.source.text || row.target.text))
      throw new Error(`${name}: has no sentence pair.`);
    return found;
  }

  function rowsOfTwo(source, target) {
    const [many, others] = [source, target].map(({ name, lines }) => `${name} has ${lines.length} lines`);
    if (source.lines.length !== target.lines.length)
      throw new Error(`${many} but ${others}; both need a line for each pair.`);
    return source.lines.map((text, place) => ({ source: { text }, target: { text: target.lines[place] } }));
  }

  const lengthOf = ({ row }) => row.source.text.length + row.target.text.length;
  const orders = {
    doubt: (one, two) => (one.score ?? Infinity) - (two.score ?? Infinity) || one.number - two.number,
    place: (one, two) => one.number - two.number,
    length: (one, two) => lengthOf(one) - lengthOf(two) || one.number - two.number,
  };

  /**
   * Return pairs in an order; by doubt, the lowest score is first, and what has none is last.
   * @param {weft.pairs.Pair[]} pairs @param {"doubt" | "place" | "length"} order
   */
  function sorted(pairs, order) {
    const isEmpty = (pair) => !pair.row.source.text.trim() || !pair.row.target.text.trim(); // nothing to doubt
    if (order !== "doubt") return [...pairs].sort(orders[order]);
    return [...pairs.filter((pair) => !isEmpty(pair)).sort(orders.doubt), ...pairs.filter(isEmpty)];
  }

  /** Yield items; now and then the browser may draw and answer first. @template Item @param {Item[]} items */
  async function* inSlices(items) {
    let start = performance.now();
    for (const item of items) {
      if (performance.now() - start > SLICE) {
        await new Promise((resolve) => setTimeout(resolve));
        start = performance.now();
      }
      yield item;
    }
  }

  /** Align what is not aligned yet, until it is stopped. @param {AbortSignal} signal @param {() => void} onProgress */
  async function alignInSlices(pairs, signal, onProgress) {
    let reported = 0;
    for await (const pair of inSlices(pairs.filter((one) => !one.isAligned))) {
      if (signal.aborted) return;
      await weft.app.align(pair);
      if (performance.now() - reported < REPORT) continue;
      reported = performance.now();
      onProgress();
    }
  }

  /** Return a name that differs for other text: two polynomials of its units. @param {string} text */
  function checksum(text) {
    let one = 0;
    let two = 0;
    for (let place = 0; place < text.length; place += 1) {
      one = (Math.imul(one, 31) + text.charCodeAt(place)) | 0;
      two = (Math.imul(two, 65_599) + text.charCodeAt(place)) | 0;
    }
    return `${text.length} ${one} ${two}`;
  }

  /** The corrections of a file, kept by the browser if it can. */
  class Corrections {
    /** @param {weft.pairs.Pair[]} pairs */
    constructor(pairs) {
      const text = pairs
        .map(({ row, spaced }) => `${row.source.text}\t${row.target.text}\t${row.source.spans ?? spaced}`)
        .join("\n");
      this.pairs = pairs;
      this.key = `weft corrections ${checksum(text)}`;
    }

    /** Give pairs the corrections that were kept; returns how many. */
    restore() {
      let count = 0;
      for (const [number, line] of Object.entries(this._kept())) {
        const pair = this.pairs[number - 1];
        if (!pair || pair.isChecked) continue;
        const tokens = line
          .split(" ")
          .filter(Boolean)
          .map((token) => /^(\d+)([-p])(\d+)$/.exec(token));
        const links = tokens.map(
          (match) => match && [Number(match[1]), Number(match[3]), match[2] === "p" ? "possible" : "sure"],
        );
        const isInside = (link) => link && link[0] < pair.source.words.length && link[1] < pair.target.words.length;
        if (!links.every(isInside)) continue;
        pair.history.add(links);
        count += 1;
      }
      return count;
    }

    _kept() {
      try {
        return JSON.parse(localStorage.getItem(this.key)) ?? {};
      } catch {
        return {};
      }
    }

    /** Keep the corrections. @returns {boolean} false from a browser that has no room, or may not */
    save() {
      const checked = this.pairs.filter((pair) => pair.isChecked);
      const lines = checked.map((pair) => [pair.number, formatGold(pair.history.present, 0)]);
      try {
        if (lines.length) localStorage.setItem(this.key, JSON.stringify(Object.fromEntries(lines)));
        else localStorage.removeItem(this.key);
        return true;
      } catch {
        return false;
      }
    }
  }

  weft.corpus = { readFiles, sorted, inSlices, alignInSlices, Corrections };
})();
