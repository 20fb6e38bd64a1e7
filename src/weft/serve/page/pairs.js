/**
 * A sentence pair while it is looked at and corrected: its words, what the aligner says of them, what a person says.
 */
"use strict";
(() => {
  const weft = (globalThis.weft ??= {});

  /**
   * @typedef {weft.view.Link} Link
   * @typedef {{text: string, spans?: [number, number][]}} Side text, and where its words are if that is known
   * @typedef {{source: Side, target: Side, problem?: string, links?: [number, number, number][], score?: number,
   *   corrected?: [number, number, string][]}} Row what a file has of a pair
   */

  const LEAST = 0.03; // probabilities that can make a link at the lowest threshold of the page, 0.05

  /** A sentence pair. */
  class Pair {
    /** @param {Row} row @param {number} number its line, from one @param {boolean} spaced words are between spaces */
    constructor(row, number = 1, spaced = false) {
      Object.assign(this, { row, number, spaced });
      this.problem = row.problem;
      this.score = row.score;
      this.given = row.links;
      this.history = new weft.editor.History();
      if (row.corrected) this.history.add(row.corrected);
    }

    get source() {
      return (this._source ??= this._sentence(this.row.source));
    }

    get target() {
      return (this._target ??= this._sentence(this.row.target));
    }

    _sentence({ text, spans }) {
      const spaced = weft.words.spacedSentence(text);
      if (spans) return String(spans) === String(spaced.spans) ? spaced : weft.words.sentenceOf(text, spans);
      return this.spaced ? spaced : weft.words.rawSentence(text);
    }

    /** Tell whether another pair has the same words. @param {Pair} other */
    hasTextOf(other) {
      const textOf = ({ row, spaced }) => JSON.stringify([row.source.text, row.target.text, spaced]);
      return textOf(this) === textOf(other);
    }

    /** Return a pair with source and target exchanged, with what was corrected, to be aligned. @returns {Pair} */
    turned() {
      const pair = new Pair({ source: this.row.target, target: this.row.source }, this.number, this.spaced);
      return Object.assign(pair, { history: this.history.turned() });
    }

    get isAligned() {
      return this.given !== undefined || this.cells !== undefined || this.problem !== undefined;
    }

    get isChecked() {
      return this.history.present !== null;
    }

    /** Keep the text alone, without words, and say why: thousands of words would take the browser minutes to draw. */
    refuse(problem) {
      this.problem = problem;
      [this._source, this._target] = [this.row.source, this.row.target].map(({ text }) =>
        weft.words.sentenceOf(text, []),
      );
    }

    /** Forget what the aligner said. */
    forget() {
      this.cells = this.probabilities = this._latest = undefined;
    }

    /** Keep of an alignment what later thresholds need. */
    keep({ matrix, score }) {
      if (this.given) return;
      this.score = score;
      const cells = [];
      matrix.forEach((probability, cell) => probability >= LEAST && cells.push(cell));
      this._latest = null;
      this.cells = Uint32Array.from(cells);
      this.probabilities = Float32Array.from(cells, (cell) => matrix[cell]);
    }

    /** The probabilities that were kept (source words × target words). @returns {Float32Array} */
    get matrix() {
      const columns = this.target.words.length;
      const matrix = new Float32Array(this.source.words.length * columns);
      if (this.cells) this.cells.forEach((cell, place) => (matrix[cell] = this.probabilities[place]));
      else
        for (const [source, target, probability] of this.given ?? []) matrix[source * columns + target] = probability;
      return matrix;
    }

    /** Return the links of the file or of the aligner. @returns {[number, number, number][]} */
    automatic(threshold) {
      if (this.given) return this.given;
      if (!this.cells) return [];
      if (this._latest?.threshold !== threshold) {
        this._latest = { threshold, links: weft.links.fromMatrix(this.matrix, threshold, this.target.words.length) };
      }
      return this._latest.links;
    }

    /** Return the links as they are now, with marks. @returns {[number, number, "sure" | "possible"][]} */
    links(threshold) {
      return this.history.present ?? this.automatic(threshold).map(([source, target]) => [source, target, "sure"]);
    }

    /** Return the names of the links as they are now. @returns {string[]} */
    names(threshold) {
      return this.links(threshold).map(([source, target]) => weft.linkFiles.nameOf(source, target));
    }

    /** The links as corrected, to compare others with, if they are. @returns {weft.linkFiles.Gold | null} */
    get gold() {
      const links = this.history.present;
      if (!links) return null;
      const names = (wanted) => new Set(wanted.map(([source, target]) => weft.linkFiles.nameOf(source, target)));
      return { sure: names(links.filter(([, , mark]) => mark === "sure")), possible: names(links) };
    }

    /**
     * Return links to show, each with how it differs from others.
     * @param {number} threshold @param {{possible: Set<string>} | null} reference @returns {Link[]}
     */
    shown(threshold, reference) {
      const matrix = this.matrix;
      const columns = this.target.words.length;
      const links = this.links(threshold).map(([source, target, mark]) => {
        const isKnown = !reference || reference.possible.has(weft.linkFiles.nameOf(source, target));
        const probability = matrix[source * columns + target];
        return { source, target, probability, mark, difference: isKnown ? "" : "extra" };
      });
      if (!reference) return links;
      const names = new Set(links.map((link) => weft.linkFiles.nameOf(link.source, link.target)));
      for (const name of reference.possible) {
        const [source, target] = name.split("-").map(Number);
        if (names.has(name) || source >= this.source.words.length || target >= columns) continue;
        const mark = reference.sure.has(name) ? "sure" : "possible";
        links.push({ source, target, probability: matrix[source * columns + target], mark, difference: "missing" });
      }
      return links;
    }

    /** Change the links, by a function of those that are there now. */
    change(threshold, edit) {
      this.history.add(edit(this.links(threshold)));
    }
  }

  weft.pairs = { Pair };
})();
