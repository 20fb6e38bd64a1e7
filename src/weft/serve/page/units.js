/**
 * Units: the stretches of text that are cut into pieces, found by one rule for all languages.
 *
 * A port of weft/text/units.py, which explains the rule. Spans are in UTF-16 units, as in all of JavaScript.
 */
(() => {
  const weft = (globalThis.weft ??= {});
  const { WORD } = weft.characters;

  /** @typedef {[number, number]} Span start and end of a stretch: text.slice(start, end) */

  // -- characters, as the insides of regular expressions' [] ----------------------------------------------------------

  const KANA_SIGNS = "\\u3099-\\u309c\\u30fc\\uff70\\uff9e\\uff9f"; // voiced and prolonged sounds, of both kinds of kana
  const SCRIPTS = [ // without spaces between words; digits and punctuation are not part of them
    "\\u2e80-\\u2fd5\\u3005-\\u3007\\u3021-\\u3029\\u3038-\\u303b\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff" +
      "\\u{20000}-\\u{323af}", // Chinese characters
    `${KANA_SIGNS}\\u30a1-\\u30fa\\u30fd-\\u30ff\\u31f0-\\u31ff\\uff66-\\uff9d\\u{1b000}`, // katakana
    `${KANA_SIGNS}\\u3041-\\u3096\\u309d-\\u309f\\u{1b001}-\\u{1b11f}`, // hiragana
    "\\u0e01-\\u0e3a\\u0e40-\\u0e4e", // Thai
    "\\u0e81-\\u0ecf\\u0edc-\\u0edf", // Lao
    "\\u1780-\\u17d3\\u17d7\\u17dc\\u17dd", // Khmer
    "\\u1000-\\u103f\\u1050-\\u109f\\ua9e0-\\ua9ef\\ua9fa-\\ua9fe\\uaa60-\\uaa7f", // Myanmar
  ];
  const UNSPACED = SCRIPTS.join("");
  const SELECTORS = "\\ufe00-\\ufe0f\\u{e0100}-\\u{e01ef}"; // of variants of characters
  const INVISIBLE =
    "\\u00ad\\u061c\\u180e\\u200c-\\u200f\\u202a-\\u202e\\u2060-\\u2064\\u2066-\\u206f\\ufeff\\u{e0001}-\\u{e007f}";
  // White space is Python's, not that of JavaScript's \s; and a zero-width space and ▁ as well.
  const SPACE = `${weft.characters.SPACE}\\u200b\\u2581`;
  const CYRILLIC = "\\u0400-\\u052f";
  const ARABIC = "\\u0621-\\u063a\\u0641-\\u064a";
  const ARABIC_PARTS = ["ب ف ك ل س", "ه ها هم هما هن نا ني ي"]; // before the rest of a word, and after it
  const BEFORE = `(?<![^${SPACE}])(?:${ARABIC_PARTS[0].replaceAll(" ", "|")})[${SPACE}]+(?=[${ARABIC}])`;
  const AFTER = `(?<=[${ARABIC}])[${SPACE}]+(?:${ARABIC_PARTS[1].replaceAll(" ", "|")})(?![^${SPACE}])`;
  const SKIN = "\\u{1f3fb}-\\u{1f3ff}"; // tones of emoji
  const FLAG = "\\u{1f1e6}-\\u{1f1ff}"; // letters that make flags in pairs

  // -- the rule -------------------------------------------------------------------------------------------------------

  const LETTER = `(?![${UNSPACED}])[\\p{L}\\p{Nl}\\p{No}]`;
  const ALPHANUMERIC = `(?![${UNSPACED}])[${WORD}]`;
  const ELIDED =
    "l|d|j|m|t|s|n|c|v|ch|qu|gl|un|all|dall|dell|nell|sull|coll|quell|bell|sant|quest|anch|cos|com|dov|quant|senz|mezz|" +
    "tutt|nient|quand|jusqu|lorsqu|puisqu|quoiqu|presqu|quelqu|aujourd|po|απ|σ|μ|τ|θ|γι|παρ|κατ|αλλ|επ|υπ|αφ|εφ|μετ";
  const WHOLE_THOUGH_ELIDED = "aujourd['’]hui|quelqu['’]une?s?|presqu['’]île";
  const AFTER_ELISION = "[aeiouyhœæàâäáèéêëìíîïòóôöùúûüαεηιουωάέήίόύώ]";
  const ABBREVIATED = "mrs?|ms|dr|prof|st|jr|sr|sgt|inc|ltd|vs|etc|nr|bzw|usw|ca|[a-zà-ʯͰ-ϿЀ-ԯ]";
  const ADDRESS = `[^${SPACE}<>"“”«»${UNSPACED}\\u3000-\\u303f\\uff01-\\uff5e]`;

  // Letters that may be another case of one in the rule.
  const CASED = Array.from({ length: 0xac00 }, (_, code) => String.fromCharCode(code))
    .filter((letter) => letter.toLowerCase() !== letter.toUpperCase());

  /**
   * Return a pattern that matches in upper and lower case; not all browsers know (?i:…).
   *
   * @param {string} pattern of letters, sets of letters in [] and operators, without backslashes
   */
  function inAnyCase(pattern) {
    return pattern.replace(/\[(\p{L}[^\]]*)\]|\p{L}/gu, (found, set = found) => {
      const anyCase = new RegExp(found, "iu");
      const likeI = anyCase.test("i") ? "İı" : ""; // in Python
      return `[${set}${likeI}${CASED.filter((letter) => anyCase.test(letter)).join("")}]`;
    });
  }

  const MORE = `\\p{M}${INVISIBLE}`; // goes on with whatever it follows
  const RUN = // п'ять is whole
    `${ALPHANUMERIC}(?:${ALPHANUMERIC}|[${MORE}]|(?<=[${CYRILLIC}])['’](?=[${CYRILLIC}]))*`;
  const HOST = `(?:${ALPHANUMERIC}|-)+`;
  const NOT = inAnyCase("n['’]t") + `(?![${WORD}])`;
  const AFTER_APOSTROPHE = `${inAnyCase(AFTER_ELISION)}|\\p{Nd}`;

  const UNITS = new RegExp(
    [
      `(?:https?://|www\\.)${ADDRESS}*(?<![.,;:!?)'’])`,
      `(?<!${ALPHANUMERIC})(?<![.+\\-])(?:${ALPHANUMERIC}|[.+\\-])+@${HOST}(?:\\.${HOST})+`, // me@a.org
      `(?:${LETTER}\\.){2,}`, // U.S.
      `(?<![\\p{L}\\p{N}])(?:${inAnyCase(ABBREVIATED)})\\.(?![${WORD}])`,
      inAnyCase(WHOLE_THOUGH_ELIDED),
      `${inAnyCase("prud['’]homm")}[${WORD}]+`,
      `(?:${LETTER})+?(?=${NOT})`,
      NOT,
      `(?<!['’])(?:${inAnyCase(ELIDED)})['’](?=${AFTER_APOSTROPHE}|[${SPACE}]|$)`,
      "\\p{Nd}+(?:[.,:/٫٬]\\p{Nd}+)+", // 1,250.50 and 12:30 and 1/2
      `(?:${BEFORE})*${RUN}(?:[-‐‑]${RUN})*(?:${AFTER})*`,
      `(?<=[${WORD}\\p{M}])['’]${LETTER}(?:${LETTER}|[${MORE}])*`,
      `(?<![^${SPACE}])['’](?:${LETTER}){1,2}(?![^${SPACE}])`, // the same in tokenised text: sister 's
      "\\.{2,}",
      "-{2,}",
      // Marks of scripts without spaces are in the ranges of the scripts.
      ...SCRIPTS.map((script) => `[${script}](?:[${script}${SELECTORS}${INVISIBLE}]|[${SPACE}]+(?=[${script}]))*`),
      `[${FLAG}]{2}`,
      `[^${SPACE}${INVISIBLE}](?:[${MORE}${SKIN}\\udc00-\\udfff]|(?<=\\u200d)[^${WORD}${SPACE}])*`,
    ].join("|"),
    "gu",
  );
  const CHUNKS = new RegExp(
    `(?:${BEFORE})*[^${SPACE}]+(?:[${SPACE}]+(?=[${UNSPACED}])[^${SPACE}]+|${AFTER})*`,
    "gu",
  );
  // Beside marks, the vowels and finals of Korean syllables, voiced sounds of half-width Japanese, and the second half
  // of a surrogate pair go on with a letter.
  const WITH_LETTER = `${MORE}\\u1160-\\u11ff\\ud7b0-\\ud7fb\\uff9e\\uff9f\\udc00-\\udfff`;
  const LETTERS = new RegExp(`[^${SPACE}][${WITH_LETTER}]*`, "gu");
  const MARKS = new RegExp(`[${SPACE}${WITH_LETTER}]`, "u");
  const STARTS_UNSPACED = new RegExp(`^[${UNSPACED}]`, "u");

  /** @returns {Span[]} where the pattern matches */
  const matches = (pattern, text) =>
    Array.from(text.matchAll(pattern), (match) => [match.index, match.index + match[0].length]);

  weft.units = {
    INVISIBLE,
    SELECTORS,
    SPACE,

    /** @returns {Span[]} the spans of the units of a text */
    unitSpans: (text) => matches(UNITS, text),

    /** @returns {Span[]} spans that no unit crosses: words between white space, or longer in scripts without it */
    chunkSpans: (text) => matches(CHUNKS, text),

    /** @returns {Span[]} the spans of the letters of a text as a reader sees them, each with its marks */
    letterSpans: (text) => matches(LETTERS, text),

    /** @returns {boolean} whether a text has white space or letters of several characters */
    hasMarks: (text) => MARKS.test(text),

    /** @returns {boolean} whether the first character is of a script without spaces between words */
    startsUnspaced: (text) => STARTS_UNSPACED.test(text),
  };
})();
