/** What Python has in its library: sorted lists (bisect), what waits (heapq), lists by keys (defaultdict). */
"use strict";
(() => {
  const weft = (globalThis.weft ??= {});

  /**
   * Return how many numbers of a sorted list are less than one; only those from `first` to before `last` are looked at.
   * @param {number[]} sorted
   * @param {number} wanted
   */
  function bisectLeft(sorted, wanted, first = 0, last = sorted.length) {
    while (first < last) {
      const middle = (first + last) >> 1;
      if (sorted[middle] < wanted) first = middle + 1;
      else last = middle;
    }
    return first;
  }

  /**
   * Return how many numbers of a sorted list are not greater than one; the rest as in `bisectLeft`.
   * @param {number[]} sorted
   * @param {number} wanted
   */
  function bisectRight(sorted, wanted, first = 0, last = sorted.length) {
    while (first < last) {
      const middle = (first + last) >> 1;
      if (wanted < sorted[middle]) last = middle;
      else first = middle + 1;
    }
    return first;
  }

  /**
   * Compare lists of numbers by the first that differ, for `sort`.
   * @param {number[]} one
   * @param {number[]} other of the same length
   */
  function compareLists(one, other) {
    const place = one.findIndex((value, number) => value !== other[number]);
    return place < 0 ? 0 : one[place] < other[place] ? -1 : 1;
  }

  /** Items that wait, of which the one with the least key comes first: a heap. Keys are lists of numbers. */
  class Waiting {
    #heap = [];

    get size() {
      return this.#heap.length;
    }

    /** @param {number[]} key */
    push(key, item) {
      const heap = this.#heap;
      const entry = { key, item };
      let place = heap.push(entry) - 1;
      while (place > 0) {
        const above = (place - 1) >> 1;
        if (compareLists(heap[above].key, key) <= 0) break;
        heap[place] = heap[above];
        place = above;
      }
      heap[place] = entry;
    }

    /** Take out the item that comes first, and return it. */
    pop() {
      const heap = this.#heap;
      const first = heap[0];
      const entry = heap.pop();
      if (heap.length === 0) return first.item;
      let place = 0;
      for (;;) {
        let below = 2 * place + 1;
        if (below >= heap.length) break;
        if (below + 1 < heap.length && compareLists(heap[below + 1].key, heap[below].key) < 0) below += 1;
        if (compareLists(entry.key, heap[below].key) <= 0) break;
        heap[place] = heap[below];
        place = below;
      }
      heap[place] = entry;
      return first.item;
    }
  }

  /**
   * Return the list of a key, a new one if there was none.
   * @template Key, Value
   * @param {Map<Key, Value[]>} lists
   * @param {Key} key
   * @returns {Value[]}
   */
  function listOf(lists, key) {
    if (!lists.has(key)) lists.set(key, []);
    return lists.get(key);
  }

  weft.collections = { bisectLeft, bisectRight, compareLists, Waiting, listOf };
})();
