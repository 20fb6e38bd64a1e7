/**
 * Where the elements of a source segment belong in its translation.
 *
 * The place of an element is the stretch of target words with the greatest sum of gains (spans.js), less what its
 * borders cost: inside of a word, and before a small letter if the element begins with a capital, as names of buttons
 * and chapters do. Elements inside another one are placed inside its stretch, and elements side by side have stretches
 * that do not meet. What stands word for word in the translation as well, such as a name, is where it stands. Quotation
 * marks that the translation alone has around a stretch belong to it. A tag without content is placed where it is
 * crossed by the least probability: between the translations of what is before it and of what is after it, beside that
 * of the word that it touches. A port of weft/apply/placement.py.
 *
 * @typedef {object} Room where the elements go that are inside another one, or inside none
 * @property {Stretch} words the source words of what is around them
 * @property {Stretch} within its target words
 * @property {boolean[]} taken which target words are not free (target words)
 * @property {Map<string, number>} gaps places that were found for tags, by the source word after them and how they lean
 */
"use strict";
(() => {
  const weft = (globalThis.weft ??= {});
  const { isSpace, hasLetter, hasAlphanumeric } = weft.characters;
  const { bisectLeft, bisectRight, listOf, Waiting } = weft.collections;

  const FLOOR = 0.15; // probabilities below this do not count
  const PART = 0.25; // what a part of an element that is split gains at least
  const LIKELY = 0.05; // a probability that is better than none
  const NEARNESS = Array.from({ length: 20 }, (_, far) => Math.exp(-far / 3)); // of words so far to the side of a tag
  const SPACES = 10; // in a row that are looked at
  const TOUCHED = 0.5; // what it is worth to a tag to be beside the translation of the word that it touches
  const SMALL = 0.4; // what it costs an element that begins with a capital to begin before a small letter
  const QUOTES = new Set("«» ‹› “” „“ ‘’ ‚‘ [] 「」 『』 《》 【】".split(" "));
  const QUOTING = new Set([...[...QUOTES].join(""), '"', "'", "("]); // around what is quoted already in the source
  const REACH = 8; // words to each side of a stretch among which quotation marks are looked for
  const LOST = 0.4; // the most that a stretch may lose by taking in quotation marks: less than a word of others costs

  /**
   * Return the spans of characters in the target for each element: one, or several if it may be `split`.
   * @param {Float32Array | null} matrix probabilities of links (source words × target words); null: nothing is known
   *   but lengths
   * @param {Sentence} source
   * @param {Sentence} target
   * @param {Element[]} elements
   * @param {boolean} [split]
   * @returns {Span[][]}
   */
  function placeElements(matrix, source, target, elements, split = false) {
    const isKnown = matrix !== null && matrix.some((probability) => probability >= LIKELY);
    const stretches = isKnown
      ? new Placer(matrix, source, target, elements, split).place()
      : byLength(source, target, elements);
    return elements.map((element, number) =>
      stretches[number].map((stretch) => charactersOf(source.text, target, element, stretch)),
    );
  }

  /**
   * Return the source words of each element; of one without words, the place between words.
   * @param {Sentence} source
   * @param {Element[]} elements
   * @returns {Stretch[]}
   */
  function wordsOf(source, elements) {
    const [starts, ends] = [0, 1].map((side) => source.spans.map((span) => span[side]));
    return elements.map((element) => {
      const first = bisectRight(ends, element.start);
      return { first, last: Math.max(first, bisectLeft(starts, element.end)) };
    });
  }

  /**
   * Return where elements are if the target has the words of the source, one after the other.
   * @param {Sentence} source
   * @param {Sentence} target
   * @param {Element[]} elements
   * @returns {Stretch[][]}
   */
  function byLength(source, target, elements) {
    const scaled = (word) => Math.floor((word * target.words.length) / Math.max(source.words.length, 1));
    return wordsOf(source, elements).map(({ first, last }) => [{ first: scaled(first), last: scaled(last) }]);
  }

  /** Tell whether no word of a stretch is taken. @param {Room} room @param {Stretch} stretch */
  const isFree = (room, { first, last }) => !room.taken.slice(first, last).includes(true);

  /** Take all words of a stretch. @param {Room} room @param {Stretch} stretch */
  const take = (room, { first, last }) => room.taken.fill(true, first, last);

  /** Places the elements of one segment, outer ones first. */
  class Placer {
    #source;
    #target;
    #elements;
    #split;
    #words;
    #matrix; // (source words × target words)
    #kept; // what counts of it (source words × target words)
    #sums; // over the source words before each (source words + 1, target words)
    #shares;
    #costs; // of borders (target words + 1)
    #capitalCosts; // of where what begins with a capital begins (target words)
    #copies;
    #inner = new Map([[null, []]]); // elements inside each one, by its number
    #found = new Map(); // stretches

    constructor(matrix, source, target, elements, split) {
      this.#source = source;
      this.#target = target;
      this.#elements = elements;
      this.#split = split;
      this.#words = wordsOf(source, elements);
      this.#matrix = weft.linkContext.inContext(matrix, target.words.length);
      this.#kept = this.#matrix.map((probability) => (probability >= FLOOR ? probability : 0));
      this.#sums = [new Float64Array(target.words.length)];
      for (let word = 0; word < source.words.length; word += 1) {
        const row = this.#row(this.#kept, word);
        this.#sums.push(this.#sums[word].map((sum, place) => sum + row[place]));
      }
      this.#shares = weft.spans.shares(target.words);
      this.#costs = weft.wordParts.borderCosts(target);
      const smallCost = (word) => (/^\p{Lowercase}/u.test(word) ? SMALL : 0);
      this.#capitalCosts = target.words.map((word, place) => this.#costs[place] + smallCost(word));
      this.#copies = new weft.wordParts.Copies(source.text, target, this.#costs);
      elements.forEach((element, number) => listOf(this.#inner, element.parent).push(number));
    }

    /** Return the probabilities of a source word. (target words) @param {Float64Array} matrix @param {number} word */
    #row(matrix, word) {
      return matrix.subarray(word * this.#target.words.length, (word + 1) * this.#target.words.length);
    }

    /** Return the stretches of target words of each element. @returns {Stretch[][]} */
    place() {
      const outer = [null];
      for (const number of outer) { // which grows
        this.#placeInner(number);
        for (const one of this.#inner.get(number)) if (this.#inner.has(one)) outer.push(one);
      }
      return this.#elements.map((_, number) => this.#found.get(number));
    }

    /** Place all elements inside another one, or those inside none. @param {number | null} outer */
    #placeInner(outer) {
      const words = outer === null ? { first: 0, last: this.#source.words.length } : this.#words[outer];
      const within = outer === null ? { first: 0, last: this.#target.words.length } : this.#found.get(outer)[0];
      const taken = this.#target.words.map((_, word) => word < within.first || word >= within.last);
      const room = { words, within, taken, gaps: new Map() };
      const untouched = { words, within, taken: [...taken], gaps: new Map() };
      const roomOf = (number) => (this.#elements[number].crosses ? untouched : room);
      const waiting = new Waiting();
      const wait = (number) => {
        const { worth, stretch } = this.#best(number, roomOf(number));
        waiting.push([-worth, number], { number, stretch });
      };
      this.#inner.get(outer).filter((number) => this.#words[number].last > this.#words[number].first).forEach(wait);
      while (waiting.size) { // the surest first
        const { number, stretch } = waiting.pop();
        if (stretch && !isFree(roomOf(number), stretch)) { // one that is surer has a part of it
          wait(number);
          continue;
        }
        const chosen = stretch ?? this.#between(number, roomOf(number));
        this.#found.set(number, [chosen, ...this.#more(number, chosen, roomOf(number))]);
        if (!this.#elements[number].crosses) this.#found.get(number).forEach((one) => take(room, one));
      }
      for (const number of this.#inner.get(outer)) {
        if (!this.#found.has(number)) this.#found.set(number, [this.#placeEmpty(number, room)]);
      }
    }

    /**
     * Return the best stretch of an element, and what it loses without that; null if nothing is worth anything.
     * @param {number} number
     * @param {Room} room
     * @returns {{worth: number, stretch: Stretch | null}}
     */
    #best(number, room) {
      const { start, end } = this.#elements[number];
      const words = this.#words[number];
      const isAll = words.first === room.words.first && words.last === room.words.last;
      if (isAll && room.within.last > room.within.first && isFree(room, room.within)) {
        return { worth: Infinity, stretch: room.within };
      }
      const worths = this.#gains(words);
      const worthOf = ({ first, last }) => worths.subarray(first, last).reduce((sum, worth) => sum + worth, 0);
      const copies = this.#copies.of(start, end).filter((copy) => isFree(room, copy));
      if (copies.length) {
        const copy = copies.reduce((best, one) => (worthOf(one) > worthOf(best) ? one : best));
        return { worth: 1 + Math.max(worthOf(copy), 0), stretch: this.#withQuotes(copy, words, worths, room) };
      }
      const begins = /^\p{Uppercase}/u.test(this.#source.words[words.first]) ? this.#capitalCosts : this.#costs;
      const { worth, stretch } = greatestSum(worths, begins, this.#costs, room);
      return { worth, stretch: stretch && this.#withQuotes(this.#withoutMarks(stretch, words), words, worths, room) };
    }

    /** Return what each target word is worth to an element with these source words. @param {Stretch} words */
    #gains(words) {
      const before = this.#sums[words.first];
      const all = this.#sums.at(-1);
      const inside = this.#sums[words.last].map((sum, place) => sum - before[place]);
      return weft.spans.gains(inside, inside.map((sum, place) => all[place] - sum), this.#shares);
    }

    /** Leave out punctuation at the ends unless the source words begin or end with some. */
    #withoutMarks({ first, last }, words) {
      const [source, target] = [this.#source, this.#target];
      while (last - first > 1 && isMark(target, first) && !isMark(source, words.first)) first += 1;
      while (last - first > 1 && isMark(target, last - 1) && !isMark(source, words.last - 1)) last -= 1;
      return { first, last };
    }

    /** Take in quotation marks around the stretch, or around a little more, if the source words have none. */
    #withQuotes(stretch, words, worths, room) {
      const quoted = this.#source.words.slice(Math.max(words.first - 1, 0), words.first + 1).join("");
      if ([...quoted].some((character) => QUOTING.has(character))) return stretch;
      const { first: begin, last: end } = room.within;
      const target = this.#target.words;
      const lowest = Math.max(begin, stretch.first - REACH);
      const highest = Math.min(end, stretch.last + REACH) - 1;
      let first = stretch.first - 1;
      while (first >= lowest && !QUOTING.has(target[first])) first -= 1;
      let last = stretch.last;
      while (last <= highest && !QUOTING.has(target[last])) last += 1;
      if (first < lowest || last > highest || !QUOTES.has(target[first] + target[last])) return stretch;
      const sides = [{ first, last: stretch.first }, { first: stretch.last, last: last + 1 }];
      const added = [...worths.subarray(first + 1, stretch.first), ...worths.subarray(stretch.last, last)];
      const lost = -added.reduce((sum, worth) => sum + worth, 0);
      return lost <= LOST && sides.every((side) => isFree(room, side)) ? { first, last: last + 1 } : stretch;
    }

    /** Return other stretches for an element that may be split. @returns {Stretch[]} */
    #more(number, stretch, room) {
      const found = [];
      if (!this.#split) return found;
      const worths = this.#gains(this.#words[number]);
      const left = { ...room, taken: [...room.taken] };
      for (;;) {
        take(left, { first: Math.max(stretch.first - 1, 0), last: stretch.last + 1 }); // no other may touch it
        const another = greatestSum(worths, this.#costs, this.#costs, left);
        if (another.stretch === null || another.worth < PART) return found;
        found.push(another.stretch);
        stretch = another.stretch;
      }
    }

    /** Return a stretch for an element whose words have no link: the likeliest word, or from gap to gap. */
    #between(number, room) {
      const words = this.#words[number];
      const likely = new Float64Array(room.taken.length);
      for (let word = words.first; word < words.last; word += 1) {
        addTo(likely, this.#row(this.#matrix, word), 1);
      }
      const free = likely.map((probability, place) => (room.taken[place] ? 0 : probability));
      const likeliest = free.reduce((best, probability, place) => (probability > free[best] ? place : best), 0);
      if (free[likeliest] >= LIKELY) return { first: likeliest, last: likeliest + 1 };
      const first = this.#gap(words.first, "left", room);
      const between = { first, last: Math.max(first, this.#gap(words.last, "right", room)) };
      return isFree(room, between) ? between : { first, last: first };
    }

    /** Return the place of an element without words: in a word that both sides have, or in a gap. */
    #placeEmpty(number, room) {
      const { start, end, leans } = this.#elements[number];
      const isBesideFree = ({ first }) => room.taken.slice(first - 1, first + 1).includes(false);
      const copy = this.#copies.of(start, end).find(isBesideFree);
      if (copy) return copy;
      const word = this.#words[number].first;
      const key = `${word} ${leans}`;
      if (!room.gaps.has(key)) room.gaps.set(key, this.#gap(word, leans, room));
      return { first: room.gaps.get(key), last: room.gaps.get(key) };
    }

    /**
     * Return before which target word a tag goes that is before a source word.
     * @param {number} word
     * @param {Leaning} leans
     * @param {Room} room
     */
    #gap(word, leans, { words, within, taken }) {
      if (word === words.first) return within.first;
      if (word === words.last) return within.last;
      if (leans === "right" && !hasLetter(this.#source.words[word - 1])) {
        leans = "left"; // it stays after the punctuation or the number that it follows
      }
      const crossed = this.#crossed(word, leans);
      const free = [within.first];
      for (let place = within.first + 1; place < within.last; place += 1) {
        const isInside = taken[place - 1] && taken[place];
        const isApart = leans === "right" && !isMark(this.#source, word) && this.#clings(place);
        if (!isInside && !isApart) free.push(place);
      }
      free.push(within.last);
      const least = free.reduce((least, place) => Math.min(least, crossed[place]), Infinity) + 1e-6;
      const found = free.filter((place) => crossed[place] <= least);
      return leans === "left" ? found[0] : found.at(-1);
    }

    /** Return what crosses a tag, if it is before each of the target words, or after all. (target words + 1) */
    #crossed(word, leans) {
      const kept = (source) => this.#row(this.#kept, source);
      const masses = new Float64Array(this.#target.words.length); // of words after the tag, less those before it
      NEARNESS.forEach((nearness, far) => {
        if (word + far < this.#source.words.length) addTo(masses, kept(word + far), nearness);
        if (word - 1 - far >= 0) addTo(masses, kept(word - 1 - far), -nearness);
      });
      const crossed = new Float64Array(masses.length + 1);
      for (let place = 0; place < masses.length; place += 1) crossed[place + 1] = crossed[place] + masses[place];
      if (leans !== "left") addTo(crossed.subarray(0, -1), kept(word), -TOUCHED);
      if (leans !== "right") addTo(crossed.subarray(1), kept(word - 1), -TOUCHED);
      return crossed;
    }

    /** Tell whether a target word is punctuation without white space before it. @param {number} word */
    #clings(word) {
      const { spans } = this.#target;
      return word > 0 && spans[word - 1][1] === spans[word][0] && isMark(this.#target, word);
    }
  }

  /**
   * Add a row of numbers to sums, each times a factor.
   * @param {Float64Array} sums
   * @param {Float64Array} row of the same length
   * @param {number} factor
   */
  function addTo(sums, row, factor) {
    for (let place = 0; place < sums.length; place += 1) sums[place] += factor * row[place];
  }

  /** Tell whether a word is punctuation. @param {Sentence} sentence @param {number} word */
  const isMark = (sentence, word) => !hasAlphanumeric(sentence.words[word]);

  /**
   * Return the stretch of free words with the greatest sum of gains, and that sum.
   * @param {Float64Array} worths (target words)
   * @param {number[]} begins what it costs to begin before each word (target words)
   * @param {number[]} ends what it costs to end before each word, and at the end (target words + 1)
   * @param {Room} room
   * @returns {{worth: number, stretch: Stretch | null}}
   */
  function greatestSum(worths, begins, ends, { within, taken }) {
    let best = 0;
    let stretch = null;
    let [begin, least] = [-1, Infinity]; // the best place to begin, and the sum of all gains before it with its cost
    let total = 0;
    for (let place = within.first; place < within.last; place += 1) {
      if (taken[place]) [begin, least] = [-1, Infinity];
      else if (total + begins[place] <= least) [begin, least] = [place, total + begins[place]];
      total += worths[place];
      const worth = total - ends[place + 1] - least;
      if (begin >= 0 && worth > best) [best, stretch] = [worth, { first: begin, last: place + 1 }];
    }
    return { worth: best, stretch };
  }

  /**
   * Return the characters of a stretch; white space at its ends goes where it is in the source `text`.
   * @param {string} text
   * @param {Sentence} target
   * @param {Element} element
   * @param {Stretch} stretch
   * @returns {Span}
   */
  function charactersOf(text, target, element, stretch) {
    if (element.closing === null) {
      const place = placeInSpace(text, element.start, spaceBefore(target, stretch.first), "alone");
      return [place, place];
    }
    let start = placeInSpace(text, element.start, spaceBefore(target, stretch.first), "open");
    let end = placeInSpace(text, element.end, spaceBefore(target, stretch.last), "close");
    if (stretch.last > stretch.first) {
      if (element.start === 0 && stretch.first === 0) start = 0;
      if (element.end === text.length && stretch.last === target.words.length) end = target.text.length;
    }
    return [start, Math.max(start, end)];
  }

  /**
   * Return where in white space of the target a tag goes, given its place in the source `text`.
   * @param {string} text
   * @param {number} place
   * @param {Span} space
   * @param {"open" | "close" | "alone"} kind
   */
  function placeInSpace(text, place, [left, right], kind) {
    let [before, after] = [0, 0]; // white space
    while (before < SPACES && isSpace(text[place - before - 1])) before += 1;
    while (after < SPACES && isSpace(text[place + after])) after += 1;
    if (before && after) return kind === "close" ? Math.max(right - after, left) : Math.min(left + before, right);
    if (after) return left;
    return before || place === 0 || kind === "open" ? right : left;
  }

  /** Return the characters between two words. @param {Sentence} sentence @param {number} place @returns {Span} */
  function spaceBefore({ text, spans }, place) {
    return [place ? spans[place - 1][1] : 0, place < spans.length ? spans[place][0] : text.length];
  }

  weft.placement = { placeElements };
})();
