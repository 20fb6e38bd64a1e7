/**
 * What the codes of XLIFF 2 allow: those with `canReorder="no"` keep their order, `canCopy="no"` are never split.
 *
 * Deleting is no question: every code of the source is in the target. A port of weft/apply/restrictions.py.
 */
"use strict";
(() => {
  const weft = (globalThis.weft ??= {});
  const { SPACE } = weft.characters;
  const { compareLists, listOf } = weft.collections;

  const attribute = (name) =>
    new RegExp(
      `^<(?:[^"'<>]|"[^"]*"|'[^']*')*?[${SPACE}]${name}[${SPACE}]*=[${SPACE}]*["'](firstNo|no)["']`,
      "u",
    );
  const NO_COPY = attribute("canCopy");
  const NO_REORDER = attribute("canReorder");

  /**
   * Return the spans of each element, changed where they are not allowed; the first of several is the surest.
   * @param {Element[]} elements
   * @param {Span[][]} spans
   * @returns {Span[][]}
   */
  function restricted(elements, spans) {
    const found = spans.map((places, number) =>
      places.length > 1 && NO_COPY.test(elements[number].opening) ? places.slice(0, 1) : places,
    );
    for (const numbers of sequencesOf(elements)) keepOrder(numbers, elements, found);
    return found;
  }

  /**
   * Return the numbers of elements whose order must stay. A sequence begins with `firstNo` and goes on with `no`.
   *
   * Elements inside others are apart from those around them: nesting keeps their order already.
   * @param {Element[]} elements
   * @returns {number[][]}
   */
  function sequencesOf(elements) {
    const found = [];
    const opened = new Map(); // by the element around them
    elements.forEach(({ opening, parent }, number) => {
      const match = NO_REORDER.exec(opening);
      if (match === null || match[1] === "firstNo") {
        found.push(listOf(opened, parent));
        opened.delete(parent);
      }
      if (match !== null) listOf(opened, parent).push(number);
    });
    return [...found, ...opened.values()];
  }

  /**
   * Exchange the spans of elements that are out of order; those without text then go between their neighbours.
   * @param {number[]} numbers
   * @param {Element[]} elements
   * @param {Span[][]} spans are changed
   */
  function keepOrder(numbers, elements, spans) {
    const hasText = (number) => elements[number].end > elements[number].start;
    const key = (places) => [...places.flat(), -1]; // the last number puts what is shorter first
    for (const kind of [true, false]) {
      const same = numbers.filter((number) => hasText(number) === kind);
      const sorted = same.map((number) => spans[number]).sort((one, other) => compareLists(key(one), key(other)));
      same.forEach((number, place) => (spans[number] = sorted[place]));
    }
    const latest = new Map(); // where each must end, as one with text begins after it
    const ends = numbers.flatMap((number) => spans[number].map(([, end]) => end));
    let limit = ends.reduce((most, end) => Math.max(most, end), 0);
    for (const number of [...numbers].reverse()) {
      latest.set(number, limit);
      if (hasText(number)) limit = spans[number][0][0];
    }
    let earliest = 0;
    for (const number of numbers) {
      if (!hasText(number)) {
        const place = Math.min(Math.max(spans[number][0][0], earliest), latest.get(number));
        spans[number] = [[place, place]];
      }
      earliest = Math.max(earliest, spans[number].at(-1)[1]);
    }
  }

  weft.restrictions = { restricted };
})();
