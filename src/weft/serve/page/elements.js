/**
 * Elements of a segment: tags are joined to what they begin and end, also where they are not nested or have no partner.
 *
 * Time is linear in the number of tags. A port of weft/apply/elements.py.
 *
 * @typedef {"left" | "right" | "both"} Leaning
 *
 * @typedef {object} Tag a tag as it is written
 * @property {string} raw
 * @property {number} place in the text, before the character of this number
 * @property {"open" | "close" | "alone"} kind
 * @property {string} partner what the two tags of an element have in common
 * @property {boolean} crosses it is an element of its own, so that what begins and ends with such tags may cross others
 * @property {Leaning} leans
 *
 * @typedef {object} Element a tag, or two tags and what is between them
 * @property {string} opening
 * @property {string | null} closing null for a tag that stands alone
 * @property {number} start its place in the text, which is before the character of this number
 * @property {number} end
 * @property {Leaning} leans to which of its neighbours it belongs if it has no text
 * @property {boolean} crosses it begins inside another element and ends outside of it, or the other way round
 * @property {number | null} parent the number of the innermost element around it that crosses none, if any
 */
"use strict";
(() => {
  const weft = (globalThis.weft ??= {});
  const { bisectRight, listOf } = weft.collections;
  const { isSpace } = weft.characters;

  /**
   * Return the elements that tags make, in the order of their first tags; what has no partner stands alone.
   * @param {Tag[]} tags
   * @param {string} text
   * @returns {Element[]}
   */
  function joinTags(tags, text) {
    const closings = partnersOf(tags);
    const { crossing, parents } = nestingOf(tags, closings);
    const numbers = new Map(); // of the elements, by their first tags
    const elements = [];
    tags.forEach((tag, first) => {
      if (!parents.has(first)) return; // a closing tag
      while (crossing.has(parents.get(first))) parents.set(first, parents.get(parents.get(first)));
      const parent = parents.get(first);
      const closing = closings.has(first) ? tags[closings.get(first)] : null;
      const end = closing ? closing.place : tag.place;
      let leans = closing || tag.kind === "alone" ? tag.leans : tag.kind === "open" ? "right" : "left";
      if (leans === "both" && tag.place === end) leans = leaningOf(text, end);
      numbers.set(first, elements.length);
      elements.push({
        opening: tag.raw,
        closing: closing ? closing.raw : null,
        start: tag.place,
        end,
        leans,
        crosses: crossing.has(first),
        parent: parent === null ? null : numbers.get(parent),
      });
    });
    return elements;
  }

  /**
   * Return the closing tag of each opening one that has one, by their numbers.
   * @param {Tag[]} tags
   * @returns {Map<number, number>}
   */
  function partnersOf(tags) {
    const waiting = new Map();
    const found = new Map();
    tags.forEach((tag, number) => {
      const opened = listOf(waiting, tag.partner);
      if (tag.kind === "open") opened.push(number);
      else if (tag.kind === "close" && opened.length) found.set(opened.pop(), number);
    });
    return found;
  }

  /**
   * Return which elements cross others, and the innermost element around each one, by their first tags.
   *
   * Of two elements that cross, it is the one whose tags are elements of their own, or else the one that ends later.
   * @param {Tag[]} tags
   * @param {Map<number, number>} closings
   * @returns {{crossing: Set<number>, parents: Map<number, number | null>}}
   */
  function nestingOf(tags, closings) {
    const openings = new Map([...closings].map(([first, last]) => [last, first]));
    const opened = []; // each inside the one before it
    const crossing = new Set();
    const parents = new Map();
    tags.forEach((tag, number) => {
      if (closings.has(number)) {
        opened.push(number);
        return;
      }
      const first = openings.get(number) ?? number;
      if (openings.has(number) && !crossing.has(first)) {
        if (tag.crosses) {
          if (opened.at(-1) !== first) crossing.add(first);
          opened.splice(bisectRight(opened, first) - 1, 1);
        } else {
          for (let inner = opened.pop(); inner !== first; inner = opened.pop()) crossing.add(inner);
        }
      }
      const place = bisectRight(opened, first);
      parents.set(first, place ? opened[place - 1] : null);
    });
    return { crossing, parents };
  }

  /**
   * Return to which side a tag belongs: what touches something on one side only belongs to that.
   * @param {string} text
   * @param {number} place
   * @returns {Leaning}
   */
  function leaningOf(text, place) {
    const left = place > 0 && !isSpace(text[place - 1]);
    const right = place < text.length && !isSpace(text[place]);
    return left === right ? "both" : left ? "left" : "right";
  }

  weft.elements = { joinTags };
})();
