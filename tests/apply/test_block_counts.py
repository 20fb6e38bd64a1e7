"""What is counted in a few sentences."""

from __future__ import annotations

import numpy as np
from given_words import aligned

from weft.apply.block_counts import EXAMPLE_BITS, PHRASE_PAIR, BlockCounts, count_block
from weft.apply.phrases import Stretches
from weft.text.counting import keys_of

PAIRS = [
    aligned("Das alte Haus .", "The old house .", "0-0:0.9 1-1 2-2:0.8 3-3"),
    aligned("das Haus steht", "the house", "0-0 1-1:0.6"),
    aligned("", "", ""),
]


def word_counts(block: BlockCounts) -> dict[tuple[str, str], int]:
    names = dict(zip(keys_of(block.words).tolist(), block.words, strict=True))
    return {(names[s], names[t]): count for s, t, count in block.word_pairs.tolist()}


def phrase_key(phrase: str) -> int:
    words = phrase.split()
    return int(Stretches(np.array([0]), np.array([len(words)])).keys(keys_of(words))[0])


def phrase(block: BlockCounts, source: str, target: str) -> list[dict[str, int]]:
    """The records of a phrase pair, given in lower case."""
    records = [dict(zip(PHRASE_PAIR.names or (), one.tolist(), strict=True)) for one in block.phrase_pairs]
    return [one for one in records if (one["source"], one["target"]) == (phrase_key(source), phrase_key(target))]


def test_linked_words_are_counted_as_they_are_written() -> None:
    assert word_counts(count_block(PAIRS, 1, 4)) == {
        ("Das", "The"): 1,
        ("das", "the"): 1,
        ("alte", "old"): 1,
        ("Haus", "house"): 2,
        (".", "."): 1,
        ("steht", "NULL"): 1,
    }
    assert word_counts(count_block([aligned("a", "b c", "0-1")], 1, 0)) == {("a", "c"): 1, ("NULL", "b"): 1}


def test_phrases_are_counted_by_form_with_their_weakest_links_and_places() -> None:
    block = count_block(PAIRS, 7, 4)
    (house,) = phrase(block, "haus", "house")
    assert (house["count"], house["weight"]) == (2, 1_400)
    article, other = phrase(block, "das", "the")
    assert article["form"] != other["form"] and article["count"] == other["count"] == 1
    (whole,) = phrase(block, "das alte haus", "the old house")
    assert (whole["count"], whole["weight"]) == (1, 800)
    places = [whole[name] for name in ("source_first", "source_words", "target_first", "target_words")]
    assert places == [0, 3, 0, 3]
    assert not phrase(block, "haus .", "house .")  # words without letters are in no phrase
    assert not phrase(count_block(PAIRS, 7, 2), "das alte haus", "the old house")


def test_the_example_is_the_line_that_a_reader_needs() -> None:
    long = aligned("das Haus " + "sehr " * 200, "the house", "0-0 1-1")
    good = aligned("x " * 25 + "das Haus", "y " * 25 + "the house", "25-25 26-26")
    block = count_block([long, PAIRS[1], good], 7, 4)
    (house,) = phrase(block, "haus", "house")
    start = house["example"] & (1 << EXAMPLE_BITS) - 1
    assert block.text[start:].decode().startswith("9\tx x ")
    assert (house["source_first"], house["target_first"]) == (26, 26)
    assert block.text.decode().split("\n")[1] == "8\tdas Haus steht\tthe house"


def test_text_is_kept_only_for_phrases() -> None:
    block = count_block(PAIRS, 1, 0)
    assert (block.text, len(block.phrase_pairs), len(block)) == (b"", 0, 3)
    assert count_block(PAIRS, 1, 4).lengths == (7, 6)
    assert len(count_block([], 1, 4)) == 0
    kept = count_block([aligned("a\tb\nc", "d", "0-0")], 1, 4)
    assert kept.text == b"1\ta b c\td\n"
