"""``weft align`` and ``weft.load`` with the aligners that are shipped."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_files import tmx, tmx_of_pairs

from weft.align.onnx_aligner import load
from weft.text.reading import read_text

ROOT = Path(__file__).parents[2]
TEXT = ROOT / "examples" / "de-en.tsv"
PAIRS = [(source, target) for source, target in (line.split("\t") for line in TEXT.read_text("utf-8").splitlines())]
ROMANIAN = [
    (source, target)
    for source, target, _ in (
        line.split("\t") for line in (ROOT / "tests" / "ordinary" / "ro-en.tsv").read_text("utf-8").splitlines()
    )
]
WEFT = [sys.executable, "-m", "weft"]
RO_EN = ["align", "--model", "ro-en"]


def weft(*arguments: object, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*WEFT, *map(str, arguments)], input=stdin, capture_output=True)


def lines_of(*arguments: object, stdin: bytes = b"") -> list[str]:
    """The output of a command that must succeed."""
    result = weft(*arguments, stdin=stdin)
    assert result.returncode == 0, result.stderr.decode()
    return result.stdout.decode().split("\n")[:-1]


def as_tsv(pairs: list[tuple[str, str]]) -> bytes:
    return "".join(f"{source}\t{target}\n" for source, target in pairs).encode()


def links_of(lines: list[str]) -> list[set[str]]:
    return [set(line.split()) for line in lines]


@pytest.fixture(scope="module")
def romanian() -> list[str]:
    """The links of the Romanian sentences."""
    return [str(one) for one in load("ro-en").align(ROMANIAN)]


def test_one_line_out_before_the_next_goes_in() -> None:
    command = [*WEFT, "align", "--line-buffered"]
    expected = [str(one) for one in load().align(PAIRS)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        assert process.stdin is not None and process.stdout is not None
        for (source, target), links in zip(PAIRS, expected, strict=True):
            process.stdin.write(f"{source}\t{target}\n")
            assert process.stdout.readline() == f"{links}\n"
        process.stdin.close()
    assert process.returncode == 0


def test_one_direction_alone_and_other_merges() -> None:
    merges = ("forward", "backward", "intersection", "union")
    found = {merge: lines_of("align", TEXT, "--merge", merge) for merge in merges}
    for forward, backward, both, either in zip(*map(links_of, found.values()), strict=True):
        assert both == forward & backward and either == forward | backward and len(both) > 3
    assert [str(one) for one in load(merge="union").align(PAIRS)] == found["union"]


def test_a_higher_threshold_keeps_fewer_links() -> None:
    few, many = (links_of(lines_of("align", TEXT, "--threshold", threshold)) for threshold in (0.9, 0.3))
    assert all(one <= other for one, other in zip(few, many, strict=True)) and few != many


def test_pairs_that_are_no_translations_have_low_scores() -> None:
    aligner = load()
    wrong = [(source, target) for (source, _), (_, target) in zip(PAIRS, PAIRS[1:] + PAIRS[:1], strict=True)]
    assert min(one.score for one in aligner.align(PAIRS)) > 0.6 > max(one.score for one in aligner.align(wrong))


def test_many_threads_may_use_one_aligner() -> None:
    aligner = load(cores=2)
    expected = list(aligner.align(PAIRS))
    with ThreadPoolExecutor(8) as threads:
        for found in threads.map(lambda _: list(aligner.align(PAIRS)), range(32)):
            assert found == expected


def test_a_small_aligner_needs_no_torch(romanian: list[str]) -> None:
    code = (
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name in {'torch', 'onnx', 'matplotlib'}: raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "sys.argv = ['weft', *sys.argv[1:]]; from weft.cli import main; main()"
    )
    result = subprocess.run([sys.executable, "-c", code, *RO_EN], input=as_tsv(ROMANIAN), capture_output=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout.decode().splitlines() == romanian


def test_text_in_the_other_order(romanian: list[str]) -> None:
    turned = lines_of(*RO_EN, "--reverse", stdin=as_tsv([(target, source) for source, target in ROMANIAN]))
    assert links_of(turned) == [{"-".join(reversed(link.split("-"))) for link in line.split()} for line in romanian]
    refused = weft(*RO_EN, "--method", "guided", stdin=b"a\tb\n")
    assert refused.returncode == 1 and b"a small aligner has one method" in refused.stderr


def test_folders_without_a_model_are_named(tmp_path: Path) -> None:
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "config.json").write_text('{"format": "weft al')
    for model, problem in (("", "not a model folder"), (tmp_path, "not a model folder"), (tmp_path / "cut", "damaged")):
        refused = weft("align", "--model", model, stdin=b"a\tb\n")
        assert refused.returncode == 1 and refused.stderr.count(b"\n") == 1 and problem in refused.stderr.decode()


def test_who_names_no_model_has_the_one_of_all_languages() -> None:
    assert lines_of("align", TEXT) == lines_of("align", TEXT, "--model", "multi")


def test_links_can_be_looked_at() -> None:
    drawn = lines_of(*RO_EN, "--format", "grid", stdin=as_tsv([("casa veche", "the old house")]))
    assert sum("\u2502" in line for line in drawn) == 3 and "".join(drawn).count("\u25cf") >= 2 + 1  # and the legend


def test_every_form_of_input_gives_the_same_links(tmp_path: Path, romanian: list[str]) -> None:
    for side, name in enumerate(("ro", "en")):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in ROMANIAN), "utf-8")
    assert lines_of(*RO_EN, tmp_path / "ro", tmp_path / "en") == romanian
    objects = [json.dumps({"source": source, "target": target}) for source, target in ROMANIAN]
    (tmp_path / "pairs.jsonl").write_text("\n".join(objects) + "\n")
    assert lines_of(*RO_EN, tmp_path / "pairs.jsonl") == romanian
    assert lines_of(*RO_EN, "--input-format", "jsonl", stdin="\n".join(objects).encode()) == romanian

    lines = lines_of(*RO_EN, "--format", "jsonl", stdin=as_tsv(ROMANIAN))
    (tmp_path / "out.jsonl").write_text("\n".join(lines[:30]) + "\nnot json\n{}\n", "utf-8")
    again = weft(*RO_EN, tmp_path / "out.jsonl")  # its output is its input, too
    assert again.stdout.decode().split("\n") == [*romanian[:30], "", "", ""]
    assert again.stderr.count(b"expected an object with") == 2
    (line,) = lines_of(*RO_EN, "--raw", "--format", "jsonl", stdin=b"Da, merg.\tYes, I'm going.\n")
    assert json.loads(line)["source"]["words"] == ["Da", ",", "merg", "."]


_NASTY = ["", " ", "|||", "\t", "\0", "\r", "\ufeff", "\u202eعربى", "漢字かな", "👩\u200d💻", "e\u0301e\u0301", "ﷺ"]
_NASTY += ["x" * 300, "a\u00a0b"]
_TEXT = st.lists(st.text(max_size=20) | st.sampled_from(_NASTY), max_size=6).map(" ".join)
ALIGNERS = {raw: load("ro-en", cores=1, raw=raw) for raw in (False, True)}


@given(st.lists(st.tuples(_TEXT, _TEXT), max_size=5), st.booleans())
@settings(max_examples=60)
def test_any_text_is_aligned(pairs: list[tuple[str, str]], raw: bool) -> None:
    alignments = list(ALIGNERS[raw].align(pairs))
    assert len(alignments) == len(pairs)
    for alignment, (source, target) in zip(alignments, pairs, strict=True):
        assert (alignment.source.text, alignment.target.text) == (source, target)
        assert all(word and word.strip() == word for word in alignment.source.words + alignment.target.words if raw)
        assert all(i < len(alignment.source) and j < len(alignment.target) for i, j in alignment.links)
        assert 0 <= alignment.score <= 1 and all(0 < p <= 1 for p in alignment.probabilities.values())


def test_every_line_of_any_bytes_is_answered() -> None:
    generator = random.Random(5)
    lines = [bytes(generator.choices(range(256), k=generator.randrange(60))).replace(b"\n", b"") for _ in range(200)]
    lines += [f"{one}\t{other}".encode() for one in _NASTY for other in _NASTY if "\n" not in one + other]
    for form in ("pharaoh", "probabilities", "words", "jsonl"):
        assert len(lines_of(*RO_EN, "--format", form, stdin=b"\n".join(lines) + b"\n")) == len(lines), form


def test_an_interrupted_file_is_resumed(tmp_path: Path, romanian: list[str]) -> None:
    text, output, partial = tmp_path / "text.tsv", tmp_path / "links", tmp_path / "links.partial"
    lines = as_tsv(ROMANIAN).splitlines(keepends=True)
    lines[40] = b"only one side\n"
    text.write_bytes(b"".join(lines))
    command = [*RO_EN, text, "-o", output]
    expected = [f"{line}\n".encode() for line in romanian]
    expected[40] = b"\n"
    stopped = weft(*command, "--strict", "--line-buffered")  # which ends after 40 lines
    assert stopped.returncode == 1 and not output.exists() and partial.read_bytes() == b"".join(expected[:40])
    partial.write_bytes(b"0-0\n" * 5 + b"".join(expected[5:39]) + expected[39][:-2])  # a kill in the middle of a line
    before = partial.read_bytes()

    for options, difference in {
        ("--format", "probabilities"): "its format was pharaoh, but is probabilities now",
        ("--threshold", 0.9): "its threshold was None, but is 0.9 now",
        ("--fast",): "its fast was False, but is True now",
        ("--exact",): "its exact was False, but is True now",
        ("--model", "multi"): "its model was [",
    }.items():
        refused = weft(*command, "--resume", *options)
        assert refused.returncode == 1 and refused.stderr.count(b"\n") == 1
        assert f"{partial}: cannot be resumed: {difference}" in refused.stderr.decode()
    text.write_bytes(b"".join(lines[:-1]))
    refused = weft(*command, "--resume")
    assert refused.returncode == 1 and b"cannot be resumed: its text was [" in refused.stderr
    assert partial.read_bytes() == before

    text.write_bytes(b"".join(lines))
    assert weft(*command, "--resume").returncode == 0
    assert output.read_bytes() == b"0-0\n" * 5 + b"".join(expected[5:])  # the first lines were not done again
    assert sorted(path.name for path in tmp_path.iterdir()) == ["links", "text.tsv"]
    assert b"already finished" in weft(*command, "--resume").stderr
    refused = weft(*RO_EN, text, "--resume")
    assert refused.returncode == 1 and refused.stderr.startswith(b"weft: --resume needs --output")


def test_a_memory_is_aligned_and_resumed_in_compressed_output(tmp_path: Path, romanian: list[str]) -> None:
    memory, output, partial = tmp_path / "memory.tmx", tmp_path / "links.zst", tmp_path / "links.zst.partial"
    texts = [*ROMANIAN[:20], ("a " * 2_000, "b"), *ROMANIAN[20:]]
    memory.write_text(tmx_of_pairs(texts), "utf-8")
    command = [*RO_EN, memory, "--languages", "en", "de", "-o", output]  # the memory calls its sides so
    stopped = weft(*command, "--strict", "--line-buffered")
    assert stopped.returncode == 1 and stopped.stderr.startswith(f"weft: {memory}:24: ".encode())
    whole = partial.read_bytes()
    partial.write_bytes(whole[:-3])  # a kill in the middle of the last frame
    refused = weft(*RO_EN, memory, "-o", output, "--resume")
    assert refused.returncode == 1 and b"its languages was ['en', 'de'], but is [] now" in refused.stderr
    resumed = weft(*command, "--resume")
    assert resumed.returncode == 0 and resumed.stderr.startswith(f"weft: {memory}:24: ".encode()), resumed.stderr
    found = list(read_text(str(output)))
    assert found == [*romanian[:20], "", *romanian[20:]]


def test_a_memory_of_three_languages_needs_two_codes(tmp_path: Path) -> None:
    memory = tmp_path / "memory.tmx"
    memory.write_text(tmx([[("fr", "maison"), ("en-GB", "house"), ("ro-RO", "casa")]]))
    assert lines_of(*RO_EN, memory, "--languages", "ro", "en", "--format", "words") == ["casa|house"]
    for options, problem in [
        ([], f"{memory}:4: more than two languages (en-GB, fr, ro-RO): say which two to read with --languages"),
        (["--languages", "ro", "de"], f"{memory}: no entry has both ro and de; its languages: en-GB, fr, ro-RO"),
        (["--languages", "ro", "ro"], "a pair has two different languages, not ro twice"),
    ]:
        refused = weft(*RO_EN, memory, *options)
        assert refused.returncode == 1 and refused.stderr.startswith(f"weft: {problem}".encode())
        assert refused.stderr.count(b"\n") == 1 and not refused.stdout


def test_a_partial_file_that_is_longer_than_the_text_is_refused(tmp_path: Path) -> None:
    command = [*RO_EN, "-o", tmp_path / "links", "--line-buffered"]
    assert weft(*command, "--strict", stdin=as_tsv(ROMANIAN[:3]) + b"bad\n").returncode == 1
    refused = weft(*command, "--resume", stdin=as_tsv(ROMANIAN[:2]))
    assert refused.returncode == 1 and b"stdin: ends before line 3, after which to begin" in refused.stderr


def test_text_of_which_no_line_can_be_read_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "text.ro"
    text.write_text("".join(f"{source}\n" for source, _ in ROMANIAN), "utf-8")
    refused = weft(*RO_EN, text, "-o", tmp_path / "links")
    assert refused.returncode == 1 and refused.stderr.count(b"\n") == 1
    assert f"{text}:1: expected two columns" in refused.stderr.decode() and b"first 60 lines" in refused.stderr
    assert list(tmp_path.iterdir()) == [text]
    assert weft(*RO_EN, stdin=b"only one side\n").returncode == 0  # a single bad line is no more than that


@pytest.mark.parametrize(
    ("form", "gap"), [("pharaoh", "an empty line"), ("jsonl", "a pair without links"), ("html", "a pair without links")]
)
def test_few_warnings_that_say_what_the_output_has(form: str, gap: str) -> None:
    text = as_tsv(ROMANIAN[:1]) + b"only one side\n" * 30
    result = weft(*RO_EN, "--format", form, stdin=text)
    warnings = result.stderr.decode().splitlines()
    assert result.returncode == 0 and len(warnings) == 11
    assert warnings[0].startswith("weft: stdin:2: expected two columns")
    assert all(line.endswith(f"; the output has {gap} for it") for line in warnings[:10])
    assert warnings[10] == "weft: 20 more lines could not be aligned"


def test_output_is_utf_8_and_complete_whatever_the_environment(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUNBUFFERED": "1"}
    command = [*WEFT, *RO_EN, "--format", "words"]
    result = subprocess.run(command, input=as_tsv(ROMANIAN), capture_output=True, env=environment)
    assert result.returncode == 0 and "Brașov|Brașov" in result.stdout.decode()
    with open("/dev/full", "wb") as full:
        result = subprocess.run(command, input=as_tsv(ROMANIAN), stdout=full, stderr=subprocess.PIPE, env=environment)
    assert result.returncode == 1 and result.stderr.count(b"\n") == 1 and b"No space left" in result.stderr
    limited = f"ulimit -f 1; trap '' XFSZ; {' '.join(command)} > {tmp_path / 'small'}"  # a disk of a kilobyte
    result = subprocess.run(["bash", "-c", limited], input=as_tsv(ROMANIAN), capture_output=True, env=environment)
    assert result.returncode == 1 and b"File too large" in result.stderr


def test_pipes_links_and_substituted_processes_are_written(tmp_path: Path, romanian: list[str]) -> None:
    command = f'set -e; cd {tmp_path}; weft() {{ {sys.executable} -m weft align --model ro-en "$@"; }}\n'
    command += "mkfifo pipe; cat pipe > through-pipe & weft text -o pipe; wait\n"
    command += "touch target; ln -s target link; weft text -o link\n"
    command += (
        "weft text -o >(cat > substituted); wait $!; echo kept > appended; weft text -o /dev/stdout >> appended\n"
    )
    command += "weft text -o /dev/null; test -c /dev/null"
    (tmp_path / "text").write_bytes(as_tsv(ROMANIAN))
    result = subprocess.run(["bash", "-c", command], capture_output=True)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "link").is_symlink() and (tmp_path / "pipe").is_fifo()
    for name in ("through-pipe", "target", "substituted"):
        assert (tmp_path / name).read_text().splitlines() == romanian, name
    assert (tmp_path / "appended").read_text().splitlines() == ["kept", *romanian]
    assert not list(tmp_path.glob("*.partial*"))


def test_the_input_is_never_replaced(tmp_path: Path) -> None:
    text = tmp_path / "text.tsv"
    text.write_bytes(as_tsv(ROMANIAN))
    (tmp_path / "link").symlink_to(text)
    for output in (text, tmp_path / "link"):
        refused = weft(*RO_EN, text, "-o", output)
        assert refused.returncode == 1 and b"text.tsv: is read by this command, too" in refused.stderr
    with text.open("rb") as stdin:
        refused = subprocess.run([*WEFT, *RO_EN, "-o", text], stdin=stdin, capture_output=True)
    assert refused.returncode == 1 and b"text.tsv: is read by this command, too" in refused.stderr
    assert text.read_bytes() == as_tsv(ROMANIAN)


def test_pairs_have_the_same_links_in_any_company() -> None:
    aligner = load("ro-en", cores=2)
    together = list(aligner.align(ROMANIAN))
    assert together == list(load("ro-en", cores=1).align(reversed(ROMANIAN)))[::-1]
    assert together[:40] == [next(aligner.align([pair])) for pair in ROMANIAN[:40]]
    empty = [one.links for one in aligner.align([("", "a"), ROMANIAN[0], ([], ["a"])])]
    assert empty == [frozenset(), together[0].links, frozenset()]


def test_processes_and_what_is_done_in_them(tmp_path: Path, romanian: list[str]) -> None:
    text, output = tmp_path / "text.tsv", tmp_path / "links"
    lines = as_tsv(ROMANIAN * 100).splitlines(keepends=True)
    lines[4_004] = b"only one side\n"
    text.write_bytes(b"".join(lines))
    for options in (["--cores", 2], ["--cores", 1, "--fast", "--exact"], ["--cores", 2, "--fast", "--format", "giza"]):
        result = weft(*RO_EN, text, "-o", output, *options)
        assert result.returncode == 0 and result.stderr.count(b"\n") == 1
        assert f"{text}:4005: expected two columns".encode() in result.stderr
        found = output.read_text("utf-8").splitlines()
        if "giza" in options:
            assert [line.split()[3] for line in found[::3]] == [f"({number})" for number in range(1, 6_001)]
            continue
        expected = [
            str(one) for one in load("ro-en", fast="--fast" in options, exact="--exact" in options).align(ROMANIAN)
        ] * 100
        expected[4_004] = ""
        assert found == expected
    assert weft(*RO_EN, text, "--fast", "--strict", "-o", tmp_path / "strict").returncode == 1
    assert not (tmp_path / "strict").exists()
