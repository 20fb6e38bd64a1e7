"""What all aligners share, with an aligner that links the first source word to the last target word."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable, Iterator

from given_pieces import listed

from weft.align.model_folder import shipped_models
from weft.align.windowed import Aligned, EncodedPair, Wanted, WindowedAligner, encode_pairs
from weft.config import TextConfig
from weft.text.subwords import Subwords
from weft.text.words import Sentence

SUBWORDS = Subwords.load(shipped_models()["ro-en"] / "tokenizer.json", TextConfig())


class Corners(WindowedAligner):
    """Links the first source word to the last target word, and gives a window back in reverse order."""

    def __init__(self, reverse: bool = False, ahead: int = 3) -> None:
        super().__init__(SUBWORDS, "mean", 0.5, raw=False, reverse=reverse, ahead=ahead)
        self.windows: list[int] = []

    def _align_encoded(self, encoded: Iterable[EncodedPair], wanted: Wanted) -> Iterator[Aligned]:
        window = list(encoded)
        self.windows.append(len(window))
        yield from (Aligned(pair, {(0, len(pair.target.ids) - 1): 1.0}, 0.5) for pair in reversed(window))


def pairs(read: list[int], *lengths: int) -> Iterator[tuple[str, str]]:
    """Pairs with so many words in their target; notes how many were read."""
    for number, length in enumerate(lengths):
        read.append(number)
        yield "a", " ".join("a" * length)


def test_order_is_kept_and_windows_are_read_ahead() -> None:
    aligner, read = Corners(), []
    found = aligner.align(pairs(read, 1, 2, 3, 4, 5))
    assert str(next(found)) == "0-0" and len(read) == 3
    assert [str(one) for one in found] == ["0-1", "0-2", "0-3", "0-4"] and aligner.windows == [3, 2]


def test_each_pair_is_answered_before_the_next_is_read() -> None:
    read: list[int] = []
    for number, _ in enumerate(Corners().align(pairs(read, 1, 2, 3), ahead=1)):
        assert read == list(range(number + 1))


def test_empty_and_long_pairs_have_their_places() -> None:
    told: list[tuple[int, int]] = []
    aligner = Corners()
    found = aligner.stream(pairs([], 1, 0, 2, 1, 2_000, 2), lambda index, pieces: told.append((index, pieces)))
    assert [str(one) for one in found] == ["0-0", "", "0-1", "0-0", "", "0-1"]
    assert told == [(4, 2_000)] and aligner.windows == [2, 2]


def test_reversed_text_has_reversed_links() -> None:
    (alignment,) = Corners(reverse=True).align([("a a a", "b")])  # the model's source is the second side
    assert alignment.links == {(2, 0)} and alignment.source.text == "a a a"


def test_pieces_know_their_words() -> None:
    (pair,) = encode_pairs([(Sentence.from_words(["a", "xyzzyxyzzy"]), Sentence.from_words(["b"]))], SUBWORDS)
    ids, first, last = listed(pair.source)
    assert pair.number == 0 and first[0] == 0 and set(first) == {0, 1} and len(ids) == len(first) > 2 and first == last


def test_a_text_that_is_far_too_long_takes_little_memory() -> None:
    text = Sentence.from_text("字" * 150_000, raw=True)  # 150 MB if all its pieces were held
    counted: list[tuple[int, int]] = []
    tracemalloc.start()
    found = list(encode_pairs([(text, text)], SUBWORDS, lambda number, pieces: counted.append((number, pieces)), 7))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert not found and counted == [(7, len(SUBWORDS.ids("字")) * 150_000)]
    assert peak < 60_000_000


def test_a_long_text_of_few_pieces_is_aligned() -> None:
    few = Sentence.from_text("a" + " " * 150_000 + "b", raw=True)
    assert [pair.source.ids.tolist() for pair in encode_pairs([(few, few)], SUBWORDS)] == [SUBWORDS.ids("a b")]


def test_much_text_is_cut_into_pieces_part_by_part() -> None:
    empty, few = Sentence.from_text(""), Sentence.from_text("a" + " " * 40_000 + "b")
    found = list(encode_pairs([(few, few), (few, empty)] * 15, SUBWORDS))
    assert [pair.number for pair in found] == list(range(0, 30, 2))
    assert all(listed(pair.source) == listed(pair.target) == listed(found[0].source) for pair in found)
