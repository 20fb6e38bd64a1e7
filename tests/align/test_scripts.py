"""Text of every script through an aligner: each line is answered in order, links stay inside the words.

Shipped models know few of these languages, so nothing is said here about which words are linked.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from weft.align.alignment import Alignment
from weft.align.formats import FORMATS
from weft.align.model_folder import shipped_models
from weft.align.onnx_aligner import Aligner

SENTENCES = {
    "ar": "وصل القطار إلى المحطة، ولم ينزل منه أحد.",
    "bg": "Влакът пристигна на гарата.",
    "cs": "Vlak přijel na nádraží a nikdo nevystoupil.",
    "da": "Toget ankom til stationen.",
    "de": "Der Zug kam am Bahnhof an, und niemand stieg aus.",
    "el": "Το τρένο έφτασε στον σταθμό· κανείς δεν κατέβηκε απ' αυτό.",
    "en": "The train didn't stop at the station.",
    "es": "¿Llegó el tren a la estación?",
    "et": "Rong jõudis jaama.",
    "fi": "Juna saapui asemalle.",
    "fr": "Le train n'est pas arrivé à l'heure.",
    "hi": "रेलगाड़ी स्टेशन पर पहुँच गई।",
    "hu": "A vonat megérkezett az állomásra.",
    "id": "Kereta api tiba di stasiun.",
    "it": "L'ultimo treno è arrivato un po' in ritardo.",
    "ja": "電車が駅に到着しましたが、誰も降りませんでした。",
    "ko": "기차가 역에 도착했지만 아무도 내리지 않았다.",
    "nl": "'s Avonds kwam de trein aan.",
    "pl": "Pociąg przyjechał na dworzec.",
    "pt": "O comboio chegou à estação.",
    "ro": "Trenul a ajuns în gară, dar nimeni n-a coborât.",
    "ru": "Поезд прибыл на станцию в 12:30.",
    "sv": "Tåget kom till stationen.",
    "th": "รถไฟมาถึงสถานีแล้ว",
    "tr": "Tren İstanbul'a vardı.",
    "uk": "Об’єкт за п'ять кілометрів від станції.",
    "vi": "Tàu đã đến ga.",
    "zh": "火车到了车站，但没有人下车（２０２４年）。",
    "marks": "\ufeffcafe\u0301 \u200fשלום\u200f Donau\u00addampf 👩‍💻 可\ufe00 x\u00a0y",
}
ENGLISH = "The train arrived at the station, but nobody got off."


@pytest.fixture(scope="module", params=["default", "--raw"])
def aligner(request: pytest.FixtureRequest) -> Aligner:
    return Aligner(shipped_models()["multi"], raw=request.param == "--raw", fast=True)


def check(alignment: Alignment, source: str, target: str) -> None:
    """Offsets spell the words, links are inside the words and in order."""
    for sentence, text in ((alignment.source, source), (alignment.target, target)):
        assert sentence.text == text
        assert [text[start:end] for start, end in sentence.spans] == sentence.words
    links = list(alignment.probabilities)
    assert links == sorted(set(links))
    assert all(0 <= i < len(alignment.source) and 0 <= j < len(alignment.target) for i, j in links)
    json.loads(FORMATS["jsonl"].one(alignment, 1))
    for name in ("pharaoh", "words", "giza", "html", "grid"):
        assert FORMATS[name].one(alignment, 1)


def test_a_text_of_all_languages_shuffled_together(aligner: Aligner) -> None:
    sentences = [*SENTENCES.values(), ENGLISH, "", " \u200f "]
    pairs = [(source, target) for source in sentences for target in sentences]
    random.Random(1).shuffle(pairs)
    found = list(aligner.align(pairs))
    assert len(found) == len(pairs)
    for alignment, (source, target) in zip(found, pairs, strict=True):
        check(alignment, source, target)
    for number in (0, 100, 500):  # the same links whatever the neighbours
        assert aligner.align_one(*pairs[number]) == found[number]


@pytest.mark.parametrize("language", SENTENCES)
def test_a_sentence_and_itself_are_linked(aligner: Aligner, language: str) -> None:
    sentence = SENTENCES[language]
    alignment = aligner.align_one(sentence, sentence)
    check(alignment, sentence, sentence)
    if language not in {"hi", "th", "ko"}:  # whose letters the model knows only by their bytes
        assert len(alignment.links) >= min(3, len(alignment.source))


def test_mixed_scripts_have_their_links_in_order() -> None:
    """Names and numbers are the same on both sides, from right to left as from left to right, between any letters."""
    aligner = Aligner(shipped_models()["multi"], raw=True)
    for text in ("جاء Schmidt في 2024", "Schmidt 与 2024 年", "Schmidt は 2024 年に来た"):
        alignment = aligner.align_one(text, "Schmidt came in 2024")
        words = alignment.source.words
        assert {(words.index("Schmidt"), 0), (words.index("2024"), 3)} <= alignment.links


def test_words_of_scripts_without_spaces_are_the_users() -> None:
    aligner = Aligner(shipped_models()["multi"])
    for source in ("火车 到 了 车站 Schmidt", ["火车", "到 了", "车站", "Schmidt"], "火车到了车站 Schmidt"):
        alignment = aligner.align_one(source, "Schmidt")
        assert len(alignment.source) == (len(source) if isinstance(source, list) else len(source.split()))
        assert (len(alignment.source) - 1, 0) in alignment.links
    assert Aligner(shipped_models()["multi"], raw=True).align_one("火车到了 Schmidt", "Schmidt").source.words == [
        *"火车到了",
        "Schmidt",
    ]


def test_the_command_line_answers_every_line(tmp_path: Path) -> None:
    text = tmp_path / "text.tsv"
    text.write_text("".join(f"{sentence}\t{ENGLISH}\n" for sentence in SENTENCES.values()), encoding="utf-8")
    command = [sys.executable, "-m", "weft", "align", "--model", "multi", "--raw", "--format", "jsonl", str(text)]
    answer = subprocess.run(command, capture_output=True, check=True).stdout.decode()
    lines = [json.loads(line) for line in answer.splitlines()]
    assert [line["source"]["text"].removeprefix("\ufeff") for line in lines] == [
        sentence.removeprefix("\ufeff") for sentence in SENTENCES.values()
    ]
