"""Coverage-guided fuzzing of everything that reads what others have written.

Each target takes bytes. It may refuse them with a WeftError of one line; anything else that it raises, a hang or too
much memory is a finding. atheris (``pip install atheris``) changes the bytes, and keeps what reaches new code.
``tests/test_coverage_guided.py`` runs all targets on their seeds, and atheris for a moment if it is there.

    python fuzz/coverage_guided.py markup -max_total_time=600   # one target
    python fuzz/coverage_guided.py all -max_total_time=600      # all, by turns
    python fuzz/coverage_guided.py markup crash-1234            # a finding again
"""

from __future__ import annotations

import atexit
import gzip
import io
import lzma
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import zstandard

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests"))
Target = Callable[[bytes], Any]


class Fuzzed(NamedTuple):
    """What is fuzzed, and what it begins with."""

    run: Target
    seeds: Sequence[bytes]


def targets() -> dict[str, Fuzzed]:
    """Return all targets by name. weft is imported here, after atheris is ready to watch it."""
    from test_docs import LABELLED
    from test_fuzzing import MEMORIES

    examples = {path.name: path.read_bytes() for path in sorted((ROOT / "examples").iterdir()) if path.is_file()}
    lines = [b'{"source": "a", "target": {"text": "b"}}\n', b'{"translation": {"de": "a", "en": "b"}}\n']
    lines += [b"a b ||| c\n", examples["de-en.tsv"][:300]]
    xml = [examples["job.xlf"], examples["memory.tmx"], MEMORIES["tmx"], MEMORIES["xlf"]]
    labelled = {name: text.encode() + b"\xffDas alte Haus\n" for name, text in LABELLED.items()}
    models = [bytes([number]) + (_model_folder() / name).read_bytes() for number, name in enumerate(_MODEL_FILES)]
    compressed = {"gz": gzip.compress, "xz": lzma.compress, "zst": zstandard.compress}
    found = {f"text.{kind}": Fuzzed(partial(_pairs, f"text.{kind}"), lines) for kind in ("tsv", "jsonl")}
    for kind, compress in compressed.items():
        found[kind] = Fuzzed(partial(_pairs, f"text.tsv.{kind}"), [compress(line) for line in lines])
    for kind, content in MEMORIES.items():
        found[kind] = Fuzzed(partial(_pairs, f"text.{kind}"), [content])
    return found | {
        "archive": Fuzzed(partial(_pairs, "text.zip"), [_archive()]),
        "links": Fuzzed(_links, [b"0-0 1p2\n\n3-4\n"]),
        "gold": Fuzzed(_gold, [b"1-1 1p2\n", b"1 1 1 S\n1 2 2 P\n"]),
        "glossary": Fuzzed(_glossary, [examples["terms.tsv"]]),
        "recipe": Fuzzed(_recipe, [(ROOT / "src/weft/recipes/de-en.toml").read_bytes()]),
        "iob2": Fuzzed(partial(_labels, "iob2"), [labelled["news.iob2"]]),
        "conllu": Fuzzed(partial(_labels, "conllu"), [labelled["news.conllu"]]),
        "spans": Fuzzed(partial(_labels, "jsonl"), [labelled["news.jsonl"], LABELLED["pairs.jsonl"].encode()]),
        "markup": Fuzzed(_markup, [examples["tags.tsv"], b"<b>a</b> {0} ![x](y) `z` <bpt id='1'>q</bpt>\tb"]),
        "xml": Fuzzed(_xml, xml),
        "html": Fuzzed(_html, [examples["page.html"]]),
        "model": Fuzzed(_model, models),
    }


def all_of(found: dict[str, Fuzzed]) -> Fuzzed:
    """Return a target that is each of these, as the first byte says."""
    runs = [one.run for one in found.values()]
    seeds = [bytes([number]) + seed for number, one in enumerate(found.values()) for seed in one.seeds]
    return Fuzzed(lambda data: runs[data[0] % len(runs)](data[1:]) if data else None, seeds)


@cache
def _folder() -> Path:
    """Return a folder for the files of this process."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    return Path(folder)


def _file(name: str, data: bytes) -> str:
    path = _folder() / name
    path.write_bytes(data)
    return str(path)


def refused(run: Target, data: bytes) -> None:
    """Run a target; a refusal must be one line that is not too long to read."""
    from weft.errors import WeftError

    try:
        run(data)
    except WeftError as error:
        assert "\n" not in str(error) and len(str(error)) < 1_000, str(error)[:2_000]


def _pairs(name: str, data: bytes) -> None:
    from weft.text.reading import Corpus

    for block in Corpus(files=(_file(name, data),)).blocks():
        for source, target in block.pairs(lambda bad: None):
            f"{source}{target}".encode()  # what is read can be written


def _links(data: bytes) -> None:
    from weft.links import read_links

    for line in read_links(_file("links", data)):
        assert line.sure <= line.possible


def _gold(data: bytes) -> None:
    from weft.links import read_gold

    read_gold(_file("links", data))


def _glossary(data: bytes) -> None:
    from weft.apply.glossary import read_glossary

    read_glossary(_file("terms.tsv", data))


def _recipe(data: bytes) -> None:
    from weft.recipe import load_recipe

    load_recipe(Path(_file("recipe.toml", data)))


def _labels(form: str, data: bytes) -> None:
    """Project the labels of a file; the translations are after the byte 255."""
    from weft.apply.conllu import ConlluSentence
    from weft.apply.label_file import read_blocks
    from weft.apply.projection import project
    from weft.apply.span_objects import SpanObject
    from weft.apply.tagged_tokens import TaggedTokens

    reader: Any = {"iob2": TaggedTokens, "conllu": ConlluSentence, "jsonl": SpanObject}[form]
    text, mark, translations = data.partition(b"\xff")
    target = _file("target", translations) if mark or form != "jsonl" else ""
    for block in read_blocks(_file("labels", text), target, reader.has_token):
        for unit in block.decoded():
            one = reader(unit, raw=True, columns=("UPOS", "Entity", "NER"))
            for projected in project(_aligner(), [one.labelled]):
                one.written(projected)


@cache
def _aligner() -> Any:
    from weft.align.onnx_aligner import Aligner

    return Aligner(_model_folder(), cores=1)


@cache
def _model_folder() -> Path:
    """Return the folder of an aligner that is small and knows nothing."""
    from test_fuzzing import small_aligner

    small_aligner(_folder() / "small", shared=True)
    return _folder() / "small"


def _markup(data: bytes) -> None:
    from weft.apply.markup import parse_markup
    from weft.apply.markup_transfer import sentences_to_place, with_markup

    source, _, target = data.decode("utf-8", "replace").partition("\t")
    for handling in ("html", "xml", "xliff", "markdown"):
        marked, other = parse_markup(source, handling, ("code",), target), parse_markup(target, handling)
        with_markup(marked, other, sentences_to_place(marked, other), None)


def _xml(data: bytes) -> None:
    from weft.apply.xml_documents import parse_xml_document

    document = parse_xml_document(data, "x.xlf", everything=True)
    document.with_targets(target for _, target in document.pairs())


def _html(data: bytes) -> None:
    from weft.apply.html_documents import HtmlTags, parse_page

    page = parse_page(data, "x.html", HtmlTags())
    lines = list(page.lines())
    document = page.translated(lines, "lines")
    document.with_targets(target for _, target in document.pairs())


_MODEL_FILES = ("config.json", "tokenizer.json", "weights.safetensors", "both.npy")


def _model(data: bytes) -> None:
    """Replace one file of a model folder, which the first byte chooses, and align if the folder is taken."""
    from test_fuzzing import PAIRS

    from weft.align.onnx_aligner import Aligner

    folder = _folder() / "model"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(_model_folder(), folder)
    (folder / _MODEL_FILES[data[0] % len(_MODEL_FILES) if data else 0]).write_bytes(data[1:])
    with Aligner(folder, cores=1) as aligner:
        list(aligner.align(PAIRS[:3]))


def _archive() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.de-en.de", "ein Haus\n")
        archive.writestr("x.de-en.en", "a house\n")
    return content.getvalue()


def main() -> None:
    """Fuzz a target with atheris; options are libFuzzer's."""
    import atheris

    with atheris.instrument_imports(include=["weft"]):  # pyrefly: ignore
        found = targets()
        for one in found.values():  # imports what they need
            for seed in one.seeds:
                refused(one.run, seed)
    name, *options = sys.argv[1:] or ["all"]
    fuzzed = all_of(found) if name == "all" else found[name]
    with tempfile.TemporaryDirectory() as corpus:
        for number, seed in enumerate(fuzzed.seeds):
            (Path(corpus) / str(number)).write_bytes(seed)
        again = any(Path(option).is_file() for option in options)
        limits = ["-rss_limit_mb=3000", "-timeout=20", "-max_len=16384"]
        atheris.Setup([sys.argv[0], *limits, *options, *([] if again else [corpus])], partial(refused, fuzzed.run))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
