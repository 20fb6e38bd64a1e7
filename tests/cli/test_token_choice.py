"""``weft align --tokens``: which tokens, from where, into which files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from weft.align.onnx_aligner import load
from weft.apply.tokens import icu, retokenised, sentencepiece, spaces
from weft.cli.token_choice import TokenChoice, with_token_lines
from weft.errors import WeftError
from weft.text.reading import Block

ROMANIAN = [
    (source, target)
    for source, target, _ in (
        line.split("\t")
        for line in (Path(__file__).parents[1] / "ordinary" / "ro-en.tsv").read_text("utf-8").splitlines()
    )
]
ALIGN = [sys.executable, "-m", "weft", "align", "--model", "ro-en"]


def weft(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*ALIGN, *map(str, arguments)], capture_output=True, text=True)


def lines(path: Path) -> list[str]:
    return path.read_text("utf-8").split("\n")[:-1]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """Romanian sentences, two pairs that have no links, and a line that is none."""
    rows = [f"{source}\t{target}" for source, target in ROMANIAN]
    rows[3:3] = ["\t", "casa\t"]
    rows[10:10] = ["only one side"]
    path = tmp_path / "text.tsv"
    path.write_text("".join(f"{row}\n" for row in rows), "utf-8")
    return path


NO_LINKS = [4, 5, 11]  # lines of it


# -- the option --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("spaces", ("spaces", "", "", ())),
        ("spaces=words.aln.zst", ("spaces", "", "", ("words.aln.zst",))),
        ("spm:my/vocab.spm", ("spm", "my/vocab.spm", "my/vocab.spm", ())),
        ("spm:a.spm,b.spm=x=y", ("spm", "a.spm", "b.spm", ("x=y",))),
        ("icu", ("icu", "", "", ())),
        ("icu:de,en=aln,tok.de,tok.en", ("icu", "de", "en", ("aln", "tok.de", "tok.en"))),
        ("moses:de", ("moses", "de", "de", ())),
        ("files:tok.de,tok.en", ("files", "tok.de", "tok.en", ())),
    ],
)
def test_options_are_read(option: str, expected: tuple) -> None:
    found = TokenChoice.parse(option)
    assert (found.kind, found.source, found.target, found.outputs) == expected


@pytest.mark.parametrize(
    "option", ["", "words", "spm", "spm:a,b,c", "spaces:de", "moses", "files:a", "spaces=a,b", "spaces=a,b,c,d"]
)
def test_what_cannot_be_read_is_shown(option: str) -> None:
    with pytest.raises(WeftError, match=f"--tokens {option}: .*expected"):
        TokenChoice.parse(option)


# -- the command -------------------------------------------------------------------------------------------------------


def test_several_kinds_from_one_pass(tmp_path: Path, text: Path, pieces_model: str) -> None:
    outputs = [tmp_path / name for name in ("pieces", "icu", "icu.ro", "icu.en")]
    kinds = [f"spm:{pieces_model}={outputs[0]}", f"icu:ro,en={','.join(map(str, outputs[1:]))}", "spaces"]
    result = weft(text, *(argument for kind in kinds for argument in ("--tokens", kind)))
    assert result.returncode == 0 and result.stderr.count("\n") == 1 and ":11: expected two columns" in result.stderr
    found = [lines(path) for path in outputs] + [result.stdout.split("\n")[:-1]]
    assert {len(rows) for rows in found} == {len(ROMANIAN) + 3}
    assert all(rows[line - 1] == "" for rows in found for line in NO_LINKS if rows not in (found[2], found[3]))

    for kind, rows in (sentencepiece(pieces_model), found[0]), (icu(), found[1]), (spaces, found[4]):
        rest = [row for line, row in enumerate(rows, 1) if line not in NO_LINKS]
        for alignment, row in zip(load("ro-en", raw=True).align(ROMANIAN), rest, strict=True):
            sides = kind(alignment.source.text), kind(alignment.target.text)
            assert row == str(retokenised(alignment, *sides)) != ""
    source, target = ([row.split(" ") for row in rows] for rows in found[2:4])
    assert "▁" in source[0] and source[4] == ["casa"] and target[4] == [""]
    for links, ours, theirs in zip(found[1], source, target, strict=True):
        for link in links.split():
            i, j = map(int, link.split("-"))
            assert "▁" not in (ours[i], theirs[j])


def test_given_tokens_are_as_good_as_found_ones(tmp_path: Path, text: Path) -> None:
    names = [tmp_path / name for name in ("aln", "tok.ro", "tok.en")]
    assert weft(text, "--tokens", f"icu={','.join(map(str, names))}").returncode == 0
    given = f"files:{names[1]},{names[2]}"
    again = weft(text, "--tokens", given)
    assert again.stdout.split("\n")[:-1] == lines(names[0]) and again.stderr.count("\n") == 1

    rows = names[1].read_bytes().splitlines(keepends=True)
    rows[0], rows[1] = "altă casă\n".encode(), b"\xff\n"
    names[1].write_bytes(b"".join(rows))
    wrong = weft(text, "--tokens", given)
    assert wrong.stdout.split("\n")[:-1] == ["", "", *lines(names[0])[2:]] and wrong.returncode == 0
    problems = wrong.stderr.splitlines()
    assert f"{text}:1: token 1 is 'altă', but the text goes on with" in problems[0]
    assert f"{names[1]}:2: invalid UTF-8" in problems[1] and len(problems) == 3
    assert weft(text, "--tokens", given, "--strict").returncode == 1

    for content, problem in ((rows[:-1], "fewer"), ([*rows, b"x\n"], "more")):
        names[1].write_bytes(b"".join(content))
        refused = weft(text, "--tokens", given, "-o", tmp_path / "links")
        assert refused.returncode == 1 and f"weft: {names[1]}: has {problem} lines than the text" in refused.stderr
        assert not (tmp_path / "links").exists()


def test_lines_of_tokens_go_with_their_block(tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text("a\nb\nc 3\nd\ne\n")
    choice = TokenChoice("files", str(tmp_path / "tokens"), str(tmp_path / "tokens"), ())
    blocks = [Block("text", 3, [b"c", b"d"]), Block("text", 5, [b"e"])]  # as after a resume
    found = [given for _, given in with_token_lines(blocks, [choice], 2)]
    assert found[0].tokens(choice.source, 3) == ["c", "3"] and found[1].tokens(choice.source, 5) == ["e"]
    assert len(list(with_token_lines(blocks[:1], [choice], 2, to_end=False))) == 1
    with pytest.raises(WeftError, match="has more lines than the text"):
        list(with_token_lines(blocks[:1], [choice], 2))


def test_a_file_that_was_interrupted_is_resumed(tmp_path: Path, text: Path) -> None:
    names = [tmp_path / name for name in ("aln", "tok.ro", "tok.en")]
    assert weft(text, "--tokens", f"icu={','.join(map(str, names))}").returncode == 0
    command = [text, "--tokens", f"files:{names[1]},{names[2]}={tmp_path / 'links'}"]
    assert weft(*command, "--strict", "--line-buffered").returncode == 1  # at line 11
    partial = tmp_path / "links.partial"
    assert lines(partial) == lines(names[0])[:10]
    partial.write_text("0-0\n" * 10)
    names[2].write_bytes(names[2].read_bytes() + b"\n")
    assert "its text was [" in weft(*command, "--resume").stderr
    names[2].write_bytes(names[2].read_bytes()[:-1])
    assert weft(*command, "--resume").returncode == 0
    assert lines(tmp_path / "links") == ["0-0"] * 10 + lines(names[0])[10:]


@pytest.mark.parametrize("tokens", [[], ["--tokens", "spaces"]])
def test_pairs_without_links(tmp_path: Path, text: Path, tokens: list[str]) -> None:
    blank = weft(text, *tokens).stdout.splitlines()
    assert [line for line, row in enumerate(blank, 1) if not row] == NO_LINKS
    kept = [row for row in blank if row]

    links = tmp_path / "links"
    dropped = weft(text, *tokens, "--if-empty", "drop", "-o", links)
    assert dropped.returncode == 0 and lines(links) == kept
    assert lines(tmp_path / "links.dropped") == [str(line) for line in NO_LINKS]
    assert ":11: expected two columns" in dropped.stderr and "the output has no line for it" in dropped.stderr
    shown = weft(text, *tokens, "--if-empty", "drop")
    assert shown.stdout.splitlines() == kept and shown.stderr.count("is left out: it has no links") == len(NO_LINKS)

    text.write_text("Jupiter zboară\tzzz\n\tb\n", "utf-8")
    options = [*tokens, "--threshold", 1]
    assert weft(text, *options).stdout == "\n\n"
    assert weft(text, *options, "--if-empty", "diagonal").stdout == "0-0 1-0\n\n"


def test_a_pair_without_links_in_one_kind_is_dropped_in_all(tmp_path: Path) -> None:
    (tmp_path / "text.tsv").write_text("casa\thouse\nmasa\ttable\n")
    (tmp_path / "tokens").write_text("▁ ca sa\nma sa\n")
    (tmp_path / "other").write_text("house\nchair\n")  # not the text
    files = f"files:{tmp_path / 'tokens'},{tmp_path / 'other'}={tmp_path / 'aln'}"
    found = weft(tmp_path / "text.tsv", "--tokens", "spaces", "--tokens", files, "--if-empty", "drop")
    assert found.returncode == 0 and (found.stdout, lines(tmp_path / "aln")) == ("0-0\n", ["1-0 2-0"])
    assert "line 2 is left out" in found.stderr


def test_formats_show_tokens_as_they_are_written(text: Path, pieces_model: str) -> None:
    result = weft(text, "--tokens", f"spm:{pieces_model}", "--format", "jsonl")
    row = json.loads(result.stdout.splitlines()[0])
    assert row["source"]["text"] == ROMANIAN[0][0] and row["source"]["words"][0].startswith("▁")
    assert len(row["source"]["words"]) == len(row["source"]["offsets"])
    assert weft(text, "--tokens", "icu", "--format", "html").stdout.count("<section ") == len(ROMANIAN) + 3


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--tokens", "spaces", "--tokens", "icu"], "give each a file of its own"),
        (["--tokens", "spaces=x", "--tokens", "icu=x"], "give each a file of its own"),
        (["--tokens", "spaces=x", "-o", "y"], "--output y: each --tokens names a file already"),
        (["--tokens", "spaces=x,y,z", "--resume"], "--resume needs --output, one file"),
        (["-o", "x", "--if-empty", "drop", "--resume"], "--resume cannot tell where to go on"),
        (["--tokens", "spm:missing.spm"], "missing.spm: not a SentencePiece model"),
        (["--tokens", "files:no.ro,no.en"], "no.ro: No such file"),
        (["--tokens", "words"], "--tokens words: expected spm:MODEL"),
        (["--tokens", "files:-,-"], "stdin (-) can be read only once"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    options: list[str], problem: str, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(text.parent)
    refused = weft(text, *options)
    assert refused.returncode == 1 and refused.stderr.count("\n") == 1 and problem in refused.stderr
    assert list(text.parent.iterdir()) == [text]


@pytest.mark.parametrize(
    ("kind", "library"), [("spm:x", "sentencepiece"), ("icu", "icu4py"), ("moses:ro", "sacremoses")]
)
def test_a_library_that_is_missing_is_named(kind: str, library: str, text: Path) -> None:
    code = (
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name.partition('.')[0] == '{library}': raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "sys.argv = ['weft', *sys.argv[1:]]; from weft.cli import main; main()"
    )
    command = [sys.executable, "-c", code, "align", str(text), "--tokens"]
    result = subprocess.run([*command, kind], capture_output=True, text=True)
    assert result.returncode == 1 and result.stderr.count("\n") == 1
    assert f"this needs the package {library}" in result.stderr and "pip install 'weft[tokens]'" in result.stderr
    assert subprocess.run([*command, "spaces"], capture_output=True).returncode == 0  # which needs none
