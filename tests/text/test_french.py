"""French as it is written: what is contracted, what is elided, what stays."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.config import CorpusConfig, PrepareConfig
from weft.corpus.build import prepare
from weft.text.french import as_usual_or_not, contracted


@pytest.mark.parametrize(
    ("apart", "usual"),
    [
        ("le chef de le État parle à le ministre de la énergie", "le chef de l'État parle au ministre de l'énergie"),
        ("de les bureaux de examen de le endettement", "des bureaux d'examen de l'endettement"),
        ("si il ne est pas là , ce est que il a eu peur", "s'il n'est pas là , c'est qu'il a eu peur"),
        ("jusque à concurrence de les 13 500 $", "jusqu'à concurrence des 13 500 $"),
        (
            "le honorable député , le hiver , le héros et la Hollande",
            "l'honorable député , l'hiver , le héros et la Hollande",
        ),
        ("À le cours de le mois , De le Ouest", "Au cours du mois , De l'Ouest"),
        ("je y vais à le onze", "j'y vais au onze"),
        ("que je en aie de autres", "que j'en aie d'autres"),
        ("le yacht , les yeux , je y suis", "le yacht , les yeux , j'y suis"),
        ("ce député , ce enfant , que .", "ce député , ce enfant , que ."),
        ("", ""),
    ],
)
def test_sentences(apart: str, usual: str) -> None:
    assert " ".join(contracted(apart.split())) == usual


@given(st.lists(st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1)))
def test_anything_goes(words: list[str]) -> None:
    joined = contracted(words)
    assert all(joined) and len(joined) <= len(words)


def test_half_of_the_sentences_stay_as_they_are() -> None:
    sentences = [f"le énergie numéro {number}" for number in range(2_000)]
    forms = Counter(as_usual_or_not(sentence).split(" numéro")[0] for sentence in sentences)
    assert set(forms) == {"le énergie", "l'énergie"} and 900 < forms["le énergie"] < 1_100


def test_training_text_has_both_forms_and_held_out_text_its_own(tmp_path: Path) -> None:
    file = tmp_path / "text.tsv"
    file.write_text("".join(f"energy {n}\tle énergie de le pays {n}\n" for n in range(400)))
    config = PrepareConfig(merges=60, hold_out=20)
    corpus = prepare([CorpusConfig(files=(str(file),), contract_french="target")], config, tmp_path / "corpus")
    spelled = [corpus.subwords.decode(corpus.target[pair].tolist()) for pair in range(len(corpus))]
    assert {sentence.rsplit(" ", 1)[0] for sentence in spelled} == {
        "le énergie de le pays",
        "l' énergie du pays",
    }
    assert all("\tle énergie de le pays" in line for line in corpus.held_out.read_text().splitlines())
