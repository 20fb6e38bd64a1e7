"""Labels of sentences carried over to translations: by the shipped aligner, and by random probabilities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from weft.align.alignment import Alignment
from weft.apply.projection import Label, Labelled, Projected, project
from weft.text.words import Sentence


@pytest.fixture(scope="module")
def aligner() -> Iterator[weft.Aligner]:
    with weft.load(cores=1) as aligner:
        yield aligner


def shown(projected: Projected) -> list[tuple[str, Any]]:
    return [(projected.target.text[label.start : label.end], label.label) for label in projected.labels]


def labelled(source: str, parts: list[str], target: Any) -> Labelled:
    """A sentence in which some parts have the labels 0, 1, …"""
    starts = [source.index(part) for part in parts]
    labels = [Label(start, start + len(part), n) for n, (start, part) in enumerate(zip(starts, parts, strict=True))]
    return Labelled(source, labels, target)


@pytest.mark.parametrize(
    ("source", "parts", "target", "expected"),
    [
        ("The old house belongs to Anna.", ["old house", "Anna"], "Das alte Haus gehört Anna.", ["alte Haus", "Anna"]),
        ("Food was good.", ["Food"], "La nourriture était bonne.", ["nourriture"]),
        ("We live in the big house.", ["big house"], "我们住在大房子里。", ["大房子"]),
        ("the railway station", ["rail"], "the railway station", ["railway"]),
        ("The old house.", ["old house"], ["Das", "alte", "Haus."], ["alte Haus."]),  # tokens stay whole
    ],
)
def test_spans_of_running_text(
    aligner: weft.Aligner, source: str, parts: list[str], target: Any, expected: list[str]
) -> None:
    (projected,) = project(aligner, [labelled(source, parts, target)])
    assert shown(projected) == list(zip(expected, range(len(expected)), strict=True))
    assert all(0.5 < strength <= 1 for strength in projected.strengths)


def test_punctuation_of_a_labelled_token_is_not_looked_for(aligner: weft.Aligner) -> None:
    source, target = ["I", "like", "sushi."], ["J'", "aime", "les", "sushis", "."]
    (projected,) = project(aligner, [Labelled(source, [Label(7, 13, "FOOD")], target)])
    assert shown(projected) == [("sushis", "FOOD")]


def test_what_has_no_counterpart_is_none(aligner: weft.Aligner) -> None:
    text = "Anna lives here."
    labels = [Label(0, 4, "PER"), Label(4, 5, "SPACE"), Label(2, 2, "EMPTY")]
    (projected,) = project(aligner, [Labelled(text, labels, "Anna wohnt hier.")])
    assert [place and place.label for place in projected.places] == ["PER", None, None]
    assert projected.strengths[1:] == [0, 0]
    (projected,) = project(aligner, [Labelled(text, labels, "")])
    assert projected.places == [None] * 3
    (projected,) = project(aligner, [Labelled("a " * 2_000, [Label(0, 1, "A")], "b")])  # too long
    assert projected.places == [None]
    (projected,) = project(aligner, [Labelled("Anna", [Label(0, 4, "PER")] * 10_000, "Anna")])  # too many
    assert projected.places == [None] * 10_000


def test_more_strength_less_labels(aligner: weft.Aligner) -> None:
    one = labelled("Food was good.", ["Food"], "Wir gingen am Abend heim.")
    assert [len(next(project(aligner, [one], strength)).labels) for strength in (0.0, 1.0)] == [1, 0]


def test_words_get_the_tags_of_the_words_that_they_are_linked_to(aligner: weft.Aligner) -> None:
    source, target = ["the", "old", "house", "."], ["das", "alte", "Haus", "da", "."]
    (projected,) = project(aligner, [Labelled(source, [], target, {"UPOS": ["DET", "ADJ", "NOUN", "PUNCT"]})])
    assert projected.tags == {"UPOS": ["DET", "ADJ", "NOUN", None, "PUNCT"]}


def test_sentences_come_in_order_with_and_without_labels(aligner: weft.Aligner) -> None:
    plain, with_label = Labelled("eins", [], "one"), labelled("das Haus", ["Haus"], "the house")
    sentences = [plain, with_label, plain, plain, with_label, plain]
    results = list(project(aligner, iter(sentences)))
    assert [len(one.labels) for one in results] == [0, 1, 0, 0, 1, 0]
    assert [one.target.text for one in results] == [one.target for one in sentences]


def test_the_other_order_of_languages() -> None:
    aligner = weft.load("ro-en", reverse=True, cores=1)
    (projected,) = project(aligner, [labelled("the old house", ["house"], "casa veche")])
    assert shown(projected) == [("casa", 0)]


class RandomAligner:
    """Stands for an aligner that has no idea."""

    def stream(self, pairs: Iterable[tuple[Sentence, Sentence]], *options: Any, **more: Any) -> Iterator[Alignment]:
        generator = np.random.default_rng(5)
        for source, target in pairs:
            matrix = generator.random((len(source), len(target))) ** 2 if len(source) and len(target) else None
            yield Alignment(source, target, {}, 0.0, matrix)


TEXT = st.text(st.sampled_from("ab. '我ß-"), max_size=12)
SIDE = TEXT | st.lists(st.text(st.sampled_from("ab.'\u200b"), min_size=1, max_size=3), max_size=5)


@st.composite
def sentences(draw: st.DrawFn) -> Labelled:
    source, target = draw(SIDE), draw(SIDE)
    size = len(source if isinstance(source, str) else " ".join(source))
    ends = draw(st.lists(st.tuples(st.integers(0, size), st.integers(0, size), st.sampled_from("ab")), max_size=4))
    return Labelled(source, [Label(min(pair), max(pair), "", layer) for *pair, layer in ends], target)


@given(st.lists(sentences(), max_size=3))
def test_every_label_has_a_place_in_the_translation_or_none(cases: list[Labelled]) -> None:
    aligner: Any = RandomAligner()
    results = list(project(aligner, cases))
    assert len(results) == len(cases)
    for one, projected in zip(cases, results, strict=True):
        assert len(projected.places) == len(one.labels)
        borders = {place for span in projected.target.spans for place in span}
        for label, place in zip(one.labels, projected.places, strict=True):
            assert place is None or (place.start < place.end and {place.start, place.end} <= borders)
            for other, other_place in zip(one.labels, projected.places, strict=True):
                apart = label.layer == other.layer and (label.end <= other.start or other.end <= label.start)
                if apart and place and other_place:
                    assert place.end <= other_place.start or other_place.end <= place.start
