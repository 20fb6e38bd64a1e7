"""Archives as OPUS has them."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from memory_files import pairs_of

from weft.errors import WeftError
from weft.text.reading import Corpus

BESIDE = {"README": "no", "LICENSE": "no", "Mini.de-en.xml": "<no/>", "__MACOSX/._Mini.de-en.de": "no"}
TEXT = {"Mini.de-en.de": "ein Haus\nein\tBaum\n", "Mini.de-en.en": "a house\na tree\n"}
PAIRS = [("ein Haus", "a house"), ("ein\tBaum", "a tree")]


def archive(folder: Path, members: dict[str, str], compression: int = zipfile.ZIP_DEFLATED) -> str:
    with zipfile.ZipFile(folder / "text.zip", "w", compression) as file:
        for name, text in members.items():
            file.writestr(name, text)
    return str(folder / "text.zip")


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_the_two_sides(compression: int, tmp_path: Path) -> None:
    name = archive(tmp_path, BESIDE | TEXT, compression)
    assert pairs_of(name) == pairs_of(name, "de", "en") == PAIRS
    assert pairs_of(name, "en", "de") == [(target, source) for source, target in PAIRS]
    corpus = Corpus(files=(name,))
    blocks = list(corpus.blocks(1))
    assert [block.first_line for block in blocks] == [1, 2]
    assert abs(sum(block.bytes_read for block in blocks) - corpus.size()) <= 2  # rounded


def test_names_of_languages_with_regions(tmp_path: Path) -> None:
    name = archive(tmp_path, {"a/b.c.pt_BR-zh_CN.zh_CN": "z\n", "a/b.c.pt_BR-zh_CN.pt_BR": "p\n"})
    assert pairs_of(name) == pairs_of(name, "pt", "zh") == [("p", "z")]
    assert pairs_of(name, "zh-cn", "pt-br") == [("z", "p")]


def test_one_of_several_texts(tmp_path: Path) -> None:
    name = archive(tmp_path, TEXT | {"Mini.de-fr.de": "ein Baum\n", "Mini.de-fr.fr": "un arbre\n"})
    assert pairs_of(name, "fr", "de") == [("un arbre", "ein Baum")]
    with pytest.raises(
        WeftError, match=r"text\.zip: has 2 texts \(Mini\.de-en, Mini\.de-fr\); choose with --languages"
    ):
        pairs_of(name)
    with pytest.raises(WeftError, match=r"text\.zip: has no text in en and fr, but Mini\.de-en, Mini\.de-fr"):
        pairs_of(name, "en", "fr")


def test_problems_are_named(tmp_path: Path) -> None:
    for members, problem in [
        (BESIDE, r"text\.zip: expected two members such as NAME\.de-en\.de and NAME\.de-en\.en"),
        ({f"{number}.de-en.{number}": "" for number in range(20_000)}, "expected two members"),
        (TEXT | {"Mini.de-en.en": "a house\n"}, r"text\.zip/Mini\.de-en\.de has 2 lines but .*/Mini\.de-en\.en has 1"),
    ]:
        with pytest.raises(WeftError, match=problem):
            pairs_of(archive(tmp_path, members))
    with zipfile.ZipFile(archive(tmp_path, {}), "w") as file:
        file.writestr("x.de-en.de", b"a\n\xff\n")
        file.writestr("x.de-en.en", b"a\nb\n")
    with pytest.raises(WeftError, match=r"text\.zip/x\.de-en\.de:2: invalid UTF-8 at byte 1"):
        pairs_of(str(tmp_path / "text.zip"))


def test_unusual_and_damaged_archives(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match=r"text\.zip: of a kind of compression that can be a bomb; unpack it"):
        pairs_of(archive(tmp_path, TEXT, zipfile.ZIP_BZIP2))
    name = archive(tmp_path, {member: f"{text * 3_000}" for member, text in TEXT.items()})
    whole = Path(name).read_bytes()
    encrypted = whole.replace(b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01")
    damaged = [b"", b"PK", whole[:-30], whole[:60] + b"\0" * 9 + whole[69:], b"a\tb\n" * 30, encrypted]
    for content in damaged:
        assert content != whole
        Path(name).write_bytes(content)
        with pytest.raises(WeftError, match=r"text\.zip\S*: cannot be read"):
            pairs_of(name)


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory")
def test_a_bomb_takes_little_memory(tmp_path: Path) -> None:
    name = str(tmp_path / "text.zip")
    with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("x.de-en.de", bytes(1 << 28) + b"\na\n")
        file.writestr("x.de-en.en", b"a\nb\n")
    code = (
        "import resource, sys\nfrom weft.text.reading import Corpus\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 28, 1 << 28))\nbad = []\n"
        "print([pair for block in Corpus(files=(sys.argv[1],)).blocks() for pair in block.pairs(bad.append)], *bad)"
    )
    result = subprocess.run([sys.executable, "-c", code, name], capture_output=True, text=True)
    assert result.stdout == f"[('a', 'b')] {name}/x.de-en.de:1: longer than 16 MB\n", result.stderr
