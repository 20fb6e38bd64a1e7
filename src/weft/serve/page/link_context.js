/**
 * The probabilities of links with regard to those of the words beside. A port of weft/apply/link_context.py, which has
 * the equation.
 */
"use strict";
(() => {
  const weft = (globalThis.weft ??= {});

  const SURE = 0.7; // a probability from which the words beside do not matter
  const UNSUPPORTED = 0.1; // what a link counts that has no other near it
  const DECAY = Math.exp(-1 / 2); // from a word to the next

  /**
   * Return probabilities of links in their context.
   * @param {Float32Array} matrix (source words × target words)
   * @param {number} columns target words
   * @returns {Float64Array} (source words × target words)
   */
  function inContext(matrix, columns) {
    const rows = columns ? matrix.length / columns : 0;
    const given = Float64Array.from(matrix);
    const near = given.slice();
    for (let row = 0; row < rows; row += 1) spread(near, row * columns, 1, columns);
    for (let column = 0; column < columns; column += 1) spread(near, column, columns, rows);
    const supported = given.map((probability, cell) => probability * (UNSUPPORTED + near[cell] - probability));
    const bySource = scales(supported, given, rows, (cell) => Math.floor(cell / columns));
    const byTarget = scales(supported, given, columns, (cell) => cell % columns);
    return given.map((probability, cell) => {
      if (probability >= SURE) return probability;
      const scaled = supported[cell] * (byTarget[cell % columns] + bySource[Math.floor(cell / columns)]);
      return Math.min(scaled / 2, 1);
    });
  }

  /**
   * Add to each value all others of its line, less by DECAY with each step between them.
   * @param {Float64Array} values changed in place
   * @param {number} first where the line begins
   * @param {number} step from one value of the line to the next
   * @param {number} length
   */
  function spread(values, first, step, length) {
    const given = Float64Array.from({ length }, (_, place) => values[first + place * step]);
    let before = 0;
    for (let place = 0; place < length; place += 1) {
      values[first + place * step] += before;
      before = (before + given[place]) * DECAY;
    }
    let after = 0;
    for (let place = length - 1; place >= 0; place -= 1) {
      values[first + place * step] += after;
      after = (after + given[place]) * DECAY;
    }
  }

  /** Return by how much to multiply the values of each line so that its sum is that of other values. */
  function scales(values, like, lines, lineOf) {
    const [sums, wanted] = [new Float64Array(lines), new Float64Array(lines)];
    values.forEach((value, cell) => (sums[lineOf(cell)] += value));
    like.forEach((value, cell) => (wanted[lineOf(cell)] += value));
    return sums.map((sum, line) => (sum > 0 ? wanted[line] / sum : 0));
  }

  weft.linkContext = { inContext };
})();
