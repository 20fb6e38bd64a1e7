/**
 * What leaves the page: links as other commands of weft read them, objects as `weft align --format jsonl` writes them,
 * and pictures. Offsets count code points, as Python does.
 */
"use strict";
(() => {
  const weft = (globalThis.weft ??= {});
  const { svgElement } = weft.dom;

  const MARGIN = 24; // pixels around a picture
  const SCALE = 2; // pixels of a PNG for each of the page
  const LONGEST = 16_000; // pixels that browsers draw

  /** @typedef {weft.pairs.Pair} Pair */

  /** Return the links of a pair, `0-0 1-2`. @param {Pair} pair */
  function pharaoh(pair, threshold) {
    return pair.names(threshold).join(" ");
  }

  /** Return the links of a pair with their marks, from one on, as `weft evaluate` reads gold. @param {Pair} pair */
  function gold(pair, threshold) {
    return weft.linkFiles.formatGold(pair.links(threshold), 1);
  }

  /** Return the words of a pair as a line, source TAB target; white space in a word becomes ▁. @param {Pair} pair */
  function words(pair) {
    const side = (sentence) => sentence.words.map((word) => word.replace(/[ \t\n\r\f\v]/g, "▁")).join(" ");
    return `${side(pair.source)}\t${side(pair.target)}`;
  }

  /** Return a pair as an object of `weft align --format jsonl`; if it is checked, also its marks. @param {Pair} pair */
  function json(pair, threshold) {
    const side = ({ text, words: shown, spans }) => ({
      text,
      words: shown,
      offsets: weft.offsets.toCodePointSpans(text, spans),
    });
    const matrix = pair.matrix;
    const columns = pair.target.words.length;
    const rounded = (number) => Math.round(number * 10_000) / 10_000;
    const withProbability = ([source, target]) => [source, target, rounded(matrix[source * columns + target])];
    const links = pair.links(threshold);
    const members = {
      source: side(pair.source),
      target: side(pair.target),
      links: links.map(withProbability),
      score: rounded(pair.score ?? 0),
    };
    if (pair.isChecked) {
      members.checked = true;
      members.possible = links.filter(([, , mark]) => mark === "possible").map(([source, target]) => [source, target]);
      members.automatic = pair.automatic(threshold).map(withProbability);
    }
    return JSON.stringify(members);
  }

  /**
   * Return what the view shows as a picture that stands alone.
   * @param {weft.view.View} view @returns {SVGSVGElement}
   */
  function picture(view) {
    const { root } = view;
    const style = getComputedStyle(root);
    const shownWords = [...view.words.source, ...view.words.target];
    const right = shownWords.reduce((most, word) => Math.max(most, word.offsetLeft + word.offsetWidth), 0);
    const width = Math.ceil(right + 2 * MARGIN);
    const height = Math.ceil(root.offsetHeight + 2 * MARGIN);
    const svg = svgElement("svg", {
      xmlns: "http://www.w3.org/2000/svg",
      width,
      height,
      viewBox: `${-MARGIN} ${-MARGIN} ${width} ${height}`,
      "font-family": style.fontFamily,
      "font-size": parseFloat(style.fontSize),
    });
    const card = getComputedStyle(root.closest(".card")).backgroundColor;
    svg.append(svgElement("rect", { x: -MARGIN, y: -MARGIN, width, height, fill: card }));
    for (const group of view.curves.querySelectorAll(".link")) {
      const line = getComputedStyle(group.lastElementChild);
      const path = svgElement("path", {
        d: group.lastElementChild.getAttribute("d"),
        fill: "none",
        stroke: line.stroke,
        "stroke-width": parseFloat(line.strokeWidth),
        "stroke-linecap": "round",
        opacity: group.style.getPropertyValue("--strength"),
      });
      if (line.strokeDasharray !== "none") path.setAttribute("stroke-dasharray", line.strokeDasharray);
      svg.append(path);
    }
    for (const word of shownWords) {
      const text = svgElement("text", {
        x: word.offsetLeft + word.offsetWidth / 2,
        y: word.offsetTop + word.offsetHeight / 2,
        "text-anchor": "middle",
        "dominant-baseline": "central",
        fill: getComputedStyle(word).color,
        direction: "ltr",
      });
      text.textContent = word.textContent.replace(/[^\P{C}\p{Cf}]/gu, "\ufffd"); // XML has no control characters
      svg.append(text);
    }
    return svg;
  }

  /** Return a picture as pixels. @param {SVGSVGElement} svg @returns {Promise<Blob>} */
  async function pixels(svg) {
    const width = Number(svg.getAttribute("width"));
    const height = Number(svg.getAttribute("height"));
    const scale = Math.min(SCALE, LONGEST / width, LONGEST / height);
    const address = URL.createObjectURL(new Blob([serialised(svg)], { type: "image/svg+xml" }));
    try {
      const image = new Image();
      image.src = address;
      await image.decode();
      const canvas = Object.assign(document.createElement("canvas"), { width: width * scale, height: height * scale });
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      return await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
    } finally {
      URL.revokeObjectURL(address);
    }
  }

  function serialised(svg) {
    return new XMLSerializer().serializeToString(svg);
  }

  /** Let the browser save a file. @param {string} name @param {string | Blob} content */
  function save(name, content) {
    const address = URL.createObjectURL(
      content instanceof Blob ? content : new Blob([content], { type: "text/plain;charset=utf-8" }),
    );
    const anchor = Object.assign(document.createElement("a"), { href: address, download: name });
    anchor.click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  }

  /** Put text on the clipboard, also where browsers allow only the old way, and say so. @param {string} name of it */
  async function copy(text, name) {
    let isCopied = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      isCopied = document.execCommand("copy");
      area.remove();
    }
    if (isCopied) weft.app.say(`${name} is on the clipboard.`);
    else weft.app.complain(`${name} could not be copied: this browser forbids it.`);
  }

  weft.export = { pharaoh, gold, words, json, picture, pixels, serialised, save, copy };
})();
