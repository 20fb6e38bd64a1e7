"""Files of word probabilities, beside a count of the same."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from given_words import aligned

from weft.align.alignment import Alignment
from weft.apply.block_counts import count_block
from weft.apply.word_probabilities import WordCounts
from weft.progress import Progress
from weft.text.words import Sentence


def written(blocks: list[list[Alignment]], folder: Path) -> tuple[list[str], list[str]]:
    counts = WordCounts(folder)
    for block in blocks:
        counts.add(count_block(block, 1, 0))
    counts.write(folder / "lex.s2t", folder / "lex.t2s", Progress(visible=False))
    forward, backward = ((folder / name).read_text("utf-8").splitlines() for name in ("lex.s2t", "lex.t2s"))
    return forward, backward


def test_probabilities_of_both_directions(tmp_path: Path) -> None:
    pairs = [aligned("das Haus", "the house", "0-0 1-1"), aligned("Haus da", "the house", "0-1 0-0")]
    forward, backward = written([pairs], tmp_path)
    assert sorted(forward) == [
        "NULL da 1.0000000",
        "house Haus 0.6666667",
        "the Haus 0.3333333",
        "the das 1.0000000",
    ]
    assert sorted(backward) == [
        "Haus house 1.0000000",
        "Haus the 0.5000000",
        "da NULL 1.0000000",
        "das the 0.5000000",
    ]


def test_words_that_are_called_null_are_those_without_links(tmp_path: Path) -> None:
    forward, _ = written([[aligned("NULL a", "b c", "0-0")]], tmp_path)
    assert sorted(forward) == ["NULL a 1.0000000", "b NULL 0.5000000", "c NULL 0.5000000"]


def test_a_word_with_a_space_inside_is_one_column(tmp_path: Path) -> None:
    arabic = Sentence.from_text("ل بيت كبير", raw=True)  # its preposition is written apart
    pair = Alignment(arabic, Sentence.from_text("house big", raw=True), {(0, 0): 1.0, (1, 1): 1.0})
    assert [sorted(lines) for lines in written([[pair]], tmp_path)] == [
        ["big كبير 1.0000000", "house لبيت 1.0000000"],
        ["كبير big 1.0000000", "لبيت house 1.0000000"],
    ]


@pytest.mark.parametrize("memory", ["all", "little"])
def test_large_counts_are_those_of_a_dictionary(memory: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if memory == "little":
        request.getfixturevalue("little_memory")
    generator = random.Random(1)
    blocks, counts = [], Counter[tuple[str, str]]()
    for _ in range(20):
        block = []
        for _ in range(5):
            source, target = ([f"{letter}{generator.randrange(40)}" for _ in range(6)] for letter in "sö")
            links = {(generator.randrange(6), generator.randrange(6)) for _ in range(6)}
            block.append(aligned(" ".join(source), " ".join(target), " ".join(f"{i}-{j}" for i, j in links)))
            counts.update((source[i], target[j]) for i, j in links)
            counts.update((word, "NULL") for i, word in enumerate(source) if i not in {i for i, _ in links})
            counts.update(("NULL", word) for j, word in enumerate(target) if j not in {j for _, j in links})
        blocks.append(block)
    totals = Counter[str]()
    for (word, _), count in counts.items():
        totals[word] += count
    forward, backward = written(blocks, tmp_path)
    single = np.float32  # as Marian computes
    expected = sorted(f"{t} {s} {single(count) / single(totals[s]):.7f}" for (s, t), count in counts.items())
    assert sorted(forward) == expected
    assert sorted(" ".join(line.split()[1::-1]) for line in backward) == sorted(line[:-10] for line in expected)
