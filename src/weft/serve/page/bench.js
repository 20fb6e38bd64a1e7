/**
 * The bench: one sentence pair with its tools. Lines or heat map, threshold, corrections with undo and redo, export.
 */
"use strict";
(() => {
  const weft = (globalThis.weft ??= {});
  const { toggled, marked, cleared } = weft.editor;

  /**
   * @typedef {{threshold: number | null}} Settings shared by all benches; null until the aligner is there
   * @typedef {{changed: () => void, thresholdMoved: () => void,
   *   compare: (pair: weft.pairs.Pair) => {reference: weft.linkFiles.Gold, counts: number[]} | null}} Listeners
   */

  /** A bench on the page. */
  class Bench {
    /** @param {HTMLElement} host @param {Settings} settings @param {Partial<Listeners>} listeners */
    constructor(host, settings, listeners = {}) {
      this.settings = settings;
      this.listeners = listeners;
      host.append(document.getElementById("bench").content.cloneNode(true));
      this.root = host.lastElementChild;
      this.pair = null;
      this.view = new weft.view.View(this._find(".stage.lines"), {
        toggle: (source, target) => this.edit((links) => toggled(links, source, target, this._newMark())),
        mark: (wanted) => this.edit((links) => wanted.reduce((all, one) => marked(all, one.source, one.target), links)),
        clear: (side, place) => this.edit((links) => cleared(links, side, place)),
      });
      this.heatmap = new weft.heatmap.Heatmap(this._find(".stage.heat"), (source, target) =>
        this.edit((links) => toggled(links, source, target, this._newMark())),
      );
      this._nameRadios();
      this._listen();
      this.update();
    }

    _find(selector) {
      return this.root.querySelector(selector);
    }

    _chosen(selector) {
      return this._find(`${selector} input:checked`).value;
    }

    _newMark() {
      return this._chosen(".marks");
    }

    /** Radio buttons belong together by their names, which differ from bench to bench. */
    _nameRadios() {
      Bench.count = (Bench.count ?? 0) + 1;
      this.root.querySelectorAll("fieldset").forEach((set, number) => {
        for (const input of set.querySelectorAll("input")) input.name = `bench-${Bench.count}-${number}`;
      });
    }

    _listen() {
      this._find(".undo").addEventListener("click", () => this.undo());
      this._find(".redo").addEventListener("click", () => this.redo());
      this._find(".reset").addEventListener("click", () => this._step(() => this.pair.history.add(null)));
      this._find(".checked").addEventListener("click", () => this.toggleChecked());
      for (const input of this.root.querySelectorAll(".bar .segments input"))
        input.addEventListener("change", () => this.update());
      this._find(".slider input").addEventListener("input", (event) => {
        this.settings.threshold = Number(event.target.value);
        this.update();
        this.listeners.thresholdMoved?.();
      });
      this._find(".export").addEventListener("click", (event) => {
        const kind = event.target.closest("[data-export]")?.dataset.export;
        if (kind) this._export(kind);
      });
    }

    /**
     * Show a pair.
     * @param {weft.pairs.Pair | null} pair
     * @param {Record<"forward" | "backward" | "matrix", Float32Array> | null} result of the aligner, if it is known
     */
    show(pair, result) {
      Object.assign(this, { pair, result });
      this.update();
    }

    /** Draw everything anew from what is known now. */
    update() {
      const { pair, settings } = this;
      this.root.inert = Boolean(pair) && !pair.isAligned; // there is nothing to correct yet
      const showsHeat = this._chosen(".segments") === "heat";
      this._find(".stage.lines").hidden = showsHeat;
      this._find(".stage.heat").hidden = this._find(".directions").hidden = !showsHeat;
      const slider = this._find(".slider input");
      slider.value = settings.threshold ?? 0.5;
      slider.disabled = !pair || pair.isChecked || Boolean(pair.given);
      slider.title = pair?.isChecked
        ? "Corrected links stay as they are; Reset lets the threshold choose again"
        : "The probability that a link needs";
      this._find(".slider output").value = settings.threshold?.toFixed(2) ?? "";
      this._find(".undo").disabled = !pair?.history.canUndo;
      this._find(".redo").disabled = !pair?.history.canRedo;
      this._find(".reset").disabled = !pair?.isChecked;
      this._find(".export").hidden = !pair;
      this._find(".checked").setAttribute("aria-pressed", String(Boolean(pair?.isChecked)));
      const compared = (pair && this.listeners.compare?.(pair)) ?? null;
      const links = pair ? pair.shown(settings.threshold, compared?.reference ?? null) : [];
      const empty = { text: "", words: [], spans: [] };
      const [source, target] = pair ? [pair.source, pair.target] : [empty, empty];
      this.view.show(source, target, links);
      if (showsHeat) this.heatmap.show(source, target, this._values(), links);
      this._say(links, compared);
    }

    /** Return the chosen direction first, then the others. */
    _values() {
      const matrix = this.pair?.matrix ?? new Float32Array();
      const { forward = matrix, backward = matrix, matrix: mean = matrix } = this.result ?? {};
      const values = { forward, mean, backward };
      const first = this._chosen(".directions");
      return { [first]: values[first], ...values };
    }

    _say(links, compared) {
      const { pair } = this;
      const parts = [];
      if (pair?.problem) parts.push(pair.problem);
      if (pair?.score !== undefined) parts.push(`Score ${pair.score.toFixed(2)}`);
      parts.push(`${links.filter((link) => link.difference !== "missing").length} links`);
      if (pair?.isChecked) parts.push("checked");
      if (compared) parts.push(`AER ${(100 * weft.linkFiles.scoreOf([compared.counts]).aer).toFixed(1)}`);
      this._find(".score").textContent = pair ? parts.join(" · ") : "";
      this._find(".key.possible").hidden = !links.some((link) => link.mark === "possible" && !link.difference);
      this._find(".key.extra").hidden = !links.some((link) => link.difference === "extra");
      this._find(".key.missing").hidden = !links.some((link) => link.difference === "missing");
    }

    /** Change the links by a function. */
    edit(change) {
      if (this.pair) this._step(() => this.pair.change(this.settings.threshold, change));
    }

    undo() {
      if (this.pair) this._step(() => this.pair.history.undo());
    }

    redo() {
      if (this.pair) this._step(() => this.pair.history.redo());
    }

    /** Say that the links are right as they are, or take that back. */
    toggleChecked() {
      const { pair } = this;
      if (pair)
        this._step(() =>
          pair.isChecked ? pair.history.add(null) : pair.change(this.settings.threshold, (links) => links),
        );
    }

    _step(action) {
      action();
      this.listeners.changed?.();
      this.update();
    }

    async _export(kind) {
      const {
        pair,
        settings: { threshold },
      } = this;
      const lines = { pharaoh: weft.export.pharaoh, gold: weft.export.gold, json: weft.export.json };
      const endings = { pharaoh: "links.txt", gold: "gold.txt", json: "alignment.json" };
      this._find(".export").open = false;
      if (kind === "copy") return weft.export.copy(weft.export.pharaoh(pair, threshold), "The line of links");
      if (kind in lines) weft.export.save(endings[kind], `${lines[kind](pair, threshold)}\n`);
      else await this._exportPicture(kind);
      weft.app.say("Saved.");
    }

    /** Pictures are of lines: while the heat map is shown, lines are put into sight for the moment it takes. */
    async _exportPicture(kind) {
      const isHidden = this._find(".stage.lines").hidden;
      this._find(".stage.lines").hidden = false;
      this.view.redraw();
      const svg = weft.export.picture(this.view);
      this._find(".stage.lines").hidden = isHidden;
      if (kind === "svg")
        weft.export.save("alignment.svg", new Blob([weft.export.serialised(svg)], { type: "image/svg+xml" }));
      else weft.export.save("alignment.png", await weft.export.pixels(svg));
    }
  }

  weft.bench = { Bench };
})();
