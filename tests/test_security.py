"""Promises of docs/security.md that no single module keeps alone."""

from __future__ import annotations

import ast
import zipfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from memory_files import pairs_of, write

from weft.align.alignment import Alignment
from weft.align.formats import FORMATS
from weft.text.words import Sentence

PACKAGE = Path(__file__).parents[1] / "src" / "weft"


def things_that_run_data(code: str) -> Iterator[str]:
    """Find what could turn bytes of a file into code: pickles, eval, exec, a shell."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [one.name for one in node.names] + [getattr(node, "module", None) or ""]
            yield from {"pickle", "marshal", "shelve", "cloudpickle"} & {name.partition(".")[0] for name in names}
        elif isinstance(node, ast.Call):
            called, options = ast.unparse(node.func), {one.arg: ast.unparse(one.value) for one in node.keywords}
            if called in {"eval", "exec", "os.system", "os.popen"} or options.get("shell") == "True":
                yield called
            if options.get("allow_pickle") == "True":
                yield called
            if called == "torch.load" and options.get("weights_only") != "True":
                yield called


def test_nothing_that_is_read_is_run() -> None:
    hostile = "import pickle\neval(x)\nnp.load(x, allow_pickle=True)\ntorch.load(x)\nrun(x, shell=True)"
    assert sorted(things_that_run_data(hostile)) == ["eval", "np.load", "pickle", "run", "torch.load"]
    found = {path.name: list(things_that_run_data(path.read_text("utf-8"))) for path in PACKAGE.rglob("*.py")}
    assert len(found) > 100 and not any(found.values()), found


@pytest.mark.parametrize("name", ["../../x", "/x", "C:/x"])
def test_members_of_archives_name_no_files(name: str, tmp_path: Path) -> None:
    (tmp_path / "in" / "in").mkdir(parents=True)
    path = tmp_path / "in" / "in" / "text.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}.de-en.de", "ein Haus\n")
        archive.writestr(f"{name}.de-en.en", "a house\n")
    assert pairs_of(str(path)) == [("ein Haus", "a house")]
    assert [one for one in tmp_path.rglob("*") if one.is_file()] == [path]


def test_definitions_of_entities_are_refused_by_memories(tmp_path: Path) -> None:
    secret = write(tmp_path / "secret", "secret")
    for definition in (f"<!ENTITY a SYSTEM '{secret}'>", "<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>"):
        text = f"<!DOCTYPE tmx [{definition}]><tmx><body><tu><tuv xml:lang='de'><seg>&a;</seg></tuv></tu></body></tmx>"
        with pytest.raises(Exception, match="DOCTYPE holds definitions"):
            pairs_of(write(tmp_path / "text.tmx", text))


class Tags(HTMLParser):
    """Collects the tags of a page and their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, list[str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, [name for name, _ in attrs]))


def test_words_are_no_markup_on_a_page() -> None:
    words = ["<script>alert(1)</script>", "<img/src=x/onerror=alert(1)>", "\"'><b>", "&lt;i&gt;", "</svg>"]
    tame = [chr(97 + number) for number in range(len(words))]
    pages = []
    for side in (words, tame):
        sentence = Sentence.from_words(side)
        tags = Tags()
        tags.feed(FORMATS["html"].one(Alignment(sentence, sentence, {(0, 0): 1.0, (1, 4): 0.5}, 0.5), 1))
        pages.append(tags.found)
    assert pages[0] == pages[1]
