/**
 * The list of a file's pairs, a page at a time: only what is shown is drawn.
 */
"use strict";
(() => {
  const weft = (globalThis.weft ??= {});
  const { element, directionOf } = weft.dom;

  const ROWS = 15; // of a page
  const LETTERS = 120; // of a sentence in the list

  /** @typedef {weft.pairs.Pair} Pair */

  /** A list on the page. */
  class PairList {
    /** @param {(pair: Pair) => void} open what to call with the pair that was chosen */
    constructor(open) {
      this.rows = document.getElementById("list");
      this.place = document.getElementById("page-place");
      this.buttons = ["page-before", "page-after"].map((name) => document.getElementById(name));
      this.pairs = [];
      this.page = 0;
      this.rows.addEventListener("click", (event) => {
        const row = event.target.closest("button");
        if (row) open(this.pairs[row.dataset.place]);
      });
      this.buttons.forEach((button, after) =>
        button.addEventListener("click", () => this._turn(this.page + (after ? 1 : -1))),
      );
    }

    /** Show other pairs, at the page of the current one. @param {Pair[]} pairs @param {Pair | null} current */
    show(pairs, current) {
      Object.assign(this, { pairs, current });
      this._turn(Math.floor(Math.max(0, pairs.indexOf(current)) / ROWS));
    }

    /** Show which pair is on the bench. @param {Pair} pair */
    mark(pair) {
      this.current = pair;
      const place = this.pairs.indexOf(pair);
      this._turn(place < 0 ? this.page : Math.floor(place / ROWS));
    }

    /** Return the pair that many places after the current one, if there is any. @returns {Pair | undefined} */
    beside(steps) {
      const place = this.pairs.indexOf(this.current);
      return this.pairs[place < 0 ? 0 : place + steps];
    }

    _turn(page) {
      const pages = Math.max(1, Math.ceil(this.pairs.length / ROWS));
      this.page = Math.max(0, Math.min(page, pages - 1));
      const first = this.page * ROWS;
      const rows = this.pairs.slice(first, first + ROWS).map((pair, place) => this._row(pair, first + place));
      const { activeElement } = document; // a key must not lose its place when what it has pressed is gone
      const hadFocus = this.rows.contains(activeElement);
      const none = Object.assign(element("li", { class: "none" }), { textContent: "No pair is like that." });
      this.rows.replaceChildren(...(rows.length ? rows : [none]));
      this.place.textContent = `${(this.page + 1).toLocaleString("en")} of ${pages.toLocaleString("en")}`;
      this.buttons[0].disabled = this.page === 0;
      this.buttons[1].disabled = this.page === pages - 1;
      if (hadFocus) (this.rows.querySelector("[aria-current=true]") ?? this.rows.querySelector("button"))?.focus();
      else if (this.buttons.includes(activeElement) && activeElement.disabled)
        this.buttons.find((button) => !button.disabled)?.focus();
    }

    /** @param {Pair} pair */
    _row(pair, place) {
      const texts = [pair.row.source.text, pair.row.target.text].map((text) => {
        const line = element("span", { class: "text", dir: directionOf(text) });
        line.textContent = text.slice(0, LETTERS) || pair.problem || "–";
        return line;
      });
      const state = element("b", pair.isChecked ? { role: "img", "aria-label": "checked" } : {});
      state.textContent = pair.isChecked ? " ✓" : "";
      const score = pair.score?.toFixed(2) ?? "";
      const number = element("span", { class: "number" }, String(pair.number), state, element("br"), score);
      const button = element(
        "button",
        { type: "button", "aria-current": String(pair === this.current) },
        number,
        ...texts,
      );
      button.dataset.place = place;
      return element("li", {}, button);
    }
  }

  weft.pairList = { PairList };
})();
