/** Entities of HTML, such as &amp; and &#65;: what Python's html.unescape makes of them. */
"use strict";
(() => {
  const weft = (globalThis.weft ??= {});

  const NUMBER = /^&#(?:([0-9]+)|[xX]([0-9a-fA-F]+));$/;
  const WINDOWS = new TextDecoder("windows-1252"); // what numbers from 128 to 159 are taken for
  const NOTHING = /[\x01-\x08\x0b\x0e-\x1f\x7f\p{Noncharacter_Code_Point}]/u;
  const MOST_KNOWN = 1_000;
  const known = new Map();

  /**
   * Return what an entity stands for; one that is not known stays as it is.
   * @param {string} entity from its & to its ;
   */
  function unescape(entity) {
    if (!known.has(entity)) {
      const match = NUMBER.exec(entity);
      if (known.size >= MOST_KNOWN) known.clear();
      known.set(entity, match ? ofNumber(match[1] ? Number(match[1]) : parseInt(match[2], 16)) : ofName(entity));
    }
    return known.get(entity);
  }

  /** Return the character of a number; nothing for most control characters. @param {number} number */
  function ofNumber(number) {
    if (number === 0 || number > 0x10ffff || (number >= 0xd800 && number <= 0xdfff)) return "\ufffd";
    if (number >= 0x80 && number <= 0x9f) return WINDOWS.decode(Uint8Array.of(number));
    const character = String.fromCodePoint(number);
    return NOTHING.test(character) ? "" : character;
  }

  /** Return the character of a name: the browser has the list. Its document is never shown. @param {string} entity */
  function ofName(entity) {
    return new DOMParser().parseFromString(`<body>:${entity}`, "text/html").body.textContent.slice(1);
  }

  weft.entities = { unescape };
})();
