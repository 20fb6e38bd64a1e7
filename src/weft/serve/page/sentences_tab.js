/**
 * Two sentences, aligned while they are typed.
 */
"use strict";
(() => {
  const weft = (globalThis.weft ??= {});

  const PAUSE = 120; // milliseconds without a key before words are aligned
  const EXAMPLES = [
    [
      "German – English",
      "Die alte Brücke, die wir gestern gesehen haben, wird bald repariert.",
      "The old bridge we saw yesterday will soon be repaired.",
    ],
    [
      "English – Spanish",
      "She gave him her phone number before she left.",
      "Ella le dio su número de teléfono antes de irse.",
    ],
    [
      "French – Italian",
      "Je n'ai jamais lu ce livre, mais j'en ai beaucoup entendu parler.",
      "Non ho mai letto questo libro, ma ne ho sentito parlare molto.",
    ],
    ["Hungarian – English", "Az iskola mögötti nagy házban lakunk.", "We live in the big house behind the school."],
    ["Russian – English", "Я ещё не читал эту книгу.", "I have not read this book yet."],
    ["Arabic – English", "الكلب الكبير نائم تحت الشجرة القديمة.", "The big dog is sleeping under the old tree."],
    ["Japanese – English", "姉は東京で新しい本を買いました。", "My older sister bought a new book in Tokyo."],
    ["Korean – English", "친구는 도서관에서 책을 읽고 있어요.", "My friend is reading a book in the library."],
    ["Chinese – English", "我们明天坐火车去北京。", "We are going to Beijing by train tomorrow."],
  ];

  /** The part of the page for two sentences. */
  class SentencesTab {
    /** @param {{threshold: number}} settings */
    constructor(settings) {
      this.bench = new weft.bench.Bench(document.getElementById("sentences-bench"), settings);
      this.fields = ["source", "target"].map((name) => document.getElementById(name));
      this.spaced = document.getElementById("spaced");
      this.turn = 0; // of the latest text: what comes back for an earlier one is too late
      this._fillExamples();
      for (const field of this.fields) field.addEventListener("input", () => this._typed());
      this.spaced.addEventListener("change", () => this.align());
      document.getElementById("swap").addEventListener("click", () => {
        const [source, target] = this.fields.map((field) => field.value);
        this.example.value = "";
        this._fill(target, source);
      });
    }

    _fillExamples() {
      const select = (this.example = document.getElementById("example"));
      select.append(new Option("choose …", ""), ...EXAMPLES.map(([name], place) => new Option(name, place)));
      select.addEventListener("change", () => {
        if (select.value === "") return;
        const [, source, target] = EXAMPLES[select.value];
        this.spaced.checked = false;
        this._fill(source, target);
      });
      const [first, second] = this.fields;
      if (first.value || second.value) return; // a browser may have kept what was typed
      select.value = "0";
      [first.value, second.value] = EXAMPLES[0].slice(1);
    }

    _fill(source, target) {
      [this.fields[0].value, this.fields[1].value] = [source, target];
      this.align();
    }

    _typed() {
      this.example.value = "";
      this._setBusy(true);
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.align(), PAUSE);
    }

    /** Align what stands there now; corrections stay as long as the text does, also if its sides are swapped. */
    async align() {
      const turn = (this.turn += 1);
      this._setBusy(true);
      const [source, target] = this.fields.map((field) => ({ text: field.value }));
      const asked = new weft.pairs.Pair({ source, target }, 1, this.spaced.checked);
      const before = this.bench.pair;
      const pair = [before, before?.turned()].find((one) => one?.hasTextOf(asked)) ?? asked;
      const result = await weft.app.align(pair).catch(() => null); // the page says at its top what is wrong
      if (turn !== this.turn) return;
      this.bench.show(pair, result);
      this._setBusy(false);
    }

    _setBusy(isBusy) {
      this.bench.root.setAttribute("aria-busy", String(isBusy));
    }
  }

  weft.sentencesTab = { SentencesTab };
})();
