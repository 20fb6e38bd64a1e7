/**
 * Places in text: Python counts code points, JavaScript the sixteen-bit units that a string is made of.
 */
"use strict";
(() => {
  const weft = (globalThis.weft ??= {});

  /** Return where spans that count code points, as Python does, are in a string of JavaScript. */
  function toStringSpans(text, spans) {
    const places = [];
    for (let place = 0; place < text.length; place += text.codePointAt(place) > 0xffff ? 2 : 1) places.push(place);
    places.push(text.length);
    return spans.map(([start, end]) => [places[start], places[end]]);
  }

  /** Return spans of a string of JavaScript as Python counts them. */
  function toCodePointSpans(text, spans) {
    const counts = new Uint32Array(text.length + 1);
    let count = 0;
    for (let place = 0; place < text.length; place += 1) {
      counts[place] = count;
      const isFirstHalf = text.codePointAt(place) > 0xffff;
      if (!isFirstHalf) count += 1;
    }
    counts[text.length] = count;
    return spans.map(([start, end]) => [counts[start], counts[end]]);
  }

  weft.offsets = { toStringSpans, toCodePointSpans };
})();
