"""Small corpora that tests share, made once per worker."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings
from sentencepiece import SentencePieceTrainer

from weft.config import CorpusConfig, PrepareConfig
from weft.corpus.build import prepare
from weft.corpus.made_up import sentence_pairs
from weft.corpus.prepared import PreparedCorpus

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
