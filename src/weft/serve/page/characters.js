/**
 * Classes of characters as Python has them: what JavaScript calls white space, a digit or a word is something else.
 */
"use strict";
(() => {
  const weft = (globalThis.weft ??= {});

  // As the insides of regular expressions' []; what has \p needs the flag u.
  const SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"; // \s
  const WORD = "\\p{L}\\p{N}_"; // \w
  const ALPHANUMERIC = "\\p{L}\\p{N}"; // [^\W_]
  const LETTER = "\\p{L}\\p{Nl}\\p{No}"; // [^\W\d_]
  const DIGIT = // of isdigit, which is more than \d: digits that are raised, in circles and the like
    "\\p{Nd}\\xb2\\xb3\\xb9\\u1369-\\u1371\\u19da\\u2070\\u2074-\\u2079\\u2080-\\u2089\\u2460-\\u2468\\u2474-\\u247c" +
    "\\u2488-\\u2490\\u24ea\\u24f5-\\u24fd\\u24ff\\u2776-\\u277e\\u2780-\\u2788\\u278a-\\u2792" +
    "\\u{10a40}-\\u{10a43}\\u{10e60}-\\u{10e68}\\u{11052}-\\u{1105a}\\u{1f100}-\\u{1f10a}";

  const A_SPACE = new RegExp(`^[${SPACE}]`);
  const DIGITS = new RegExp(`^[${DIGIT}]+$`, "u");
  const CASED = /[\p{Uppercase}\p{Lt}\p{Lowercase}]/u;
  const NO_TITLE = new RegExp(`${CASED.source}[\\p{Uppercase}\\p{Lt}]|(?<!${CASED.source})\\p{Lowercase}`, "u");

  /** Tell whether a text begins with white space. @param {string} [text] */
  const isSpace = (text) => text !== undefined && A_SPACE.test(text);

  /** Return a text without the white space at its beginning. @param {string} text */
  function trimStart(text) {
    let start = 0;
    while (start < text.length && isSpace(text[start])) start += 1;
    return text.slice(start);
  }

  /** Return a text without the white space at its end. @param {string} text */
  function trimEnd(text) {
    let end = text.length;
    while (end > 0 && isSpace(text[end - 1])) end -= 1;
    return text.slice(0, end);
  }

  /** Tell whether a text has nothing but digits. @param {string} text */
  const isDigits = (text) => DIGITS.test(text);

  /** Tell whether a character of a text is a letter. @param {string} text */
  const hasLetter = (text) => /\p{L}/u.test(text);

  /** Tell whether a character of a text is a letter or a digit. @param {string} text */
  const hasAlphanumeric = (text) => /[\p{L}\p{N}]/u.test(text);

  /** Tell whether a text is written small: some letter has case, and none is a capital. @param {string} text */
  const isLower = (text) => /\p{Lowercase}/u.test(text) && !/[\p{Uppercase}\p{Lt}]/u.test(text);

  /** Tell whether capitals stand first of letters that have case, and nowhere else. @param {string} text */
  const isTitle = (text) => CASED.test(text) && !NO_TITLE.test(text);

  weft.characters = {
    ...{ SPACE, WORD, ALPHANUMERIC, LETTER },
    ...{ isSpace, trimStart, trimEnd, isDigits, hasLetter, hasAlphanumeric, isLower, isTitle },
  };
})();
