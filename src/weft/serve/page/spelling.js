/**
 * How models see units: normalised, with the place of every character in the user's text.
 *
 * A port of weft/text/spelling.py. Characters are code points; their places are in UTF-16 units.
 */
(() => {
  const weft = (globalThis.weft ??= {});
  const { INVISIBLE, SELECTORS, SPACE, hasMarks, letterSpans, startsUnspaced, unitSpans } = weft.units;

  /**
   * The rules of a model: `text` of its config.json.
   *
   * @typedef {{lowercase: boolean, compatibility: boolean, plain_punctuation: boolean, sharp_s: boolean,
   *   strip_diacritics: boolean}} TextRules
   *
   * A unit as models see it, beginning with a space if its script has spaces between words, and the span of the user's
   * text that each of its characters comes from.
   *
   * @typedef {{characters: string[], spans: [number, number][]}} Spelled
   */

  const PLAIN = new Map(
    Object.entries({ "'": "‘’‚‛′‹›`´ʼ", '"': "“”„‟″«»「」『』《》", "-": "‐‑‒–—−", ".": "。।", ",": "、،", ";": "؛", "?": "؟" })
      .flatMap(([plain, others]) => Array.from(others, (other) => [other, plain])),
  );
  // What a reader does not miss: invisible characters, and the marks that Arabic is mostly written without.
  const LEFT_OUT = new RegExp(`[${SPACE}${INVISIBLE}${SELECTORS}\\u0640\\u064b-\\u0652\\u0670]`, "gu");
  const HALF_A_PAIR = /\p{Cs}/gu; // a surrogate without its other half is no character

  const replaceSurrogates = (text) => text.replace(HALF_A_PAIR, "\ufffd");

  /** Whether a mark moves when it stands beside others: so normalisation shows what has a combining class. */
  function isCombining(character) {
    const [withFirst, withLast] = [`${character}\u0334`, `\u0345${character}`];
    return withFirst.normalize("NFD") !== withFirst || withLast.normalize("NFD") !== withLast;
  }

  function stripDiacritics(text) {
    return Array.from(text.normalize("NFD")).filter((character) => !isCombining(character)).join("").normalize("NFC");
  }

  /**
   * Return the function that turns a letter of the user's into what models see; of some, nothing is left.
   *
   * @param {TextRules} rules
   */
  function normaliser(rules) {
    const form = rules.compatibility ? "NFKC" : "NFC";
    const steps = [(letter) => letter.normalize(form)];
    if (rules.plain_punctuation) {
      steps.push((letter) => Array.from(letter, (character) => PLAIN.get(character) ?? character).join(""));
    }
    if (rules.lowercase) steps.push((letter) => letter.toLowerCase().replaceAll("ς", "σ"));
    if (rules.sharp_s) steps.push((letter) => letter.replaceAll("ß", "ss").replaceAll("ẞ", "SS"));
    if (rules.strip_diacritics) steps.push(stripDiacritics);
    steps.push((letter) => replaceSurrogates(letter).replace(LEFT_OUT, ""));
    return (letter) => steps.reduce((result, step) => step(result), letter);
  }

  /** Finds the units of texts and spells them by the rules of a model. */
  class Speller {
    /** @param {TextRules} rules */
    constructor(rules) {
      this.normalise = normaliser(rules);
    }

    /** @returns {Spelled[]} the spelled units of a text */
    spell(text) {
      return unitSpans(text).map(([start, end]) => {
        const unit = text.slice(start, end);
        const { characters, places } = this.spellUnit(unit);
        const spans = places.map(([first, last]) => [start + first, start + last]);
        if (startsUnspaced(unit)) return { characters, spans };
        return { characters: [" ", ...characters], spans: [spans[0], ...spans] };
      });
    }

    /** Return a unit as models see it, and the span of each of its characters in the unit. */
    spellUnit(unit) {
      if (!hasMarks(unit)) { // most often, each character becomes one
        const own = Array.from(unit);
        const characters = Array.from(this.normalise(unit));
        if (characters.length === own.length) return { characters, places: placesOf(own) };
      }
      const letters = letterSpans(unit);
      let found = letters.map(([start, end]) => [this.normalise(unit.slice(start, end)), start, end]);
      if (!found.some(([spelled]) => spelled)) { // a unit of which nothing would be left stays as it is
        found = letters.map(([start, end]) => [replaceSurrogates(unit.slice(start, end)), start, end]);
      }
      const characters = [];
      const places = [];
      for (const [spelled, start, end] of found) {
        if (!spelled && places.length) { // what is left out belongs to the letter before it
          const letter = places.at(-1);
          letter[1] = end;
        } else if (spelled) {
          const place = [places.length ? start : 0, end];
          for (const character of spelled) {
            characters.push(character);
            places.push(place); // one for all characters of the letter
          }
        }
      }
      return { characters, places };
    }
  }

  /** Return the places of characters that follow each other. */
  function placesOf(characters) {
    let end = 0;
    return characters.map((character) => [end, (end += character.length)]);
  }

  weft.spelling = { Speller };
})();
