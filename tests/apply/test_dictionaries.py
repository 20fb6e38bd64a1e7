"""Entries of dictionaries made of a few sentences."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest
from given_words import aligned

from weft.align.alignment import Alignment
from weft.apply.block_counts import count_block
from weft.apply.dictionaries import Entry, Least, PhraseCounts
from weft.progress import Progress

ANY = Least(phrase_count=1, strength=0, cohesion=-100)


def entries(
    pairs: list[Alignment], folder: Path, least: Least = ANY, raw: bool = False, longest: int = 4, block: int = 1_000
) -> list[Entry]:
    counts = PhraseCounts(Path(tempfile.mkdtemp(dir=folder)), raw)
    for first in range(0, len(pairs), block):
        counts.add(count_block(pairs[first : first + block], first + 1, longest))
    return list(counts.entries(least, Progress(visible=False)))


def shown(found: list[Entry]) -> list[str]:
    return [f"{one.source}={one.target} {one.count}" for one in found]


def test_entries_are_counted_regardless_of_case_and_shown_as_written_most_often(tmp_path: Path) -> None:
    pairs = [
        aligned("Alte Häuser", "Old houses", "0-0 1-1"),
        aligned("das alte Haus", "the old house", "0-0 1-1 2-2"),
        aligned("alte Leute", "old People", "0-0 1-1"),
        aligned("alte Leute", "elderly People", "0-0 1-1"),
    ]
    assert shown(entries(pairs, tmp_path, longest=1)) == [
        "alte=old 3",
        "alte=elderly 1",
        "das=the 1",
        "Haus=house 1",
        "Häuser=houses 1",
        "Leute=People 2",
    ]


def test_probabilities_are_those_of_both_directions_by_the_probabilities_of_links(tmp_path: Path) -> None:
    pairs = [
        *[aligned("Bank", "bank", "0-0:0.9")] * 3,
        aligned("Bank", "bench", "0-0:0.3"),
        aligned("Ufer", "bank", "0-0:0.3"),
    ]
    found = {(one.source, one.target): one for one in entries(pairs, tmp_path)}
    bank = found["Bank", "bank"]
    assert (bank.count, round(bank.forward, 4), round(bank.backward, 4)) == (3, 0.9, 0.9)
    bench = found["Bank", "bench"]
    assert (bench.count, round(bench.forward, 4), round(bench.backward, 4)) == (1, 0.1, 1.0)


def test_a_target_that_is_seen_once_is_not_the_best(tmp_path: Path) -> None:
    pairs = [aligned("Decke", "ceiling", "0-0")] * 2 + [aligned("Decke", "cahoots", "0-0")]
    pairs += [aligned("Limit", "ceiling", "0-0")] * 5
    assert shown(entries(pairs, tmp_path))[:2] == ["Decke=ceiling 2", "Decke=cahoots 1"]


def test_compounds_are_entries_of_several_words(tmp_path: Path) -> None:
    pairs = [aligned("Hausarrest", "house arrest", "0-0 0-1")] * 3 + [aligned("Haus", "house", "0-0")]
    assert shown(entries(pairs, tmp_path)) == ["Haus=house 1", "Hausarrest=house arrest 3"]
    assert shown(entries(pairs, tmp_path, longest=1)) == ["Haus=house 1"]


def test_phrases_that_hold_together_are_entries(tmp_path: Path) -> None:
    generator = random.Random(1)
    words = [f"w{letter}{other}" for letter in "abcdefgh" for other in "abcdefgh"]

    def sentence(*others: str) -> str:
        return " ".join([*generator.choices(words, k=6), "und", *others, "und", *generator.choices(words, k=6)])

    texts = [sentence("vereinte", "nationen") for _ in range(20)] + [sentence() for _ in range(200)]
    pairs = [aligned(text, text, " ".join(f"{i}-{i}" for i in range(len(text.split())))) for text in texts]
    found = shown(entries(pairs, tmp_path, Least()))
    assert "vereinte nationen=vereinte nationen 20" in found
    assert [line for line in found if " " in line.partition("=")[0]] == ["vereinte nationen=vereinte nationen 20"]
    assert "und=und 440" in found
    loose = shown(entries(pairs, tmp_path, Least(cohesion=1)))
    assert "und vereinte=und vereinte 20" in loose


def test_what_is_rare_or_weak_is_left_out(tmp_path: Path) -> None:
    pairs = [aligned("a b", "x y", "0-0 1-1")] * 3 + [aligned("a", "z", "0-0")]
    assert shown(entries(pairs, tmp_path)) == ["a=x 3", "a=z 1", "a b=x y 3", "b=y 3"]
    loose = Least(phrase_count=4, strength=0, cohesion=-100)
    assert shown(entries(pairs, tmp_path, loose)) == ["a=x 3", "a=z 1", "b=y 3"]
    assert "a=z 1" not in shown(entries(pairs, tmp_path, Least(count=2, strength=0)))
    assert "a=z 1" not in shown(entries(pairs, tmp_path, Least(strength=0.2)))


def test_examples_have_the_number_of_their_line(tmp_path: Path) -> None:
    pairs = [aligned("das Haus " + "x" * 3_000, "the house", "1-1"), aligned("Ein  Haus", "A\u00a0house", "1-0")]
    (found,) = entries(pairs[:1], tmp_path)
    assert (found.line, found.source_example, found.target_example) == (1, "", "")  # too long to be shown
    found = {one.target: one for one in entries(pairs, tmp_path)}
    assert found["A house"].line == 2 and found["A house"].source_example == "Ein Haus"


def test_running_text_is_cut_into_words_and_shown_as_it_is(tmp_path: Path) -> None:
    pairs = [aligned("L'énergie, 经济", "energy, economy", "0-0 1-0 3-2 4-2", raw=True)]
    assert shown(entries(pairs, tmp_path, raw=True)) == ["L'énergie=energy 1", "经济=economy 1"]


def test_no_text_has_no_entries(tmp_path: Path) -> None:
    assert entries([aligned("a", "b", "")], tmp_path) == []
    assert entries([aligned(".", ".", "0-0")], tmp_path) == []


def test_a_dictionary_is_the_same_in_memory_and_on_disk(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    generator = random.Random(2)
    pairs = []
    for _ in range(150):
        source, target = (
            [generator.choice([f"{letter}{generator.randrange(9)}", "Und"]) for _ in range(5)] for letter in "Sé"
        )
        links = " ".join(f"{i}-{generator.randrange(5)}:{generator.random():.2f}" for i in range(5))
        pairs.append(aligned(" ".join(source), " ".join(target), links))
    expected = entries(pairs, tmp_path)
    assert len(expected) > 200
    request.getfixturevalue("little_memory")
    assert entries(pairs, tmp_path, block=7) == expected
