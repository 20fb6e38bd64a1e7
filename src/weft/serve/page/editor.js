/**
 * Corrections: sets of links with marks, and the history of what was done to them. Nothing here is ever changed in
 * place, so that every state can be returned to.
 */
"use strict";
(() => {
  const weft = (globalThis.weft ??= {});

  /**
   * @typedef {"sure" | "possible"} Mark
   * @typedef {[number, number, Mark][]} Corrected links, by source and target word
   */

  const isAt = (source, target) => (link) => link[0] === source && link[1] === target;
  const sorted = (links) => links.sort((one, two) => one[0] - two[0] || one[1] - two[1]);

  /** Return links with one more, or without it if it is there. @param {Corrected} links @returns {Corrected} */
  function toggled(links, source, target, mark) {
    const rest = links.filter((link) => !isAt(source, target)(link));
    return rest.length < links.length ? rest : sorted([...rest, [source, target, mark]]);
  }

  /** Return links of which one is sure instead of possible, or the other way round. @param {Corrected} links */
  function marked(links, source, target) {
    const swap = { sure: "possible", possible: "sure" };
    return links.map((link) => (isAt(source, target)(link) ? [source, target, swap[link[2]]] : link));
  }

  /** Return links without those of a word. @param {Corrected} links @param {"source" | "target"} side */
  function cleared(links, side, place) {
    return links.filter((link) => link[side === "source" ? 0 : 1] !== place);
  }

  /** Return links with their sides exchanged. @param {Corrected} links @returns {Corrected} */
  function turned(links) {
    return sorted(links.map(([source, target, mark]) => [target, source, mark]));
  }

  /** States one after the other. */
  class History {
    /** @param {Corrected | null} first null: the links of the aligner, as the threshold has them */
    constructor(first = null) {
      this.states = [first];
      this.place = 0;
    }

    get present() {
      return this.states[this.place];
    }

    get canUndo() {
      return this.place > 0;
    }

    get canRedo() {
      return this.place < this.states.length - 1;
    }

    /** Go on to a new state; what was undone is forgotten. */
    add(state) {
      this.states = [...this.states.slice(0, this.place + 1), state];
      this.place += 1;
    }

    undo() {
      if (this.canUndo) this.place -= 1;
    }

    redo() {
      if (this.canRedo) this.place += 1;
    }

    /** Return the same states of the pair with its sides exchanged. @returns {History} */
    turned() {
      const states = this.states.map((state) => state && turned(state));
      return Object.assign(new History(), { states, place: this.place });
    }
  }

  weft.editor = { toggled, marked, cleared, History };
})();
