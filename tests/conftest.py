"""Small corpora that tests share, made once per worker; an object store."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from sentencepiece import SentencePieceTrainer

from weft.config import CorpusConfig, PrepareConfig
from weft.corpus.build import prepare
from weft.corpus.made_up import sentence_pairs
from weft.corpus.prepared import PreparedCorpus
from weft.text import counting, record_files, sorted_lines

if TYPE_CHECKING:
    from pyarrow.fs import S3FileSystem

os.environ.setdefault("OMP_NUM_THREADS", "1")  # tests run side by side; and sums have one order
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that runs them in the background has it ignored
settings.register_profile("weft", deadline=None, database=None)  # a busy machine is no failure; nothing is kept
settings.load_profile("weft")


@pytest.fixture(scope="session")
def text_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """2,000 sentence pairs of the demo's language as TSV."""
    path = tmp_path_factory.mktemp("text") / "text.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in sentence_pairs(2_000, 7)), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def corpus(text_file: Path) -> PreparedCorpus:
    """The same, prepared, with 50 pairs held out."""
    return prepare(
        [CorpusConfig(files=(str(text_file),))], PrepareConfig(merges=200, hold_out=50), text_file.parent / "corpus"
    )


@pytest.fixture(scope="session")
def pieces_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A SentencePiece model of a few sentences: their letters, some longer pieces, and all bytes."""
    sentences = ["Das alte Haus gehört meiner Schwester.", "The old house belongs to my sister.", "Das Haus sehen."]
    path = tmp_path_factory.mktemp("pieces") / "tiny"
    SentencePieceTrainer.train(
        sentence_iterator=iter(sentences), model_prefix=str(path), vocab_size=320, hard_vocab_limit=False,
        byte_fallback=True, minloglevel=2,
    )  # fmt: skip
    return f"{path}.model"


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is counted or sorted goes to disk after two kilobytes, and comes back in small parts."""
    for module in (counting, sorted_lines):
        monkeypatch.setattr(module, "_HELD_BYTES", 2_000)
        monkeypatch.setattr(module, "_MOST_RUNS", 3)
    monkeypatch.setattr(record_files, "READ_BYTES", 1_000)
    monkeypatch.setattr(record_files, "_WINDOW", 50)


@pytest.fixture
def object_store(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3FileSystem]:
    """A server that speaks S3, which addresses mean while a test runs, also in other processes; it has s3://bucket."""
    from moto.server import ThreadedMotoServer
    from pyarrow.fs import S3FileSystem

    server = ThreadedMotoServer("127.0.0.1", 0)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "name")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    store, _ = S3FileSystem.from_uri("s3://bucket?allow_bucket_creation=true&allow_bucket_deletion=true")
    store.create_dir("bucket")
    yield store
    store.delete_dir("bucket")
    server.stop()
