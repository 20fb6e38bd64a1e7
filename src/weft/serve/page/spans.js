/**
 * What target words are worth to a stretch of source words, by the probabilities of all links.
 *
 * For a stretch S of source words and a target word t, with p(s, t) the probability of a link:
 *
 *     inside(t)  = Σ over s in S of p(s, t)              outside(t) = Σ over all other s of p(s, t)
 *     strength   = min(1, max over t of inside(t) − λ·outside(t))
 *     gain(t)    = max(inside(t) − share(t)·strength, −γ) − λ·outside(t)
 *
 * A port of what markup transfer needs of weft/apply/spans.py, where more is said.
 */
"use strict";
(() => {
  const weft = (globalThis.weft ??= {});
  const { isLower, isTitle } = weft.characters;

  const OUTSIDE = 0.4; // λ: what a link to a word outside of the stretch costs
  const GAP = 0.02; // γ: the most that a word without links costs
  const SHARE = 0.25; // of the strength, that a word needs to gain something
  const SHORT_SHARE = 0.6; // the same for a short word
  const LETTERS = 3; // of a short word, at most
  const APOSTROPHES = "'’";

  /**
   * Return the share of the strength that each target word needs.
   * @param {string[]} words
   * @returns {number[]} (words)
   */
  const shares = (words) => words.map((word) => (isShort(word) ? SHORT_SHARE : SHARE));

  /** Tell whether a word has few letters. Scripts without capitals write more in a letter, and acronyms are names. */
  function isShort(word) {
    let [start, end] = [0, word.length];
    while (start < end && APOSTROPHES.includes(word[start])) start += 1;
    while (start < end && APOSTROPHES.includes(word[end - 1])) end -= 1;
    const letters = word.slice(start, end);
    return [...letters].length <= LETTERS && (isLower(letters) || isTitle(letters));
  }

  /**
   * Return the gain of each target word.
   * @param {Float64Array} inside (words)
   * @param {Float64Array} outside (words)
   * @param {number[]} share (words)
   * @returns {Float64Array} (words)
   */
  function gains(inside, outside, share) {
    const most = inside.reduce((most, value, word) => Math.max(most, value - OUTSIDE * outside[word]), 0);
    const strength = Math.min(most, 1);
    return inside.map((value, word) => Math.max(value - share[word] * strength, -GAP) - OUTSIDE * outside[word]);
  }

  weft.spans = { shares, gains };
})();
