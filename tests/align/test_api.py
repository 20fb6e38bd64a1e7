"""``weft.load`` and what it returns, as programs use them."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import weft
from weft.align.model_folder import shipped_models
from weft.config import Merge
from weft.text.words import Sentence

PAIR = ("Das alte Haus .", "The old house .")
LINKS = "0-0 1-1 2-2 3-3"


@pytest.fixture(scope="module")
def aligner() -> Iterator[weft.Aligner]:
    with weft.load("multi", cores=1) as aligner:
        yield aligner


def test_public_names_are_listed_and_loaded_once() -> None:
    assert dir(weft) == ["Aligner", "Alignment", "WeftError", "__version__", "load"]
    for name in dir(weft):
        assert getattr(weft, name) is vars(weft)[name]
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        weft.nonsense  # noqa: B018  # pyrefly: ignore
    code = "import sys, weft; sys.exit('numpy' in sys.modules or 'WeftError' not in dir(weft))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_models_are_found_by_name_and_by_path(tmp_path: Path) -> None:
    folder = shipped_models()["multi"]
    assert str(weft.load(folder).align_one(*PAIR)) == str(weft.load(str(folder)).align_one(*PAIR)) == LINKS
    with pytest.raises(weft.WeftError, match="missing: neither a shipped model"):
        weft.load(tmp_path / "missing")
    with pytest.raises(weft.WeftError) as error:
        weft.load("en-ro")
    assert "--" not in str(error.value) and "ro-en and reverse" in str(error.value)


def test_one_pair_and_pairs_in_the_other_order(aligner: weft.Aligner) -> None:
    alignment = aligner.align_one(*PAIR)
    assert str(alignment) == LINKS and alignment.source.text == PAIR[0]
    (turned,) = weft.load("multi", reverse=True).align([PAIR[::-1]])
    assert turned == alignment.reversed() and turned.source.text == PAIR[1]


@pytest.mark.parametrize("merge", ["mean", "union", "best-cells", "grow-diag-final-and"])
def test_fillers_keep_their_numbers_and_are_not_aligned(merge: Merge) -> None:
    source, target = (side.replace(" ", " ▁ ") for side in PAIR)
    with weft.load("multi", cores=1, merge=merge) as aligner:
        alignment = aligner.align_one(source, f"▁▁ {target} ▁")
        assert str(alignment) == "0-1 2-3 4-5 6-7" and alignment.target.words[0] == "▁▁"
        assert alignment.score == aligner.align_one(*PAIR).score
        assert str(aligner.align_one("▁ ▁", "▁ house")) == ""


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"merge": "Union"}, r"merge is one of forward, .*, union, .*not 'Union'"),
        ({"threshold": 2}, "threshold is a probability, from 0 to 1, not 2"),
        ({"threshold": -1}, "threshold is a probability, from 0 to 1, not -1"),
        ({"threshold": float("nan")}, "threshold is a probability, from 0 to 1, not nan"),
        ({"cores": -1}, "cores is a number of cores, or 0 for all, not -1"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(weft.WeftError, match=expected):
        weft.load("multi", **options)


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        (PAIR, r"pair 1: expected \(source, target\), not 'Das alte Haus \.'; .* align_one\(\) a single one"),
        (["ab"], r"pair 1: expected \(source, target\), not 'ab'"),
        ([PAIR, (*PAIR, "0-0")], r"pair 2: expected \(source, target\), not \('Das alte"),
        ([{"source": "a", "target": "b"}], r"pair 1: expected \(source, target\), not {'source'"),
        ([None], r"pair 1: expected \(source, target\), not None"),
        ([("a", None)], "pair 1: a side is text or a list of words, not None"),
        ([(b"a", "b")], "pair 1: a side is text or a list of words, not b'a'"),
        ([("a", [1, 2])], r"pair 1: a side is text or a list of words, not \[1, 2\]"),
    ],
)
def test_what_is_no_pair_is_refused(aligner: weft.Aligner, pairs: Any, expected: str) -> None:
    with pytest.raises(weft.WeftError, match=expected):
        list(aligner.align(pairs))


def test_words_may_come_from_generators(aligner: weft.Aligner) -> None:
    words: Any = tuple((word for word in side.split()) for side in PAIR)
    alignment = aligner.align_one(*words)
    assert str(alignment) == LINKS and alignment.source.words == PAIR[0].split()


def test_long_pairs_are_refused_or_skipped(aligner: weft.Aligner) -> None:
    pairs = [PAIR, ("Haus " * 2_000, "house"), PAIR]
    with pytest.raises(weft.WeftError, match="sentence pair 2: a sentence of 2,000 pieces, but the model's limit"):
        list(aligner.align(pairs))
    assert [str(one) for one in aligner.align(pairs, skip_long=True)] == [LINKS, "", LINKS]


def test_a_closed_aligner_has_no_threads_and_says_so() -> None:
    before = threading.active_count()
    with weft.load("multi", cores=2) as aligner:
        aligner.align_one(*PAIR)
        assert threading.active_count() > before
    assert threading.active_count() == before
    aligner.close()  # again
    with pytest.raises(weft.WeftError, match="this aligner is closed"):
        aligner.align_one(*PAIR)


def test_a_pickled_aligner_is_loaded_again() -> None:
    aligner = pickle.loads(pickle.dumps(weft.load("multi", cores=1, reverse=True, merge="union", threshold=0.7)))
    assert (aligner.merge, aligner.threshold, aligner.reverse) == ("union", 0.7, True)
    assert str(aligner.align_one(*PAIR[::-1])) == LINKS


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_an_aligner_that_was_used_works_after_a_fork() -> None:
    aligner = weft.load("multi", cores=2)
    assert str(aligner.align_one(*PAIR)) == LINKS
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # a hang kills the child
        found = [str(one) for one in aligner.align([PAIR] * 3)]
        aligner.close()
        os._exit(0 if found == [LINKS] * 3 else 1)
    assert os.waitpid(child, 0)[1] == 0
    with multiprocessing.get_context("fork").Pool(2) as pool:
        results = pool.starmap_async(aligner.align_one, [PAIR] * 4).get(timeout=60)
    assert [str(one) for one in results] == [LINKS] * 4
    assert str(aligner.align_one(*PAIR)) == LINKS  # and still here


def test_matrices_have_the_probabilities_of_all_words(aligner: weft.Aligner) -> None:
    pairs = [PAIR, ("", "a b"), ("Haus", "the big house")]
    first, empty, last = aligner.align(pairs, matrices=True)
    assert first.matrix is not None and first.matrix.shape == (4, 4) and last.matrix is not None
    assert all(first.matrix[link] == pytest.approx(first.probabilities[link]) for link in first.links)
    assert empty.matrix is None and last.matrix.shape == (1, 3) and last.matrix[0].argmax() == 2
    (turned,) = weft.load("multi", reverse=True).align([PAIR[::-1]], matrices=True)
    assert turned.matrix is not None and pytest.approx(first.matrix) == turned.matrix.T
    assert aligner.align_one(*PAIR).matrix is None


def test_a_call_may_choose_how_links_are_made(aligner: weft.Aligner) -> None:
    choices: list[dict[str, Any]] = [{"merge": "union"}, {"threshold": 0.99}, {"merge": "forward", "threshold": 0.1}]
    for choice in choices:
        expected = weft.load("multi", cores=1, **choice).align([PAIR])
        assert list(aligner.align([PAIR], **choice)) == list(expected)
    with pytest.raises(weft.WeftError, match="threshold is a probability"):
        next(aligner.align([PAIR], threshold=2))
    with pytest.raises(weft.WeftError, match="merge is one of"):
        next(aligner.align([PAIR], merge="best"))  # type: ignore[arg-type]


def test_words_of_running_text_may_begin_and_end_anywhere(aligner: weft.Aligner) -> None:
    source = Sentence("Google Apps-Konten", ((0, 11), (12, 18)), raw=True)
    target = Sentence("Google Apps accounts", ((0, 6), (7, 11), (12, 20)), raw=True)
    alignment = aligner.align_one(source, target)
    assert alignment.source.words == ["Google Apps", "Konten"] and str(alignment) == "0-0 0-1 1-2"
