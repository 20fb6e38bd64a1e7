"""Made-up languages through all stages: one aligner for all of them, in both orders, and without English."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest

from weft.align.onnx_aligner import Aligner
from weft.config import (
    AlignmentConfig,
    CorpusConfig,
    EncoderConfig,
    GuidedConfig,
    ModelConfig,
    PrepareConfig,
    ScorerConfig,
    TrainingConfig,
)
from weft.corpus.made_up import Word, links_between, translations
from weft.corpus.prepared import open_prepared
from weft.links import format_links
from weft.recipe import GoldConfig, Recipe
from weft.scoring import score
from weft.train.report import SMALL_ALIGNER, Gold, read_gold_sets, read_report
from weft.train.run import run_recipe

SIZES = {"ma": 3_000, "mb": 2_000, "mc": 1_000}
GOLD = ("en-ma", "en-mb", "en-mc", "mb-en", "mb-mc", "ma-mc")  # no pair of ma and mc is trained on
SENTENCES = 100


def short_sentences(count: int, seed: int) -> list[dict[str, list[Word]]]:
    """Translations of English sentences of at most eight words, which are learned quickly."""
    short = (one for one in translations(20 * count, seed) if len(one["en"]) <= 8)
    return list(itertools.islice(short, count))


def write_text(folder: Path) -> tuple[list[CorpusConfig], list[GoldConfig]]:
    """Write corpora with many English sentences in common, some with English first, and gold."""
    sentences = short_sentences(4_000, 1)
    corpora = []
    for number, (name, size) in enumerate(SIZES.items()):
        languages = ("en", name) if name == "mb" else (name, "en")
        chosen = random.Random(number).sample(sentences, size)
        lines = ("\t".join(" ".join(word.spelling for word in one[side]) for side in languages) for one in chosen)
        (folder / f"{name}.tsv").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        corpora.append(CorpusConfig(languages, files=(str(folder / f"{name}.tsv"),)))
    gold = []
    for name in GOLD:
        source, target = name.split("-")
        files = {kind: folder / f"{name}.{kind}" for kind in ("source", "target", "links")}
        tests = short_sentences(SENTENCES, 2)
        for kind, side in (("source", source), ("target", target)):
            lines = (" ".join(word.spelling for word in one[side]) for one in tests)
            files[kind].write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        links = (format_links(links_between(one[source], one[target])) for one in tests)
        files["links"].write_text("".join(f"{line}\n" for line in links), encoding="utf-8")
        gold.append(GoldConfig(*map(str, files.values()), base=0, name=name))  # pyrefly: ignore
    return corpora, gold


def training(updates: int, learning_rate: float) -> TrainingConfig:
    return TrainingConfig(
        updates=updates,
        target_tokens=1_000,
        row_length=64,
        warm_up=30,
        log_every=50,
        checkpoint_every=updates,
        learning_rate=learning_rate,
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Recipe:
    folder = tmp_path_factory.mktemp("languages")
    corpora, gold = write_text(folder)
    recipe = Recipe(
        run=str(folder / "run"),
        corpora=tuple(corpora),
        prepare=PrepareConfig(
            merges=400, temperature=2.0, both_orders=True, noise=0.05, pivots=800, zero_shot=("ma-mc",), hold_out=20
        ),
        model=ModelConfig(width=64, feed_forward=128, heads=4, encoder_layers=1, decoder_layers=1),
        one_model=True,
        training=training(450, 8e-3),
        alignment=AlignmentConfig(hidden=64, agreement=0.5, least_agreement=0.0, training=training(150, 8e-3)),
        guided=GuidedConfig(own_word=True, pairs=1_500, threshold=0.4, training=training(120, 8e-3)),
        scorer=ScorerConfig(
            layers=1, shared=True, fast=EncoderConfig(layers=0), lexicon=2_000, training=training(200, 4e-3)
        ),
        gold=tuple(gold),
    )
    run_recipe(recipe)
    return recipe


def test_all_corpora_are_in_one_folder(trained: Recipe) -> None:
    corpus = open_prepared(Path(trained.run) / "corpus")
    records = corpus.manifest.corpora
    assert [record.text.languages for record in records] == [("ma", "en"), ("en", "mb"), ("mc", "en"), ()]
    assert records[-1].pairs == pytest.approx(800, abs=5)
    drawn = corpus.times(1, 0, len(corpus)).sum()
    assert drawn == pytest.approx(sum((records[0].pairs * record.pairs) ** 0.5 for record in records), rel=0.02)


def test_links_are_found_in_every_language_order_and_pair(trained: Recipe) -> None:
    report = read_report(Path(trained.run))
    assert report is not None
    rates = {line["gold"]: line["aer"] for line in report["lines"] if line["system"] == SMALL_ALIGNER}
    assert rates.keys() == set(GOLD)
    for gold in read_gold_sets(trained):
        assert rates[gold.name] < (25 if "en" in gold.name else 40)
        assert error_rate_of_chance(gold) > 55


def error_rate_of_chance(gold: Gold) -> float:
    """Return the AER, in percent, of the links of the sentence before."""
    return 100 * score([gold.links[number - 1].sure for number in range(SENTENCES)], gold.links).aer


def test_the_order_of_the_sides_does_not_matter(trained: Recipe) -> None:
    aligner = Aligner(Path(trained.run) / "aligner")
    gold = {one.name: one for one in read_gold_sets(trained)}["ma-mc"]
    for there, back in zip(
        aligner.align(gold.pairs), aligner.align((target, source) for source, target in gold.pairs), strict=True
    ):
        assert there.links == {(source, target) for target, source in back.links}


def test_the_card_has_a_figure_for_each(trained: Recipe) -> None:
    card = (Path(trained.run) / "aligner" / "README.md").read_text(encoding="utf-8")
    assert all(f"| {name} | {SENTENCES} | " in card for name in GOLD) and "| mean | |" in card
