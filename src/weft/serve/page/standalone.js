/**
 * The page that `weft align --format html` writes: text of many pairs, each of which is drawn when it comes into sight.
 */
"use strict";
(() => {
  const weft = (globalThis.weft ??= {});
  const { element } = weft.dom;

  const AHEAD = "800px"; // below the window, in which pairs are drawn already

  /** Return numbers that belong together, such as `0-3 4-8`. @returns {number[][]} */
  const numbers = (text) =>
    text
      .split(" ")
      .filter(Boolean)
      .map((group) => group.split(/[-:]/).map(Number));

  /** @returns {weft.view.Sentence} */
  function sentence(paragraph, spans) {
    const text = paragraph.textContent;
    const places = weft.offsets.toStringSpans(text, numbers(spans));
    return { text, spans: places, words: places.map(([start, end]) => text.slice(start, end)) };
  }

  /** Draw a pair in place of its text. @param {HTMLElement} section */
  function draw(section) {
    const paragraphs = section.querySelectorAll("p");
    const source = sentence(paragraphs[0], section.dataset.source);
    const target = sentence(paragraphs[1], section.dataset.target);
    const links = numbers(section.dataset.links).map(([from, to, probability]) => ({
      source: from,
      target: to,
      probability,
      mark: "sure",
      difference: "",
    }));
    const host = element("div");
    paragraphs[0].replaceWith(host);
    paragraphs[1].remove();
    new weft.view.View(host).show(source, target, links);
    section.append(matrix(source, target, links));
  }

  /** Return the heat map of a pair, which is drawn when it is opened. */
  function matrix(source, target, links) {
    const summary = Object.assign(element("summary"), { textContent: "Matrix" });
    const details = element("details", {}, summary);
    const probability = new Float32Array(source.words.length * target.words.length);
    for (const link of links) probability[link.source * target.words.length + link.target] = link.probability;
    details.addEventListener("toggle", () => {
      if (details.childElementCount === 1)
        new weft.heatmap.Heatmap(details).show(source, target, { probability }, links);
    });
    return details;
  }

  addEventListener("DOMContentLoaded", () => {
    const observer = new IntersectionObserver(
      (entries) => {
        for (const { isIntersecting, target } of entries) {
          if (!isIntersecting) continue;
          observer.unobserve(target);
          draw(target);
        }
      },
      { rootMargin: AHEAD },
    );
    for (const section of document.querySelectorAll(".pair")) observer.observe(section);
  });
})();
