"""The page that aligns in the browser, as a folder of files that any web server can serve and that opens from disk.

Browsers read no files for pages that come from disk, but load scripts. So the runtime and the model are written as
scripts, too: each file compressed, and as text of which ``page/files.js`` makes bytes again.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np

from weft.align.model_folder import AlignerFolder, encoder_names, open_model, read_aligner, table_names
from weft.align.onnx_graph import scorer_graphs
from weft.config import MOST_PIECES
from weft.errors import WeftError
from weft.storage import atomic_folder

STATIC = Path(__file__).parent / "page"
_MANIFEST = "data/manifest.js"
_RUNTIME = "vendor/ort-wasm-simd-threaded"  # the parts of onnxruntime that become data
_NOT_ALLOWED = '\0\n\r"\\'  # in the string of a script, or not safe there; in the order of page/files.js
_ESCAPED = re.compile(f"[{re.escape(_NOT_ALLOWED)}].", re.DOTALL)
_PART = 2_000_000  # characters of a script at most: a progress bar counts scripts
_ASCII = 128


def write_page(folder: Path, model: str | os.PathLike[str] | None = None) -> None:
    """Write the page to a folder, with the model that ``weft.load`` finds by this name.

    Raises WeftError if the folder holds something else.
    """
    if folder.is_dir() and any(folder.iterdir()) and not (folder / _MANIFEST).is_file():
        raise WeftError(f"{folder}: holds other files than a page; name a new folder")
    opened = open_model(model)
    content = read_aligner(opened)
    with atomic_folder(folder) as staging:
        shutil.copytree(STATIC, staging, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.gz", "*.mjs"))
        (staging / "data").mkdir()
        files = {}
        for name, compressed in _data_files(content):
            text = in_seven_bits(compressed)
            parts = [text[first : first + _PART] for first in range(0, len(text), _PART)]
            addresses = [f"data/{name}.{number}.js" for number in range(len(parts))]
            for address, part in zip(addresses, parts, strict=True):
                (staging / address).write_bytes(f'weft.files.packed["{address}"]="{part}";\n'.encode())
            files[name] = {"bytes": len(compressed), "characters": len(text), "parts": addresses}
        manifest = {
            "model": opened.path.name,
            "encoders": encoder_names(content.config.shared),
            "hasFast": content.config.fast.layers > 0,
            "threshold": content.config.threshold,
            "mostPieces": MOST_PIECES,
            "text": asdict(content.config.text),
            "files": files,
        }
        (staging / _MANIFEST).write_text(f"(globalThis.weft ??= {{}}).manifest = {json.dumps(manifest)};\n")


def _data_files(model: AlignerFolder) -> Iterator[tuple[str, bytes]]:
    """Yield the names and the compressed content of all that is not text."""
    yield "runtime.mjs", _compressed((STATIC / f"{_RUNTIME}.mjs").read_bytes())
    yield "runtime.wasm", (STATIC / f"{_RUNTIME}.wasm.gz").read_bytes()
    single, merges = model.subwords.merge_table()
    yield "subwords", _compressed(np.concatenate([single, merges.T.ravel()]).astype("<u4").tobytes())
    for encoder in encoder_names(model.config.shared):
        for part, name in zip(("rows", "scales"), table_names(encoder), strict=True):
            yield f"{encoder}.{part}", _compressed(model.arrays[name].tobytes())
    for size in ["fast", "accurate"] if model.config.fast.layers else ["accurate"]:
        for name, graph in scorer_graphs(model, size == "fast", exact=True).items():
            yield f"{size}.{name}", _compressed(graph)


def _compressed(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def in_seven_bits(content: bytes) -> str:
    """Return bytes as text for a script, in eight sevenths of their size if it is written in UTF-8.

    Text in UTF-8 has 128 characters of one byte, so each stands for seven bits. Of those that are not allowed, one and
    the character after it are written as one character of two bytes.
    """
    bits = np.unpackbits(np.frombuffer(content, np.uint8))
    sevens = np.packbits(np.pad(bits, (0, -len(bits) % 7)).reshape(-1, 7), axis=1) >> 1
    text = sevens.tobytes().decode("ascii") + " "  # for the last may not be allowed
    return _ESCAPED.sub(lambda found: chr(_ASCII * (1 + _NOT_ALLOWED.index(found[0][0])) + ord(found[0][1])), text)
