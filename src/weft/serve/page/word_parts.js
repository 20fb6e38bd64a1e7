/**
 * Words of running text cut more finely, as tags stand inside of words, too. A port of weft/apply/word_parts.py.
 *
 * @typedef {[number, number]} Span start and end in a text
 * @typedef {{first: number, last: number}} Stretch words from `first` to before `last`; none if both are the same
 * @typedef {{text: string, words: string[], spans: Span[], raw: boolean}} Sentence
 */
"use strict";
(() => {
  const weft = (globalThis.weft ??= {});
  const { ALPHANUMERIC, LETTER, trimStart, trimEnd, isDigits, hasLetter } = weft.characters;
  const { bisectLeft } = weft.collections;

  const AT_HYPHEN = 0.02; // what it costs an element to begin or end at a hyphen,
  const INSIDE_WORD = 0.1; // and elsewhere inside a word
  const HYPHENS = "-‐‑/_";
  const CAPITAL = "[A-ZÀ-Þ]";
  // Where words are cut: Google|-|Apps, Neu|Land, CO|2.
  const CUTS = new RegExp(
    `[${HYPHENS}]|(?<=(?!${CAPITAL})[${LETTER}])(?=${CAPITAL})|(?<=[${LETTER}])(?=\\p{Nd})`, "gu",
  );
  const SMALL_AT_END = /\p{Lowercase}$/u;
  const CAPITAL_AT_START = /^\p{Uppercase}/u;
  const LETTERS = new RegExp(`[${ALPHANUMERIC}]+`, "gu");

  /**
   * Return the sentence of a text whose words are cut at hyphens, before capitals and digits, and at `borders`.
   * @param {string} text
   * @param {Iterable<number>} [borders]
   * @returns {Sentence}
   */
  function cutWords(text, borders = []) {
    const wanted = [...borders].sort((one, other) => one - other);
    const spans = [];
    let next = 0; // of the borders
    for (const [start, end] of weft.words.rawSentence(text).spans) {
      const cuts = new Set([start]);
      for (const match of text.slice(start, end).matchAll(CUTS)) {
        cuts.add(start + match.index).add(start + match.index + match[0].length);
      }
      while (next < wanted.length && wanted[next] <= start) next += 1;
      for (; next < wanted.length && wanted[next] < end; next += 1) cuts.add(wanted[next]);
      const places = [...cuts.add(end)].sort((one, other) => one - other);
      for (let part = 1; part < places.length; part += 1) spans.push([places[part - 1], places[part]]);
    }
    return weft.words.sentenceOf(text, spans);
  }

  /**
   * Return the same words with a space before each capital inside a word, for aligners: OpenSave is two words.
   *
   * Items of lists and menus touch if the tags between them are left out.
   * @param {Sentence} sentence
   * @returns {Sentence}
   */
  function standingApart({ text, spans }) {
    const parts = [];
    const moved = [];
    let [last, shift] = [0, 0];
    for (const [start, end] of spans) {
      const before = text.slice(Math.max(start - 2, 0), start);
      if (start === last && SMALL_AT_END.test(before) && CAPITAL_AT_START.test(text.slice(start, end))) {
        parts.push(" ");
        shift += 1;
      }
      parts.push(text.slice(last, end));
      moved.push([start + shift, end + shift]);
      last = end;
    }
    return weft.words.sentenceOf(parts.join("") + text.slice(last), moved);
  }

  /**
   * Return what it costs to begin or end before each word, and at the end.
   * @param {Sentence} sentence
   * @returns {number[]} (words + 1)
   */
  function borderCosts({ text, spans }) {
    const costs = new Array(spans.length + 1).fill(0);
    const whole = new Set(weft.words.rawSentence(text).spans.map(([start]) => start)); // where words begin, uncut
    for (let number = 1; number < spans.length; number += 1) {
      const start = spans[number][0];
      if (start === spans[number - 1][1] && !whole.has(start)) {
        const isAtHyphen = HYPHENS.includes(text[start - 1]) || HYPHENS.includes(text[start]);
        costs[number] = isAtHyphen ? AT_HYPHEN : INSIDE_WORD;
      }
    }
    return costs;
  }

  /**
   * Return where `borders` inside of words of the source are in the same words of the target: H|2|O.
   *
   * The border in the middle of a word that is there twice, as at the foot of a page, is in that of such a word: EN|EN,
   * DE|DE.
   * @param {string} source
   * @param {Iterable<number>} borders
   * @param {string} target
   * @returns {Set<number>}
   */
  function sharedBorders(source, borders, target) {
    const words = lettersOf(source);
    const inside = new Map(); // places in words, each once however often the word is there
    let isTwice = false;
    for (const border of borders) {
      const span = wordAround(words, border);
      if (span === null) continue;
      const word = source.slice(...span);
      inside.set(word, (inside.get(word) ?? new Set()).add(border - span[0]));
      isTwice ||= isMiddle(source, border, span);
    }
    const found = new Set();
    for (const [start, end] of inside.size ? lettersOf(target).spans : []) {
      for (const place of inside.get(target.slice(start, end)) ?? []) found.add(start + place);
      const middle = (start + end) >> 1;
      if (isTwice && isMiddle(target, middle, [start, end])) found.add(middle);
    }
    return found;
  }

  /** Tell whether a word has the same letters before a place and after it. */
  function isMiddle(text, place, [start, end]) {
    return place - start === end - place && text.slice(start, place) === text.slice(place, end);
  }

  /**
   * Return the spans of letters and digits between anything else, and where they start.
   * @param {string} text
   * @returns {{spans: Span[], starts: number[]}}
   */
  function lettersOf(text) {
    const spans = [...text.matchAll(LETTERS)].map((match) => [match.index, match.index + match[0].length]);
    return { spans, starts: spans.map(([start]) => start) };
  }

  /**
   * Return the word that a place is inside of, not at its ends, if any.
   * @param {{spans: Span[], starts: number[]}} words
   * @param {number} place
   * @returns {Span | null}
   */
  function wordAround({ spans, starts }, place) {
    const number = bisectLeft(starts, place) - 1;
    return number >= 0 && place < spans[number][1] ? spans[number] : null;
  }

  /** Finds text of the source in the target, letter by letter. */
  class Copies {
    #source;
    #target;
    #costs;
    #words;
    #begins; // which target word begins at a character,
    #ends; // and which one is after a word that ends there

    /**
     * @param {string} source
     * @param {Sentence} target
     * @param {number[]} costs those of `borderCosts`
     */
    constructor(source, target, costs) {
      this.#source = source;
      this.#target = target.text;
      this.#costs = costs;
      this.#words = lettersOf(source);
      this.#begins = new Map(target.spans.map(([start], word) => [start, word]));
      this.#ends = new Map(target.spans.map(([, end], word) => [end, word + 1]));
    }

    /**
     * Return the target words that have the text of a span of the source, if possible inside of the same words.
     * @param {number} start
     * @param {number} end
     * @returns {Stretch[]}
     */
    of(start, end) {
      const content = this.#source.slice(start, end);
      start += content.length - trimStart(content).length;
      end = Math.max(start, end - content.length + trimEnd(content).length);
      const left = wordAround(this.#words, start)?.[0] ?? start;
      const right = wordAround(this.#words, end)?.[1] ?? end;
      const found = this.#stretches(this.#wholeWords(this.#source.slice(left, right)), start - left, end - left);
      if (found.length || (left === start && right === end)) return found;
      return this.#stretches(this.#wholeWords(trimStart(trimEnd(content))), 0, end - start);
    }

    /** Return the words between two characters, counted from each place, where words begin and end there. */
    #stretches(places, start, end) {
      return places
        .map((place) => ({ first: this.#begins.get(place + start), last: this.#ends.get(place + end) }))
        .filter(({ first, last }) => first !== undefined && last !== undefined);
    }

    /** Return where a text stands in the target, its ends at those of words or at hyphens. */
    #wholeWords(wanted) {
      if (!isDigits(wanted) && !(/../su.test(wanted) && hasLetter(wanted))) return [];
      const found = [];
      for (let place = this.#target.indexOf(wanted); place >= 0; place = this.#target.indexOf(wanted, place + 1)) {
        const borders = [this.#begins.get(place), this.#ends.get(place + wanted.length)];
        if (borders.every((border) => border !== undefined && this.#costs[border] <= AT_HYPHEN)) found.push(place);
      }
      return found;
    }
  }

  weft.wordParts = { cutWords, standingApart, borderCosts, sharedBorders, Copies };
})();
