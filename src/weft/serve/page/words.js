/**
 * What a user calls words: those between white space, those given, or what is found in running text.
 *
 * A port of weft/text/words.py.
 */
(() => {
  const weft = (globalThis.weft ??= {});
  const { chunkSpans, letterSpans, startsUnspaced, unitSpans } = weft.units;

  // White space is ASCII's: a no-break space inside a word must not shift the user's numbering.
  const WORD = /[^ \t\n\r\f\v]+/g;

  /**
   * Text and its words. Spans are in UTF-16 units. `raw`: words are those of running text, or given ones that may begin
   * and end anywhere; otherwise, white space or an end of the text is on both sides of each word.
   *
   * @typedef {{text: string, words: string[], spans: [number, number][], raw: boolean}} Sentence
   */

  /** @returns {Sentence} */
  function sentence(text, spans, raw) {
    return { text, words: spans.map(([start, end]) => text.slice(start, end)), spans, raw };
  }

  /** @returns {[number, number][]} the spans of spans that were found in a stretch that begins at an offset */
  const moved = (spans, offset) => spans.map(([start, end]) => [offset + start, offset + end]);

  /** @returns {[number, number][]} the spans of the units of a chunk, but single characters of scripts without spaces */
  function wordsOfChunk(chunk) {
    return unitSpans(chunk).flatMap(([start, end]) => {
      const unit = chunk.slice(start, end);
      return startsUnspaced(unit) ? moved(letterSpans(unit), start) : [[start, end]];
    });
  }

  weft.words = {
    /** @returns {Sentence} with the words of running text */
    rawSentence(text) {
      const spans = chunkSpans(text).flatMap(([start, end]) => moved(wordsOfChunk(text.slice(start, end)), start));
      return sentence(text, spans, true);
    },

    /** @returns {Sentence} with the words between white space */
    spacedSentence(text) {
      return sentence(text, Array.from(text.matchAll(WORD), ({ index, 0: word }) => [index, index + word.length]), false);
    },

    /** @returns {Sentence} with the words at some spans, which may begin and end anywhere */
    sentenceOf: (text, spans) => sentence(text, spans, true),
  };
})();
