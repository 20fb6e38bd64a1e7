/**
 * Markup transfer: the inline markup of a source segment moves onto its translation.
 *
 * The text of the translation never changes, every tag of the source occurs exactly once unless splitting was asked
 * for, and what is nested in the source is nested in the result. A port of weft/apply/markup_transfer.py.
 *
 * @typedef {{place: number, tag: string, element: number}} PlacedTag a tag, its place in the target, and its element
 */
"use strict";
(() => {
  const weft = (globalThis.weft ??= {});
  const { isSpace, trimStart, trimEnd } = weft.characters;
  const { bisectLeft, bisectRight, compareLists, listOf } = weft.collections;
  const { standingApart } = weft.wordParts;

  const MOST_CHARACTERS = 1_000_000; // of a segment

  /**
   * Return a target with the markup of its source.
   *
   * Markup that the target has already is taken out first; if the source has none, the target stays as it is.
   * @param {(source: Sentence, target: Sentence) => Promise<{matrix: Float32Array}>} align asked only if links matter;
   *   if it throws `weft.aligner.TooLong`, tags are placed by length
   * @param {string} source as it stands in a file, with entities and all
   * @param {string} target the same
   * @param {object} [options]
   * @param {TagHandling} [options.handling] what is markup
   * @param {string[]} [options.ignoreTags] elements that move as they are with all that they contain, which no
   *   translation has
   * @param {boolean} [options.split] an element whose words are apart in the target is there several times; otherwise
   *   it covers them all
   * @param {boolean} [options.placeholders] what a program fills in, such as {0} and %s, is markup if the target lacks
   *   it
   * @returns {Promise<string>}
   */
  async function transfer(align, source, target, options = {}) {
    const { handling = "html", ignoreTags = [], split = false, placeholders = false } = options;
    if (Math.max(source.length, target.length) > MOST_CHARACTERS) {
      throw new Error(`a segment of more than ${MOST_CHARACTERS.toLocaleString("en")} characters: is it one sentence?`);
    }
    const translation = weft.markup.parseMarkup(target, handling, ignoreTags);
    const marked = weft.markup.parseMarkup(source, handling, ignoreTags, placeholders ? translation.text : null);
    if (marked.elements.length === 0) return target;
    if (!needsLinks(marked)) {
      return withMarkup(marked, translation, wholeSentence(marked.text), wholeSentence(translation.text), null);
    }
    const [from, to] = sentencesToPlace(marked, translation);
    return withMarkup(marked, translation, from, to, await probabilities(align, from, to), split);
  }

  /**
   * Return the probabilities of links between the words of two sentences; null if one of these is too long.
   * @returns {Promise<Float32Array | null>} (source words × target words)
   */
  async function probabilities(align, source, target) {
    try {
      return (await align(standingApart(source), standingApart(target))).matrix;
    } catch (error) {
      if (error instanceof weft.aligner.TooLong) return null;
      throw error;
    }
  }

  /**
   * Tell whether any element is not around all of the text, before all of it or after all of it.
   * @param {Marked} source
   */
  function needsLinks(source) {
    const [begin, end] = withoutSpace(source.text);
    return source.elements.some(
      (one) => begin < one.end && one.start < end && (begin < one.start || one.end < end),
    );
  }

  /** Return the sentence that has all of a text as its one word. @param {string} text @returns {Sentence} */
  function wholeSentence(text) {
    const [begin, end] = withoutSpace(text);
    return weft.words.sentenceOf(text, end > begin ? [[begin, end]] : []);
  }

  /** Return where a text begins and ends, white space left out. @param {string} text @returns {Span} */
  function withoutSpace(text) {
    const begin = text.length - trimStart(text).length;
    return [begin, Math.max(begin, trimEnd(text).length)];
  }

  /**
   * Return the texts of a segment and its translation, their words cut where tags may be.
   * @param {Marked} source
   * @param {Marked} target
   * @returns {[Sentence, Sentence]}
   */
  function sentencesToPlace(source, target) {
    const borders = new Set(source.elements.flatMap(({ start, end }) => [start, end]));
    const shared = weft.wordParts.sharedBorders(source.text, borders, target.text);
    return [weft.wordParts.cutWords(source.text, borders), weft.wordParts.cutWords(target.text, shared)];
  }

  /**
   * Return the target with the elements of the source, placed by the probabilities of links between the words of both.
   * @param {Marked} source
   * @param {Marked} target
   * @param {Sentence} from the source's
   * @param {Sentence} to the target's
   * @param {Float32Array | null} matrix (words of `from` × words of `to`)
   * @param {boolean} [split]
   */
  function withMarkup(source, target, from, to, matrix, split = false) {
    const placed = weft.placement.placeElements(matrix, from, to, source.elements, split);
    const spans = weft.restrictions.restricted(source.elements, placed);
    const parts = [];
    let last = 0;
    for (const { place, tag } of tagsInOrder(source.elements, spans, target.text.length)) {
      const written = weft.markup.writtenPlace(target, place);
      parts.push(target.written.slice(last, written), spaced(tag, target.text, place));
      last = written;
    }
    return parts.join("") + target.written.slice(last);
  }

  /**
   * Return a tag without the white space around it, which placeholders may have, where the text has some.
   * @param {string} tag
   * @param {string} text
   * @param {number} place
   */
  function spaced(tag, text, place) {
    if (place === 0 || isSpace(text[place - 1])) tag = trimStart(tag);
    return place === text.length || isSpace(text[place]) ? trimEnd(tag) : tag;
  }

  /**
   * Return all tags in the order in which they are written in a target of this length.
   * @param {Element[]} elements
   * @param {Span[][]} spans
   * @param {number} length
   * @returns {PlacedTag[]}
   */
  function tagsInOrder(elements, spans, length) {
    const tags = nestedTags(elements, spans, length);
    const places = tags.map((tag) => tag.place);
    const limits = [0, ...places, length];
    const inside = new Map([[null, [0, tags.length]]]); // which tags are inside an element
    tags.forEach(({ element }, number) => inside.set(element, [inside.get(element)?.[0] ?? number + 1, number]));
    const ordered = tags.map((tag, number) => ({ key: [number, length + 1, 0], tag }));
    elements.forEach((element, number) => {
      if (!element.crosses) return;
      const [first, last] = inside.get(element.parent); // opens after all tags at its place, and closes before them
      for (const span of spans[number]) {
        const [start, end] = clipped(span, limits[first], limits[last + 1]);
        const opens = bisectRight(places, start, first, last);
        const closes = bisectLeft(places, end, opens, last);
        const rank = end > start ? -number : number;
        ordered.push(
          { key: [opens, start, number], tag: { place: start, tag: element.opening, element: number } },
          { key: [closes, end, rank], tag: { place: end, tag: element.closing, element: number } },
        );
      }
    });
    return ordered.sort((one, other) => compareLists(one.key, other.key)).map(({ tag }) => tag);
  }

  /**
   * Return the tags of the elements that cross no others, in the order in which they are written.
   * @param {Element[]} elements
   * @param {Span[][]} spans
   * @param {number} length
   * @returns {PlacedTag[]}
   */
  function nestedTags(elements, spans, length) {
    const inner = new Map();
    elements.forEach(({ crosses, parent }, number) => {
      if (!crosses) listOf(inner, parent).push(...spans[number].map((span) => ({ number, span })));
    });
    const tags = [];
    const opened = [{ following: sideBySide(listOf(inner, null), 0, length), closing: [] }]; // what comes inside each
    while (opened.length) {
      const { following, closing } = opened.at(-1);
      const next = following.next();
      if (next.done) {
        tags.push(...closing);
        opened.pop();
        continue;
      }
      const { number, span, start, end } = next.value;
      const element = elements[number];
      tags.push({ place: start, tag: element.opening, element: number });
      // Of an element that is split, the surest part has what is inside it.
      const content = compareLists(span, spans[number][0]) === 0 ? listOf(inner, number) : [];
      opened.push({
        following: sideBySide(content, start, end),
        closing: element.closing === null ? [] : [{ place: end, tag: element.closing, element: number }],
      });
    }
    return tags;
  }

  /**
   * Yield elements in order, each with the span chosen for it, and the part of that after the one before it.
   *
   * White space may have been given to two.
   * @param {{number: number, span: Span}[]} placed
   * @param {number} start
   * @param {number} end
   */
  function* sideBySide(placed, start, end) {
    placed.sort((one, other) => compareLists([...one.span, one.number], [...other.span, other.number]));
    for (const { number, span } of placed) {
      const [first, last] = clipped(span, start, end);
      yield { number, span, start: first, end: last };
      start = last;
    }
  }

  /** Return the part of a span that is between two places. @param {Span} span @returns {Span} */
  const clipped = (span, start, end) => span.map((place) => Math.min(Math.max(place, start), end));

  weft.transfer = { transfer };
})();
