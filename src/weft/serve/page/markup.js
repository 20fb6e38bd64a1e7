/**
 * Inline markup of one segment: its text, its elements and their places, every tag as it is written.
 *
 * Nothing is interpreted: no entity but characters is expanded, nothing is loaded, and what is not understood is text.
 * Time is linear in the length of the segment. A port of weft/apply/markup.py.
 *
 * @typedef {"html" | "xml" | "xliff" | "markdown"} TagHandling
 * what is markup: tags of HTML, of XML, or of XLIFF and TMX, whose inline elements may hold code; or Markdown
 *
 * @typedef {object} Marked a segment
 * @property {string} text without markup
 * @property {Element[]} elements in the order of their first tags
 * @property {string} written the segment without its tags, with its entities
 * @property {number[] | null} places in `written` of each character, and of the end; null if both texts are the same
 */
"use strict";
(() => {
  const weft = (globalThis.weft ??= {});
  const { SPACE, WORD, ALPHANUMERIC, LETTER, isSpace } = weft.characters;
  const { listOf } = weft.collections;

  const NAME = `[${LETTER}_][${WORD}:.-]*`;
  const ATTRIBUTES = `(?=[${SPACE}/>])(?:[^"'<>/]|"[^"]*"|'[^']*'|/(?!>))*`;
  const TAG = `<(?<close>/?)(?<name>${NAME})(?<attributes>${ATTRIBUTES})(?<empty>/?)>`;
  const ENDS = { "<!--": "-->", "<?": "?>", "<![CDATA[": "]]>" }; // of comments, instructions and plain text
  const BEGIN = "(?<begin><!--|<\\?|<!\\[CDATA\\[)";
  const ENTITY = `&(?<entity>#\\p{Nd}{1,7}|#[xX][0-9a-fA-F]{1,6}|[${LETTER}_][${WORD}:.-]{0,63});`;
  const XML = new RegExp(`${TAG}|${BEGIN}|<![A-Za-z][^<>]*>|${ENTITY}`, "gu");
  const ADDRESS = `\\]\\([^()${SPACE}]*(?:[ \\t]+"[^"\\n]*")?\\)`; // of a link, with its title
  const MARKDOWN = new RegExp(
    `(?<image>!\\[[^\\[\\]\\n]*${ADDRESS})|(?<link>\\[)(?=[^\\[\\]\\n]+${ADDRESS})|(?<address>${ADDRESS})` +
      "|(?<code>`+)|(?<mark>\\*+|~~|_+)|\\\\[!-/:-@\\[-`{-~]",
    "gu",
  );
  const OPENS = new RegExp(`(?:[*~]+|(?<![${ALPHANUMERIC}])_+)(?=[^${SPACE}])`, "uy");
  const CLOSES = new RegExp(`(?<=[^${SPACE}])(?:[*~]+|_+(?![${ALPHANUMERIC}]))`, "uy");
  // What stands for something that a program puts in: {0}, {{name}}, ${name}, %s, %1$d.
  const PLACEHOLDER = new RegExp(
    `\\{\\{[^{}]*\\}\\}|\\$?\\{[^{}${SPACE}]*\\}` +
      `|(?<![${WORD}%])%(?:\\([^()${SPACE}]*\\)|\\p{Nd}+\\$)?\\p{Nd}*(?:\\.\\p{Nd}+)?l{0,2}[sdifuxXcg@]` +
      `(?![${ALPHANUMERIC}])`,
    "gu",
  );

  // Elements of HTML that are a tag alone.
  const VOID = new Set("area base br col embed hr img input link meta param source track wbr".split(" "));
  const CODE = new Set("bpt ept it ph ut x bx ex sc ec sm em cp".split(" ")); // of XLIFF and TMX: content is not text
  const BEGINNINGS = new Map(Object.entries({ bpt: "ept", bx: "ex", sc: "ec", sm: "em" }));
  const ENDINGS = new Set(BEGINNINGS.values()); // of spans whose beginnings and ends are elements of their own
  const REFERENCE = new RegExp(
    `(?<![${WORD}])(startRef|rid|id|i|pos|isolated)[${SPACE}]*=[${SPACE}]*(?:"([^"]*)"|'([^']*)')`,
    "gu",
  );
  const SIDES = new Map(Object.entries({ begin: "right", open: "right", end: "left", close: "left" }));
  const UNKNOWN = "\ufffd"; // stands for a character
  const MOST_TAGS = 10_000;

  /**
   * Split a segment into text and elements.
   * @param {string} segment
   * @param {TagHandling} [handling]
   * @param {string[]} [ignoreTags] elements that are taken as they are with all that they contain, which is no text
   * @param {string | null} [translation] placeholders such as {0} and %s are elements if they are missing in its text,
   *   otherwise text
   * @returns {Marked}
   */
  function parseMarkup(segment, handling = "html", ignoreTags = [], translation = null) {
    const known = translation === null ? null : new Set(translation.match(PLACEHOLDER));
    const reader = new Reader(segment, handling, new Set(ignoreTags), known);
    if (handling === "markdown") reader.readMarkdown();
    else reader.readXml();
    return reader.marked();
  }

  /**
   * Return where a character of the text is written.
   * @param {Marked} marked
   * @param {number} character
   */
  const writtenPlace = (marked, character) => (marked.places === null ? character : marked.places[character]);

  /** Collects text and tags of a segment. */
  class Reader {
    #segment;
    #handling;
    #ignored;
    #known; // placeholders that are text; null: all are
    #texts = []; // [text, how it is written][]
    #length = 0;
    #tags = [];
    #endless = new Set(); // beginnings whose ends are not there
    #ends = new Map(); // of elements whose content is no text: by name, of each beginning

    constructor(segment, handling, ignored, known) {
      this.#segment = segment;
      this.#handling = handling;
      this.#ignored = ignored;
      this.#known = known;
    }

    #add(text, written = text) {
      if (text || written) {
        this.#texts.push([text, written]);
        this.#length += text.length;
      }
    }

    #addText(start, end) {
      const text = this.#segment.slice(start, end);
      let last = 0;
      for (const match of this.#known === null ? [] : text.matchAll(PLACEHOLDER)) {
        if (this.#known.has(match[0])) continue;
        this.#add(text.slice(last, match.index));
        last = match.index + match[0].length;
        const [before, after] = [text[match.index - 1], text[last]].map((one) => (isSpace(one) ? " " : ""));
        this.#tag(before + match[0] + after, "alone");
      }
      this.#add(text.slice(last));
    }

    #tag(raw, kind, { partner = "", crosses = false, leans = "both" } = {}) {
      if (this.#tags.length === MOST_TAGS) {
        throw new Error(`a segment with more than ${MOST_TAGS.toLocaleString("en")} tags: is it one sentence?`);
      }
      this.#tags.push({ raw, place: this.#length, kind, partner, crosses, leans });
    }

    readXml() {
      const segment = this.#segment;
      let last = 0;
      for (let place = 0; ; ) {
        const match = searchFrom(XML, segment, place);
        if (match === null) break;
        const end = match.index + match[0].length;
        const { begin, name, entity } = match.groups;
        place = end;
        if (begin) {
          const stop = this.#endless.has(begin) ? -1 : segment.indexOf(ENDS[begin], place);
          if (stop < 0) {
            this.#endless.add(begin);
            continue;
          }
          place = stop + ENDS[begin].length;
        }
        this.#addText(last, match.index);
        if (name) place = this.#readTag(match);
        else if (entity) this.#add(this.#character(match[0]), match[0]);
        else if (begin === "<![CDATA[") this.#addData(segment.slice(end, place - "]]>".length));
        else this.#tag(segment.slice(match.index, place), "alone");
        last = place;
      }
      this.#addText(last, segment.length);
    }

    /** Return what an entity most likely stands for. Nothing but where words begin and end depends on it. */
    #character(entity) {
      const character = weft.entities.unescape(entity);
      return character === entity && this.#handling !== "html" ? UNKNOWN : character;
    }

    /** Add text that is written without entities. It is written with them from now on, as tags may come into it. */
    #addData(data) {
      const escaped = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
      for (const part of data.split(/([&<>])/)) this.#add(part, escaped[part] ?? part);
    }

    /** Take a tag, or a whole element whose content is no text. Returns where it ends. */
    #readTag(match) {
      const { close, attributes, empty } = match.groups;
      const name = this.#handling === "html" ? match.groups.name.toLowerCase() : match.groups.name;
      const isCode = this.#handling === "xliff" && CODE.has(name);
      const isVoid = this.#handling === "html" && VOID.has(name);
      let end = match.index + match[0].length;
      if ((isCode || this.#ignored.has(name)) && !close && !empty) {
        if (!this.#ends.has(name)) this.#ends.set(name, endsOfElements(this.#segment, name));
        end = this.#ends.get(name).get(end) ?? end; // what is not closed is a tag alone
      }
      const raw = this.#segment.slice(match.index, end);
      if (isCode) this.#readCode(raw, name, attributes);
      else if (close) this.#tag(raw, "close", { partner: name });
      else if (empty || this.#ignored.has(name) || isVoid) this.#tag(raw, "alone");
      else this.#tag(raw, "open", { partner: name });
      return end;
    }

    #readCode(raw, name, attributes) {
      const found = new Map([...attributes.matchAll(REFERENCE)].map((one) => [one[1], one[2] || one[3] || ""]));
      const number = found.get("rid") || found.get("i") || found.get("id") || "";
      const isIsolated = found.get("isolated") === "yes";
      if (BEGINNINGS.has(name) && !isIsolated) {
        this.#tag(raw, "open", { partner: `${BEGINNINGS.get(name)} ${number}`, crosses: true });
      } else if (ENDINGS.has(name) && !isIsolated) {
        this.#tag(raw, "close", { partner: `${name} ${found.get("startRef") || number}`, crosses: true });
      } else if (name === "cp") {
        this.#add(UNKNOWN, raw); // a character that XML cannot have
      } else {
        this.#tag(raw, "alone", { leans: SIDES.get(found.get("pos")) ?? "both" });
      }
    }

    readMarkdown() {
      let last = 0;
      for (const { match, kind, partner } of markdownTags(this.#segment)) {
        this.#addText(last, match.index);
        last = match.index + match[0].length;
        if (kind === null) this.#add(match[0][1], match[0]); // an escaped character
        else this.#tag(match[0], kind, { partner });
      }
      this.#addText(last, this.#segment.length);
    }

    /** Return the segment, with the tags of each element together. */
    marked() {
      const text = this.#texts.map(([one]) => one).join("");
      const written = this.#texts.map(([, other]) => other).join("");
      const elements = weft.elements.joinTags(this.#tags, text);
      if (text === written) return { text, elements, written, places: null };
      const places = [];
      let size = 0;
      for (const [one, other] of this.#texts) {
        for (let place = 0; place < one.length; place += 1) places.push(one === other ? size + place : size);
        size += other.length;
      }
      places.push(size);
      return { text, elements, written, places };
    }
  }

  /**
   * Return the first match of an expression from a place on.
   * @param {RegExp} expression with the flag g, or y for a match at the place itself
   * @param {string} text
   * @param {number} place
   */
  function searchFrom(expression, text, place) {
    expression.lastIndex = place;
    return expression.exec(text);
  }

  /**
   * Return where each element of a name ends, by the end of its opening tag; elements of its name may be inside.
   * @param {string} segment
   * @param {string} name
   * @returns {Map<number, number>}
   */
  function endsOfElements(segment, name) {
    const anyCase = name.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&").replace(/i/gi, "[iıİ]"); // as Python does it
    const tag = new RegExp(`<(/?)${anyCase}${ATTRIBUTES}(/?)>`, "giu");
    const found = new Map();
    const opened = [];
    for (const match of segment.matchAll(tag)) {
      const end = match.index + match[0].length;
      if (match[1] && opened.length) found.set(opened.pop(), end);
      else if (!match[1] && !match[2]) opened.push(end);
    }
    return found;
  }

  /**
   * Return what is markup in Markdown: its place, its kind and what its partner has in common.
   * @param {string} segment
   * @returns {{match: RegExpExecArray, kind: "open" | "close" | "alone" | null, partner: string}[]}
   *   a kind of null: an escaped character
   */
  function markdownTags(segment) {
    const matches = [...segment.matchAll(MARKDOWN)];
    const codeEnds = new Map(); // numbers of matches
    matches.forEach((match, number) => match.groups.code && listOf(codeEnds, match[0]).push(number));
    codeEnds.forEach((numbers) => numbers.reverse()); // the next one is the last of its list
    const found = [];
    const opened = new Map();
    let afterCode = 0;
    matches.forEach((match, number) => {
      const form = Object.keys(match.groups).find((name) => match.groups[name] !== undefined);
      const mark = match[0];
      const partner = form === "address" ? "[" : mark;
      if (number < afterCode) return; // inside code, everything is text
      if (form === "code") {
        const ends = codeEnds.get(mark);
        while (ends.length && ends.at(-1) <= number) ends.pop();
        if (ends.length) {
          found[number] = { match, kind: "open", partner };
          found[ends.at(-1)] = { match: matches[ends.at(-1)], kind: "close", partner };
          afterCode = ends.at(-1) + 1;
        }
      } else if (listOf(opened, partner).length && (form === "address" || searchFrom(CLOSES, segment, match.index))) {
        const first = opened.get(partner).pop();
        found[first] = { match: matches[first], kind: "open", partner };
        found[number] = { match, kind: "close", partner };
      } else if (form === "link" || (form === "mark" && searchFrom(OPENS, segment, match.index))) {
        opened.get(partner).push(number);
      } else if (form === "image" || form === undefined) {
        found[number] = { match, kind: form ? "alone" : null, partner: "" };
      }
    });
    return found.filter(Boolean);
  }

  weft.markup = { parseMarkup, writtenPlace };
})();
