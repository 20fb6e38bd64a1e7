"""Terms of glossaries in sentences with given links."""

from __future__ import annotations

from pathlib import Path

import pytest
from given_words import aligned

from weft.align.alignment import Alignment
from weft.apply.glossary import Finding, Glossary, read_glossary
from weft.errors import WeftError


def checked(glossary: str, alignment: Alignment, folder: Path, inflected: bool = False) -> list[str]:
    """What is found by a glossary that is given as text, and where it is in the target."""
    path = folder / "glossary.tsv"
    path.write_text(glossary, "utf-8")
    found = Glossary(read_glossary(str(path)), inflected).check(alignment)
    return [_shown(one, alignment) for one in found]


def _shown(finding: Finding, alignment: Alignment) -> str:
    term = alignment.source.text[slice(*finding.source)]
    if finding.target is None:
        return f"{finding.verdict}: {term}"
    return f"{finding.verdict}: {term} = {alignment.target.text[slice(*finding.target)]} at {finding.target[0]}"


HOUSE = aligned("Das alte Haus, es steht.", "The old house stands.", "0-0 1-1 2-2 5-3 6-4", raw=True)


@pytest.mark.parametrize(
    ("glossary", "expected"),
    [
        ("Haus\thouse\n", ["ok: Haus = house at 8"]),
        ("haus\tHouse\n", ["ok: Haus = house at 8"]),
        ("Haus\tbuilding\nHaus\thouse\n", ["ok: Haus = house at 8"]),
        ("Haus\tbuilding | house\n", ["ok: Haus = house at 8"]),
        ("Haus\thouses\n", ["inflected: Haus = house at 8"]),
        ("Haus\thome\n", ["other: Haus = house at 8"]),
        ("es\tit\n", ["missing: es"]),
        ("es\thouse\n", ["missing: es"]),  # which is linked to another word
        ("Haus\told\n", ["other: Haus = house at 8"]),
        ("altes Haus\told house\n", []),
        ("alte Haus\told house\n", ["ok: alte Haus = old house at 4"]),
        ("alte Haus\told hut\n", ["other: alte Haus = old house at 4"]),
        ("Haus\thouse\nalte Haus\told house\n", ["ok: alte Haus = old house at 4"]),  # the longest
        ("Haus\thouse\nalte\told\n", ["ok: alte = old at 4", "ok: Haus = house at 8"]),
        ("HAUS\thouse\n", []),  # capitals inside count
        ("Haus\tHOUSE\n", ["inflected: Haus = house at 8"]),
    ],
)
def test_verdicts(glossary: str, expected: list[str], tmp_path: Path) -> None:
    assert checked(glossary, HOUSE, tmp_path) == expected


def test_other_forms_of_terms_are_found_if_wanted(tmp_path: Path) -> None:
    pair = aligned("Die Häuser, Hausarbeit", "The houses, homework", "0-0 1-1 2-2 3-3", raw=True)
    assert checked("Haus\thouse\n", pair, tmp_path) == []
    assert checked("Haus\thouse\n", pair, tmp_path, inflected=True) == ["inflected: Häuser = houses at 4"]


@pytest.mark.parametrize(
    ("agreed", "found", "verdict"),
    [
        ("contract", "contracts", "inflected"),
        ("policy", "policies", "inflected"),
        ("Vertrag", "Verträge", "inflected"),
        ("contract", "con", "other"),
        ("go", "gone", "other"),
        ("US", "us", "other"),
        ("e\u0301cole", "École", "ok"),  # the same letters, composed
        ("Straße", "Straßen", "inflected"),
        ("договор", "договоры", "inflected"),
        ("経", "済", "other"),
    ],
)
def test_words_that_begin_alike(agreed: str, found: str, verdict: str, tmp_path: Path) -> None:
    pair = aligned("x", found, "0-0", raw=True)
    assert checked(f"x\t{agreed}\n", pair, tmp_path) == [f"{verdict}: x = {found} at 0"]


def test_words_without_links_may_be_what_was_agreed_on(tmp_path: Path) -> None:
    pair = aligned("x y", "in fact z", "1-2", raw=True)
    assert checked("x\tin fact\n", pair, tmp_path) == ["ok: x = in fact at 0"]
    assert checked("x\tfact z\n", pair, tmp_path) == ["missing: x"]


def test_of_several_places_the_linked_one_counts(tmp_path: Path) -> None:
    pair = aligned("x x", "house house", "1-1", raw=True)
    assert checked("x\thouse\n", pair, tmp_path) == ["ok: x = house at 0", "ok: x = house at 6"]


def test_glossaries_as_people_write_them(tmp_path: Path) -> None:
    path = tmp_path / "glossary.tsv"
    path.write_text(
        "source\ttarget\tremark\n# a comment\n\n Haus \thouse|home| \tx\nHaus\thouse\nBank\tbank\n", "utf-8"
    )
    found = [(one.source.text, [target.text for target in one.targets]) for one in read_glossary(str(path))]
    assert found == [("Haus", ["house", "home"]), ("Bank", ["bank"])]


@pytest.mark.parametrize("line", ["Haus", "Haus\t", "\thouse", "Haus\t|"])
def test_lines_that_are_no_terms_are_named(line: str, tmp_path: Path) -> None:
    path = tmp_path / "glossary.tsv"
    path.write_text(f"a\tb\n{line}\n", "utf-8")
    with pytest.raises(WeftError, match=r"glossary.tsv:2: expected 'term TAB translation'"):
        read_glossary(str(path))
    path.write_text("# nothing\n", "utf-8")
    with pytest.raises(WeftError, match="has no terms"):
        read_glossary(str(path))
