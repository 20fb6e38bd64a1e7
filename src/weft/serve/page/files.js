/**
 * The binary files of the page: the runtime and the model.
 *
 * A page that is opened from disk may load scripts but not read files, so `weft page` writes every file as scripts
 * (weft/serve/page_files.py): compressed by gzip, and in seven bits, for text in UTF-8 that has 128 characters of one
 * byte. Of these, five are not allowed in a string or are not safe there. One of them and what follows it are
 * written together, as one character of two bytes: nothing is lost. `data/manifest.js` says what there is.
 */
(() => {
  const weft = (globalThis.weft ??= {});
  const NOT_ALLOWED = [0, 10, 13, 34, 92]; // zero, line feed, carriage return, quote, backslash
  const ASCII = 128;

  /** What scripts have brought, by address. */
  const packed = {};

  /** Files that were asked for, by name. @type {Map<string, Promise<Uint8Array>>} */
  const files = new Map();

  /** Load the script at an address. */
  function loadScript(address) {
    return new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = address;
      script.onload = () => resolve(script.remove());
      script.onerror = () => reject(new Error(`${address} cannot be loaded; is the folder of the page complete?`));
      document.head.append(script);
    });
  }

  /** Return the first `length` bytes that a text in seven bits stands for. */
  function unpack(text, length) {
    const bytes = new Uint8Array(length);
    let [waiting, bits, place] = [0, 0, 0];
    const add = (seven) => {
      waiting = (waiting << 7) | seven;
      bits += 7;
      if (bits >= 8) {
        bits -= 8;
        bytes[place++] = waiting >> bits;
        waiting &= (1 << bits) - 1;
      }
    };
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index);
      if (code >= ASCII) add(NOT_ALLOWED[(code - ASCII) >> 7]);
      add(code % ASCII);
    }
    return bytes;
  }

  async function decompress(bytes) {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  async function readOne(name, onCharacters) {
    const { bytes, characters, parts } = weft.manifest.files[name];
    const loaded = parts.map(async (address) => {
      await loadScript(address);
      onCharacters(packed[address]?.length ?? 0);
    });
    await Promise.all(loaded);
    const text = parts.map((address) => packed[address]).join("");
    parts.forEach((address) => delete packed[address]);
    if (text.length !== characters) throw new Error(`${parts[0]} is damaged, or is not served as UTF-8`);
    return decompress(unpack(text, bytes));
  }

  /**
   * Read files, each once.
   *
   * @param {string[]} names
   * @param {(share: number) => void} [onProgress] called with the share of the files that is there, from 0 to 1
   * @returns {Promise<Uint8Array[]>}
   */
  async function read(names, onProgress = () => {}) {
    const missing = names.filter((name) => !files.has(name));
    const all = missing.reduce((total, name) => total + weft.manifest.files[name].characters, 0);
    let there = 0;
    const onCharacters = (characters) => onProgress((there += characters) / all);
    for (const name of missing) {
      const file = readOne(name, onCharacters);
      file.catch(() => files.delete(name)); // so that it can be tried again
      files.set(name, file);
    }
    const contents = await Promise.all(names.map((name) => files.get(name)));
    onProgress(1); // they may have been there already
    return contents;
  }

  weft.files = { packed, read };
})();
