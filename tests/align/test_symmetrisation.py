"""Symmetrisation by hand, its laws, and agreement with published output."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.align.symmetrisation import symmetrise
from weft.config import Symmetrisation
from weft.links import Links, format_links, read_links

METHODS: tuple[Symmetrisation, ...] = get_args(Symmetrisation)
BY_HAND = Path(__file__).parents[1] / "links_by_hand"
SHARED = Path(__file__).parents[3] / "shared" / "data"

#   forward   backward      f: forward only, b: backward only, X: both
#   target →  0 1 2 3 4
#   source 0  X f . . .
#          1  . . f . .
#          2  . . b X .
#          3  . . . . .
#          4  b . . . f
FORWARD: Links = frozenset({(0, 0), (0, 1), (1, 2), (2, 3), (4, 4)})
BACKWARD: Links = frozenset({(0, 0), (2, 2), (2, 3), (4, 0)})


@pytest.mark.parametrize(
    ("method", "added"),
    [
        ("intersection", set()),
        ("union", {(0, 1), (1, 2), (2, 2), (4, 4), (4, 0)}),
        # 0-1 joins 0-0 (word 1 is free), then 1-2 joins 0-1 (both are); 2-2 has no free word left.
        ("grow-diag", {(0, 1), (1, 2)}),
        # 4-4 (both free) comes from the forward links; after it 4 is taken and 0 was before.
        ("grow-diag-final", {(0, 1), (1, 2), (4, 4)}),
        ("grow-diag-final-and", {(0, 1), (1, 2), (4, 4)}),
        # 0-1 may not join: 0 is taken. 1-2 is a neighbour of 2-3 and both its words are free.
        ("lilt-grow-diag", {(1, 2)}),
        ("lilt-grow-diag-final", {(1, 2), (4, 4)}),
    ],
)
def test_every_method_by_hand(method: Symmetrisation, added: set[tuple[int, int]]) -> None:
    assert symmetrise(FORWARD, BACKWARD, method) == {(0, 0), (2, 3)} | added


def test_final_takes_one_free_word_and_final_and_wants_two() -> None:
    forward: Links = frozenset({(0, 0), (5, 0)})
    backward: Links = frozenset({(0, 0), (0, 9), (7, 7)})
    assert symmetrise(forward, backward, "grow-diag-final") == {(0, 0), (5, 0), (0, 9), (7, 7)}
    assert symmetrise(forward, backward, "grow-diag-final-and") == {(0, 0), (7, 7)}


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("intersection", ["0-0 1-1", "0-0", ""]),
        ("union", ["0-0 1-1 2-3 3-2", "0-0 0-2 1-1", "0-1 1-1"]),
        # Second line: 1-1 touches 0-0 and both its words are free. Then 0-2 touches 1-1: its source word is taken, its
        # target word is free, which is enough for Moses and too little for Lilt. In the first line 2-3 and 3-2 touch
        # each other only, and in the third nothing can grow.
        ("grow-diag", ["0-0 1-1", "0-0 0-2 1-1", ""]),
        ("lilt-grow-diag", ["0-0 1-1", "0-0 1-1", ""]),
        # Third line: 0-1 comes first; then 1-1 has a free source word, but its target word is taken.
        ("grow-diag-final", ["0-0 1-1 2-3 3-2", "0-0 0-2 1-1", "0-1 1-1"]),
        ("grow-diag-final-and", ["0-0 1-1 2-3 3-2", "0-0 0-2 1-1", "0-1"]),
        ("lilt-grow-diag-final", ["0-0 1-1 2-3 3-2", "0-0 1-1", "0-1"]),
    ],
)
def test_files_worked_out_on_paper(method: Symmetrisation, expected: list[str]) -> None:
    files = (read_links(str(BY_HAND / name)) for name in ("forward", "backward"))
    found = [symmetrise(first.sure, second.sure, method) for first, second in zip(*files, strict=True)]
    assert [format_links(links) for links in found] == expected


LINKS = st.frozensets(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=14)


@given(LINKS, LINKS, st.sampled_from(METHODS))
def test_laws(forward: Links, backward: Links, method: Symmetrisation) -> None:
    merged = symmetrise(forward, backward, method)
    assert forward & backward <= merged <= forward | backward
    assert symmetrise(forward, forward, method) == forward
    if method.startswith("lilt-grow-diag"):
        added = merged - (forward & backward)
        assert len({source for source, _ in added}) == len({target for _, target in added}) == len(added)


@given(LINKS, LINKS)
def test_methods_contain_each_other(forward: Links, backward: Links) -> None:
    grown = symmetrise(forward, backward, "grow-diag")
    final_and = symmetrise(forward, backward, "grow-diag-final-and")
    assert grown <= final_and
    assert grown <= symmetrise(forward, backward, "grow-diag-final")


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs published output that is not part of the project")
@pytest.mark.parametrize("pair", ["deen", "enfr", "roen"])
@pytest.mark.parametrize("system", ["giza", "fastalign"])
def test_lilts_published_files_are_reproduced(pair: str, system: str) -> None:
    def links(name: str) -> list[Links]:
        return [line.sure for line in read_links(str(SHARED / pair / f"dev.{system}{name}.pharaoh"))]

    methods: dict[str, Symmetrisation] = {
        "-grow-diagonal": "lilt-grow-diag",
        "-grow-diagonal-final": "lilt-grow-diag-final",
    }
    for name, method in methods.items():
        merged = [symmetrise(*both, method) for both in zip(links(""), links("-reverse"), strict=True)]
        assert merged == links(name)
