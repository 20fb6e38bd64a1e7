"""Sentences in other spellings: what each change does, how many sentences change, and that words stay."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.corpus.noise import CHANGES, respelled


@pytest.mark.parametrize(
    ("name", "text", "changed"),
    [
        ("no diacritics", "L'été à Łódź, Đường, Καλημέρα, ılık", "L'ete a Lodz, Duong, Καλημερα, ilik"),
        ("no diacritics", "йод ещё हिन्दी が", "йод ещё हिन्दी が"),
        ("plain punctuation", "„Ja“, – l’été «dit»…", '"Ja", - l\'été "dit"...'),
        ("typographic punctuation", 'don\'t say "yes" - or "no"', "don’t say “yes” – or “no”"),
        ("typographic punctuation", '5" wide', '5" wide'),
        ("low quotation marks", 'er sagt "ja"', "er sagt „ja“"),
        ("angle quotation marks", 'il dit "oui"', "il dit «oui»"),
        ("ss for ß", "Straße", "Strasse"),
        ("old German spelling", "dass er wissen musste, Klasse", "daß er wissen mußte, Klasse"),
        ("umlauts in two letters", "Größe Über", "Groesse Ueber"),
        ("Danish letters in two", "på ærø", "paa aeroe"),
        ("cedillas", "și țara", "şi ţara"),
        ("commas below", "şi ţara", "și țara"),
        ("old Romanian spelling", "când sunt în România", "cînd sînt în România"),
        ("old Romanian spelling, no diacritics", "când sunt în țară", "cind sint in tara"),
        ("е for ё", "ещё Ёлка", "еще Елка"),
        ("full width", "価格(2024)：10 USD", "価格（２０２４）：１０ USD"),
        ("half width", "（２０２４）！", "(2024)!"),
        ("no vowel marks", "أَهْلاً", "أهلا"),
        ("plain alef", "أحمد إلى آخر", "احمد الى اخر"),
        ("final letters", "إلى المدرسة", "إلي المدرسه"),
        ("tatweel", "في المدرسة", "في الـمدرسة"),
    ],
)
def test_changes(name: str, text: str, changed: str) -> None:
    assert CHANGES[name][1](text) == changed


@given(st.text(), st.sampled_from(["", "de", "ro", "ar", "ja", "fr", "vi"]))
def test_no_change_adds_or_removes_words(text: str, language: str) -> None:
    spelled = respelled(text, language, 0.99)
    assert len(spelled.split()) == len(text.split())


def test_a_share_of_the_sentences_is_changed_and_always_the_same_ones() -> None:
    sentences = [f"Straße {number} für Käse" for number in range(4_000)]
    spelled = [respelled(sentence, "de", 0.25) for sentence in sentences]
    assert spelled == [respelled(sentence, "de", 0.25) for sentence in sentences]
    changed = [form for form, sentence in zip(spelled, sentences, strict=True) if form != sentence]
    assert 880 < len(changed) < 1_120
    kinds = Counter(form.split()[0] + form.split()[2] for form in changed)
    assert set(kinds) == {"Straßefur", "Strassefür", "Strassefuer"}
    assert min(kinds.values()) > 250


def test_other_languages_have_only_the_changes_of_all() -> None:
    sentences = [f"Straße {number} für “Käse”" for number in range(500)]
    for language in ("", "xx"):
        forms = {respelled(sentence, language, 0.5).replace(str(n), "") for n, sentence in enumerate(sentences)}
        assert forms == {"Straße  für “Käse”", 'Straße  für "Käse"'}
