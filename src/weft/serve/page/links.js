/**
 * Make links between words from the attention between their pieces.
 *
 * A port of weft/align/attention_to_links.py for one sentence pair, in numbers of 32 bits as there.
 */
(() => {
  const weft = (globalThis.weft ??= {});
  const SURE = Math.fround(0.7); // a probability from which words need not compete
  const BESIDE = 0.6; // the part of the threshold that is enough beside a link

  /** @typedef {[number, number, number]} Link source word, target word, probability */

  /**
   * Return the links between words, sorted.
   *
   * What is nearly sure is a link. For the rest, words compete: two are linked if each is the other's most probable
   * choice among those that are open to it. Words that have no link yet are open to each other from `threshold` on. So
   * are a word that has no link and one that has, if their link would touch another one, for words of a phrase share
   * their links; a part of `threshold` is enough if it would stand beside that link in its row or column. This is
   * repeated until nothing is left to choose.
   *
   * @param {Float32Array} matrix probabilities (source words × target words)
   * @param {number} threshold
   * @param {number} columns how many target words there are
   * @returns {Link[]}
   */
  function fromMatrix(matrix, threshold, columns) {
    const rows = columns ? matrix.length / columns : 0;
    const [high, likely] = [Math.fround(threshold), Math.fround(BESIDE * threshold)];
    const isLinked = new Uint8Array(matrix.length);
    const [linkedRows, linkedColumns] = [new Uint8Array(rows), new Uint8Array(columns)];
    const link = (cell) => {
      isLinked[cell] = linkedRows[rowOf(cell)] = linkedColumns[cell % columns] = 1;
    };
    const rowOf = (cell) => Math.floor(cell / columns);
    /** Whether one of the cells around one is a link, at these distances. */
    const touches = (cell, distances) => {
      const [row, column] = [rowOf(cell), cell % columns];
      return distances.some(([down, right]) => {
        const [otherRow, otherColumn] = [row + down, column + right];
        const isInside = otherRow >= 0 && otherRow < rows && otherColumn >= 0 && otherColumn < columns;
        return isInside && isLinked[otherRow * columns + otherColumn];
      });
    };
    const isOpen = (cell) => {
      const [ofRow, ofColumn] = [linkedRows[rowOf(cell)], linkedColumns[cell % columns]];
      const isHigh = matrix[cell] >= high;
      if (!ofRow && !ofColumn) return isHigh;
      return ofRow !== ofColumn && (touches(cell, BESIDE_IT) || (isHigh && touches(cell, CORNERS)));
    };

    const competing = [];
    matrix.forEach((probability, cell) => {
      if (probability >= high && probability >= SURE) link(cell);
      else if (probability >= likely && probability > 0) competing.push(cell);
    });
    for (;;) {
      const open = competing.filter(isOpen);
      const [bestOfRow, bestOfColumn] = [new Float32Array(rows), new Float32Array(columns)];
      for (const cell of open) {
        const [row, column] = [rowOf(cell), cell % columns];
        bestOfRow[row] = Math.max(bestOfRow[row], matrix[cell]);
        bestOfColumn[column] = Math.max(bestOfColumn[column], matrix[cell]);
      }
      const chosen = open.filter((cell) =>
        matrix[cell] === bestOfRow[rowOf(cell)] && matrix[cell] === bestOfColumn[cell % columns]);
      if (!chosen.length) break;
      chosen.forEach(link);
    }
    return Array.from(isLinked.keys()).filter((cell) => isLinked[cell])
      .map((cell) => [rowOf(cell), cell % columns, matrix[cell]]);
  }

  const BESIDE_IT = [[0, -1], [0, 1], [-1, 0], [1, 0]];
  const CORNERS = [[-1, -1], [-1, 1], [1, -1], [1, 1]];

  /**
   * Attention between pieces, (target, source), both sides perhaps padded.
   *
   * @typedef {{forward: Float32Array, backward: Float32Array, sourceLength: number}} Attention
   *
   * Return what both directions say about each two words, and their mean: the probability of a link.
   *
   * @param {Attention} attention
   * @param {weft.subwords.Pieces} source
   * @param {weft.subwords.Pieces} target
   * @param {number} rows how many source words there are
   * @param {number} columns how many target words there are
   * @returns {{forward: Float32Array, backward: Float32Array, matrix: Float32Array}} (source words × target words)
   */
  function betweenWords(attention, source, target, rows, columns) {
    const [sources, targets] = [piecesOfWords(source, rows), piecesOfWords(target, columns)];
    const cell = (direction, targetPiece, sourcePiece) => direction[targetPiece * attention.sourceLength + sourcePiece];
    const forward = new Float32Array(rows * columns);
    const backward = new Float32Array(rows * columns);
    sources.forEach((ofSource, row) => {
      targets.forEach((ofTarget, column) => {
        const place = row * columns + column;
        forward[place] = greatest(ofTarget, (one) => sum(ofSource, (other) => cell(attention.forward, one, other)));
        backward[place] = greatest(ofSource, (one) => sum(ofTarget, (other) => cell(attention.backward, other, one)));
      });
    });
    const mean = (there, place) => Math.min(Math.fround(there + backward[place]) / 2, 1); // rounding may go beyond 1
    return { forward, backward, matrix: forward.map(mean) };
  }

  /** @returns {number} how well two sentences fit: the strongest cell of each piece, mean over both sides */
  function score(attention, source, target) {
    const [rows, columns] = [source.ids.length, target.ids.length];
    const [bestOfSource, bestOfTarget] = [new Float32Array(rows), new Float32Array(columns)];
    for (let piece = 0; piece < columns; piece++) {
      for (let other = 0; other < rows; other++) {
        const place = piece * attention.sourceLength + other;
        const strength = (attention.forward[place] + attention.backward[place]) / 2;
        bestOfSource[other] = Math.max(bestOfSource[other], strength);
        bestOfTarget[piece] = Math.max(bestOfTarget[piece], strength);
      }
    }
    const total = [...bestOfSource, ...bestOfTarget].reduce((one, other) => one + other, 0);
    return total / Math.max(rows + columns, 1);
  }

  /** @returns {number[][]} the places of the pieces of each word */
  function piecesOfWords(pieces, words) {
    const found = Array.from({ length: words }, () => []);
    pieces.ids.forEach((_, place) => {
      for (let word = pieces.first[place]; word <= pieces.last[place]; word++) found[word].push(place);
    });
    return found;
  }

  const sum = (places, value) => places.reduce((total, place) => Math.fround(total + value(place)), 0);
  const greatest = (places, value) => places.reduce((most, place) => Math.max(most, value(place)), 0);

  weft.links = { betweenWords, fromMatrix, score };
})();
