"""Damaged and hostile model folders and text: each is aligned or refused with one line.

No traceback, no hang, no crash, bounded memory. Every case follows from its number. CI runs 100 of each kind;
``WEFT_FUZZ=1000 pytest tests/test_fuzzing.py`` runs more, and ``python tests/test_fuzzing.py folder 17`` just one.
"""

from __future__ import annotations

import contextlib
import copy
import gzip
import io
import json
import lzma
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import deserialize
from safetensors.numpy import save

from weft.align.model_folder import AlignerFolder, array_layouts, write_aligner
from weft.align.onnx_aligner import Aligner
from weft.config import AlignerConfig, EncoderConfig, TextConfig
from weft.errors import WeftError
from weft.text.subwords import Subwords

CASES = int(os.environ.get("WEFT_FUZZ", "100"))
MOST_MEMORY = 3_000_000_000  # bytes of address space; the arrays of a folder may take 1 GB
MOST_SECONDS = 20  # for one case
PAIRS = [("ein Haus", "a house"), ("", "a"), ("ß 字 \x00 😀", "- house house"), ("Haus " * 300, "house " * 200)]
WEIGHTS = "weights.safetensors"


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory, makes pipes")
@pytest.mark.parametrize("kind", ["folder", "folder-shared", "text"])
def test_anything_is_aligned_or_refused_with_one_line(kind: str, tmp_path: Path) -> None:
    report = tmp_path / "report"
    command = [sys.executable, __file__, kind, f"0-{CASES}", str(report)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60 + CASES)
    outcomes = report.read_text().splitlines()
    assert result.returncode == 0, f"case {len(outcomes)} of {kind}: {result.stderr}"
    assert not result.stdout and "panicked" not in result.stderr
    assert len(outcomes) == CASES
    for needed in ("aligned", "refused"):
        assert sum(line.startswith(needed) for line in outcomes) > CASES / 30  # both happen


# A small aligner to damage


def small_aligner(folder: Path, shared: bool) -> None:
    """Write an aligner of 300 pieces that has learned nothing."""
    generator = np.random.default_rng(1)
    subwords = Subwords.learn(dict.fromkeys((" ein", " haus", " a", " house"), 3), 12, TextConfig())
    shapes = EncoderConfig(2, 16, 24, 2), EncoderConfig(1, 8, 8, 1)
    config = AlignerConfig("weft aligner 2", len(subwords), 0.3, *shapes, subwords.text, shared)
    arrays = {}
    for name, (size, kind) in array_layouts(config).items():
        values = generator.integers(-60, 60, size) if kind == "I8" else generator.uniform(0.01, 0.3, size)
        arrays[name] = values.astype(np.int8 if kind == "I8" else np.float32)
    write_aligner(folder, AlignerFolder(config, subwords, arrays))
    (folder / "README.md").write_text("# A model\n")


# Damage to folders


def hostile(generator: random.Random) -> Any:
    """Return a value that JSON can hold, and that hardly anyone expects."""
    deep: Any = []
    for _ in range(generator.choice([3, 500])):
        deep = [deep]
    return generator.choice(
        [
            *(None, True, -1, 0, 1, 2, 3, 7, 2**31, 2**63, 10**18, 10**300, -(2**63), 0.5, 1e308, float("nan")),
            *(float("inf"), "", "x", "\x1b[31m\n", "\ud800", "weft aligner 2", "a" * 100_000, [], {}, [[]], deep),
            *({"type": "BPE"}, {"a": {"b": 1}}, list(range(1000)), "I8", "F64", [0], [16, 16], [2**40, 2**40]),
        ]
    )


def change_json(value: Any, generator: random.Random) -> Any:
    """Replace, remove or add something somewhere in plain data."""
    value = place = copy.deepcopy(value)
    while isinstance(place, dict | list) and place:
        key = generator.choice(list(place) if isinstance(place, dict) else range(len(place)))
        if not isinstance(place[key], dict | list) or not place[key] or generator.random() < 0.3:
            choice = generator.randrange(4)
            if choice == 0:
                del place[key]
            elif choice == 1 and isinstance(place, dict):
                place[str(hostile(generator))[:50]] = place[key]
            else:
                place[key] = hostile(generator)
            return value
        place = place[key]
    return hostile(generator)


def change_json_file(path: Path, generator: random.Random) -> None:
    if generator.random() < 0.1:
        sign = generator.choice(["[", '{"a":'])
        path.write_text(sign * generator.choice([10, 900, 100_000]))
        return
    value = json.loads(path.read_text())
    for _ in range(generator.choice([1, 1, 3])):
        value = change_json(value, generator)
    path.write_text(json.dumps(value))


def change_vocabulary(path: Path, generator: random.Random) -> None:
    """Change a piece's number, a piece or a merge."""
    described = json.loads(path.read_text())
    vocabulary, merges = described["model"]["vocab"], described["model"]["merges"]
    piece, other = generator.sample(sorted(vocabulary), 2)
    choice = generator.randrange(5)
    if choice == 0:
        vocabulary[piece] = generator.choice([0, 1, len(vocabulary), 2**20, 2**32 - 1, vocabulary[other]])
    elif choice == 1:
        vocabulary[piece], vocabulary[other] = vocabulary[other], vocabulary[piece]
    elif choice == 2:
        vocabulary[generator.choice(["", "zz", "字", "\x1b"])] = vocabulary.pop(piece)
    elif choice == 3:
        merges.append([piece, other])
    else:
        merges[generator.randrange(len(merges))] = generator.choice([[piece, other], [piece], [], "a b", ["", ""]])
    path.write_text(json.dumps(described))


def change_header(path: Path, generator: random.Random) -> None:
    """Change what a safetensors file says of its arrays."""
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.dumps(change_json(json.loads(content[8 : 8 + size]), generator)).encode()
    stated = generator.choice([len(header)] * 8 + [0, 2**63, len(header) + 1])
    path.write_bytes(stated.to_bytes(8, "little") + header + content[8 + size :])


def strange_array(array: np.ndarray, generator: random.Random) -> np.ndarray:
    values = [np.nan, np.inf, -np.inf, 1e38, -1e38, 1e-45, 0.0, -1.0]
    number = generator.choice(values if array.dtype.kind == "f" else [127, -128, 0])
    return generator.choice(
        [
            array.astype(generator.choice(["<f2", "<f8", "<i4", "<u1", "?"])),
            array.reshape(-1),
            array.T.copy(),
            array[None],
            array.ravel()[:-1],
            np.full_like(array, number),
            np.where(np.arange(array.size).reshape(array.shape) == 0, number, array).astype(array.dtype),
        ]
    )


def change_weights(path: Path, generator: random.Random) -> None:
    types = {"I8": "<i1", "F32": "<f4"}
    stored = deserialize(path.read_bytes())
    arrays = {name: np.frombuffer(one["data"], types[one["dtype"]]).reshape(one["shape"]) for name, one in stored}
    first, second = generator.sample(sorted(arrays), 2)
    choice = generator.randrange(5)
    if choice == 0:
        arrays[first], arrays[second] = arrays[second], arrays[first]
    elif choice == 1:
        arrays[generator.choice(["more", f"{first}x", "\x1b"])] = arrays.pop(first)
    else:
        arrays[first] = strange_array(arrays[first], generator)
    path.write_bytes(save({name: np.asarray(array, order="C") for name, array in arrays.items()}))


def change_table(path: Path, generator: random.Random) -> None:
    array = np.load(path)
    strange = generator.choice(
        [
            np.asfortranarray(array),
            np.array([{"a": 1}], object),
            np.zeros(3, [("a", "i1"), ("b", "f8")]),
            strange_array(array, generator),
        ]
    )
    version = generator.choice([(1, 0), (2, 0), (3, 0)])
    with path.open("wb") as file:
        np.lib.format.write_array(file, strange, version, allow_pickle=True)


def change_bytes(path: Path, generator: random.Random) -> None:
    content = bytearray(path.read_bytes())
    end = generator.choice([min(len(content), 200), len(content)])
    for _ in range(generator.choice([1, 3, 30])):
        content[generator.randrange(end)] = generator.randrange(256)
    path.write_bytes(content)


def change_size(path: Path, generator: random.Random) -> None:
    size = path.stat().st_size
    os.truncate(path, generator.choice([0, 1, 8, 100, size // 2, size - 1, size + 1, 2 * size, 10**8, 10**12]))


def replace_file(path: Path, generator: random.Random) -> None:
    others = [name.name for name in path.parent.iterdir()]
    path.unlink()
    choice = generator.choice(["missing", "pipe", "folder", "random", "link", "link", "other"])
    if choice == "pipe":
        os.mkfifo(path)
    elif choice == "folder":
        path.mkdir()
    elif choice == "random":
        path.write_bytes(generator.randbytes(generator.choice([1, 9, 300, 5_000])))
    elif choice == "link":
        path.symlink_to(generator.choice(["/dev/zero", "/dev/null", "/dev/stdin", "/nowhere", path.name, "/"]))
    elif choice == "other":
        path.symlink_to(generator.choice(others))


CHANGES: list[tuple[tuple[str, ...], Callable[[Path, random.Random], None]]] = [  # of one of the files
    (("config.json",), change_json_file),
    (("config.json",), change_json_file),
    (("tokenizer.json",), change_json_file),
    (("tokenizer.json",), change_vocabulary),
    ((WEIGHTS,), change_header),
    ((WEIGHTS,), change_weights),
    (("*.npy",), change_table),
    (("config.json", "tokenizer.json", "*.npy", WEIGHTS), change_bytes),
    (("config.json", "tokenizer.json", "*.npy", WEIGHTS), change_size),
    (("config.json", "tokenizer.json", "*.npy", WEIGHTS), replace_file),
]


def try_folder(number: int, original: Path, work: Path) -> str:
    """Damage a folder and align with it. Returns what came of it."""
    generator = random.Random(number)
    folder = work / "model"
    shutil.copytree(original, folder)
    for _ in range(generator.choice([1, 1, 1, 2])):
        patterns, change = generator.choice(CHANGES)
        names = [path.name for pattern in patterns for path in sorted(original.glob(pattern))]
        path = folder / generator.choice(names)
        if path.is_file() and not path.is_symlink() and path.stat().st_size < 10**7:
            with contextlib.suppress(Exception):  # of files that are damaged already
                change(path, generator)
    try:
        with Aligner(folder, cores=1, fast=generator.random() < 0.5) as aligner:
            found = list(aligner.align(PAIRS))
    except WeftError as error:
        line = str(error)
        assert "\n" not in line and len(line) < 1_000, line[:2_000]
        return f"refused: {line!r}"
    assert len(found) == len(PAIRS)
    return "aligned"


# Strange text


LETTERS = "abc äß字और\u0301\u200d\u202e\ufeff\x00\x1b\x85\u2028😀\t|\r\"'\\{}[]<>&.-@0"


def strange_line(generator: random.Random) -> bytes:
    def text(most: int = 30) -> str:
        return "".join(generator.choices(LETTERS, k=generator.randrange(most)))

    choice = generator.randrange(9)
    if choice == 0:
        return generator.randbytes(generator.randrange(60)).replace(b"\n", b"")
    if choice == 1:
        return (generator.choice(["[", '{"source":']) * generator.choice([5, 60_000])).encode()
    if choice == 2:
        return json.dumps({"source": hostile(generator), "target": text()}).encode()
    if choice == 3:
        return json.dumps({"source": text(), "target": text().split(), "more": hostile(generator)}).encode()
    if choice == 4:
        return (text(5) * 2_000 + "\t" + text()).encode()
    if choice == 5:
        return f"{text()} ||| {text()}".encode()
    return f"{text()}\t{text()}".encode()


def strange_file(folder: Path, generator: random.Random) -> tuple[Path, int | None]:
    """Write a file of strange lines. Returns its path and its number of lines, None if it cannot be read."""
    lines = [strange_line(generator) for _ in range(generator.choice([0, 1, 5, 20]))]
    content = b"\n".join(lines) + generator.choice([b"\n", b""])
    count = content.count(b"\n") + (not content.endswith(b"\n") and bool(content))
    suffix = generator.choice(["tsv", "tsv", "jsonl", "tsv.gz", "jsonl.xz"])
    if suffix.endswith("gz"):
        content = gzip.compress(content)
    elif suffix.endswith("xz"):
        content = lzma.compress(content)
    if suffix[-2:] in {"gz", "xz"} and generator.random() < 0.5:
        content, count = content[: generator.randrange(len(content))], None
    path = folder / f"text.{suffix}"
    path.write_bytes(content)
    return path, count


MEMORIES = {
    "tmx": b"<?xml version='1.0'?><tmx><header srclang='de'/><body><tu><tuv xml:lang='de'><seg>ein <hi>Haus</hi>"
    b"</seg></tuv><tuv xml:lang='en'><seg>a house&#x21;<ph>x</ph></seg></tuv></tu></body></tmx>",
    "xlf": b"<xliff srcLang='de' trgLang='en'><unit><segment><source>ein <cp hex='21'/></source><target>a</target>"
    b"</segment></unit></xliff>",
    "po": b'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "a \\101"\nmsgstr "ein"\n"Haus"\n',
}


def strange_memory(folder: Path, generator: random.Random) -> Path:
    """Write a memory, somewhat damaged."""
    suffix = generator.choice([*MEMORIES, "zip"])
    path = folder / f"text.{suffix}"
    if suffix == "zip":
        with zipfile.ZipFile(path, "w", generator.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
            archive.writestr("x.de-en.de", "ein Haus\n" * 20)
            archive.writestr("x.de-en.en", "a house\n" * 20)
    else:
        path.write_bytes(MEMORIES[suffix])
    if generator.random() < 0.8:
        change_bytes(path, generator)
    if generator.random() < 0.2:
        os.truncate(path, generator.randrange(path.stat().st_size + 100))
    return path


def try_text(number: int, original: Path, work: Path) -> str:
    """Align strange text with the command. Returns what came of it."""
    from weft.cli import main

    generator = random.Random(number)
    is_memory = generator.random() < 0.3
    path, count = (strange_memory(work, generator), None) if is_memory else strange_file(work, generator)
    form = generator.choice(["pharaoh", "probabilities", "words", "jsonl", "giza", "html", "grid"])
    options = [option for option in ("--raw", "--reverse", "--strict", "--fast") if generator.random() < 0.3]
    output = work / "links"
    sys.argv = ["weft", "align", "--model", str(original), str(path), "--format", form, "--cores", "1", *options]
    sys.argv += ["-o", str(output)]
    errors, code = io.StringIO(), 0
    with contextlib.redirect_stderr(errors):
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
    said = errors.getvalue()
    assert "Traceback" not in said and all(line.startswith("weft: ") for line in said.splitlines()), said[:2_000]
    assert code in {0, 1}, (code, said)
    if code:
        return f"refused: {said!r}"
    if form in {"pharaoh", "probabilities", "words", "jsonl"} and count is not None:
        assert output.read_bytes().count(b"\n") == count, (count, output.read_bytes()[:500])
    return "aligned"


def main() -> None:
    """Run cases, one after the other; stop at the first that fails."""
    import resource

    kind, numbers, *report = sys.argv[1:]
    first, _, end = numbers.partition("-")
    cases = range(int(first), int(end)) if end else [int(first)]
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    attempt = try_text if kind == "text" else try_folder
    with tempfile.TemporaryDirectory() as name, open(report[0] if report else os.devnull, "w") as file:
        original = Path(name) / "original"
        small_aligner(original, shared=kind == "folder-shared")
        for number in cases:
            work = Path(name) / str(number)
            work.mkdir()
            signal.alarm(MOST_SECONDS)  # kills this process, also if it hangs outside Python
            try:
                outcome = attempt(number, original, work)
            except BaseException:  # panics of extensions are no Exceptions
                traceback.print_exc()
                print(f"case {number} of {kind} failed: {sys.argv}", file=sys.stderr)
                sys.exit(1)
            finally:
                signal.alarm(0)
                shutil.rmtree(work)
            print(outcome, file=file, flush=True)
            if not report:
                print(outcome)


if __name__ == "__main__":
    main()
