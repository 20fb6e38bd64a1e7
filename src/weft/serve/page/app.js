/**
 * The page as a whole: its three parts, light and dark, the aligner that all of them share.
 */
"use strict";
(() => {
  const weft = (globalThis.weft ??= {});

  const MOST_CHARACTERS = 100_000; // of a sentence in which words are looked for
  const settings = { threshold: null }; // what suits the aligner, unless somebody chooses another one
  const aligners = {};
  const find = (name) => document.getElementById(name);
  const kept = {
    get: (key) => attempt(() => localStorage.getItem(key)),
    set: (key, value) => attempt(() => localStorage.setItem(key, value)),
  };

  /** Do what a browser may forbid. */
  function attempt(action) {
    try {
      return action();
    } catch {
      return null;
    }
  }

  /** Say something at the foot of the window for a while. @param {string} text @param {number | null} share done so far */
  function say(text, share = null) {
    const status = find("status");
    status.classList.remove("failed");
    status.firstElementChild.textContent = text;
    status.lastElementChild.hidden = share === null;
    status.lastElementChild.value = share ?? 0;
    clearTimeout(say.timer);
    if (text && share === null) say.timer = setTimeout(() => say(""), 4000);
  }

  /** Say what went wrong, until something else is said. @param {string} text */
  function complain(text) {
    say(text);
    clearTimeout(say.timer);
    find("status").classList.add("failed");
  }

  /** Return the aligner that is wanted; each is loaded once. */
  function aligner() {
    const isFast = !find("accurate").checked;
    return (aligners[isFast] ??= load(isFast));
  }

  async function load(fast) {
    try {
      const loaded = await weft.aligner.load({ fast, onProgress: (share) => say("Loading the aligner …", share) });
      settings.threshold ??= loaded.threshold;
      say("");
      return loaded;
    } catch (error) {
      delete aligners[fast]; // so that it can be tried again
      complain(`The aligner could not be loaded: ${error.message}`);
      throw error;
    }
  }

  function listenToAccuracy() {
    const { files, hasFast } = weft.manifest;
    const more = Object.keys(files).filter((name) => name.startsWith("accurate."));
    const megabytes = more.reduce((sum, name) => sum + files[name].bytes, 0) / 1e6;
    find("accurate-choice").hidden = !hasFast;
    find("accurate").checked = !hasFast;
    find("accurate-choice").lastElementChild.textContent =
      `Align more accurately, and more slowly (loads ${megabytes.toFixed(0)} MB more)`;
    find("accurate").addEventListener("change", () => {
      parts.sentences.align();
      parts.markup.transfer();
      parts.file.alignAgain();
    });
  }

  /**
   * Align a pair; it keeps what it needs. A pair that cannot be aligned says why. Raises Error if there is no aligner.
   * @param {weft.pairs.Pair} pair
   */
  async function align(pair) {
    const problem = tooLong(pair);
    if (problem) {
      pair.refuse(problem);
      return null;
    }
    if (!pair.source.words.length || !pair.target.words.length) {
      const empty = new Float32Array();
      pair.keep({ matrix: empty, score: 0 });
      return { matrix: empty, forward: empty, backward: empty };
    }
    const loaded = await aligner();
    try {
      const result = await loaded.align(pair.source, pair.target);
      pair.keep(result);
      return result;
    } catch (error) {
      pair.problem = error.message;
      return null;
    }
  }

  /** Return why a pair is too long to be aligned: a word has a piece at least. @returns {string | null} */
  function tooLong(pair) {
    const most = weft.manifest.mostPieces;
    for (const side of ["source", "target"]) {
      const { length } = pair.row[side].text;
      if (length > MOST_CHARACTERS) return `a sentence of ${length.toLocaleString("en")} characters; split it`;
      const words = pair[side].words.length;
      if (words > most)
        return `a sentence of ${words.toLocaleString("en")} words, but the limit is ${most.toLocaleString("en")}; split it`;
    }
    return null;
  }

  /** Show one of the parts. @param {string} name */
  function choose(name) {
    for (const tab of document.querySelectorAll("[role=tab]")) {
      const isChosen = tab.getAttribute("aria-controls") === name;
      tab.setAttribute("aria-selected", String(isChosen));
      tab.tabIndex = isChosen ? 0 : -1;
      find(tab.getAttribute("aria-controls")).hidden = !isChosen;
    }
    if (name === "markup") parts.markup.transfer();
    else parts[name].bench.update();
  }

  function listenToTabs() {
    const tabs = [...document.querySelectorAll("[role=tab]")];
    tabs.forEach((tab, place) => {
      tab.addEventListener("click", () => choose(tab.getAttribute("aria-controls")));
      tab.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        const next = tabs[(place + step + tabs.length) % tabs.length];
        next.focus();
        next.click();
      });
    });
  }

  function listenToTheme() {
    const root = document.documentElement;
    const theme = kept.get("weft theme");
    if (theme) root.dataset.theme = theme;
    find("theme").addEventListener("click", () => {
      const isDark =
        (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
      root.dataset.theme = isDark ? "light" : "dark";
      kept.set("weft theme", root.dataset.theme);
      for (const part of [parts.sentences, parts.file]) part.bench.update();
    });
  }

  /** Undo and redo by keys, unless text is being written; Alt with an arrow goes from pair to pair. */
  function listenToKeys() {
    addEventListener("keydown", (event) => {
      if (event.target.matches?.("textarea, input[type=search]")) return;
      const part = Object.values(parts).find((one) => one.bench && !one.bench.root.closest("[role=tabpanel]").hidden);
      if (!part) return;
      const key = event.key.toLowerCase();
      const actions = [
        [(event.ctrlKey || event.metaKey) && key === "z" && !event.shiftKey, () => part.bench.undo()],
        [(event.ctrlKey || event.metaKey) && (key === "y" || (key === "z" && event.shiftKey)), () => part.bench.redo()],
        [event.altKey && key === "arrowright" && part.step, () => part.step(1)],
        [event.altKey && key === "arrowleft" && part.step, () => part.step(-1)],
      ];
      const action = actions.find(([applies]) => applies)?.[1];
      if (!action) return;
      event.preventDefault();
      action();
    });
  }

  /** Menus close when something else is clicked, and with Escape. */
  function listenToMenus() {
    addEventListener("click", (event) => {
      for (const menu of document.querySelectorAll(".menu[open]")) if (!menu.contains(event.target)) menu.open = false;
    });
    addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      for (const menu of document.querySelectorAll(".menu[open]")) {
        menu.open = false;
        menu.querySelector("summary").focus();
      }
    });
  }

  weft.app = { say, complain, aligner, align, choose };
  const parts = {
    sentences: new weft.sentencesTab.SentencesTab(settings),
    file: new weft.fileTab.FileTab(settings),
    markup: new weft.markupTab.MarkupTab(),
  };
  listenToTabs();
  listenToTheme();
  listenToKeys();
  listenToMenus();
  listenToAccuracy();
  parts.sentences.align();
})();
