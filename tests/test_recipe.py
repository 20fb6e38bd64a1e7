"""Recipes: what they may say, and what is said when they are wrong."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from weft.config import PRESETS, AlignmentConfig, CorpusConfig, PrepareConfig, TrainingConfig
from weft.errors import WeftError
from weft.recipe import GoldConfig, Recipe, find_recipe, load_recipe, overridden


def recipe_file(folder: Path, text: str) -> Path:
    path = folder / "recipe.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_recipe_with_preset_tables_and_overrides(tmp_path: Path) -> None:
    path = recipe_file(
        tmp_path,
        'run = "run"\nfiles = ["a.tsv", "b.tsv.xz"]\npreset = "tiny"\n'
        "[model]\nencoder_layers = 5\n[prepare]\nmerges = 10\n[prepare.text]\nsharp_s = true\n[training]\nclip = 2\n",
    )
    recipe = load_recipe(
        path,
        ["training.updates=12", "run=elsewhere", 'directions=["backward"]', 'stages=["translate"]', "model.heads=2"],
    )
    assert recipe.files == ("a.tsv", "b.tsv.xz")
    assert (recipe.model.encoder_layers, recipe.model.heads) == (5, 2)
    assert recipe.model.width == PRESETS["tiny"].width
    assert recipe.prepare.text.sharp_s and recipe.prepare.merges == 10
    assert recipe.training == TrainingConfig(clip=2.0, updates=12)
    assert (recipe.run, recipe.directions) == ("elsewhere", ("backward",))


def test_a_recipe_names_its_corpora(tmp_path: Path) -> None:
    path = recipe_file(
        tmp_path,
        'run = "run"\n[[corpora]]\nlanguages = ["es", "en"]\nfiles = ["a.tsv"]\n'
        '[[corpora]]\nlanguages = ["en", "fr"]\nsource = ["b.en"]\ntarget = ["b.fr"]\ncontract_french = "target"\n'
        "[prepare]\ntemperature = 2\nboth_orders = true\nnoise = 0.1\npivots = 10\nzero_shot = ['es-fr']\n",
    )
    recipe = load_recipe(path)
    assert recipe.texts == (
        CorpusConfig(("es", "en"), files=("a.tsv",)),
        CorpusConfig(("en", "fr"), source=("b.en",), target=("b.fr",), contract_french="target"),
    )
    assert recipe.prepare == PrepareConfig(
        temperature=2.0, both_orders=True, noise=0.1, pivots=10, zero_shot=("es-fr",)
    )


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (['preset=["tiny"]'], r"settings: preset must be one of paper, base, small, tiny, not \['tiny'\]"),
        (["preset=tiny", "model=5"], "settings: model must be a table of settings, not 5"),
        (["preset=tiny", "scorer=5"], "settings: scorer must be a table of settings, not 5"),
    ],
)
def test_a_preset_and_its_tables_are_checked(settings: list[str], problem: str) -> None:
    with pytest.raises(WeftError, match=problem):
        overridden(Recipe("run"), settings)


def test_a_single_corpus_needs_no_table(tmp_path: Path) -> None:
    path = recipe_file(tmp_path, 'run = "run"\nfiles = ["a.tsv"]\ncontract_french = "target"')
    (text,) = load_recipe(path, ['languages=["en", "fr"]']).texts
    assert text == CorpusConfig(("en", "fr"), files=("a.tsv",), contract_french="target")


@pytest.mark.parametrize(
    ("text", "overrides", "message"),
    [
        ("", [], "run"),
        ('run = "r"\nfiles = ["a"]\n[[corpora]]\nfiles = ["b"]', [], "the text is named twice"),
        ('run = "r"\n[[corpora]]\nlanguages = ["en"]', [], r"corpora: languages must be two codes"),
        ('run = "r"\n[[corpora]]\nlanguages = ["en", "en"]', [], r"corpora: languages must be two codes"),
        ('run = "r"', ["prepare.temperature=0.5"], "temperature must be at least 1"),
        ('run = "r"', ["prepare.noise=1.0"], "noise must be at least 0 and below 1"),
        ('run = "r"\ncolour = 1', [], "unknown setting 'colour'"),
        ('run = "r"\n[training]\nupdate = 1', [], "unknown setting 'update'"),
        ('run = "r"\n[training]\nupdates = "many"', [], "training: updates must be of type int"),
        ('run = "r"\n[training]\nupdates = true', [], "must be of type int"),
        ('run = "r"\n[training]\noptimiser = "sgd"', [], "must be one of muon, adamw"),
        ('run = "r"\nfiles = "a.tsv"', [], "files must be a list"),
        ('run = "r"\ntraining = 3', [], "training must be a table"),
        ('run = "r"\npreset = "huge"', [], "preset must be one of paper, base, small, tiny"),
        ("run = ", [], "not a valid TOML file"),
        ("run = " + "[" * 100_000, [], "not a valid TOML file: too many tables or lists in one another"),
        ("run = " + "9" * 5_000, [], "not a valid TOML file: Exceeds the limit"),
        ('run = "r"', ["model.heads=7"], "recipe.toml: model: width must be a multiple of twice the heads"),
        ('run = "r"', ["model.dropout=1.0"], "dropout must be at least 0 and below 1"),
        ('run = "r"', ["training.log_every=0"], "recipe.toml: training: log_every must be at least 1"),
        ('run = "r"', ["training.target_tokens=0"], "target_tokens must be at least 1"),
        ('run = "r"', ["training.clip=0"], "clip must be above 0"),
        ('run = "r"', ["directions=[]"], "directions must name"),
        ('run = "r"', ['directions=["forward", "forward"]'], "directions must name"),
        ('run = "r"', ['directions=["forward"]'], "alignment needs both directions"),
        (
            'run = "r"',
            ['stages=["translate", "guide"]'],
            "stages must be translate, align, guide, distil, in this order",
        ),
        ('run = "r"', ["alignment.kernel=6"], "kernel must be at most 5"),
        ('run = "r"', ["guided.heads=3"], "guided.heads must divide the width of 256, but is 3"),
        ('run = "r"', ["alignment.training.clip=0"], "clip must be above 0"),
        ('run = "r"', ["training.learning_rate=nan"], "learning_rate must be above 0"),
        ('run = "r"', ["training.minutes=nan"], "minutes must be at least 0"),
        ('run = "r"', ["training.label_smoothing=7"], "training: label_smoothing must be at least 0 and below 1"),
        ('run = "r"', ["scorer.training.row_length=4096"], "row_length must be at most 1,024, but is 4,096"),
        ('run = "r"', ["preset=tiny"], "scorer.layers is 3, but the translation models have only 2 encoder layers"),
        ('run = "r"', ["scorer.width=512"], "scorer.width is 512, but the translation models are only 256 wide"),
        ('run = "r"', ["scorer.fast.heads=3"], "scorer: fast: width must be a multiple of twice the heads"),
        ('run = "r"', ["scorer.refine.lexicon=0"], "scorer: refine: lexicon must be at least 1"),
        ('run = "r"', ["alignment.most_null=2"], "most_null must be between 0 and 1"),
        ('run = "r"', ["one_model=true", "start.backward=x"], "name it in start.forward"),
        ('run = "r"', ["teachers=0"], "teachers must be at least 1"),
        ('run = ""', [], "run must name a folder"),
        ('run = "r"', ["gold.links=gold.txt"], "gold is three files: source, target and links"),
        ('run = "r"', ["guided.threshold=1.5"], "threshold must be at least 0 and below 1"),
        ('run = "r"', ["training.updates"], "expected a setting such as"),
        ('run = "r"', ["run.x=1"], "run is not a table"),
    ],
)
def test_bad_recipes_say_what_is_wrong(tmp_path: Path, text: str, overrides: list[str], message: str) -> None:
    with pytest.raises(WeftError, match=message):
        load_recipe(recipe_file(tmp_path, text), overrides)


def test_missing_recipe_is_named(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match=r"none\.toml: No such file"):
        load_recipe(tmp_path / "none.toml")


@pytest.mark.parametrize(
    "name", ["multi", *(f"{pair}{kind}" for pair in ("de-en", "en-fr", "ro-en") for kind in ("", "-paper"))]
)
def test_shipped_recipes_are_valid_wherever_weft_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_recipe(find_recipe(name)).run == f"runs/{name}"


def test_tables_within_tables_keep_the_defaults_of_their_place(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text('run = "r"\n[alignment.training]\nseed = 3\n[bidirectional]\nsteps = 2\n')
    recipe = load_recipe(path)
    assert recipe.alignment.training == dataclasses.replace(AlignmentConfig().training, seed=3)
    assert recipe.bidirectional == dataclasses.replace(Recipe("r").bidirectional, steps=2)


def test_a_recipe_can_be_ended_early() -> None:
    recipe = Recipe("r", stages=("translate", "align", "guide"))
    assert recipe.until("align").stages == ("translate", "align") and recipe.until(None) is recipe
    with pytest.raises(WeftError, match="no stage distil; its stages are translate, align, guide"):
        recipe.until("distil")


def test_shapes_are_checked_against_the_model_of_the_recipe(tmp_path: Path) -> None:
    path = recipe_file(tmp_path, 'run = "r"\n[model]\nwidth = 96\nheads = 4\n[guided]\nheads = 12\n')
    assert load_recipe(path).model.width == 96  # 12 heads do not divide the default width of 256
    tiny = load_recipe(path, ["preset=tiny", "scorer.layers=2"])
    assert (tiny.model.encoder_layers, tiny.scorer.layers) == (2, 2)
    assert load_recipe(path, ["preset=tiny", 'stages=["translate"]']).scorer.layers == 3  # nothing is distilled


def test_every_teacher_has_its_own_seeds_and_folder() -> None:
    recipe = Recipe("r", teachers=3, translation="other")
    assert recipe.teacher(1) is recipe
    second, third = recipe.teacher(2), recipe.teacher(3)
    assert (second.run, third.run) == ("r/teacher-2", "r/teacher-3")
    assert second.translation == "" and second.teachers == 1
    trainings = [[one.training, one.alignment.training, one.guided.training] for one in (recipe, second, third)]
    assert [[training.seed for training in own] for own in trainings] == [[1] * 3, [101] * 3, [201] * 3]
    assert dataclasses.replace(second.training, seed=1) == recipe.training


def test_the_card_knows_the_name_of_the_recipe(tmp_path: Path) -> None:
    path = recipe_file(tmp_path, 'run = "r"\n')
    assert load_recipe(path).card.recipe == "recipe"
    assert load_recipe(path, ["card.recipe=other"]).card.recipe == "other"


def test_gold_is_one_table_or_many(tmp_path: Path) -> None:
    one = 'source = "a.en"\ntarget = "a.es"\nlinks = "a.gold"\n'
    path = recipe_file(tmp_path, f'run = "run"\n[[gold]]\nname = "es"\n{one}[[gold]]\ncontent = true\n{one}')
    files = ("a.en", "a.es", "a.gold")
    assert load_recipe(path).gold == (GoldConfig(*files, name="es"), GoldConfig(*files, content=True))
    assert load_recipe(recipe_file(tmp_path, f'run = "run"\n[gold]\n{one}')).gold == (GoldConfig(*files),)
    settings = ["gold.source=a.en", "gold.target=a.es", "gold.links=a.gold"]
    plain = load_recipe(recipe_file(tmp_path, 'run = "run"'), settings)
    assert plain.gold == (GoldConfig(*files),)
    assert overridden(plain, ["gold.source=b", "gold.target=c", "gold.links=d"]).gold == (GoldConfig("b", "c", "d"),)


def test_the_recipe_of_many_languages_names_each_once() -> None:
    recipe = load_recipe(find_recipe("multi"))
    pairs = ["-".join(text.languages) for text in recipe.texts]
    languages = {name for text in recipe.texts for name in text.languages}
    assert len(languages) == 27 and "sl" not in languages  # kept away, to see what a new language gets
    assert len(set(pairs)) == 27 and len(pairs) == 29  # German and Romanian have two corpora
    assert len({gold.name for gold in recipe.gold}) == len(recipe.gold) == 18
    assert all(gold.content == ("pud" in gold.links) for gold in recipe.gold)
    assert {name for pair in recipe.prepare.zero_shot for name in pair.split("-")} <= languages
