"""gettext catalogues: messages and translations, escapes, charsets, and what is refused with one line."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from memory_files import pairs_of, write

from weft.errors import WeftError
from weft.text.reading import Corpus
from weft.text.words import split_spaces

HEADER = 'msgid ""\nmsgstr ""\n"Language: de\\n"\n"Content-Type: text/plain; charset=UTF-8\\n"\n\n'
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def quoted(text: str) -> str:
    escapes = {
        "\\": "\\\\",
        '"': '\\"',
        "\n": "\\n",
        "\t": "\\t",
        "\r": "\\r",
        "\x1c": "\\034",
        "\x07": "\\a",
        "\x00": "\\x00",
    }
    return '"' + "".join(escapes.get(letter, letter) for letter in text) + '"'


@given(st.lists(st.tuples(TEXT, TEXT), max_size=5), st.booleans())
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]], wrapped: bool
) -> None:
    pairs = [("first", "erste"), *pairs]
    lines = ""
    for source, target in pairs:
        for keyword, text in (("msgid", source), ("msgstr", target)):
            parts = [text[:3], text[3:]] if wrapped else [text]
            lines += f"{keyword} " + "\n".join(map(quoted, parts)) + "\n"
    name = write(tmp_path_factory.mktemp("memory") / "text.po", HEADER + lines)
    expected = [tuple(" ".join(split_spaces(side)) for side in pair) for pair in pairs if all(s.strip() for s in pair)]
    assert pairs_of(name) == expected


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        (
            '# note\n#: a.c:1\n#, c-format\n#| msgid "A"\nmsgctxt "menu"\nmsgid "Open %s"\nmsgstr "Öffne %s"\n',
            ["Open %s=Öffne %s"],
        ),
        (
            'msgid ""\n"two "\n"lines\\n"\n"of text\\n"\nmsgstr ""\n"zwei Zeilen\\n"\n"Text\\n"\n',
            ["two lines of text=zwei Zeilen Text"],
        ),
        ('  msgid"a" "b"\r\n\tmsgstr "c"\r\n', ["ab=c"]),
        ('msgid "a"\nmsgstr "b"\nmsgid "c"\nmsgstr "d"', ["a=b", "c=d"]),  # no empty line between, none at the end
        (
            'msgid "%d file"\nmsgid_plural "%d files"\nmsgstr[0] "%d Datei"\nmsgstr[1] "%d Dateien"\nmsgstr[2] "x"\n',
            ["%d file=%d Datei", "%d files=%d Dateien"],
        ),
        ('msgid "%d file"\nmsgid_plural "%d files"\nmsgstr[0] "%d Datei"\n', ["%d file=%d Datei"]),  # of one form
        ('#, fuzzy, c-format\nmsgid "a"\nmsgstr "b"\n\nmsgid "c"\nmsgstr "d"\n', ["c=d"]),
        ('#, fuzzy\n#~ msgid "a"\n#~ msgstr "b"\n\nmsgid "c"\nmsgstr "d"\n', ["c=d"]),
        ('msgid "c"\nmsgstr "d"\n\n#~ msgid "a"\n#~ msgstr "b"\n', ["c=d"]),
        ('msgid "a"\nmsgstr ""\n\nmsgid "c"\nmsgstr "d"\n', ["c=d"]),  # untranslated
        ('domain "more"\nmsgid "a"\nmsgstr "b"\n', ["a=b"]),
        (r'msgid "\"\\\t\303\274\xc3\xbc\q"' + '\nmsgstr "b"\n', ['"\\ üü\\q=b']),
    ],
)
def test_entries(text: str, pairs: list[str], tmp_path: Path) -> None:
    expected = [tuple(pair.split("=")) for pair in pairs]
    for header in ("", HEADER, "#, fuzzy\n" + HEADER):
        assert pairs_of(write(tmp_path / "text.po", header + text)) == expected


@pytest.mark.parametrize(
    ("charset", "encoding"),
    [
        ("UTF-8", "utf-8"),
        ("CHARSET", "utf-8"),
        ("ISO-8859-1", "latin-1"),
        ("koi8-r", "koi8-r"),
        ("Shift_JIS", "shift_jis"),
    ],
)
def test_charsets(charset: str, encoding: str, tmp_path: Path) -> None:
    text = {"koi8-r": "дом", "shift_jis": "能力表示"}.get(encoding, "größer")  # with backslashes as second bytes
    header = HEADER.replace("UTF-8", charset).replace("msgid", "# " + text + "\nmsgid")
    name = write(tmp_path / "text.po", f'{header}msgid "more"\nmsgstr "{text}"\n'.encode(encoding))
    assert pairs_of(name) == [("more", text)]


def test_the_header_names_the_language_of_translations(tmp_path: Path) -> None:
    name = write(tmp_path / "text.po", HEADER + 'msgid "house"\nmsgstr "Haus"\n')
    assert pairs_of(name) == pairs_of(name, "en", "de") == [("house", "Haus")]
    assert pairs_of(name, "de", "en") == [("Haus", "house")]
    with pytest.raises(WeftError, match="no entry has both fr and en; its languages: de, unknown"):
        pairs_of(name, "fr", "en")


def test_lines_of_entries(tmp_path: Path) -> None:
    text = (
        HEADER
        + '#: x\nmsgid "a"\nmsgid_plural "b"\nmsgstr[0] "c"\nmsgstr[1] "d"\n\nmsgctxt "e"\nmsgid "f"\nmsgstr "g"\n'
    )
    (block,) = Corpus(files=(write(tmp_path / "text.po", text),)).blocks()
    assert block.places == [7, 7, 12]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('msgid "a"\nmsgstr "b\n', ":2: expected a message or its translation"),
        ('msgid "a"\nmsgid "b"\nmsgstr "c"\n', ":2: expected a message or its translation"),
        ('"a"\n', ":1: expected a message or its translation"),
        ("a\tb\n", ":1: expected a message or its translation"),
        ('msgid "a"\nmsgstr b\n', ":2: expected a message or its translation"),
        (HEADER.encode() + b'msgid "a"\nmsgstr "\xff"\n', ":7: not UTF-8, as the header says; correct the header"),
        (HEADER.replace("UTF-8", "nonsense"), ": the charset nonsense of its header is none for catalogues"),
        (HEADER.replace("UTF-8", "UTF-16"), ": the charset UTF-16 of its header is none for catalogues"),
        (HEADER.replace("UTF-8", "zip"), ": the charset zip of its header is none for catalogues"),
        (HEADER.encode("utf-16"), ": is UTF-16; convert it to UTF-8"),
        (HEADER + 'msgid "a"\nmsgstr ""\n', ": no entry has text in two languages; its languages: unknown"),
    ],
)
def test_a_bad_file_is_refused_with_one_line(content: str | bytes, problem: str, tmp_path: Path) -> None:
    with pytest.raises(WeftError, match=rf"text\.po{problem}"):
        pairs_of(write(tmp_path / "text.po", content))


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory")
@pytest.mark.parametrize("line", ["x" * 100_000, '"x"\n' * 30_000])
def test_memory_is_bounded(line: str, tmp_path: Path) -> None:
    code = (
        "import resource, sys\nfrom weft.text.reading import Corpus\nfrom weft.errors import WeftError\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))\n"
        "try: list(Corpus(files=(sys.argv[1],)).blocks())\n"
        "except WeftError as error: print(error)"
    )
    with zstandard.open(tmp_path / "text.po.zst", "w") as file:
        file.write('msgid ""\n')
        for _ in range(2_000):
            file.write(line)
    command = [sys.executable, "-c", code, str(tmp_path / "text.po.zst")]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.stdout.endswith("a line of more than 16 MB, or an entry of more than 64 MB\n"), result.stderr


@pytest.mark.parametrize("part", ['"" ', "\\\\", "\\101"], ids=["strings", "escapes", "numbers"])
def test_a_long_line_takes_little_memory(part: str, tmp_path: Path) -> None:
    line = part if part.startswith('"') else f'"{part * 300_000}"'
    name = write(tmp_path / "text.po", f'msgid "a"\nmsgstr {line * (300_000 if line == part else 1)}\n')
    tracemalloc.start()
    with pytest.raises(WeftError, match="no entry has text in two") if line == part else contextlib.nullcontext():
        pairs_of(name)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50_000_000  # two to four times as much if all ways to match were kept
