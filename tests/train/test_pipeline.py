"""The whole road on a made-up language whose links are known, as ``weft demo`` goes it."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.align.model_folder import read_aligner
from weft.align.onnx_aligner import Aligner, load
from weft.cli.demo import demo_recipe
from weft.config import Merge, Method
from weft.errors import WeftError
from weft.links import read_links
from weft.model.system import AlignmentSystem
from weft.model.torch_aligner import TorchAligner, align, word_attention
from weft.model.torch_folder import load_translation
from weft.model.translator import Translator
from weft.scoring import score
from weft.train.export import read_scorer
from weft.train.report import Gold
from weft.train.run import run_recipe

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
    return Gold.read(demo_recipe(demo, 1).gold)


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
        patterns = ("*/checkpoint-*", "*/weights.*", "links-*/*")
        return {path: path.stat().st_mtime_ns for pattern in patterns for path in (demo / "run").glob(pattern)}

    before = stamps()
    assert len(before) == 13
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


def test_the_small_aligner_needs_no_torch(demo: Path, gold: Gold, tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name in {'torch', 'onnx', 'matplotlib'}: raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "sys.argv = ['weft', *sys.argv[1:]]; from weft.cli import main; main()"
    )
    text = "".join(f"{' '.join(source)}\t{' '.join(target)}\n" for source, target in gold.pairs)
    command = [sys.executable, "-c", code, "align", "--model", str(demo / "run" / "aligner")]
    result = subprocess.run(command, input=text, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    (tmp_path / "links").write_text(result.stdout)
    links = [line.sure for line in read_links(str(tmp_path / "links"))]
    assert score(links, gold.links).aer < 0.05
    reversed_text = "".join(f"{' '.join(target)}\t{' '.join(source)}\n" for source, target in gold.pairs)
    turned = weft("align", "--model", demo / "run" / "aligner", "--reverse", stdin=reversed_text.encode())
    (tmp_path / "turned").write_bytes(turned.stdout)
    assert links == [
        frozenset((source, target) for target, source in line.sure) for line in read_links(str(tmp_path / "turned"))
    ]
    refused = weft("align", "--model", demo / "run" / "aligner", "--method", "guided", stdin=b"a\tb\n")
    assert refused.returncode == 1 and b"a small aligner has one method" in refused.stderr


def test_the_small_aligner_has_a_card_and_its_links_can_be_looked_at(demo: Path) -> None:
    folder = demo / "run" / "aligner"
    card = weft("models", folder).stdout.decode()
    assert "AER" in card and "sentences:" in card and "Minutes of training" in card and str(demo) not in card
    assert str(demo) not in (folder / "config.json").read_text()  # nobody else has these paths
    pair = b"the old king reads a letter .\tregu-la vetu skribun-un legas .\n"
    drawn = weft("align", "--model", folder, "--format", "grid", stdin=pair).stdout.decode()
    assert drawn.count("\u2502") == 5 and drawn.count("\u25cf") >= 5
    files = [demo / "gold.source", demo / "gold.target"]
    assert "\u25cf" in weft("show", *files, "--model", folder).stdout.decode()


def test_every_form_of_input_gives_the_same_links(demo: Path, gold: Gold, tmp_path: Path) -> None:
    folder = demo / "run" / "aligner"
    files = [demo / "gold.source", demo / "gold.target"]
    pairs = [(" ".join(source), " ".join(target)) for source, target in gold.pairs]
    two = weft("align", *files, "--model", folder).stdout
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps({"source": s, "target": t}) + "\n" for s, t in pairs))
    assert weft("align", tmp_path / "pairs.jsonl", "--model", folder).stdout == two
    assert two.decode().split("\n")[:-1] == [str(one) for one in load(str(folder)).align(pairs)]

    lines = weft("align", *files, "--model", folder, "--format", "jsonl").stdout.decode().splitlines()
    (tmp_path / "out.jsonl").write_text("\n".join(lines[:30]) + "\nnot json\n{}\n")
    again = weft("align", tmp_path / "out.jsonl", "--model", folder)  # its output is its input, too
    assert again.stdout.decode().split("\n")[:30] == two.decode().split("\n")[:30]
    assert again.stderr.count(b"expected an object with") == 2
    raw = b"The old king reads a letter.\tregu-la vetu skribun-un legas.\n"
    (line,) = weft("align", "--model", folder, "--raw", "--format", "jsonl", stdin=raw).stdout.decode().splitlines()
    assert json.loads(line)["target"]["words"] == ["regu-la", "vetu", "skribun-un", "legas", "."]


_NASTY = ["", " ", "|||", "\t", "\0", "\r", "\ufeff", "\u202eعربى", "漢字かな", "👩\u200d💻", "e\u0301e\u0301", "ﷺ"]
_NASTY += ["x" * 300, "a\u00a0b"]
_TEXT = st.lists(st.text(max_size=20) | st.sampled_from(_NASTY), max_size=6).map(" ".join)


@given(st.lists(st.tuples(_TEXT, _TEXT), max_size=5), st.booleans())
@settings(max_examples=60, deadline=None)
def test_any_text_is_aligned(demo: Path, pairs: list[tuple[str, str]], raw: bool) -> None:
    alignments = list(load(str(demo / "run" / "aligner"), threads=1, raw=raw).align(pairs))
    assert len(alignments) == len(pairs)
    for alignment, (source, target) in zip(alignments, pairs, strict=True):
        assert (alignment.source.text, alignment.target.text) == (source, target)
        assert all(word and word.strip() == word for word in alignment.source.words + alignment.target.words if raw)
        assert all(i < len(alignment.source) and j < len(alignment.target) for i, j in alignment.links)
        assert 0 <= alignment.score <= 1 and all(0 < p <= 1 for p in alignment.probabilities.values())


def test_every_line_of_any_bytes_is_answered(demo: Path) -> None:
    generator = random.Random(5)
    lines = [bytes(generator.choices(range(256), k=generator.randrange(60))).replace(b"\n", b"") for _ in range(200)]
    lines += [f"{one}\t{other}".encode() for one in _NASTY for other in _NASTY if "\n" not in one + other]
    for form in ("pharaoh", "probabilities", "words", "jsonl"):
        found = weft("align", "--model", demo / "run" / "aligner", "--format", form, stdin=b"\n".join(lines) + b"\n")
        assert found.returncode == 0 and found.stdout.count(b"\n") == len(lines), form


def test_an_interrupted_file_is_resumed(demo: Path, tmp_path: Path) -> None:
    files = [demo / "gold.source", demo / "gold.target"]
    command = ["align", *files, "--model", demo / "run" / "aligner"]
    whole = weft(*command).stdout
    output, partial = tmp_path / "links", tmp_path / "links.partial"
    assert weft(*command, "-o", output).stdout == b"" and output.read_bytes() == whole and not partial.exists()
    output.unlink()
    lines = whole.splitlines(keepends=True)
    partial.write_bytes(b"0-0\n" * 5 + b"".join(lines[5:40]) + lines[40][:-2])  # a kill in the middle of a line
    assert weft(*command, "-o", output, "--resume").returncode == 0
    assert output.read_bytes() == b"0-0\n" * 5 + b"".join(lines[5:])  # the first lines were not done again
    assert b"already finished" in weft(*command, "-o", output, "--resume").stderr
    refused = weft(*command, "--resume")
    assert refused.returncode == 1 and refused.stderr.startswith(b"weft: --resume needs --output")
    nowhere = weft(*command, "-o", tmp_path / "none" / "links")
    assert nowhere.returncode == 1 and b"cannot be written" in nowhere.stderr


def test_pairs_have_the_same_links_in_any_company(demo: Path, gold: Gold) -> None:
    aligner, one_thread = Aligner(demo / "run" / "aligner", threads=2), Aligner(demo / "run" / "aligner", threads=1)
    together = list(aligner.align(gold.pairs))
    assert together == list(one_thread.align(reversed(gold.pairs)))[::-1]
    assert together[:40] == [next(aligner.align([pair])) for pair in gold.pairs[:40]]
    empty = [one.links for one in aligner.align([([], ["a"]), gold.pairs[0], (["a"], [])])]
    assert empty == [frozenset(), together[0].links, frozenset()]


def test_processes_and_what_is_done_in_them(demo: Path, gold: Gold, tmp_path: Path) -> None:
    text, output = tmp_path / "text.tsv", tmp_path / "links"
    lines = [f"{' '.join(source)}\t{' '.join(target)}\n" for source, target in gold.pairs]
    lines = (lines * (6_000 // len(lines) + 1))[:6_000]
    lines[4_004] = "only one side\n"
    text.write_text("".join(lines))
    command = ["align", text, "--model", demo / "run" / "aligner"]
    for options in (["--cores", 2], ["--cores", 1], ["--cores", 2, "--fast"], ["--cores", 2, "--format", "giza"]):
        result = weft(*command, "-o", output, *options)
        assert result.returncode == 0 and result.stderr.count(b"\n") == 1
        assert f"{text}:4005: expected two columns".encode() in result.stderr
        found = output.read_text().splitlines()
        if "giza" in options:
            heads = [line.split()[3] for line in found[::3]]
            assert heads == [f"({number})" for number in range(1, 6_001)]
            continue
        fast = load(str(demo / "run" / "aligner"), fast="--fast" in options)
        once = [str(one) for one in fast.align(gold.pairs)]
        expected = (once * (6_000 // len(once) + 1))[:6_000]
        expected[4_004] = ""
        assert found == expected
    assert weft(*command, "--strict", "-o", tmp_path / "strict").returncode == 1
    assert not (tmp_path / "strict").exists()


def test_a_scorer_in_torch_links_the_same_words(demo: Path, gold: Gold) -> None:
    config, subwords = read_aligner(demo / "run" / "aligner")
    scorer = read_scorer(demo / "run" / "aligner" / "model.onnx", config, dropout=0.0).eval()
    torch_aligner = TorchAligner(scorer.attention, subwords, CPU, "mean", config.threshold)
    ours, theirs = (list(one.align(gold.pairs)) for one in (torch_aligner, Aligner(demo / "run" / "aligner")))
    same = sum(len(one.links & other.links) for one, other in zip(ours, theirs, strict=True))
    assert same > 0.98 * max(sum(len(one.links) for one in side) for side in (ours, theirs))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_none_is_used(demo: Path) -> None:
    refused = weft("align", "--model", demo / "run" / "aligner", "--device", "cuda", stdin=b"a\tb\n")
    assert refused.returncode == 1 and b"torch finds no GPU here" in refused.stderr
    refused = weft("align", "--model", demo / "run" / "model", "--fast", stdin=b"a\tb\n")
    assert refused.returncode == 1 and b"--fast is for small aligners" in refused.stderr


def test_show_draws_what_a_model_sees(demo: Path, tmp_path: Path) -> None:
    files = [demo / "gold.source", demo / "gold.target"]
    result = weft("show", *files, "--model", demo / "run" / "model", "--line", 2, "--gold", demo / "gold.links",
                  "--gold-base", 0)  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "guided" in result.stdout.decode() and "[●]" in result.stdout.decode()


def test_a_model_folder_says_how_it_was_made(demo: Path) -> None:
    config = json.loads((demo / "run" / "model" / "config.json").read_text())
    assert config["alignment"]["agreement"] == 0.5 and config["training"]["run"] == str(demo / "run")
