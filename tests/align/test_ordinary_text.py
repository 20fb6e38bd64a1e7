"""Guard the quality of the shipped models on text as people write it: capitals, accents, quotes, numbers, addresses.

``tests/ordinary`` has 60 sentence pairs of three language pairs, written and aligned by hand for this project: columns
source, target, and gold links counted from zero, ``i-j`` sure and ``ipj`` possible.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.align.model_folder import shipped_models
from weft.align.onnx_aligner import Aligner
from weft.links import read_links
from weft.scoring import score

ROOT = Path(__file__).parents[2]
ERROR_RATES = {  # AER in per cent, measured with what is shipped: (normal, fast)
    ("multi", "de-en"): (5.79, 7.37),
    ("multi", "en-fr"): (5.49, 5.78),
    ("multi", "ro-en"): (7.30, 7.74),
    ("ro-en", "ro-en"): (7.28, 7.63),
}
# Words of examples/*.tsv that belong together beyond doubt, in the user's own spelling.
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
@pytest.mark.parametrize(("model", "languages"), ERROR_RATES)
def test_error_rates_are_those_measured(model: str, languages: str, fast: bool, tmp_path: Path) -> None:
    """A gain fails as well as a loss, so that the figures here stay true. Eight-bit rounding differs between CPUs."""
    rows = [line.split("\t") for line in (ROOT / "tests/ordinary" / f"{languages}.tsv").read_text("utf-8").splitlines()]
    (tmp_path / "gold").write_text("".join(f"{links}\n" for _, _, links in rows))
    gold = list(read_links(str(tmp_path / "gold")))
    pairs = [(source.split(), target.split()) for source, target, _ in rows]
    for line, (source, target) in zip(gold, pairs, strict=True):
        line.check(len(source), len(target))
    found = [alignment.links for alignment in Aligner(shipped_models()[model], fast=fast).align(pairs)]
    assert len(gold) == 60
    assert 100 * score(found, gold).aer == pytest.approx(ERROR_RATES[model, languages][fast], abs=0.3)


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize(("model", "languages"), ERROR_RATES)
def test_words_that_belong_together_are_linked(model: str, languages: str, fast: bool) -> None:
    lines = (ROOT / "examples" / f"{languages}.tsv").read_text(encoding="utf-8").splitlines()
    pairs = [(source.split(), target.split()) for source, target in (line.split("\t") for line in lines)]
    missed = []
    for (source, target), alignment, expected in zip(
        pairs, Aligner(shipped_models()[model], fast=fast).align(pairs), BELONG_TOGETHER[languages], strict=True
    ):
        assert (alignment.source.words, alignment.target.words) == (source, target)
        for word, other in expected.items():
            if (source.index(word), target.index(other)) not in alignment.links:
                missed.append(f"{word}–{other}")
    assert len(missed) <= 1, missed
