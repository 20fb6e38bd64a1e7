"""A text of 27 languages shuffled together: every line has its own links, in any company, direction and process.

The sentences, two of each language with the same meaning, are in ``tests/languages.tsv``.
"""

from __future__ import annotations

import itertools
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from weft.align.model_folder import shipped_models
from weft.align.onnx_aligner import Aligner
from weft.text.words import Sentence

LANGUAGES = re.findall(r"\w+", "ar bg cs da de el en es et fi fr hi hu id it ja ko nl pl pt ro ru sv tr uk vi zh")
LINES = [line.split("\t") for line in (Path(__file__).parents[1] / "languages.tsv").read_text("utf-8").splitlines()]
BLOCK = 2_000  # lines that one process gets at a time


@pytest.fixture(params=["tiny", "multi"])
def folder(request: pytest.FixtureRequest) -> Path:
    """An aligner with one encoder for both sides: one that knows no more than Romanian, and that of all languages."""
    if request.param == "tiny":
        return request.getfixturevalue("shared_folder")
    return shipped_models()["multi"]


def pairs_of_languages(raw: bool) -> list[tuple[str, str]]:
    """Each sentence with its translations into all languages, shuffled; unless ``raw``, with spaces between words."""
    meanings = LINES[: len(LANGUAGES)], LINES[len(LANGUAGES) :]
    pairs = [(one[1], other[1]) for meaning in meanings for one, other in itertools.product(meaning, meaning)]
    random.Random(27).shuffle(pairs)
    return pairs if raw else [(spaced(source), spaced(target)) for source, target in pairs]


def spaced(text: str) -> str:
    return " ".join(Sentence.from_text(text, raw=True).words)


def test_every_language_has_two_sentences() -> None:
    assert [language for language, _ in LINES] == 2 * LANGUAGES
    assert len({sentence for _, sentence in LINES}) == len(LINES)


@pytest.mark.parametrize("raw", [False, True], ids=["tokenised", "raw"])
def test_every_line_has_its_own_links_in_blocks_and_processes(folder: Path, raw: bool, tmp_path: Path) -> None:
    pairs = pairs_of_languages(raw)
    aligner = Aligner(folder, cores=1, raw=raw, fast=True)
    alone = {pair: aligner.align_one(*pair) for pair in pairs[::3]}
    text = tmp_path / "text.tsv"
    lines = [*pairs, *reversed(pairs)]
    assert len(lines) > BLOCK  # so that there is work for two processes
    text.write_text("".join(f"{source}\t{target}\n" for source, target in lines), encoding="utf-8")
    command = [sys.executable, "-m", "weft", "align", "--model", str(folder), "--fast", "--cores", "2", str(text)]
    answer = subprocess.run(command + ["--raw"] * raw, capture_output=True, check=True).stdout.decode().splitlines()
    assert len(answer) == len(lines)
    assert answer[: len(pairs)] == answer[: len(pairs) - 1 : -1]  # the same links whatever the neighbours
    for pair, links in zip(lines, answer, strict=True):
        sides = [Sentence.from_text(side, raw) for side in pair]
        found = [tuple(map(int, link.split("-"))) for link in links.split()]
        assert found == sorted(set(found)) and all(i < len(sides[0]) and j < len(sides[1]) for i, j in found)
        assert pair not in alone or links == str(alone[pair])
    assert len(set(answer)) > len(pairs) / 3  # an aligner that answers every line alike would pass


@pytest.mark.parametrize("raw", [False, True], ids=["tokenised", "raw"])
@pytest.mark.parametrize("fast", [False, True], ids=["best", "fast"])
def test_the_other_direction_has_the_transposed_links(folder: Path, raw: bool, fast: bool) -> None:
    pairs = pairs_of_languages(raw)[:300]
    aligner = Aligner(folder, cores=1, raw=raw, fast=fast)
    back = aligner.align((target, source) for source, target in pairs)
    for there, turned in zip(aligner.align(pairs), back, strict=True):
        assert there.links == {(source, target) for target, source in turned.links}


def test_spaces_between_the_words_of_raw_text_change_no_link(folder: Path) -> None:
    pairs = pairs_of_languages(raw=True)[:300]
    raw = Aligner(folder, cores=1, raw=True, fast=True).align(pairs)
    tokenised = Aligner(folder, cores=1, fast=True).align((spaced(source), spaced(target)) for source, target in pairs)
    for one, other in zip(raw, tokenised, strict=True):
        assert one.source.words == other.source.words and one.links == other.links


def test_years_are_linked_in_every_language(folder: Path) -> None:
    aligner = Aligner(folder, cores=1, raw=True)
    sentences = [sentence for _, sentence in LINES[len(LANGUAGES) :]]
    english = sentences[LANGUAGES.index("en")]
    for alignment in aligner.align((sentence, english) for sentence in sentences):
        source, target = alignment.source.words, alignment.target.words
        year = next(place for place, word in enumerate(source) if word.startswith("2024"))  # 2024년 in Korean
        assert (year, target.index("2024")) in alignment.links, alignment.source.text
