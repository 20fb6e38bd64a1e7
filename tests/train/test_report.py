"""Reports: the choice of a layer without gold, and the card of an aligner."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch

import weft
from weft.corpus.prepared import PreparedCorpus
from weft.errors import WeftError
from weft.links import LinkLine
from weft.model.rows import Attention, PairRows
from weft.model.system import AlignmentSystem
from weft.recipe import CardConfig, GoldConfig, Recipe
from weft.scoring import Score
from weft.text.subwords import END
from weft.train import report
from weft.train.report import FAST_ALIGNER, SMALL_ALIGNER, Gold, ReportLine, aligner_card, best_attention_layer
from weft.train.stages import Parts, finish

CPU = torch.device("cpu")


def test_the_layer_whose_directions_agree_is_chosen() -> None:
    words = torch.tensor([[5, 6, 7, END]])
    pair = PairRows.of(words, words)
    straight, turned = torch.eye(4)[None], torch.eye(4).flip(0)[None]
    layers = [Attention(straight, turned), Attention(straight, straight), Attention(turned, straight)]
    system: Any = SimpleNamespace(
        models={"forward": SimpleNamespace(translation=SimpleNamespace(config=SimpleNamespace(decoder_layers=3)))},
        plain_attention=lambda pair, layer: layers[layer],
    )
    assert best_attention_layer(cast("AlignmentSystem", system), pair) == 1


def finished_run(recipe: Recipe) -> None:
    """The files that a card is made of, without training."""
    for number, part in enumerate(Parts(recipe).all()):
        path = part.folder / part.result
        path.parent.mkdir(parents=True)
        path.write_bytes(bytes([number]))
        finish(part.folder, {}, seconds=60.0 * (number + 1))


def test_a_card_says_how_the_aligner_was_made(corpus: PreparedCorpus, tmp_path: Path) -> None:
    about = CardConfig(
        recipe="ro-en", languages="Romanian-English", gold="two sentences", choices="Settings: dev sets."
    )
    recipe = Recipe(str(tmp_path / "run"), teachers=2, card=about)
    recipe = dataclasses.replace(recipe, training=dataclasses.replace(recipe.training, seed=7))
    finished_run(recipe)
    line = LinkLine("gold:1", frozenset({(0, 0)}), frozenset({(0, 0)}))
    gold = Gold([(["a"], ["b"])] * 2, [line] * 2, "links", 1)
    score = Score(np.array([[1, 1, 1, 1], [2, 1, 0, 1]], np.int64))
    card = aligner_card(
        recipe, corpus, CPU, [ReportLine(SMALL_ALIGNER, "mean", score), ReportLine(FAST_ALIGNER, "mean", score)], [gold]
    )
    assert card.split("\n\n")[1] == f"Romanian-English, word by word: AER {100 * score.aer:.1f} on two sentences."
    assert f"weft {weft.__version__}, the recipe ro-en, seed 7; learned from 2 systems" in card
    assert (
        corpus.checksum[:16] in card
        and f"`{gold.signature('mean')}`" in card
        and "|merge:mean|" in card
        and "With `--fast`: AER" in card
    )
    parts = Parts(recipe).all()
    minutes = [1.0 + number for number in range(len(parts))]
    by_kind = dict.fromkeys(("align", "guide"), 0.0)
    for part, one in zip(parts, minutes, strict=True):
        assert f"| {part.name} | `{part.checksum}` |" in card
        if part.kind in by_kind:
            by_kind[part.kind] += one
    assert all(f"{kind} {total:.1f}" in card for kind, total in by_kind.items())
    assert "gold links of two sentences only to report the figures above. Settings: dev sets." in card
    assert str(tmp_path) not in card


def test_a_card_without_gold(corpus: PreparedCorpus, tmp_path: Path) -> None:
    recipe = Recipe(str(tmp_path / "run"))
    finished_run(recipe)
    card = aligner_card(recipe, corpus, CPU, [], [])
    assert "settings that weft chose for this text" in card and "learned from one system" in card
    assert "This run looked at no gold links." in card and "AER" not in card


def gold_sets() -> list[Gold]:
    line = LinkLine("gold:1", frozenset({(0, 0)}), frozenset({(0, 0)}))
    return [
        Gold([(["a"], ["b"])] * 2, [line] * 2, "links", 1, "es"),
        Gold([(["a", "c"], ["b"])], [line], "links", 1, "ja", content=True),
    ]


def test_several_sets_of_gold_have_figures_of_their_own_and_a_mean(corpus: PreparedCorpus, tmp_path: Path) -> None:
    gold = gold_sets()
    found = {"mean": [frozenset({(0, 0)}), frozenset(), frozenset({(0, 0), (1, 0)})]}  # one missed; one too many
    system: Any = SimpleNamespace()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "align", lambda *_: found)
        lines = report.score_system(system, gold, "guided", system, ("mean",))
    assert [(line.gold, line.score.aer) for line in lines] == [("es", pytest.approx(1 / 3)), ("ja", 0.0)]
    assert lines[0].figures()["gold"] == "es"
    shown = report.table(lines, gold)
    assert "| system | merged by | mean | es | ja |" in shown and "| guided | mean | 16.7 | 33.3 | 0.0 |" in shown
    assert "ja: `sentences:1|" in shown and "|words:content|" in shown.split("ja: ")[1]
    assert "|words:content|" not in shown.split("ja: ")[0]

    recipe = Recipe(str(tmp_path / "run"))
    finished_run(recipe)
    scores = [
        dataclasses.replace(line, system=system_name) for system_name in (SMALL_ALIGNER, FAST_ALIGNER) for line in lines
    ]
    card = aligner_card(recipe, corpus, CPU, scores, gold)
    assert card.split("\n\n")[1] == "Sentence pairs, word by word: mean AER 16.7 on 3 sentences in 2 sets."
    assert "| es | 2 | 33.3 | 0.0–100.0 | 33.3 |" in card and "| mean | | 16.7 | | 16.7 |" in card


def test_sets_of_gold_are_told_apart_by_name(tmp_path: Path) -> None:
    for name, text in (("source", "a\n"), ("target", "b\n"), ("links", "1-1\n")):
        (tmp_path / name).write_text(text)
    files = [str(tmp_path / name) for name in ("source", "target", "links")]
    one = GoldConfig(*files)  # pyrefly: ignore
    named = dataclasses.replace(one, name="es", content=True)
    sets = report.read_gold_sets(Recipe("run", gold=(one, named)))
    assert [(gold.name, gold.content) for gold in sets] == [("links", False), ("es", True)]
    with pytest.raises(WeftError, match="two sets of gold are called links; give each a name"):
        report.read_gold_sets(Recipe("run", gold=(one, named, one)))
    assert report.read_gold_sets(Recipe("run")) == []
