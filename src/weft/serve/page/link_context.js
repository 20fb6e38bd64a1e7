/**
 * The probabilities of links with regard to those of the words beside. A port of weft/apply/link_context.py, which has
 * the equation.
 */
"use strict";
(() => {
  const weft = (globalThis.weft ??= {});

  const SURE = 0.7; // a probability from which the words beside do not matter
  const UNSUPPORTED = 0.1; // what a link counts that has no other near it
  const REACH = 4; // words to each side that count

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
   * Add to each value those around it in its line, which count less with each step.
   * @param {Float64Array} values changed in place
   * @param {number} first where the line begins
   * @param {number} step from one value of the line to the next
   * @param {number} length
   */
  function spread(values, first, step, length) {
    const given = Float64Array.from({ length }, (_, place) => values[first + place * step]);
    for (let far = 1; far <= REACH; far += 1) {
      const weight = Math.exp(-far / 2);
      for (let place = 0; place + far < length; place += 1) {
        values[first + (place + far) * step] += weight * given[place];
        values[first + place * step] += weight * given[place + far];
      }
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
