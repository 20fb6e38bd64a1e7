/**
 * A sentence pair to look at: words joined by curves. Pointing at a word, tapping it or reaching it with the keyboard
 * marks its counterparts. If it may be edited, two words are linked by dragging, or by choosing one after the other.
 */
"use strict";
(() => {
  const weft = (globalThis.weft ??= {});
  const { middle } = weft.bands;
  const { directionOf, element, svgElement } = weft.dom;

  /**
   * @typedef {{text: string, words: string[], spans: [number, number][]}} Sentence
   * @typedef {"sure" | "possible"} Mark
   * @typedef {"" | "extra" | "missing"} Difference from other links: in ours alone, or in theirs alone
   * @typedef {{source: number, target: number, probability: number, mark: Mark, difference: Difference}} Link
   * @typedef {{toggle: (source: number, target: number) => void, mark: (links: Link[]) => void,
   *   clear: (side: Side, place: number) => void}} Edits what to call when a user changes links
   * @typedef {"source" | "target"} Side
   */

  const DRAG = 6; // pixels from which a pointer that is held down drags
  const other = { source: "target", target: "source" };

  /** Return the curve between two points, upright at both ends: it never leaves the box between them. */
  function curve(x, y, otherX, otherY) {
    const bend = (otherY - y) / 2;
    return `M${x} ${y}C${x} ${y + bend} ${otherX} ${otherY - bend} ${otherX} ${otherY}`;
  }

  /** A pair on the page. */
  class View {
    /**
     * @param {HTMLElement} host an empty element
     * @param {Edits} [edits] if links can be changed
     */
    constructor(host, edits) {
      this.edits = edits;
      this.root = element("div", {
        class: edits ? "view editable" : "view",
        role: "group",
        "aria-label": "Words and their links",
      });
      this.curves = svgElement("svg", { class: "curves", "aria-hidden": "true" });
      this.caption = element("p", { class: "caption", "aria-live": "polite" });
      host.append(this.root, this.caption);
      this.words = { source: [], target: [] };
      this.links = [];
      this.chosen = null; // the word that waits for its counterpart
      this.reached = null; // the word that Tab leads to
      this._listen();
      new ResizeObserver(() => this._place()).observe(this.root);
    }

    /**
     * Show a pair. Words stay where they are if only links have changed.
     * @param {Sentence} source @param {Sentence} target @param {Link[]} links
     */
    show(source, target, links) {
      const isNew = source !== this.source || target !== this.target;
      Object.assign(this, { source, target, links });
      if (isNew) {
        this.words.source = this._spans("source", source);
        this.words.target = this._spans("target", target);
        this.chosen = this.reached = null;
        this.width = 0;
      }
      this.partners = { source: source.words.map(() => []), target: target.words.map(() => []) };
      for (const link of links) {
        this.partners.source[link.source].push(link);
        this.partners.target[link.target].push(link);
      }
      for (const side of ["source", "target"]) {
        this.words[side].forEach((word, place) =>
          word.classList.toggle(
            "alone",
            this.partners[side][place].every((link) => link.difference === "missing"),
          ),
        );
      }
      if (isNew) this._place();
      else this._draw();
      this._point(this.pointed && this._exists(this.pointed) ? this.pointed : null);
    }

    _exists({ side, place }) {
      return place < this.words[side].length;
    }

    /** @returns {HTMLElement[]} */
    _spans(side, sentence) {
      return sentence.words.map((word, place) => {
        const span = element("span", { class: "word", role: "button", tabindex: "-1", "aria-pressed": "false" });
        span.textContent = word;
        span.dataset.side = side;
        span.dataset.place = place;
        const [start] = sentence.spans[place];
        if (place > 0 && sentence.spans[place - 1][1] === start) span.classList.add("joined");
        return span;
      });
    }

    /** Draw again, after the view was out of sight. */
    redraw() {
      this._place();
      this._draw();
    }

    /** Put words into bands that are as wide as there is room. */
    _place() {
      const width = this.root.clientWidth;
      if (!width || width === this.width || !this.source) return;
      this.width = width;
      this.root.replaceChildren(this.curves);
      const directions = { source: directionOf(this.source.text), target: directionOf(this.target.text) };
      this.bandOf = weft.bands.layOut(this.root, this.words, directions, this.links);
      this._reach(this.reached ?? this._firstWord());
      this._draw();
    }

    _firstWord() {
      const side = this.words.source.length ? "source" : "target";
      return this.words[side].length ? { side, place: 0 } : null;
    }

    /** Draw the curves from where the words are now. */
    _draw() {
      if (!this.width) return; // not in sight yet
      this.curves.replaceChildren(
        ...this.links.map((link, number) => {
          const group = svgElement("g", { class: `link ${link.mark} ${link.difference}` });
          const way = this._way(link);
          if (this.bandOf.source[link.source] !== this.bandOf.target[link.target]) group.classList.add("far");
          Object.assign(group.dataset, { link: number, source: link.source, target: link.target });
          const strength = (group.classList.contains("far") ? 0.12 : 0.3) + 0.6 * link.probability;
          group.style.setProperty("--strength", link.difference === "missing" ? 0.9 : strength);
          group.append(svgElement("path", { d: way, class: "hit" }), svgElement("path", { d: way }));
          return group;
        }),
      );
    }

    /** @param {Link} link */
    _way(link) {
      const from = this.words.source[link.source];
      const to = this.words.target[link.target];
      const down = from.offsetTop < to.offsetTop;
      const edge = (word, below) => word.offsetTop + (below ? word.offsetHeight : 0);
      return curve(middle(from), edge(from, down), middle(to), edge(to, !down));
    }

    _listen() {
      const at = (event) => this._wordAt(event.target);
      this.root.addEventListener("pointerover", (event) => {
        const link = event.target.closest?.(".link");
        if (link && !this.drag) this._pointAtLink(this.links[link.dataset.link]);
        else if (!link) this._point(at(event) ?? this.chosen);
      });
      this.root.addEventListener("pointerleave", () => this._point(this.chosen));
      this.root.addEventListener("focusin", (event) => at(event) && (this._reach(at(event)), this._point(at(event))));
      this.root.addEventListener("focusout", () => this._point(this.chosen));
      this.root.addEventListener("click", (event) => this._click(event));
      this.root.addEventListener("keydown", (event) => this._key(event));
      if (!this.edits) return;
      this.root.addEventListener("pointerdown", (event) => {
        const word = at(event);
        if (word && event.button === 0 && event.pointerType !== "touch")
          this.drag = { word, x: event.clientX, y: event.clientY };
      });
      addEventListener("pointermove", (event) => this.drag && this._dragTo(event));
      addEventListener("pointerup", (event) => this.drag && this._drop(event));
      addEventListener("pointercancel", () => {
        this.drag?.line?.remove();
        this.drag = null;
      });
    }

    /** @returns {{side: Side, place: number} | null} */
    _wordAt(node) {
      const word = node?.closest?.(".word");
      return word && this.root.contains(word) ? { side: word.dataset.side, place: Number(word.dataset.place) } : null;
    }

    _click(event) {
      const group = event.target.closest?.(".link");
      if (group && this.edits) {
        const link = this.links[group.dataset.link];
        if (event.shiftKey || event.altKey) this.edits.mark([link]);
        else this.edits.toggle(link.source, link.target);
        return;
      }
      const word = this._wordAt(event.target);
      if (this.dropped)
        this.dropped = false; // the click that ends a drag
      else if (word) this._choose(word);
      else this._choose(null);
    }

    /** Choose a word; link it with the one chosen before, or undo that link. */
    _choose(word) {
      const before = this.chosen;
      if (this.edits && before && word && before.side !== word.side) {
        this._mark(null);
        this.edits.toggle(...this._ends(before, word));
      } else {
        this._mark(before && word && before.side === word.side && before.place === word.place ? null : word);
      }
      this._point(word ?? this.chosen);
    }

    /** @returns {[number, number]} the source and the target word of two */
    _ends(word, counterpart) {
      return word.side === "source" ? [word.place, counterpart.place] : [counterpart.place, word.place];
    }

    _mark(word) {
      const show = (one, isChosen) => {
        this._element(one)?.classList.toggle("chosen", isChosen);
        this._element(one)?.setAttribute("aria-pressed", String(isChosen));
      };
      if (this.chosen) show(this.chosen, false);
      this.chosen = word;
      if (word) show(word, true);
    }

    _element({ side, place }) {
      return this.words[side][place];
    }

    _dragTo(event) {
      const { word, x, y } = this.drag;
      if (!this.drag.line && Math.hypot(event.clientX - x, event.clientY - y) < DRAG) return;
      event.preventDefault();
      this.drag.line ??= this.curves.appendChild(svgElement("path", { class: "drawn" }));
      const from = this._element(word);
      const box = this.root.getBoundingClientRect();
      const below = word.side === "source";
      const start = [middle(from), from.offsetTop + (below ? from.offsetHeight : 0)];
      this.drag.line.setAttribute("d", curve(...start, event.clientX - box.left, event.clientY - box.top));
      const over = this._wordAt(document.elementFromPoint(event.clientX, event.clientY));
      this._point(word, over && over.side !== word.side ? over : null);
    }

    _drop(event) {
      const { word, line } = this.drag;
      this.drag = null;
      if (!line) return;
      line.remove();
      const over = this._wordAt(document.elementFromPoint(event.clientX, event.clientY));
      this.dropped = Boolean(over && over.side === word.side && over.place === word.place);
      if (!over || over.side === word.side) return this._point(null);
      const [source, target] = this._ends(word, over);
      const isLinked = this.links.some(
        (link) => link.source === source && link.target === target && link.difference !== "missing",
      );
      if (!isLinked) this.edits.toggle(source, target);
      this._point(over);
    }

    _key(event) {
      const word = this._wordAt(event.target);
      if (!word || event.ctrlKey || event.metaKey || event.altKey) return;
      const forward = directionOf(this[word.side].text) === "rtl" ? "ArrowLeft" : "ArrowRight";
      const backward = forward === "ArrowLeft" ? "ArrowRight" : "ArrowLeft";
      const last = this.words[word.side].length - 1;
      const moves = {
        [forward]: () => this._focus({ ...word, place: Math.min(word.place + 1, last) }),
        [backward]: () => this._focus({ ...word, place: Math.max(word.place - 1, 0) }),
        Home: () => this._focus({ ...word, place: 0 }),
        End: () => this._focus({ ...word, place: last }),
        ArrowDown: () => this._cross(word),
        ArrowUp: () => this._cross(word),
        Enter: () => this._choose(word),
        " ": () => this._choose(word),
        Escape: () => (this._mark(null), this._point(word)),
      };
      const changes = {
        Delete: () => this.edits.clear(word.side, word.place),
        Backspace: () => this.edits.clear(word.side, word.place),
        p: () => this.edits.mark(this.partners[word.side][word.place]),
      };
      const action = moves[event.key] ?? (this.edits && changes[event.key]);
      if (!action) return;
      event.preventDefault();
      action();
    }

    /** Go to the other side: to the first counterpart, or to where it would be. */
    _cross({ side, place }) {
      const across = other[side];
      const count = this.words[across].length;
      if (!count) return;
      const links = this.partners[side][place];
      const even = Math.floor(((place + 0.5) * count) / this.words[side].length);
      this._focus({ side: across, place: links.length ? Math.min(...links.map((link) => link[across])) : even });
    }

    _focus(word) {
      this._element(word).focus();
    }

    /** Make a word the one that Tab leads to. */
    _reach(word) {
      if (this.reached) this._element(this.reached)?.setAttribute("tabindex", "-1");
      this.reached = word;
      if (word) this._element(word).setAttribute("tabindex", "0");
    }

    /** Mark a word and its counterparts, and say what they are; `over` is a word that a new link would lead to. */
    _point(word, over = null) {
      this.pointed = word;
      const links = word ? this.partners[word.side][word.place] : [];
      this._highlight(
        word ? [word, over, ...links.map((link) => ({ side: other[word.side], place: link[other[word.side]] }))] : [],
        links,
      );
      if (word) this._say(word, links);
      else this.caption.replaceChildren();
    }

    _pointAtLink(link) {
      this._highlight(
        [
          { side: "source", place: link.source },
          { side: "target", place: link.target },
        ],
        [link],
      );
      this._say({ side: "source", place: link.source }, [link]);
    }

    _highlight(words, links) {
      for (const word of this.root.querySelectorAll(".word.on")) word.classList.remove("on");
      for (const word of words) if (word) this._element(word).classList.add("on");
      this.root.classList.toggle("pointed", links.length > 0);
      for (const group of this.curves.querySelectorAll(".link")) {
        group.classList.toggle("on", links.includes(this.links[group.dataset.link]));
      }
    }

    _say(word, links) {
      const name = (text) => Object.assign(element("b"), { textContent: text });
      const isolated = (text) => element("bdi", {}, name(text));
      const parts = [isolated(this[word.side].words[word.place]), links.length ? " — " : " — no counterpart"];
      links.forEach((link, number) => {
        const notes = [link.probability.toFixed(2)];
        if (link.mark === "possible") notes.push("possible");
        if (link.difference === "extra") notes.push("not in the other links");
        if (link.difference === "missing") notes.splice(0, 1, "only in the other links");
        parts.push(
          number ? ", " : "",
          isolated(this[other[word.side]].words[link[other[word.side]]]),
          ` ${notes.join(", ")}`,
        );
      });
      if (this.chosen && this.edits) parts.push(" · choose a word on the other side to link or unlink it");
      this.caption.replaceChildren(...parts);
    }
  }

  weft.view = { View };
})();
