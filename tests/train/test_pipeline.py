"""The whole road on a made-up language whose links are known, as ``weft demo`` goes it."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import torch

from weft.align.model_folder import read_aligner
from weft.align.onnx_aligner import Aligner
from weft.cli.demo import demo_recipe
from weft.config import Merge, Method
from weft.errors import WeftError
from weft.links import read_links
from weft.model.scorer import stored_scorers
from weft.model.system import AlignmentSystem
from weft.model.torch_aligner import TorchAligner, align, word_attention
from weft.model.torch_folder import load_translation
from weft.model.translator import Translator
from weft.scoring import score
from weft.train.report import Gold
from weft.train.run import run_recipe
from weft.train.stages import Parts

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "demo"
    result = subprocess.run([sys.executable, "-m", "weft", "demo", folder], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "┌" in result.stdout and "[●]" in result.stdout  # a sentence pair, drawn
    return folder


@pytest.fixture(scope="module")
def system(demo: Path) -> AlignmentSystem:
    return AlignmentSystem.load(demo / "run" / "model", CPU)


@pytest.fixture(scope="module")
def gold(demo: Path) -> Gold:
    return Gold.read(demo_recipe(demo, 1).gold[0])


def test_every_stage_is_better_than_the_one_before(demo: Path) -> None:
    report = json.loads((demo / "run" / "report.json").read_text())["lines"]
    error = {(line["system"].partition(" of layer")[0], line["merge"]): line["aer"] for line in report}

    def mean(system: str) -> float:
        return (error[system, "forward"] + error[system, "backward"]) / 2

    assert mean("attention") > mean("forward-pass") > mean("optimised") > error["bidirectional", "best-cells"]
    assert error["bidirectional", "best-cells"] > error["guided", "mean"]
    assert error["bidirectional", "best-cells"] < error["optimised", "grow-diag"]
    assert error["guided", "mean"] < 5
    assert error["scorer", "mean"] < error["guided", "mean"] + 1
    assert abs(error["small aligner", "mean"] - error["scorer", "mean"]) < 0.2
    assert error["small aligner, fast", "mean"] < error["small aligner", "mean"] + 3


def test_the_demo_leaves_a_picture_of_every_stage(demo: Path) -> None:
    text = "".join(ElementTree.parse(demo / "alignment.svg").getroot().itertext())
    assert all(name in text for name in ("forward, optimised", "backward, optimised", "bidirectional", "guided"))


def test_what_is_finished_is_not_done_again(demo: Path) -> None:
    def stamps() -> dict[Path, int]:
        patterns = ("*/checkpoint-*", "*/weights.*", "*/finished.json", "links/*")
        paths = (path for pattern in patterns for path in (demo / "run").glob(pattern))
        return {path: path.stat().st_mtime_ns for path in paths if path.parent.name != "aligner"}  # written each time

    before = stamps()
    parts = Parts(demo_recipe(demo, 500)).all()
    assert {path.parent for path in before} == {part.folder for part in parts}
    assert all(part.finished for part in parts)
    run_recipe(demo_recipe(demo, 500))
    assert stamps() == before


def test_layers_of_other_settings_are_refused(demo: Path) -> None:
    with pytest.raises(WeftError, match=r"training\.updates = 500, but now it is 600.*--force"):
        run_recipe(demo_recipe(demo, 600))


def test_translations_are_the_same_with_and_without_layers(demo: Path, system: AlignmentSystem, gold: Gold) -> None:
    loaded = load_translation(demo / "run" / "forward" / "model", CPU)
    lines = [" ".join(source) for source, _ in gold.pairs[:20]]
    before = list(Translator(loaded, beam=2).translate(lines))
    under = system.models["forward"].translation
    assert all(torch.equal(value, under.state_dict()[name]) for name, value in loaded.model.state_dict().items())
    object.__setattr__(loaded, "model", under)
    assert list(Translator(loaded, beam=2).translate(lines)) == before


@pytest.mark.parametrize(
    ("method", "merge"),
    [("forward-pass", "forward"), ("optimised", "backward"), ("bidirectional", "best-cells"), ("guided", "mean")],
)
def test_neighbours_and_batches_do_not_change_links(
    system: AlignmentSystem, gold: Gold, method: Method, merge: Merge
) -> None:
    pairs = gold.pairs[:24]
    together = align(system, pairs, system.attend(method), (merge,), 0.4)[merge]
    small = align(system, pairs[::-1], system.attend(method), (merge,), 0.4, batch_tokens=50)[merge]
    assert together == small[::-1]


def test_attention_between_words(system: AlignmentSystem, gold: Gold) -> None:
    source, target = pair = gold.pairs[0]
    forward, backward = word_attention(system, pair, system.attend("guided"))
    assert forward.shape == backward.shape == (len(target), len(source))
    assert (forward.sum(1) <= 1.001).all() and (backward.sum(0) <= 1.001).all()
    found = {(s, t) for t, s in zip(*(forward + backward > 0.8).nonzero(), strict=True)}
    assert found <= gold.links[0].possible


def weft(*arguments: object, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "weft", *map(str, arguments)], input=stdin, capture_output=True)


def test_align_answers_every_line(demo: Path, gold: Gold, tmp_path: Path) -> None:
    lines = [f"{' '.join(source)}\t{' '.join(target)}\n".encode() for source, target in gold.pairs]
    lines[3:3] = [b"\t\n", b"only one side\n", b"\xff\t\xff\n", b"dog " * 1500 + b"\tkuno-la\n"]
    result = weft("align", "--model", demo / "run" / "model", stdin=b"".join(lines))
    found = result.stdout.decode().split("\n")
    assert result.returncode == 0 and len(found) == len(lines) + 1
    assert found[3:7] == [""] * 4
    warnings = result.stderr.decode().splitlines()
    assert [line.split(": ")[1].split(":")[1] for line in warnings] == ["5", "6", "7"]
    (tmp_path / "links").write_text("\n".join(found[:3] + found[7:]))
    links = [line.sure for line in read_links(str(tmp_path / "links"))]
    assert score(links, gold.links).aer < 0.05

    strict = weft("align", "--model", demo / "run" / "model", "--strict", stdin=b"".join(lines))
    assert strict.returncode == 1 and strict.stderr.decode().startswith("weft: stdin:5: expected two columns")
    other = weft("align", "--model", demo / "run" / "forward" / "model", stdin=b"a\tb\n")
    assert other.returncode == 1 and b"not of the format 'weft alignment system 1'" in other.stderr


def test_the_small_aligner_has_a_card(demo: Path) -> None:
    folder = demo / "run" / "aligner"
    card = weft("models", folder).stdout.decode()
    assert "AER" in card and "sentences:" in card and "Minutes of training" in card and str(demo) not in card
    assert str(demo) not in (folder / "config.json").read_text()  # nobody else has these paths


def test_a_scorer_in_torch_links_the_same_words(demo: Path, gold: Gold) -> None:
    content = read_aligner(demo / "run" / "aligner")
    scorer, _ = stored_scorers(content)
    torch_aligner = TorchAligner(scorer.eval().attention, content.subwords, CPU, "mean", content.config.threshold)
    ours, theirs = (list(one.align(gold.pairs)) for one in (torch_aligner, Aligner(demo / "run" / "aligner")))
    same = sum(len(one.links & other.links) for one, other in zip(ours, theirs, strict=True))
    assert same > 0.98 * max(sum(len(one.links) for one in side) for side in (ours, theirs))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_none_is_used(demo: Path) -> None:
    refused = weft("align", "--model", demo / "run" / "aligner", "--device", "cuda", stdin=b"a\tb\n")
    assert refused.returncode == 1 and b"torch finds no GPU here" in refused.stderr
    refused = weft("align", "--model", demo / "run" / "model", "--fast", stdin=b"a\tb\n")
    assert refused.returncode == 1 and b"--fast is for small aligners" in refused.stderr


def test_only_small_aligners_are_exact_and_only_on_processors(demo: Path) -> None:
    refused = weft("align", "--model", demo / "run" / "model", "--exact", stdin=b"a\tb\n")
    assert refused.returncode == 1 and b"--exact is for small aligners" in refused.stderr
    refused = weft("align", "--model", demo / "run" / "aligner", "--exact", "--device", "cuda", stdin=b"a\tb\n")
    assert refused.returncode == 1 and b"--exact is not for GPUs" in refused.stderr


def test_show_draws_what_a_model_sees(demo: Path, tmp_path: Path) -> None:
    files = [demo / "gold.source", demo / "gold.target"]
    result = weft("show", *files, "--model", demo / "run" / "model", "--line", 2, "--gold", demo / "gold.links",
                  "--gold-base", 0)  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "guided" in result.stdout.decode() and "[●]" in result.stdout.decode()


def test_a_model_folder_says_how_it_was_made(demo: Path) -> None:
    config = json.loads((demo / "run" / "model" / "config.json").read_text())
    assert config["alignment"]["agreement"] == 0.5 and config["training"]["run"] == str(demo / "run")
