"""``weft align --shard``: the parts, one after the other, are what one command writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from memory_files import tmx_of_pairs

from weft.cli import aligning
from weft.cli.align import Options, align
from weft.cli.aligning import plan_aligner
from weft.errors import WeftError
from weft.progress import Progress
from weft.text.reading import read_text

ROMANIAN = [
    (source, target)
    for source, target, _ in (
        line.split("\t")
        for line in (Path(__file__).parents[1] / "ordinary" / "ro-en.tsv").read_text("utf-8").splitlines()
    )
]
NO_LINKS = [8, 30]  # lines of the text that have none


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """Romanian sentences, with a line that has none and one that is bad."""
    rows = [f"{source}\t{target}" for source, target in ROMANIAN]
    rows[NO_LINKS[0] - 1 : NO_LINKS[0] - 1] = ["casa\t"]
    rows[NO_LINKS[1] - 1 : NO_LINKS[1] - 1] = ["only one side"]
    path = tmp_path / "text.tsv"
    path.write_text("".join(f"{row}\n" for row in rows), "utf-8")
    return path


def aligned(output: Path, *files: Path, **options: Any) -> bytes:
    """The content of the file that the command writes."""
    names = [str(file) for file in files]
    align(Options(*names, model="ro-en", fast=True, output=str(output), **options))
    return output.read_bytes()


def in_shards(count: int, folder: Path, *files: Path, ending: str = "", **options: Any) -> list[bytes]:
    shards = range(1, count + 1)
    return [aligned(folder / f"{one}{ending}", *files, shard=f"{one}/{count}", **options) for one in shards]


@pytest.mark.parametrize("form", ["pharaoh", "probabilities", "jsonl", "giza"])
def test_parts_are_the_bytes_of_one_run(form: str, text: Path, tmp_path: Path) -> None:
    whole = aligned(tmp_path / "whole", text, format=form)
    parts = in_shards(3, tmp_path, text, format=form)
    assert all(parts) and b"".join(parts) == whole
    assert b"".join(in_shards(70, tmp_path, text, format=form)) == whole  # more than there are lines


def test_two_files_into_compressed_parts(tmp_path: Path) -> None:
    for side, name in enumerate(("ro", "en")):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in ROMANIAN), "utf-8")
    files = (tmp_path / "ro", tmp_path / "en")
    whole = aligned(tmp_path / "whole", *files).decode()
    in_shards(4, tmp_path, *files, ending=".zst")
    frames = b"".join((tmp_path / f"{number}.zst").read_bytes() for number in range(1, 5))
    (tmp_path / "together.zst").write_bytes(frames)
    assert "".join(f"{line}\n" for line in read_text(str(tmp_path / "together.zst"))) == whole


def test_parts_of_a_memory(tmp_path: Path) -> None:
    memory = tmp_path / "memory.tmx"
    memory.write_text(tmx_of_pairs(ROMANIAN), "utf-8")
    options: dict[str, Any] = {"languages": ("en", "de"), "raw": True}
    assert b"".join(in_shards(3, tmp_path, memory, **options)) == aligned(tmp_path / "whole", memory, **options)


def test_lines_have_the_numbers_of_the_whole_text(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = aligned(tmp_path / "whole", text, if_empty="drop")
    assert b"".join(in_shards(3, tmp_path, text, if_empty="drop")) == whole
    dropped = [(tmp_path / f"{name}.dropped").read_text() for name in ("whole", "1", "2", "3")]
    assert dropped[0] == "".join(dropped[1:]) == "".join(f"{number}\n" for number in NO_LINKS)
    warnings = capsys.readouterr().err.splitlines()
    assert len(warnings) == 2 and all(f"{text}:{NO_LINKS[1]}: expected two columns" in one for one in warnings)


def test_tokens_that_are_in_files_go_with_their_lines(tmp_path: Path) -> None:
    text, tokens = tmp_path / "text.tsv", [tmp_path / "tok.ro", tmp_path / "tok.en"]
    text.write_text("".join(f"{source}\t{target}\n" for source, target in ROMANIAN), "utf-8")
    outputs = ",".join(str(tmp_path / name) for name in ("whole", *(path.name for path in tokens)))
    align(Options(str(text), model="ro-en", fast=True, tokens=(f"icu={outputs}",)))
    given = (f"files:{tokens[0]},{tokens[1]}",)
    assert b"".join(in_shards(3, tmp_path, text, tokens=given)) == (tmp_path / "whole").read_bytes()
    with tokens[0].open("a") as file:
        file.write("more\n")
    aligned(tmp_path / "1", text, tokens=given, shard="1/3")
    with pytest.raises(WeftError, match=r"tok\.ro: has more lines than the text"):
        aligned(tmp_path / "3", text, tokens=given, shard="3/3")


def test_an_interrupted_shard_is_resumed(text: Path, tmp_path: Path) -> None:
    parts = in_shards(2, tmp_path, text)
    output, partial = tmp_path / "again", tmp_path / "again.partial"
    with pytest.raises(WeftError, match=f"text.tsv:{NO_LINKS[1]}:"):  # the last but one of the first half
        aligned(output, text, shard="1/2", strict=True, line_buffered=True)
    done = partial.read_bytes().count(b"\n")
    assert 0 < done < parts[0].count(b"\n") and parts[0].startswith(partial.read_bytes())
    with pytest.raises(WeftError, match="its shard was 1/2, but is 2/2 now"):
        aligned(output, text, shard="2/2", resume=True)
    assert aligned(output, text, shard="1/2", resume=True) == parts[0]


def test_what_cannot_be_cut(text: Path, tmp_path: Path) -> None:
    refused = subprocess.run(
        [sys.executable, "-m", "weft", "align", "--shard", "1/2"], input=text.read_bytes(), capture_output=True
    )
    assert refused.returncode == 1 and b"stdin: the lines of a stream cannot be counted" in refused.stderr
    for options, problem in {
        ("shard", "3/2"): "a shard is one of 1/8 to 8/8, say, not 3/2",
        ("format", "html"): "parts of html cannot be put together",
    }.items():
        with pytest.raises(WeftError, match=problem):
            aligned(tmp_path / "links", text, **{"shard": "1/2", options[0]: options[1]})
    assert not (tmp_path / "links").exists()


def test_a_process_for_each_core(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(aligning, "map_in_order", lambda work, items, processes: asked.append(processes) or [])
    for cores in (1, 20, 128, 1_000):
        list(aligning.answers(lambda *_: None, [1, 2], plan_aligner("ro-en", cores), Progress()))  # type: ignore
    assert asked == [1, 20, 128, 256]
