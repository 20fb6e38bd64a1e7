"""TBX is well-formed, whatever the entries hold."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.apply.dictionaries import Entry
from weft.apply.tbx import TBX_END, TBX_START, check_languages, tbx_concept
from weft.errors import WeftError

NAMES = {"t": "urn:iso:std:iso:30042:ed-2"}
LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


def entry(source: str, target: str, example: str = "") -> Entry:
    return Entry(source, target, 3, 0.5, 0.5, 1, f"{source} {example}", f"{target} {example}")


def parsed(*concepts: str) -> ElementTree.Element:
    return ElementTree.fromstring(TBX_START + "".join(concepts) + TBX_END)


def test_a_concept_has_its_source_and_all_targets_with_examples() -> None:
    root = parsed(tbx_concept([entry("Bank", "bank", "<b> & co"), entry("Bank", "bench")], 7, ("de", "en-GB")))
    (concept,) = root.findall(".//t:conceptEntry", NAMES)
    assert concept.get("id") == "c7"
    sections = [
        (section.get(LANGUAGE), [term.text for term in section.findall(".//t:term", NAMES)])
        for section in concept.findall("t:langSec", NAMES)
    ]
    assert sections == [("de", ["Bank"]), ("en-GB", ["bank", "bench"])]
    contexts = [one.text for one in concept.findall(".//t:descrip[@type='context']", NAMES)]
    assert contexts == ["Bank <b> & co", "bank <b> & co", "bench "]


@given(st.text(), st.text(), st.text())
def test_any_text_is_well_formed(source: str, target: str, example: str) -> None:
    root = parsed(tbx_concept([entry(source, target, example)], 1, ("de", "en")))
    assert len(root.findall(".//t:term", NAMES)) == 2


def test_an_example_that_is_not_shown_is_not_there() -> None:
    root = parsed(tbx_concept([Entry("a", "b", 1, 1.0, 1.0, 1, "", "")], 1, ("de", "en")))
    assert not root.findall(".//t:descrip", NAMES)


@pytest.mark.parametrize("code", ["", 'd"e', "de_DE", "deutschland", "de-"])
def test_codes_of_languages_are_checked(code: str) -> None:
    with pytest.raises(WeftError, match="not the code of a language"):
        check_languages(("de", code))
    check_languages(("pt-BR", "zh-Hant-TW"))
