"""``weft transfer`` as users run it: documents, pages, lines."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

WEFT = [sys.executable, "-m", "weft", "transfer"]
LINES = [
    ("My <b>sister</b> has a house.", "Meine Schwester hat ein Haus.", "Meine <b>Schwester</b> hat ein Haus."),
    ("The <i>red</i> car &amp; I.", "Das rote Auto &amp; ich.", "Das <i>rote</i> Auto &amp; ich."),
    ("Nothing here.", "Hier ist nichts.", "Hier ist nichts."),
]
TSV = "".join(f"{source}\t{target}\n" for source, target, _ in LINES)
TAGGED = "".join(f"{tagged}\n" for *_, tagged in LINES)

XLIFF = """<?xml version="1.0"?>
<xliff version='1.2'  xmlns="urn:oasis:names:tc:xliff:document:1.2"><file><body>
<trans-unit id="1"><source>My <g id="1">sister</g> has a house.</source><target>{}</target></trans-unit>
<trans-unit id="2"><source>My <g id="1">sister</g></source><target><g id="1">Meine</g> Schwester</target></trans-unit>
</body></file></xliff>
"""
PLAIN, PLACED = "Meine Schwester hat ein Haus.", 'Meine <g id="1">Schwester</g> hat ein Haus.'

PAGE = """<!DOCTYPE html>
<html><head><title>My house</title></head>
<body><h1 class="a">My  <em>old</em>
house</h1><pre>ls</pre><p>My <a href="s.html">sister</a>.</p></body></html>
"""


def transfer(*arguments: object, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([*WEFT, *map(str, arguments)], input=stdin, capture_output=True, encoding="utf-8")


def output_of(*arguments: object, stdin: str = "") -> str:
    result = transfer(*arguments, stdin=stdin)
    summaries = [
        line for line in result.stderr.splitlines() if re.search(r": (?:tags were put into|no target lacks)", line)
    ]
    assert result.returncode == 0 and result.stderr.splitlines() == summaries[:1], result.stderr
    return result.stdout


def test_lines(tmp_path: Path) -> None:
    assert output_of(stdin=TSV) == TAGGED
    (tmp_path / "source").write_text("".join(f"{source}\n" for source, *_ in LINES))
    (tmp_path / "target").write_text("".join(f"{target}\n" for _, target, _ in LINES))
    assert output_of(tmp_path / "source", tmp_path / "target", "-o", tmp_path / "out") == ""
    assert (tmp_path / "out").read_text() == TAGGED


def test_lines_of_other_markup() -> None:
    pair = 'My <ph id="1">&lt;b></ph>sister\tMeine Schwester'
    assert output_of("--tag-handling", "xliff", stdin=pair) == 'Meine <ph id="1">&lt;b></ph>Schwester\n'
    assert output_of("--tag-handling", "markdown", stdin="My **sister**\tMeine Schwester") == "Meine **Schwester**\n"
    pair = "My <x>old</x> sister\tMeine Schwester"
    assert output_of("--ignore-tags", "x", "--fast", stdin=pair).replace("<x>old</x>", "") == "Meine Schwester\n"


def test_placeholders(tmp_path: Path) -> None:
    pair = "My {0} sister\tMeine Schwester"
    assert output_of("--placeholders", stdin=pair) == "Meine {0} Schwester\n"
    assert output_of(stdin=pair) == "Meine Schwester\n"
    unit = "<trans-unit><source>My %s sister</source><target>{}</target></trans-unit></body>"
    job, page, lines = (tmp_path / name for name in ("job.xlf", "page.html", "lines"))
    job.write_text(XLIFF.format(PLACED).replace("</body>", unit.format("Meine Schwester")))
    assert output_of(job, "--placeholders") == XLIFF.format(PLACED).replace(
        "</body>", unit.format("Meine %s Schwester")
    )
    assert output_of(job) == job.read_text()
    page.write_text("<p>My ${name} sister</p>")
    lines.write_text("Meine Schwester\n")
    assert output_of(page, lines, "--placeholders") == "<p>Meine ${name} Schwester</p>"


def test_what_is_too_long_to_align_is_named(tmp_path: Path) -> None:
    source, target = "house " * 1_500 + "<g>car</g>", "Haus " * 1_500 + "Auto"
    result = transfer(stdin=f"{TSV}{source}\t{target}\n")
    assert result.stdout.endswith("Haus <g>Auto</g>\n")
    assert result.stderr.startswith("weft: stdin:4: a sentence of 1,") and result.stderr.count("\n") == 1
    assert result.stderr.endswith("its tags are placed by length\n")
    unit = f"<trans-unit><source>{source}</source>\n<target>{target}</target></trans-unit></body>"
    (tmp_path / "job.xlf").write_text(XLIFF.format(PLACED).replace("</body>", unit))
    assert f"{tmp_path / 'job.xlf'}:6: a sentence of" in transfer(tmp_path / "job.xlf").stderr


def test_many_lines_are_shared_by_processes(tmp_path: Path) -> None:
    (tmp_path / "text.tsv").write_text(TSV * 700)
    assert output_of(tmp_path / "text.tsv", "--cores", 2) == TAGGED * 700


def test_lines_that_cannot_be_used_are_empty(tmp_path: Path) -> None:
    pairs = [["a <b>b</b>", "A B"], ["a", "A\nB"], ["<b>" * 10_001, "A"]]
    (tmp_path / "x.jsonl").write_text(
        "".join(json.dumps({"source": one, "target": two}) + "\n" for one, two in pairs) + "{\n"
    )
    result = transfer(tmp_path / "x.jsonl")
    assert result.returncode == 0 and result.stdout == "A <b>B</b>\n\n\n\n"
    warnings = result.stderr.splitlines()
    assert [line.split(": ")[2][:30] for line in warnings] == [
        "a target with a line break, bu",
        "a segment with more than 10,00",
        'expected an object with "sourc',
    ]
    assert "x.jsonl:2: " in warnings[0] and all(line.endswith("an empty line for it") for line in warnings)


def test_xliff(tmp_path: Path) -> None:
    path, again = tmp_path / "job.xlf", tmp_path / "again.xliff"
    path.write_text(XLIFF.format(PLAIN))
    assert output_of(path) == XLIFF.format(PLACED)
    assert output_of(path, "-o", again) == "" and again.read_text() == XLIFF.format(PLACED)
    assert output_of(again) == XLIFF.format(PLACED)
    moved = XLIFF.format(PLACED).replace('<g id="1">Meine</g> Schwester', 'Meine <g id="1">Schwester</g>')
    assert output_of(again, "--all") == moved
    assert transfer(path).stderr == f"{path}: tags were put into 1 target\n"
    assert transfer(again).stderr.startswith(f"{again}: no target lacks tags, or it is approved; nothing has changed")


def test_any_encoding(tmp_path: Path) -> None:
    path = tmp_path / "job.xlf"
    path.write_bytes(XLIFF.format("Meine Schwester grüßt.").encode("utf-16"))
    result = subprocess.run([*WEFT, path], capture_output=True)
    assert result.stdout == XLIFF.format('Meine <g id="1">Schwester</g> grüßt.').encode("utf-16")


def test_tmx(tmp_path: Path) -> None:
    path = tmp_path / "memory.tmx"
    text = (
        '<tmx version="1.4"><header srclang="*all*"/><body><tu><tuv xml:lang="en"><seg>My <hi>sister</hi></seg></tuv>'
        '<tuv xml:lang="de"><seg>Meine Schwester</seg></tuv><tuv xml:lang="fr"><seg>Ma sœur</seg></tuv></tu>'
        "</body></tmx>"
    )
    path.write_text(text)
    result = transfer(path)
    assert result.returncode == 1 and result.stderr.endswith("name two, as in --languages en de\n")
    placed = text.replace("Ma sœur", "Ma <hi>sœur</hi>")
    assert output_of(path, "--languages", "en", "fr") == placed


def test_a_page_is_extracted_translated_and_put_together(tmp_path: Path) -> None:
    page, lines = tmp_path / "page.html", tmp_path / "lines"
    page.write_text(PAGE)
    assert output_of(page, "--extract") == "My house\nMy old house\nMy sister.\n"
    lines.write_text("Mein Haus\nMein altes Haus\nMeine Schwester & ich.\n")
    expected = PAGE.replace("My house", "Mein Haus").replace("My  <em>old</em>\nhouse", "Mein <em>altes</em> Haus")
    expected = expected.replace('My <a href="s.html">sister</a>', 'Meine <a href="s.html">Schwester</a> &amp; ich')
    assert output_of(page, lines) == expected
    assert output_of(page, "--extract", "--ignore-tags", "em,pre") == "My house\nMy house\nMy sister.\n"
    assert output_of(page, "--extract", "--splitting-tags", "em").splitlines()[1:4] == ["My", "old", "house"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["page.html"], "page.html: write its text with --extract; then give the translation as a second file"),
        (["page.html", "lines", "--extract"], "page.html: write its text with --extract"),
        (["page.html", "lines"], "lines has 1 lines, but page.html 3 segments"),
        (["lines", "--extract"], "--extract is for HTML pages; lines is lines of text"),
        (["--all"], "--all is for XLIFF and TMX; stdin is lines of text"),
        (["page.html", "--languages", "en", "de"], "--languages is for XLIFF and TMX"),
        (["job.xlf", "lines"], "job.xlf: has its targets in it; leave out lines"),
        (["job.xlf", "--tag-handling", "xml"], "--tag-handling is for lines of text"),
        (["none.xlf"], "none.xlf: No such file"),
        (["broken.xlf"], "broken.xlf:1: not well-formed XML"),
        (["job.xlf", "-o", "job.xlf"], "job.xlf: is read by this command, too"),
        (["job.xlf", "--cores", "-1"], "--cores is a number of cores"),
    ],
)
def test_errors_are_one_line_and_leave_nothing(arguments: list[str], problem: str, tmp_path: Path) -> None:
    files = {"page.html": PAGE, "job.xlf": XLIFF.format(PLAIN), "lines": "One\n", "broken.xlf": "<xliff>"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    result = subprocess.run([*WEFT, *arguments], capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 1 and not result.stdout and result.stderr.count("\n") == 1
    assert result.stderr.startswith("weft: ") and problem in result.stderr
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == files
