/**
 * A file of sentence pairs: a list to page through, one pair on the bench, corrections, other links to compare with.
 */
"use strict";
(() => {
  const weft = (globalThis.weft ??= {});
  const { alignInSlices, inSlices, readFiles, sorted, Corrections } = weft.corpus;
  const { countLinks, guessBase, nameOf, parseLinks, scoreOf } = weft.linkFiles;
  const { Pair } = weft.pairs;

  const PAUSE = 250; // milliseconds after a change before scores of the whole file are computed
  const find = (name) => document.getElementById(name);
  const shownCount = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

  /** The part of the page for files. */
  class FileTab {
    /** @param {{threshold: number}} settings */
    constructor(settings) {
      this.settings = settings;
      this.pairs = [];
      this.gold = null; // links of each pair to compare with
      this.job = null; // the aligning that goes on
      this.bench = new weft.bench.Bench(find("file-bench"), settings, {
        changed: () => this._changed(),
        thresholdMoved: () => this._scoreLater(),
        compare: (pair) => this._compare(pair),
      });
      this.list = new weft.pairList.PairList((pair) => this._open(pair, true));
      this._listen();
    }

    _listen() {
      find("files").addEventListener("change", (event) => {
        this.read([...event.target.files]);
        event.target.value = ""; // the same file can be chosen again
      });
      find("file-spaced").addEventListener("change", () => this.rows && this._begin());
      find("cancel").addEventListener("click", () => (this.job ? this.job.abort() : this._alignAll()));
      for (const name of ["order", "filter", "find"]) find(name).addEventListener("input", () => this._arrange());
      find("reference").addEventListener("input", () => this._referenceChanged());
      find("base").addEventListener("input", () => this._readGold());
      const steps = this.bench.root.querySelector(".steps");
      steps.hidden = false;
      steps.querySelector(".before").addEventListener("click", () => this.step(-1));
      steps.querySelector(".after").addEventListener("click", () => this.step(1));
      find("corpus-export").addEventListener("click", (event) => {
        const kind = event.target.closest("[data-export]")?.dataset.export;
        if (kind) this._export(kind);
      });
      this._takeDrops();
      addEventListener("beforeunload", (event) => this.rows && !this.isKept && event.preventDefault());
    }

    /** Files may be dropped anywhere on the page. */
    _takeDrops() {
      const area = find("drop");
      const hasFiles = ({ dataTransfer }) => dataTransfer.types.includes("Files"); // text is dropped into fields
      addEventListener("dragover", (event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        area.classList.add("over");
      });
      addEventListener("dragleave", (event) => event.relatedTarget ?? area.classList.remove("over"));
      addEventListener("drop", (event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        area.classList.remove("over");
        weft.app.choose("file");
        this.read([...event.dataTransfer.files]);
      });
    }

    _complain(problem) {
      find("file-problem").textContent = problem;
      find("file-problem").hidden = !problem;
    }

    /** Read files: pairs, links to compare with, or both. @param {File[]} files */
    async read(files) {
      try {
        const { name, rows, links } = await readFiles(files);
        if (!rows && !this.rows) throw new Error("This is a file of links; give the sentence pairs first, or with it.");
        if (rows) Object.assign(this, { name, rows });
        if (rows || links) this.goldLines = links;
        if (links) find("base").value = guessBase(links);
        find("reference").value = links ? "file" : "none";
        this._complain("");
        if (rows) this._begin();
        else this._readGold();
      } catch (error) {
        this._complain(error.message);
      }
    }

    /** Make pairs of what was read, and align them. */
    _begin() {
      this.job?.abort();
      this.pairs = this.rows.map((row, place) => new Pair(row, place + 1, find("file-spaced").checked));
      this.corrections = new Corrections(this.pairs);
      this.restored = this.corrections.restore();
      this.current = null;
      this.wasChosen = false; // no pair was chosen by hand
      this.isKept = true; // the corrections, by the browser
      find("corpus").hidden = false;
      find("drop").classList.add("small");
      find("file-name").textContent = this.name;
      this._readGold();
      this._arrange();
      this._open(this.list.pairs[0]);
      this._alignAll();
    }

    /** Align anew, for another aligner. */
    alignAgain() {
      if (!this.rows) return;
      this.job?.abort();
      for (const pair of this.pairs) pair.forget();
      this._open(this.current);
      this._alignAll();
    }

    async _alignAll() {
      const job = (this.job = new AbortController());
      this._showProgress();
      try {
        await alignInSlices(this.pairs, job.signal, () => job === this.job && this._showProgress());
      } catch (error) {
        this._complain(error.message);
      }
      if (job !== this.job) return; // another file
      this.job = null;
      this._showProgress();
      this._arrange();
      if (!this.wasChosen) this._open(this.list.pairs[0]);
      this._scoreLater();
    }

    _showProgress() {
      const done = this.pairs.filter((pair) => pair.isAligned).length;
      const all = this.pairs.length;
      find("aligning").hidden = done === all;
      find("aligning").querySelector("progress").value = done / all;
      find("aligning").querySelector("span").textContent =
        `${done.toLocaleString("en")} of ${shownCount(all, "pair")} aligned`;
      find("cancel").textContent = this.job ? "Stop" : "Continue";
      this._showFacts();
    }

    _showFacts() {
      const checked = this.pairs.filter((pair) => pair.isChecked).length;
      const bad = this.pairs.filter((pair) => pair.problem);
      const facts = [shownCount(this.pairs.length, "pair"), `${checked.toLocaleString("en")} checked`];
      if (this.restored) facts.push(`corrections of ${shownCount(this.restored, "pair")} kept from before`);
      if (!this.isKept) facts.push("this browser cannot keep your corrections: export them before you leave");
      if (bad.length)
        facts.push(
          `line ${bad[0].number}: ${bad[0].problem}${bad.length > 1 ? `; ${bad.length - 1} more like it` : ""}`,
        );
      find("file-facts").textContent = facts.join(" · ");
    }

    /** Sort and choose what the list has. */
    _arrange() {
      const wanted = find("find").value.toLowerCase();
      const kept = {
        all: () => true,
        open: (pair) => !pair.isChecked,
        checked: (pair) => pair.isChecked,
        different: (pair) => this._differs(pair),
      };
      const isKept = kept[find("filter").value];
      const hasText = ({ row }) => `${row.source.text}\n${row.target.text}`.toLowerCase().includes(wanted);
      this.list.show(
        sorted(
          this.pairs.filter((pair) => isKept(pair) && hasText(pair)),
          find("order").value,
        ),
        this.current,
      );
    }

    /** Put a pair on the bench. @param {Pair} pair @param {boolean} byHand */
    async _open(pair, byHand = false) {
      if (!pair) return;
      this.current = pair;
      this.wasChosen ||= byHand;
      this.list.mark(pair);
      this.bench.show(pair, null); // at once, so that whatever is done next is done to this pair
      const result = await weft.app.align(pair).catch(() => null); // the page says at its top what is wrong
      if (pair === this.current) this.bench.show(pair, result);
    }

    /** Go to another pair of the list. @param {number} steps */
    step(steps) {
      this._open(this.list.beside(steps), true);
    }

    _changed() {
      this.wasChosen = true;
      this.isKept = this.corrections.save();
      this.list.mark(this.current);
      this._showFacts();
      this._scoreLater();
    }

    _readGold() {
      this.gold = null;
      const hasLinks = Boolean(this.goldLines);
      find("base-choice").hidden = !hasLinks;
      find("reference").querySelector("[value=file]").disabled = !hasLinks;
      try {
        const gold = hasLinks ? parseLinks(this.goldLines, Number(find("base").value)) : null;
        if (gold && gold.length !== this.pairs.length) {
          const counts = `${shownCount(gold.length, "line")} but ${shownCount(this.pairs.length, "sentence pair")}`;
          throw new Error(`${counts}; is it of other text?`);
        }
        this.gold = gold;
        this._complain("");
      } catch (error) {
        this._complain(`The file of links: ${error.message}`);
      }
      this._referenceChanged();
    }

    _referenceChanged() {
      this.bench.update();
      if (find("filter").value === "different") this._arrange();
      this._scoreLater();
    }

    /**
     * Return the links that a pair is compared with, and the counts that scores are made of. Against a file, the links
     * as they are now are judged; against corrections, those of the aligner are.
     * @param {Pair} pair
     */
    _compare(pair) {
      const { threshold } = this.settings;
      const kind = find("reference").value;
      if (kind === "file" && this.gold) {
        const reference = this.gold[pair.number - 1];
        return { reference, counts: countLinks(pair.names(threshold), reference) };
      }
      if (kind !== "model" || !pair.isChecked) return null;
      const names = new Set(pair.automatic(threshold).map(([source, target]) => nameOf(source, target)));
      return { reference: { sure: names, possible: names }, counts: countLinks(names, pair.gold) };
    }

    _differs(pair) {
      const compared = this._compare(pair);
      if (!compared) return false;
      const names = pair.names(this.settings.threshold);
      return (
        names.length !== compared.reference.possible.size ||
        names.some((name) => !compared.reference.possible.has(name))
      );
    }

    _scoreLater() {
      clearTimeout(this.timer);
      if (find("reference").value === "none") find("scores").textContent = ""; // at once: the page moves up
      this.timer = setTimeout(() => this._score(), PAUSE);
    }

    /** Score all pairs against what they are compared with. */
    async _score() {
      const timer = this.timer;
      const rows = [];
      for await (const pair of inSlices(this.pairs)) {
        if (timer !== this.timer) return; // there was another change
        const compared = pair.isAligned || pair.isChecked ? this._compare(pair) : null;
        if (compared) rows.push(compared.counts);
      }
      const { aer, precision, recall } = scoreOf(rows);
      const share = (value) => (100 * value).toFixed(1);
      const system =
        find("reference").value === "file"
          ? "These links against the file"
          : "The aligner's links against your corrections";
      const figures = `AER ${share(aer)} · precision ${share(precision)} · recall ${share(recall)}`;
      find("scores").textContent = rows.length ? `${system}: ${figures} · ${shownCount(rows.length, "pair")}` : "";
    }

    _export(kind) {
      const { threshold } = this.settings;
      const checked = this.pairs.filter((pair) => pair.isChecked);
      const exports = {
        pharaoh: ["links.txt", this.pairs, weft.export.pharaoh],
        jsonl: ["pairs.jsonl", this.pairs, weft.export.json],
        gold: ["gold.txt", checked, weft.export.gold],
        words: ["words.tsv", checked, weft.export.words],
      };
      const [name, pairs, line] = exports[kind];
      find("corpus-export").open = false;
      if (!pairs.length) return weft.app.say("No pair is checked yet: correct one, or press Checked.");
      weft.export.save(
        name,
        new Blob(
          pairs.map((pair) => `${line(pair, threshold)}\n`),
          { type: "text/plain;charset=utf-8" },
        ),
      );
      const open = pairs.filter((pair) => !pair.isAligned && !pair.isChecked).length;
      const gaps = open ? `; ${shownCount(open, "pair")} not aligned yet, without links` : "";
      weft.app.say(`Saved ${shownCount(pairs.length, "line")}${gaps}.`);
    }
  }

  weft.fileTab = { FileTab };
})();
