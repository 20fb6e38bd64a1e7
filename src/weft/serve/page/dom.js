/**
 * Elements of the page, made without ever reading text as markup.
 */
"use strict";
(() => {
  const weft = (globalThis.weft ??= {});

  const SVG = "http://www.w3.org/2000/svg";
  const STRONG = /\p{L}/u;
  const RIGHT_TO_LEFT = /[\p{sc=Hebr}\p{sc=Arab}\p{sc=Syrc}\p{sc=Thaa}\p{sc=Nkoo}\p{sc=Samr}\p{sc=Mand}\p{sc=Adlm}]/u;

  /** Return which way a text runs: as its first letter does. @param {string} text @returns {"rtl" | "ltr"} */
  function directionOf(text) {
    return RIGHT_TO_LEFT.test(STRONG.exec(text)?.[0] ?? "") ? "rtl" : "ltr";
  }

  /** Create an element. @param {Element[]} children @returns {HTMLElement} */
  function element(name, attributes = {}, ...children) {
    const created = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, value);
    created.append(...children);
    return created;
  }

  function svgElement(name, attributes = {}) {
    const created = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, value);
    return created;
  }

  weft.dom = { directionOf, element, svgElement };
})();
