/**
 * Markup of a source sentence, put onto its translation while both are typed.
 */
"use strict";
(() => {
  const weft = (globalThis.weft ??= {});
  const { element } = weft.dom;

  const PAUSE = 200; // milliseconds without a key before markup is transferred
  const TAGS = /<[^<>]*>/g;
  const MARKS = /[*`~]+|(?<![\p{L}\p{N}])_+|_+(?![\p{L}\p{N}])|\]\([^)]*\)|!?\[/gu; // of Markdown
  const EXAMPLES = {
    html: [
      'Click <b>Save</b> to keep your <a href="changes.html">latest changes</a>.',
      "Klicken Sie auf Speichern, um Ihre letzten Änderungen zu behalten.",
    ],
    xml: [
      'Click <ui>Save</ui> to keep your <ref id="4">latest changes</ref>.',
      "Klicken Sie auf Speichern, um Ihre letzten Änderungen zu behalten.",
    ],
    xliff: [
      'Click <g id="1">Save</g> to keep your <g id="2">latest changes</g><x id="3"/>.',
      "Klicken Sie auf Speichern, um Ihre letzten Änderungen zu behalten.",
    ],
    markdown: [
      "Click **Save** to keep your [latest changes](changes.md).",
      "Klicken Sie auf Speichern, um Ihre letzten Änderungen zu behalten.",
    ],
  };

  /** Show text whose tags stand out. @param {HTMLElement} host @param {string} text @param {string} handling */
  function showTags(host, text, handling) {
    const parts = [];
    let end = 0;
    for (const match of text.matchAll(handling === "markdown" ? MARKS : TAGS)) {
      const tag = element("span", { class: "tag" });
      tag.textContent = match[0];
      parts.push(text.slice(end, match.index), tag);
      end = match.index + match[0].length;
    }
    host.replaceChildren(...parts, text.slice(end));
  }

  /** The part of the page for markup. */
  class MarkupTab {
    constructor() {
      const find = (name) => document.getElementById(name);
      Object.assign(this, {
        source: find("marked-source"),
        target: find("plain-target"),
        handling: find("handling"),
        split: find("split"),
      });
      Object.assign(this, {
        shownSource: find("marked-shown"),
        shownTarget: find("marked-target"),
        problem: find("markup-problem"),
        copy: find("copy-markup"),
      });
      this.turn = 0;
      this.kind = this.handling.value;
      this._example();
      for (const field of [this.source, this.target]) field.addEventListener("input", () => this._later());
      this.split.addEventListener("change", () => this.transfer());
      this.handling.addEventListener("change", () => this._changeKind());
      this.copy.addEventListener("click", () => weft.export.copy(this.result, "The translation"));
    }

    _example() {
      if (!this.source.value) [this.source.value, this.target.value] = EXAMPLES[this.handling.value];
    }

    /** An example that nobody has changed gives way to that of the other kind. */
    _changeKind() {
      if (this.source.value === EXAMPLES[this.kind][0]) this.source.value = "";
      this.kind = this.handling.value;
      this._example();
      this.transfer();
    }

    _later() {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.transfer(), PAUSE);
    }

    /** Transfer the markup of what stands there now. */
    async transfer() {
      const turn = (this.turn += 1);
      const options = { handling: this.handling.value, split: this.split.checked };
      showTags(this.shownSource, this.source.value, options.handling);
      let result = "";
      let problem = "";
      try {
        const aligner = await weft.app.aligner();
        const align = (source, target) => aligner.align(source, target);
        result = await weft.transfer.transfer(align, this.source.value, this.target.value, options);
      } catch (error) {
        problem = error.message;
      }
      if (turn !== this.turn) return;
      this.result = result;
      this.problem.textContent = problem;
      this.problem.hidden = !problem;
      this.copy.disabled = !result;
      showTags(this.shownTarget, result, options.handling);
    }
  }

  weft.markupTab = { MarkupTab };
})();
