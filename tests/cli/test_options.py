"""Settings among options."""

from __future__ import annotations

import pytest

from weft.cli.options import settings_first


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("train a.tsv run=q --until align training.updates=3", "train run=q training.updates=3 a.tsv --until align"),
        ("train de-en --force training.updates=3", "train training.updates=3 de-en --force"),
        ("tune a.tsv -o run=1 pairs=5 --model m", "tune pairs=5 a.tsv -o run=1 --model m"),
        ("prepare a.tsv --merges 5 -o out longest=3", "prepare longest=3 a.tsv --merges 5 -o out"),
        ("align a=b.tsv --model de-en", "align a=b.tsv --model de-en"),
        ("", ""),
    ],
)
def test_settings_may_follow_options(given: str, expected: str) -> None:
    assert settings_first(given.split()) == expected.split()
