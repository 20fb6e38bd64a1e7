"""Shipped models on text as people write it: capitals, accents, old and new spelling, quotes, numbers, addresses.

The sentences are those of ``examples/``, written for this project. For each of them the test names words that belong
together beyond doubt, in the user's own spelling.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.align.model_folder import shipped_models
from weft.align.onnx_aligner import Aligner

EXAMPLES = Path(__file__).parents[2] / "examples"
BELONG_TOGETHER = {
    "de-en": [
        {"alte": "old", "Haus": "house", "Fluss": "river", "gehört": "belongs", "meiner": "my", "Schwester": "sister"},
        {"weiß": "know", "daß": "that", "er": "he", "morgen": "tomorrow", "kommt": "coming"},
        {"„": "“", "Wir": "We", "Straße": "road", "sagte": "said", "Bürgermeister": "mayor"},
        {
            "Gestern": "Yesterday",
            "wir": "we",
            "1.250": "1,250",
            "Bücher": "books",
            "Wien": "Vienna",
            "geschickt": "sent",
        },
        {"Antwort": "answer", "auf": "on", "https://example.org/hilfe": "https://example.org/hilfe"},
        {"Kinder": "Children", "sechs": "six", "Jahren": "years", "zahlen": "pay", "nichts": "nothing"},
    ],
    "en-fr": [
        {"minister": "ministre", "spoke": "parlé", "energy": "l'énergie", "of": "du", "future": "futur"},
        {"I": "Je", "not": "pas", "seen": "vu", "children": "enfants", "today": "aujourd'hui"},
        {"“": "«", "door": "porte", "is": "est", "open": "ouverte", "said": "dit"},
        {"We": "Nous", "sent": "envoyé", "books": "livres", "to": "aux", "schools": "écoles"},
        {"answer": "réponse", "on": "sur", "https://example.org/aide": "https://example.org/aide"},
        {"price": "prix", "of": "du", "bread": "pain", "rises": "augmente", "every": "chaque", "year": "année"},
    ],
    "ro-en": [
        {"Copiii": "children", "și": "and", "părinții": "parents", "lor": "their", "școală": "school"},
        {"Ieri": "Yesterday", "citit": "read", "carte": "book", "foarte": "very", "bună": "good"},
        {"Președintele": "president", "spus": "said", "că": "that", "țara": "country", "pace": "peace"},
        {"trimis": "sent", "1.250": "1,250", "scrisori": "letters", "București": "Bucharest"},
        {"Răspunsul": "answer", "pe": "on", "https://example.org/ajutor": "https://example.org/ajutor"},
        {"Casa": "house", "veche": "old", "râu": "river", "mele": "my"},
    ],
}


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("name", sorted(shipped_models()))
def test_words_that_belong_together_are_linked(name: str, fast: bool) -> None:
    lines = (EXAMPLES / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    pairs = [(source.split(), target.split()) for source, target in (line.split("\t") for line in lines)]
    wanted = found = 0
    missed = []
    for (source, target), alignment, expected in zip(
        pairs, Aligner(shipped_models()[name], fast=fast).align(pairs), BELONG_TOGETHER[name], strict=True
    ):
        assert (alignment.source.words, alignment.target.words) == (source, target)
        for word, other in expected.items():
            wanted += 1
            if (source.index(word), target.index(other)) in alignment.links:
                found += 1
            else:
                missed.append(f"{word}–{other}")
    assert found >= 0.9 * wanted, missed
