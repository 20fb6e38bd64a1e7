"""How many words have their right translation first in a dictionary of weft lexicon?

    python benchmarks/dictionary_precision.py lexicon/dictionary.tsv corpus.de MUSE_dicos/de-en.5000-6500.{n,v,a,o}.txt

The hand-checked MUSE dictionaries are github.com/coastalcph/MUSE_dicos (nouns, verbs, adjectives, others; names and
what is no word are left out); they are not part of weft. Asked for are their words that the source side of the text
has, regardless of case; a word that the dictionary lacks counts as wrong. Translations of several words are passed
over, as MUSE has none. ``--half 0`` takes every other word, to choose settings by, ``--half 1`` the rest, to report.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict

from weft.text.reading import read_text
from weft.text.words import Sentence


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dictionary")
    parser.add_argument("text", help="source side of the text that the dictionary was made of")
    parser.add_argument("gold", nargs="+")
    parser.add_argument("--raw", action="store_true", help="the text is not split into words")
    parser.add_argument("--half", type=int, choices=(0, 1))
    arguments = parser.parse_args()

    gold: dict[str, set[str]] = defaultdict(set)
    for name in arguments.gold:
        for line in read_text(name):
            source, target = line.split()
            gold[source].add(target)
    words = {
        word.lower() for line in read_text(arguments.text) for word in Sentence.from_text(line, arguments.raw).words
    }
    asked = [word for number, word in enumerate(sorted(gold)) if word in words and arguments.half in (None, number % 2)]
    found: dict[str, list[str]] = defaultdict(list)
    for line in read_text(arguments.dictionary):
        source, target = line.lower().split("\t")[:2]
        if source in gold and " " not in target:
            found[source].append(target)

    def right(most: int) -> float:
        return round(100 * sum(bool(gold[word] & set(found[word][:most])) for word in asked) / len(asked), 1)

    result = {"words": len(asked), "without_entry": sum(not found[word] for word in asked)}
    print(json.dumps({**result, "right_at_1": right(1), "right_at_5": right(5)}))


if __name__ == "__main__":
    main()
