/**
 * Probabilities between words as a heat map: source words are columns, target words rows. Only what the box shows is
 * drawn, so sentences may be of any length; the words at both edges stay in sight.
 */
"use strict";
(() => {
  const weft = (globalThis.weft ??= {});
  const { element } = weft.dom;

  const CELL = 26; // pixels
  const LETTERS = 18; // of a word at an edge; longer ones are cut
  const SLANT = -0.9; // radians, of the words above the columns

  /** Return a word that fits at an edge. @param {string} word */
  function cutWord(word) {
    const letters = [...word];
    return letters.length > LETTERS ? `${letters.slice(0, LETTERS - 1).join("")}…` : word;
  }

  /** A heat map on the page. */
  class Heatmap {
    /**
     * @param {HTMLElement} host an empty element
     * @param {(source: number, target: number) => void} [toggle] what to call when a cell is clicked
     */
    constructor(host, toggle) {
      this.toggle = toggle;
      this.canvas = element("canvas", { "aria-hidden": "true" });
      this.extent = element("div", { class: "extent" }, this.canvas);
      this.scroller = element(
        "div",
        { class: "scroller", tabindex: "0", role: "application", "aria-label": "Heat map" },
        this.extent,
      );
      this.caption = element("p", { class: "caption", "aria-live": "polite" });
      this.root = element("div", { class: toggle ? "heatmap editable" : "heatmap" }, this.scroller, this.caption);
      host.append(this.root);
      this.cell = null;
      const draw = () => this.draw();
      this.scroller.addEventListener("scroll", () => requestAnimationFrame(draw), { passive: true });
      this.scroller.addEventListener("pointermove", (event) => this._point(this._cellAt(event)));
      this.scroller.addEventListener("pointerleave", () => this._point(null));
      this.scroller.addEventListener("pointerdown", () => (this.pressed = String(this.cell)));
      this.scroller.addEventListener("click", (event) => this._clickAt(event));
      this.scroller.addEventListener("keydown", (event) => this._key(event));
      new ResizeObserver(draw).observe(this.root);
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    }

    /**
     * Show probabilities.
     * @param {{words: string[]}} source @param {{words: string[]}} target
     * @param {Record<string, Float32Array>} values by name, the first one is shown; (source words × target words) each
     * @param {{source: number, target: number, mark: string, difference: string}[]} links are framed
     */
    show(source, target, values, links) {
      if (source !== this.source || target !== this.target) this.cell = null;
      Object.assign(this, { source, target, values, links });
      this.labels = { source: source.words.map(cutWord), target: target.words.map(cutWord) };
      const size = `${source.words.length} source and ${target.words.length} target words`;
      this.scroller.setAttribute("aria-label", `Heat map of ${size}; arrow keys move, Enter links or unlinks`);
      this.draw();
      this._say();
    }

    /** Draw what the box shows. */
    draw() {
      const width = this.root.clientWidth;
      if (!width || !this.source) return;
      const style = getComputedStyle(this.root);
      const pen = this.canvas.getContext("2d");
      const font = `14px ${style.fontFamily}`;
      pen.font = font;
      const widest = (labels) => labels.reduce((most, word) => Math.max(most, pen.measureText(word).width), 0);
      const slanted = Math.abs(Math.sin(SLANT)) * widest(this.labels.source);
      this.left = Math.ceil(Math.min(widest(this.labels.target) + 16, width * 0.4));
      this.top = Math.ceil(slanted + 20);
      const columns = this.source.words.length;
      const rows = this.target.words.length;
      const lean = Math.ceil(Math.cos(SLANT) * widest(this.labels.source)); // of the last words over the edge
      this.extent.style.width = `${this.left + columns * CELL + lean}px`;
      this.extent.style.height = `${this.top + rows * CELL + 4}px`;
      const shownWidth = Math.min(this.scroller.clientWidth, this.left + columns * CELL + lean);
      const shownHeight = Math.min(this.scroller.clientHeight, this.top + rows * CELL + 4);
      const ratio = devicePixelRatio || 1;
      this.canvas.width = shownWidth * ratio;
      this.canvas.height = shownHeight * ratio;
      this.canvas.style.width = `${shownWidth}px`;
      this.canvas.style.height = `${shownHeight}px`;
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      pen.font = font;
      const colours = {
        ink: style.color,
        accent: style.caretColor,
        line: style.columnRuleColor,
        pale: style.textDecorationColor,
      };
      this._drawCells(pen, colours, shownWidth, shownHeight);
      this._drawLabels(pen, colours, shownWidth, shownHeight);
    }

    /** Return the first and the end of the columns or rows that the box shows. */
    _range(scrolled, shown, count) {
      const first = Math.max(0, Math.floor(scrolled / CELL));
      return [first, Math.min(count, Math.ceil((scrolled + shown) / CELL))];
    }

    _drawCells(pen, colours, width, height) {
      const { scrollLeft, scrollTop } = this.scroller;
      const columns = this._range(scrollLeft, width - this.left, this.source.words.length);
      const rows = this._range(scrollTop, height - this.top, this.target.words.length);
      const values = Object.values(this.values)[0];
      const count = this.target.words.length;
      const framed = new Map(this.links.map((link) => [link.source * count + link.target, link]));
      pen.save();
      pen.beginPath();
      pen.rect(this.left, this.top, width, height);
      pen.clip();
      for (let source = columns[0]; source < columns[1]; source += 1) {
        for (let target = rows[0]; target < rows[1]; target += 1) {
          const x = this.left + source * CELL - scrollLeft;
          const y = this.top + target * CELL - scrollTop;
          const value = values[source * count + target];
          pen.globalAlpha = 1;
          pen.strokeStyle = colours.line;
          pen.lineWidth = 1;
          pen.strokeRect(x + 0.5, y + 0.5, CELL, CELL);
          pen.globalAlpha = Math.min(1, value);
          pen.fillStyle = colours.accent;
          pen.fillRect(x + 1, y + 1, CELL - 1, CELL - 1);
          const link = framed.get(source * count + target);
          if (!link) continue;
          pen.globalAlpha = 1;
          pen.strokeStyle = colours.ink;
          pen.lineWidth = link.difference === "missing" ? 1 : 2;
          pen.setLineDash(link.difference === "missing" ? [1, 3] : link.mark === "possible" ? [4, 3] : []);
          pen.strokeRect(x + 3.5, y + 3.5, CELL - 6, CELL - 6);
          pen.setLineDash([]);
        }
      }
      if (this.cell) {
        pen.globalAlpha = 1;
        pen.strokeStyle = colours.ink;
        pen.lineWidth = 1.5;
        pen.strokeRect(
          this.left + this.cell[0] * CELL - scrollLeft,
          this.top + this.cell[1] * CELL - scrollTop,
          CELL + 1,
          CELL + 1,
        );
      }
      pen.restore();
    }

    _drawLabels(pen, colours, width, height) {
      const { scrollLeft, scrollTop } = this.scroller;
      pen.textBaseline = "middle";
      pen.fillStyle = colours.ink;
      const [first, end] = this._range(scrollLeft, width - this.left, this.source.words.length);
      pen.save();
      pen.beginPath();
      pen.rect(this.left, 0, width, this.top);
      pen.clip();
      for (let place = first; place < end; place += 1) {
        pen.save();
        pen.translate(this.left + (place + 0.5) * CELL - scrollLeft, this.top - 8);
        pen.rotate(SLANT);
        pen.globalAlpha = !this.cell || this.cell[0] === place ? 1 : 0.55;
        pen.fillText(this.labels.source[place], 0, 0);
        pen.restore();
      }
      pen.restore();
      pen.textAlign = "right";
      const [top, bottom] = this._range(scrollTop, height - this.top, this.target.words.length);
      pen.beginPath();
      pen.rect(0, this.top, this.left, height);
      pen.clip();
      for (let place = top; place < bottom; place += 1) {
        pen.globalAlpha = !this.cell || this.cell[1] === place ? 1 : 0.55;
        pen.fillText(this.labels.target[place], this.left - 8, this.top + (place + 0.5) * CELL - scrollTop);
      }
    }

    /** @returns {[number, number] | null} the source and the target word of the cell at the pointer */
    _cellAt(event) {
      const box = this.scroller.getBoundingClientRect();
      const x = event.clientX - box.left;
      const y = event.clientY - box.top;
      if (!this.source || x < this.left || y < this.top) return null;
      const source = Math.floor((x - this.left + this.scroller.scrollLeft) / CELL);
      const target = Math.floor((y - this.top + this.scroller.scrollTop) / CELL);
      return source < this.source.words.length && target < this.target.words.length ? [source, target] : null;
    }

    /** A finger cannot point: its first tap shows the cell, another one changes it. */
    _clickAt(event) {
      const cell = this._cellAt(event);
      const isShown = event.pointerType !== "touch" || this.pressed === String(cell);
      this._point(cell);
      if (isShown) this._click(cell);
    }

    _click(cell) {
      if (cell && this.toggle) this.toggle(...cell);
    }

    _point(cell) {
      if (String(cell) === String(this.cell)) return;
      this.cell = cell;
      this.draw();
      this._say();
    }

    _key(event) {
      const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
      const step = steps[event.key];
      if (step && this.source.words.length && this.target.words.length) {
        event.preventDefault();
        const [source, target] = this.cell ?? [-step[0], -step[1]];
        const within = (place, count) => Math.max(0, Math.min(place, count - 1));
        this._point([
          within(source + step[0], this.source.words.length),
          within(target + step[1], this.target.words.length),
        ]);
        this._scrollTo(this.cell);
      } else if ((event.key === "Enter" || event.key === " ") && this.cell) {
        event.preventDefault();
        this._click(this.cell);
      } else if (event.key === "Escape") this._point(null);
    }

    _scrollTo([source, target]) {
      const shown = {
        x: this.scroller.clientWidth - this.left - CELL,
        y: this.scroller.clientHeight - this.top - CELL,
      };
      const near = (scrolled, place, room) => Math.max(place * CELL - room, Math.min(scrolled, place * CELL));
      this.scroller.scrollLeft = near(this.scroller.scrollLeft, source, shown.x);
      this.scroller.scrollTop = near(this.scroller.scrollTop, target, shown.y);
    }

    _say() {
      if (!this.cell) return this.caption.replaceChildren();
      const [source, target] = this.cell;
      const place = source * this.target.words.length + target;
      const link = this.links.find(
        (one) => one.source === source && one.target === target && one.difference !== "missing",
      );
      const figures = Object.entries(this.values).map(([name, values]) => `${name} ${values[place].toFixed(2)}`);
      const name = (text) => element("bdi", {}, Object.assign(element("b"), { textContent: text }));
      const state = link ? `, linked${link.mark === "possible" ? " (possible)" : ""}` : "";
      this.caption.replaceChildren(
        name(this.source.words[source]),
        " — ",
        name(this.target.words[target]),
        `: ${figures.join(", ")}${state}`,
      );
    }
  }

  weft.heatmap = { Heatmap };
})();
