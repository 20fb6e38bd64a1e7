"""The adapters of examples/, with the libraries that they are for, where installed, and with stand-ins of them."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
PAIRS = [("Das alte Haus .", "The old house ."), ("Wir gehen nach Hause .", "We are going home .")]
WRONG = ("Das alte Haus .", "Prices rose sharply in May .")


class WordAligner(ABC):
    """What sil-machine asks of an aligner."""

    @abstractmethod
    def align(self, source_segment: Any, target_segment: Any) -> Any: ...

    @abstractmethod
    def align_batch(self, segments: Any) -> Any: ...


class FilterABC(ABC):
    """What OpusFilter asks of a filter, and what it does with it."""

    def __init__(self, name: str | None = None, workdir: str = "") -> None:
        self.name, self.workdir = name, workdir

    @abstractmethod
    def score(self, pairs: Iterable[Any]) -> Iterator[Any]: ...

    @abstractmethod
    def accept(self, score: Any) -> bool: ...

    def decisions(self, pairs: Iterable[Any]) -> Iterator[bool]:
        return map(self.accept, self.score(pairs))


STAND_INS: dict[str, dict[str, Any]] = {
    "machine.translation": {
        "WordAligner": WordAligner,
        "WordAlignmentMatrix": SimpleNamespace(
            from_word_pairs=lambda rows, columns, links: [
                [(i, j) in links for j in range(columns)] for i in range(rows)
            ]
        ),
    },
    "opusfilter": {"FilterABC": FilterABC, "CLEAN_HIGH": "clean_high"},
}


@pytest.fixture(params=["library", "stand-in"])
def load(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What loads an example that needs a library."""

    def load(example: str, library: str) -> ModuleType:
        if request.param == "library":
            pytest.importorskip(library)
        else:
            stand_in = ModuleType(library)
            vars(stand_in).update(STAND_INS[library])
            monkeypatch.setitem(sys.modules, library.partition(".")[0], stand_in)
            monkeypatch.setitem(sys.modules, library, stand_in)
        spec = importlib.util.spec_from_file_location(example, EXAMPLES / f"{example}.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


def test_sil_machine_gets_a_matrix_for_each_segment(load: Any) -> None:
    aligner = load("sil_machine_aligner", "machine.translation").WeftWordAligner(fast=True, cores=1)
    segments = [tuple(side.split() for side in pair) for pair in PAIRS]
    found = aligner.align_batch([*segments, ([], ["a"])])
    sizes = [(len(source), len(target)) for source, target in segments]
    for matrix, (rows, columns) in zip(found, [*sizes, (0, 1)], strict=False):
        cells = [(i, j) for i in range(rows) for j in range(columns)]
        linked = [cell for cell in cells if (matrix[cell[0]][cell[1]] if isinstance(matrix, list) else matrix[cell])]
        assert linked == [(0, 0), (1, 1), (2, 2), (3, 3)] if rows == 4 else len(linked) >= min(rows, 4)
    one = aligner.align(*segments[0])
    assert one == found[0]


def test_opusfilter_keeps_the_pairs_that_fit(load: Any) -> None:
    chosen = load("opusfilter_weft", "opusfilter").WeftFilter(threshold=0.5, name="fit")
    pairs = [PAIRS[0], WRONG, PAIRS[1], ("", "")]
    scores = list(chosen.score(pairs))
    assert chosen.reject_threshold > scores[0] > 0.5 > scores[1] > scores[3] == chosen.accept_threshold
    assert list(chosen.decisions(pairs)) == [True, False, True, False]
    assert list(chosen.filter(iter(pairs))) == PAIRS and list(chosen.filterfalse(pairs)) == [WRONG, ("", "")]
    assert chosen.score_direction == "clean_high" and chosen.name == "fit"
