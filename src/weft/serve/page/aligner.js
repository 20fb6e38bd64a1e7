/**
 * The small aligner: two sentences in, links between their words out.
 *
 * A port of weft/align/onnx_aligner.py for one pair at a time. The graphs are those that Python runs
 * (weft/align/onnx_graph.py); onnxruntime runs them in WebAssembly, in one thread.
 */
(() => {
  const weft = (globalThis.weft ??= {});
  const END = 1; // the piece that ends every sentence
  const STEP = 8; // sentences are padded to a multiple of this to compare them
  const COMPARE = "compare";
  const OPTIONS = { executionProviders: ["wasm"], enableMemPattern: false };

  /** What is computed last: the runtime does one thing at a time. */
  let last = Promise.resolve();

  /** Tell onnxruntime how to start, which it does once, when the first session is made. */
  function prepareRuntime(glue, binary) {
    if (ort.env.wasm.wasmBinary) return;
    ort.env.wasm.numThreads = 1;
    ort.env.wasm.wasmBinary = binary;
    // A page that is opened from disk cannot import a module from there.
    ort.env.wasm.wasmPaths = { mjs: URL.createObjectURL(new Blob([glue], { type: "text/javascript" })) };
    ort.env.logLevel = "error";
  }

  /**
   * The alignment of a sentence pair. Matrices are between words (source × target): the probabilities of links, and the
   * attention of both directions, of which they are the mean.
   *
   * @typedef {{source: weft.words.Sentence, target: weft.words.Sentence, matrix: Float32Array, forward: Float32Array,
   *   backward: Float32Array, links: weft.links.Link[], score: number}} Alignment
   */

  /** What is thrown if a sentence has more pieces than the model takes. */
  class TooLong extends Error {}

  class Aligner {
    /**
     * @param {weft.subwords.Subwords} subwords
     * @param {Object<string, ort.InferenceSession>} sessions by the name of their graphs
     * @param {Object<string, {rows: Int8Array, scales: Float32Array}>} tables embeddings, by the name of their encoder
     * @param {{threshold: number, mostPieces: number}} limits of a link's probability and a sentence's length
     */
    constructor(subwords, sessions, tables, { threshold, mostPieces }) {
      Object.assign(this, { subwords, sessions, tables, threshold, mostPieces });
    }

    /**
     * Align two sentences. Without a word on one side, there are no links.
     *
     * @param {weft.words.Sentence} source
     * @param {weft.words.Sentence} target
     * @returns {Promise<Alignment>}
     */
    align(source, target) {
      const next = last.then(() => this.alignNow(source, target));
      last = next.catch(() => {});
      return next;
    }

    async alignNow(source, target) {
      const [rows, columns] = [source.words.length, target.words.length];
      const sides = [source, target].map((sentence) => this.subwords.encode(sentence));
      for (const { ids } of sides) {
        if (ids.length > this.mostPieces) throw new TooLong(describeTooLong(ids.length, this.mostPieces));
      }
      if (sides.some(({ ids }) => !ids.length)) {
        const [matrix, forward, backward] = [0, 1, 2].map(() => new Float32Array(rows * columns));
        return { source, target, matrix, forward, backward, links: [], score: 0 };
      }
      const attention = await this.attend(...sides);
      const between = weft.links.betweenWords(attention, ...sides, rows, columns);
      const links = weft.links.fromMatrix(between.matrix, this.threshold, columns);
      return { source, target, ...between, links, score: weft.links.score(attention, ...sides) };
    }

    /** @returns {Promise<weft.links.Attention>} the attention between the pieces of two sentences */
    async attend(source, target) {
      const encoders = Object.keys(this.tables); // one, or one for each side
      const states = [await this.encode(encoders[0], source.ids), await this.encode(encoders.at(-1), target.ids)];
      const width = states[0].dims[2];
      const [sourceLength, targetLength] = states.map(({ dims }) => dims[1]);
      const all = new Float32Array((sourceLength + targetLength) * width);
      all.set(states[0].data);
      all.set(states[1].data, states[0].data.length);
      const { forward, backward } = await this.sessions[COMPARE].run({
        states: new ort.Tensor("float32", all, [sourceLength + targetLength, width]),
        source: rowsOfStates(0, sourceLength),
        target: rowsOfStates(sourceLength, targetLength),
      });
      return { forward: forward.data, backward: backward.data, sourceLength: padded(sourceLength) };
    }

    /**
     * Encode a sentence. The graph is given those rows of the table that it needs: all of them would be copied each time.
     *
     * @param {string} encoder
     * @param {number[]} ids
     * @returns {Promise<ort.Tensor>} (1, pieces, width)
     */
    async encode(encoder, ids) {
      const { rows, scales } = this.tables[encoder];
      const width = rows.length / scales.length;
      const pieces = [...ids, END];
      const table = new Int8Array(pieces.length * width);
      pieces.forEach((id, place) => table.set(rows.subarray(id * width, (id + 1) * width), place * width));
      const name = `${encoder}.embedding.words.weight`;
      const { states } = await this.sessions[encoder].run({
        ids: integers(pieces.map((_, place) => place)),
        [name]: new ort.Tensor("int8", table, [pieces.length, width]),
        [`${name}.scale`]: new ort.Tensor("float32", Float32Array.from(pieces, (id) => scales[id]), [pieces.length, 1]),
      });
      return states;
    }
  }

  /** @returns {ort.Tensor} which states are those of a sentence, padded with −1 (1, length) */
  function rowsOfStates(start, length) {
    return integers(Array.from({ length: padded(length) }, (_, place) => (place < length ? start + place : -1)));
  }

  const padded = (length) => Math.ceil(length / STEP) * STEP;
  const integers = (values) => new ort.Tensor("int64", BigInt64Array.from(values, BigInt), [1, values.length]);
  const describeTooLong = (pieces, most) =>
    `a sentence of ${pieces.toLocaleString("en")} pieces, but the model's limit is ${most.toLocaleString("en")}; split it`;

  /**
   * Load the model of the page. What is loaded already is not loaded again.
   *
   * @param {{fast?: boolean, onProgress?: (share: number) => void}} [options] `fast`: use the fast encoders, if the
   *   model has some. `onProgress` is called with the share of the files that is there, from 0 to 1.
   * @returns {Promise<Aligner>}
   */
  async function load({ fast = true, onProgress } = {}) {
    const { encoders, hasFast, text } = weft.manifest;
    const size = fast && hasFast ? "fast" : "accurate";
    const graphs = [...encoders, COMPARE];
    const names = [
      "runtime.mjs",
      "runtime.wasm",
      "subwords",
      ...graphs.map((graph) => `${size}.${graph}`),
      ...encoders.flatMap((encoder) => [`${encoder}.rows`, `${encoder}.scales`]),
    ];
    const contents = await weft.files.read(names, onProgress);
    const content = Object.fromEntries(names.map((name, number) => [name, contents[number]]));
    prepareRuntime(content["runtime.mjs"], content["runtime.wasm"]);
    const sessions = {};
    for (const graph of graphs) {
      sessions[graph] = await ort.InferenceSession.create(content[`${size}.${graph}`], OPTIONS);
    }
    const tables = Object.fromEntries(encoders.map((encoder) => [
      encoder,
      {
        rows: new Int8Array(content[`${encoder}.rows`].buffer),
        scales: new Float32Array(content[`${encoder}.scales`].buffer),
      },
    ]));
    const subwords = new weft.subwords.Subwords(new Uint32Array(content.subwords.buffer), text);
    return new Aligner(subwords, sessions, tables, weft.manifest);
  }

  weft.aligner = { load, TooLong };
})();
