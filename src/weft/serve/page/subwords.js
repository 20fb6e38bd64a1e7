/**
 * Byte pair encoding: text becomes pieces, and every piece knows the words that it is part of.
 *
 * A port of that part of weft/text/subwords.py which aligning needs, and of what the library tokenizers does for it.
 */
(() => {
  const weft = (globalThis.weft ??= {});
  const { chunkSpans } = weft.units;
  const BYTES = 256;
  const inBytes = new TextEncoder();

  /**
   * The pieces of a sentence and, for each of them, the first and the last word that it is part of.
   *
   * @typedef {{ids: number[], first: number[], last: number[]}} Pieces
   */

  /** Numbers of which the smallest is taken first: a binary heap. */
  class SmallestFirst {
    values = [];

    push(value) {
      const { values } = this;
      let place = values.push(value) - 1;
      while (place > 0) {
        const parent = (place - 1) >> 1;
        if (values[parent] <= value) break;
        values[place] = values[parent];
        place = parent;
      }
      values[place] = value;
    }

    /** @returns {number | undefined} the smallest number, or undefined if there is none */
    pop() {
      const { values } = this;
      const smallest = values[0];
      const last = values.pop();
      if (values.length === 0) return smallest;
      let place = 0;
      for (;;) {
        let child = 2 * place + 1;
        if (child + 1 < values.length && values[child + 1] < values[child]) child++;
        if (child >= values.length || last <= values[child]) break;
        values[place] = values[child];
        place = child;
      }
      values[place] = last;
      return smallest;
    }
  }

  class Subwords {
    /**
     * @param {Uint32Array} table the ids of the 256 bytes; then, of all merges in order, the ids of the left pieces, of
     *   the right pieces and of the results
     * @param {weft.spelling.TextRules} rules
     */
    constructor(table, rules) {
      const merges = (table.length - BYTES) / 3;
      this.bytes = table.subarray(0, BYTES);
      [this.left, this.right, this.results] = [0, 1, 2].map((column) =>
        table.subarray(BYTES + column * merges, BYTES + (column + 1) * merges));
      this.size = table.reduce((most, id) => Math.max(most, id), 0) + 1; // of the vocabulary
      this.ranks = new Map(Array.from(this.left, (left, rank) => [left * this.size + this.right[rank], rank]));
      this.speller = new weft.spelling.Speller(rules);
    }

    /**
     * Return the pieces of a sentence, without the end-of-sentence symbol.
     *
     * @param {weft.words.Sentence} sentence
     * @returns {Pieces}
     */
    encode(sentence) {
      const { ids, starts, ends } = this.cut(sentence.text);
      const [wordStarts, wordEnds] = [0, 1].map((side) => sentence.spans.map((span) => span[side]));
      const first = starts.map((start) => countUpTo(wordEnds, start));
      return { ids, first, last: ends.map((end) => countUpTo(wordStarts, end - 1) - 1) };
    }

    /** @returns {{ids: number[], starts: number[], ends: number[]}} the pieces of a text and their places */
    cut(text) {
      const found = { ids: [], starts: [], ends: [] };
      for (const [begin, end] of chunkSpans(text)) {
        for (const { characters, spans } of this.speller.spell(text.slice(begin, end))) {
          for (const { id, first, last } of this.pieces(characters)) {
            found.ids.push(id);
            found.starts.push(begin + spans[first][0]);
            found.ends.push(begin + spans[last][1]);
          }
        }
      }
      return found;
    }

    /**
     * Merge the bytes of a unit to pieces: again and again the pair that was learned first, the leftmost of equals.
     *
     * @param {string[]} characters
     * @returns {{id: number, first: number, last: number}[]} with the first and last character that each has bytes of
     */
    pieces(characters) {
      const pieces = characters.flatMap((character, number) =>
        Array.from(inBytes.encode(character), (byte) => ({ id: this.bytes[byte], first: number, last: number })));
      const before = pieces.map((_, place) => place - 1);
      const after = pieces.map((_, place) => place + 1);
      const isGone = pieces.map(() => false);
      const rankAt = (place) =>
        after[place] < pieces.length
          ? this.ranks.get(pieces[place].id * this.size + pieces[after[place]].id)
          : undefined;
      const waiting = new SmallestFirst();
      const consider = (place) => {
        const rank = place >= 0 ? rankAt(place) : undefined;
        if (rank !== undefined) waiting.push(rank * pieces.length + place);
      };
      pieces.forEach((_, place) => consider(place));
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        const [rank, place] = [Math.floor(next / pieces.length), next % pieces.length];
        if (isGone[place] || rankAt(place) !== rank) continue; // one of the two has become part of another piece
        const right = after[place];
        pieces[place] = { id: this.results[rank], first: pieces[place].first, last: pieces[right].last };
        isGone[right] = true;
        after[place] = after[right];
        if (after[place] < pieces.length) before[after[place]] = place;
        consider(before[place]);
        consider(place);
      }
      return pieces.filter((_, place) => !isGone[place]);
    }
  }

  /** Return how many of some sorted numbers are at most as large as a limit. */
  function countUpTo(numbers, limit) {
    let [low, high] = [0, numbers.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (numbers[middle] <= limit) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  weft.subwords = { Subwords };
})();
