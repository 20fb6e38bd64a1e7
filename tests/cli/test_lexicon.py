"""``weft lexicon`` as users run it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from weft.align.onnx_aligner import load

ROOT = Path(__file__).parents[2]
TEXT = ROOT / "examples" / "de-en.tsv"
PAIRS = [(source, target) for source, target in (line.split("\t") for line in TEXT.read_text("utf-8").splitlines())]
WEFT = [sys.executable, "-m", "weft", "lexicon"]


def weft(*arguments: object, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*WEFT, *map(str, arguments)], input=stdin, capture_output=True)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def links() -> str:
    return "".join(f"{one}\n" for one in load().align(PAIRS))


def test_text_is_aligned_and_counted(tmp_path: Path, links: str) -> None:
    done = weft(TEXT, "-o", tmp_path / "aligned")
    assert (done.returncode, done.stdout) == (0, b""), done.stderr
    assert done.stderr.decode() == f"{tmp_path / 'aligned'}: dictionary.tsv, lex.s2t, lex.t2s\n"
    assert sorted(files(tmp_path / "aligned")) == ["dictionary.tsv", "lex.s2t", "lex.t2s"]
    (tmp_path / "links").write_text(links)
    assert weft(TEXT, "--links", tmp_path / "links", "-o", tmp_path / "linked").returncode == 0
    for name in ("lex.s2t", "lex.t2s"):
        assert files(tmp_path / "aligned")[name] == files(tmp_path / "linked")[name]
    entries = [line.split("\t") for line in files(tmp_path / "linked")["dictionary.tsv"].decode().splitlines()]
    assert ["Haus", "house"] in [entry[:2] for entry in entries]


def test_every_way_to_read_gives_the_same_files(tmp_path: Path, links: str) -> None:
    lines = TEXT.read_bytes().splitlines(keepends=True) * 1_000  # several blocks
    (tmp_path / "links").write_text(links * 1_000)
    (tmp_path / "text.tsv").write_bytes(b"".join(lines))
    for side, name in enumerate(("de", "en")):
        (tmp_path / name).write_bytes(b"".join(line.rstrip(b"\n").split(b"\t")[side] + b"\n" for line in lines))
    given = ["--links", tmp_path / "links", "--formats", "lex", "dictionary", "tbx", "--languages", "de", "en", "-o"]
    assert weft(tmp_path / "text.tsv", *given, tmp_path / "one", "--cores", 1).returncode == 0
    assert weft(tmp_path / "de", tmp_path / "en", *given, tmp_path / "two", "--cores", 2).returncode == 0
    assert weft(*given, tmp_path / "three", stdin=b"".join(lines)).returncode == 0
    assert files(tmp_path / "one") == files(tmp_path / "two") == files(tmp_path / "three")
    assert len(files(tmp_path / "one")) == 4


@pytest.mark.parametrize(
    ("links", "problem"),
    [
        ("0-0\n", "links: has 1 lines, but stdin more"),
        ("0-0\n\n1-0\n", "links: has more lines than the text"),
        ("0-0\n0-2\n", "links:2: link 0-2 (counted from zero) leads out of sentences of 1 and 1 words"),
        ("0-0\nü\n", "links:2: not a line of links"),
        ("0-0\n0:0\n", "links:2: '0:0' is not a link"),
    ],
)
def test_links_are_checked(links: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "links").write_text(links, "utf-8")
    refused = weft("--links", "links", "-o", "lexicon", stdin=b"a\tb\nc\td\n")
    assert refused.returncode == 1 and refused.stderr.count(b"\n") == 1
    assert refused.stderr.decode().startswith(f"weft: {problem}")
    assert [path.name for path in tmp_path.iterdir()] == ["links"]


def test_bad_lines_are_named_and_left_out(tmp_path: Path) -> None:
    (tmp_path / "links").write_text("0-0\n0-0 7-7\n0-0\n")
    done = weft("--links", tmp_path / "links", "-o", tmp_path / "lexicon", stdin=b"a\tb\nonly one side\na\tc\n")
    assert done.returncode == 0 and b"stdin:2: expected two columns" in done.stderr
    assert sorted(files(tmp_path / "lexicon")["lex.s2t"].decode().splitlines()) == ["b a 0.5000000", "c a 0.5000000"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--least-count", "0"], "--least-count is at least 1"),
        (["--least-strength", "nan"], "--least-strength is at least 0"),
        (["--threshold", "2"], "--threshold is a probability"),
        (["--cores", "-1"], "--cores is a number"),
        (["--longest", "99"], "1 to 20 words"),
        (["--formats", "tbx"], "--languages de en"),
        (["--links", "-"], "stdin (-) can be read only once"),
        (["--links", "x", "--fast"], "--fast is for aligning"),
        (["--model", "nowhere"], "nowhere"),
    ],
)
def test_options_are_checked_before_anything_is_read(options: list[str], problem: str, tmp_path: Path) -> None:
    refused = weft(*options, "-o", tmp_path / "lexicon")
    assert refused.returncode == 1 and problem in refused.stderr.decode() and refused.stderr.count(b"\n") == 1
    assert not (tmp_path / "lexicon").exists()


def test_no_text_makes_an_empty_lexicon(tmp_path: Path) -> None:
    (tmp_path / "links").touch()
    assert weft("--links", tmp_path / "links", "-o", tmp_path / "lexicon").returncode == 0
    sizes = {name: len(content.splitlines()) for name, content in files(tmp_path / "lexicon").items()}
    assert sizes == {"lex.s2t": 0, "lex.t2s": 0, "dictionary.tsv": 1}


def test_an_interrupt_leaves_nothing(tmp_path: Path) -> None:
    text = tmp_path / "text.tsv"
    text.write_bytes(TEXT.read_bytes() * 5_000)
    command = [*WEFT, str(text), "-o", str(tmp_path / "lexicon"), "--cores", "2"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        while not (tmp_path / "lexicon.partial").exists() and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
        assert process.stderr.read() == b"weft: interrupted\n"
    assert list(tmp_path.iterdir()) == [text]
