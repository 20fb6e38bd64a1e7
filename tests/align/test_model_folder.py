"""Model folders: their names, the shipped ones, and those that are damaged or hostile."""

from __future__ import annotations

import io
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from weft.align import model_folder
from weft.align.model_folder import card, open_model, read_aligner
from weft.align.onnx_aligner import Aligner
from weft.cli.models import list_models
from weft.errors import WeftError
from weft.recipe import find_recipe, load_recipe
from weft.train.report import Gold, score_aligner

MODELS = model_folder.shipped_models()
PUBLISHED = {  # AER, and with fast encoders
    "multi": {
        "bg": (11.9, 13.5), "da": (8.5, 9.7), "es": (11.5, 12.2), "et": (16.5, 19.1), "hu": (21.8, 23.5),
        "it": (13.8, 14.8), "nl": (3.1, 4.3), "pt": (11.4, 12.1), "ru": (12.9, 14.3),
        "ar (PUD)": (18.6, 25.0), "fr (PUD)": (6.5, 7.5),
        "ja (PUD)": (23.9, 27.0), "ko (PUD)": (16.1, 21.2), "ru (PUD)": (8.1, 11.2), "zh (PUD)": (10.2, 13.7),
        "de (RWTH)": (14.1, 15.1), "fr (NAACL)": (3.7, 4.7), "ro (NAACL)": (19.2, 20.5),
    },
    "ro-en": {"ro (NAACL)": (18.3, 18.3)},
}  # fmt: skip


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two models that come with weft."""
    monkeypatch.setattr(model_folder, "SHIPPED", tmp_path)
    for name in ("ro-en", "multi"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
        (tmp_path / name / "README.md").write_text(f"# {name}\n\nA model\nfor {name}.\n\nMore.\n")
    (tmp_path / "not-a-model").mkdir()
    return tmp_path


def test_names_and_paths(shipped: Path) -> None:
    assert model_folder.shipped_models() == {"multi": shipped / "multi", "ro-en": shipped / "ro-en"}
    assert model_folder.find_model("ro-en") == shipped / "ro-en"
    assert model_folder.find_model() == shipped / "multi"
    assert model_folder.find_model(str(shipped)) == shipped
    with pytest.raises(WeftError, match="en-ro: use ro-en and reverse; the same model"):
        model_folder.find_model("en-ro")
    with pytest.raises(WeftError, match=r"none: neither a shipped model"):
        model_folder.find_model(Path("none"))
    with pytest.raises(WeftError, match=r"xx: neither a shipped model \(multi, ro-en\) nor a model folder"):
        model_folder.find_model("xx")


def test_config_json_is_read_once(folder: Path) -> None:
    opened = open_model(folder)
    (folder / "config.json").unlink()
    assert Aligner(opened, cores=1).threshold == read_aligner(opened).config.threshold == 0.25


def test_the_list_shows_name_size_and_first_paragraph(shipped: Path, capsys: pytest.CaptureFixture[str]) -> None:
    list_models()
    assert capsys.readouterr().out == "multi   0.0 MB  A model for multi.\nro-en   0.0 MB  A model for ro-en.\n"


def test_what_is_shipped_is_small() -> None:
    sizes = {name: sum(path.stat().st_size for path in folder.iterdir()) for name, folder in MODELS.items()}
    assert sizes.keys() == PUBLISHED.keys()
    assert max(sizes.values()) <= 20e6 and sum(sizes.values()) <= 45e6


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_a_card(name: str) -> None:
    card = model_folder.card(MODELS[name])
    for part in ("Data", "Licence of the data", "Training", "Quality", "Limits"):
        assert f"**{part}.**" in card
    assert "|average:corpus|" in card  # the signature of the score


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_error_rates_are_those_published(name: str, fast: bool) -> None:
    """The gold sentences are not part of weft; ``tests/align/test_ordinary_text.py`` has some that are."""
    data = Path(__file__).parents[3] / "shared" / "data"
    if not data.exists():
        pytest.skip(f"{data} is not there")

    def moved(file: str) -> str:
        return str(data / Path(file).relative_to("data"))

    gold = [
        Gold.read(replace(one, source=moved(one.source), target=moved(one.target), links=moved(one.links)))
        for one in load_recipe(find_recipe("multi")).gold
        if one.name in PUBLISHED[name]
    ]
    found = {line.gold: 100 * line.score.aer for line in score_aligner(MODELS[name], gold, fast=fast)}
    assert found == pytest.approx({one: rates[fast] for one, rates in PUBLISHED[name].items()}, abs=0.3)


def test_tables_are_mapped_and_the_rest_is_read(folder: Path) -> None:
    content = read_aligner(folder)
    tables = content.tables()
    assert [type(table).__name__ for table in tables.values()] == ["memmap", "ndarray", "memmap", "ndarray"]
    for encoder in model_folder.encoder_names(shared=False):
        table = tables[f"{encoder}.embedding.words.weight"]
        np.testing.assert_array_equal(table, np.load(folder / f"{encoder}.npy"))
        assert len(table) == content.config.vocabulary == len(content.subwords)
    narrow, shape = content.encoders(fast=True)
    assert narrow["source.project.weight"].shape == (shape.width, shape.width) == (128, 128)


def test_a_shared_encoder_has_one_table_and_one_set_of_arrays(folder: Path, shared_folder: Path) -> None:
    content = read_aligner(shared_folder)
    assert content.config.shared and all("both." in name or "rates" in name for name in content.arrays)
    assert [type(table).__name__ for table in content.tables().values()] == ["memmap", "ndarray"]
    assert {path.name for path in shared_folder.iterdir()} == {
        "config.json", "tokenizer.json", "both.npy", "weights.safetensors",
    }  # fmt: skip
    for name in ("both.npy", "weights.safetensors"):
        size = sum(path.stat().st_size for path in folder.glob("*.npy" if name == "both.npy" else name))
        assert (shared_folder / name).stat().st_size == pytest.approx(size / 2, rel=0.01)


@pytest.mark.parametrize("kind", ["folder", "shared_folder"])
def test_what_is_written_is_read_back(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    content = read_aligner(request.getfixturevalue(kind))
    model_folder.write_aligner(tmp_path / "again", content)
    again = read_aligner(tmp_path / "again")
    assert again.config == content.config and again.subwords.spellings == content.subwords.spellings
    assert again.arrays.keys() == content.arrays.keys()
    for name, array in content.arrays.items():
        np.testing.assert_array_equal(again.arrays[name], array, name)
    assert again.checksum() == content.checksum()


@pytest.mark.parametrize("name", ["source.npy", "target.npy", "weights.safetensors"])
def test_the_checksum_is_of_all_arrays(folder: Path, name: str) -> None:
    before = read_aligner(folder).checksum()
    content = bytearray((folder / name).read_bytes())
    content[-1] ^= 1
    (folder / name).write_bytes(content)
    assert read_aligner(folder).checksum() != before


def test_links_to_regular_files_are_read(folder: Path) -> None:
    """As in the caches of model hubs."""
    for path in list(folder.iterdir()):
        path.unlink()
        path.symlink_to(ORIGINAL / path.name)
    assert read_aligner(folder).config == read_aligner(ORIGINAL).config


def test_cards_are_safe_for_terminals(folder: Path) -> None:
    (folder / "README.md").write_text("# A model\n\n\x1b[31mred\u202e\r\tß\u00a0\n")
    assert card(folder) == "# A model\n\n\\x1b[31mred\\u202e\\r\tß\u00a0\n"
    _link("README.md", "/dev/zero")(folder)
    with pytest.raises(WeftError, match=r"README.md: not a regular file"):
        card(folder)
    (folder / "README.md").unlink()
    (folder / "README.md").write_bytes(b"x" * 1_000_001)
    with pytest.raises(WeftError, match=r"README.md: 1.0 MB, but it can have 1.0 MB"):
        card(folder)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"format": "weft aligner 2"}', True),
        ('{"format": "weft alignment system 1"}', False),
        ('{"format": "weft aligner 1"}', r"made by an older weft \(format 1\); get it again or train again"),
        ('{"format": "weft al', "config.json: damaged: not JSON"),
        ("[" * 200_000, "config.json: damaged: not JSON"),
        ("{}", "config.json: not of a model of weft"),
        ('["weft aligner 2"]', "config.json: not of a model of weft"),
        (None, r"not a model folder \(no config.json\)"),
    ],
)
def test_the_kind_of_a_model_is_known_or_it_is_an_error(tmp_path: Path, content: str | None, expected: object) -> None:
    if content is not None:
        (tmp_path / "config.json").write_text(content)
    if isinstance(expected, bool):
        assert open_model(tmp_path).is_small_aligner == expected
    else:
        with pytest.raises(WeftError, match=str(expected)):
            open_model(tmp_path)


# Damaged and hostile folders


ORIGINAL = MODELS["ro-en"]
Change = Callable[[Path], object]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(ORIGINAL, tmp_path / "model"))


def _config(**values: object) -> Change:
    def change(folder: Path) -> None:
        described = json.loads((folder / "config.json").read_text())
        for name, value in values.items():
            described[name] = {**described[name], **value} if isinstance(value, dict) else value
        (folder / "config.json").write_text(json.dumps(described))

    return change


def _write(name: str, content: bytes) -> Change:
    return lambda folder: (folder / name).write_bytes(content)


def _link(name: str, target: str) -> Change:
    def change(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).symlink_to(target)

    return change


def _pipe(name: str) -> Change:
    def change(folder: Path) -> None:
        (folder / name).unlink()
        os.mkfifo(folder / name)

    return change


def _size(name: str, size: int) -> Change:
    return lambda folder: os.truncate(folder / name, size)


def _table(array: np.ndarray) -> Change:
    return lambda folder: np.save(folder / "source.npy", array, allow_pickle=True)


def _claims(folder: Path) -> None:
    """A header that promises more than the file has."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|i1", "fortran_order": False, "shape": (16258, 256)})
    (folder / "source.npy").write_bytes(header.getvalue() + b"few")


def _weights(change: Callable[[dict[str, np.ndarray]], object]) -> Change:
    def write(folder: Path) -> None:
        arrays = load_file(folder / "weights.safetensors")
        change(arrays)
        save_file(arrays, folder / "weights.safetensors")

    return write


def _header(text: bytes) -> Change:
    return _write("weights.safetensors", len(text).to_bytes(8, "little") + text)


def _pop(name: str) -> Change:
    def change(folder: Path) -> None:
        described = json.loads((folder / "config.json").read_text())
        del described[name]
        (folder / "config.json").write_text(json.dumps(described))

    return change


def _gap(folder: Path) -> None:
    """Give a piece a number that no table has."""
    described = json.loads((folder / "tokenizer.json").read_text())
    described["model"]["vocab"]["Ġthe"] = 2**20
    (folder / "tokenizer.json").write_text(json.dumps(described))


NORM = "source.norm_words.weight"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda folder: (folder / "config.json").unlink(), r"not a model folder \(no config.json\)$"),
        (_write("config.json", b'{"a":' * 100_000), "config.json: damaged: not JSON$"),
        (_write("config.json", b"\xff{}"), "config.json: damaged: not UTF-8$"),
        (_size("config.json", 2_000_000), "2.0 MB, but it can have 1.0 MB at most$"),
        (_link("config.json", "/dev/zero"), "config.json: not a regular file$"),
        (_pipe("config.json"), "config.json: not a regular file$"),
        (_config(format="weft alignment system 1"), "config.json: not of a small aligner"),
        (_pop("encoders"), "config.json: damaged, it has no 'encoders'$"),
        (_config(encoders={"layers": 10**12}), "config.json: a small aligner has 100 layers at most$"),
        (_config(encoders={"width": 2**40}), "too large for a small aligner$"),
        (_config(encoders={"heads": 7}), "width must be a multiple of twice the heads, but is 256 for 7 heads$"),
        (_config(encoders={"width": 128}), r"source.npy: not int8 of shape \(16258, 128\), as config.json says; get"),
        (_config(vocabulary=10**15), "too large for a small aligner$"),
        (_config(vocabulary=10**400), "too large for a small aligner$"),
        (_config(vocabulary=-1), "vocabulary must be at least 1, but is -1$"),
        (_config(shared=1), "config.json: .*shared"),
        (_config(shared=True), "both.npy: No such file or directory$"),
        (_config(threshold=float("nan")), "threshold must be at least 0 and below 1, but is nan$"),
        (_link("tokenizer.json", "/dev/zero"), "tokenizer.json: not a regular file$"),
        (_pipe("tokenizer.json"), "tokenizer.json: not a regular file$"),
        (_size("tokenizer.json", 60_000_000), "60.0 MB, but it can have 50.0 MB at most$"),
        (_write("tokenizer.json", b"[" * 100_000), "tokenizer.json: not a tokenizer file"),
        (_gap, r"tokenizer.json: not a tokenizer of weft \(the numbers of its pieces have gaps\)$"),
        (_pipe("source.npy"), "source.npy: not a regular file$"),
        (_link("source.npy", "/dev/zero"), "source.npy: not a regular file$"),
        (_link("source.npy", "/nowhere"), "source.npy: No such file or directory$"),
        (_size("source.npy", 10**12), "source.npy: not int8 of shape"),
        (_size("source.npy", 1_000_000), "source.npy: not int8 of shape"),
        (_size("source.npy", 0), "source.npy: not int8 of shape"),
        (_claims, "source.npy: not int8 of shape"),
        (_table(np.array([{"a": 1}, None], object)), "source.npy: not int8 of shape"),
        (_table(np.zeros((16258, 256), np.uint8)), "source.npy: not int8 of shape"),
        (_table(np.zeros((16258, 255), np.int8)), "source.npy: not int8 of shape"),
        (_table(np.zeros((256, 16258), np.int8).T), "source.npy: not int8 of shape"),
        (_link("weights.safetensors", "/dev/zero"), "weights.safetensors: not a regular file$"),
        (_size("weights.safetensors", 10**12), "1,000,000.0 MB, but it can have"),
        (_size("weights.safetensors", 100_000), "weights.safetensors: damaged or truncated; get the model again"),
        (_size("weights.safetensors", 3), "damaged or truncated"),
        (_header(b"[" * 100_000), "damaged or truncated"),
        (_header(b'{"a":' * 100_000), "damaged or truncated"),
        (_header(b'{"a":{"dtype":"F32","shape":[1000000000000],"data_offsets":[0,4000000000000]}}'), "damaged"),
        (_weights(lambda arrays: arrays.pop(NORM)), f"'{NORM}' is nothing, but config.json says F32 of shape"),
        (_weights(lambda arrays: arrays.update(more=np.zeros(3))), r"'more' is F64 of shape \(3,\), but config"),
        (_weights(lambda arrays: arrays.update({NORM: arrays[NORM].astype(np.float16)})), "is F16 of shape"),
        (_weights(lambda arrays: arrays.update({NORM: arrays[NORM][:3]})), r"is F32 of shape \(3,\), but config"),
        (_weights(lambda arrays: arrays[NORM].__setitem__(3, np.nan)), f"{NORM} has numbers that are not finite"),
    ],
)  # fmt: skip
def test_damaged_and_hostile_folders_are_refused_with_one_line(folder: Path, change: Change, problem: str) -> None:
    change(folder)
    with pytest.raises(WeftError, match=problem) as caught:
        read_aligner(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (_config(shared=False), "source.npy: No such file or directory$"),
        (_pop("shared"), "source.npy: No such file or directory$"),
        (_size("both.npy", 1_000_000), "both.npy: not int8 of shape"),
        (_link("both.npy", "/dev/zero"), "both.npy: not a regular file$"),
        (_weights(lambda arrays: arrays.update({NORM: arrays["both.norm_words.weight"]})), f"'{NORM}' is F32 of shape"),
        (_weights(lambda arrays: arrays.pop("fast.both.project.weight")), "'fast.both.project.weight' is nothing"),
    ],
)
def test_damage_to_a_shared_encoder_is_refused(shared_folder: Path, change: Change, problem: str) -> None:
    change(shared_folder)
    with pytest.raises(WeftError, match=problem):
        read_aligner(shared_folder)
