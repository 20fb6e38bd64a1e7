"""Alignments as rows of Parquet files, for programs that read tables."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from weft.align.alignment import Alignment
from weft.align.formats import Format

if TYPE_CHECKING:
    import pyarrow

_GROUP = 50_000  # rows that are compressed together


def schema() -> pyarrow.Schema:
    """Return the columns, described in docs/aligning.md."""
    import pyarrow as pa

    words = pa.list_(pa.string())
    columns = {"line": pa.int64(), "source": pa.string(), "target": pa.string()}
    columns |= {"source_words": words, "target_words": words}
    columns |= {"links": pa.string(), "probabilities": pa.list_(pa.float32()), "score": pa.float32()}
    return pa.schema(list(columns.items()))


def _row(alignment: Alignment, number: int) -> tuple[Any, ...]:
    source, target = alignment.source, alignment.target
    probabilities = list(alignment.probabilities.values())
    return number, source.text, target.text, source.words, target.words, str(alignment), probabilities, alignment.score


def _batch(rows: list[tuple[Any, ...]]) -> pyarrow.RecordBatch:
    import pyarrow as pa

    columns = zip(*rows, strict=True) if rows else [()] * len(schema())
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema(), strict=True)]
    return pa.record_batch(arrays, schema=schema())


PARQUET = Format(_row, join=_batch)
"""Rows instead of text: what a `TableWriter` writes."""


class TableWriter:
    """Writes batches of rows into a Parquet file, in groups of about equal size whatever the batches are."""

    def __init__(self, path: Path) -> None:
        from pyarrow import parquet

        self._writer = parquet.ParquetWriter(path, schema(), compression="zstd")
        self._held: list[pyarrow.RecordBatch] = []

    def write(self, batch: pyarrow.RecordBatch) -> None:
        """Write a batch, or keep it until there are enough rows."""
        self._held.append(batch)
        if sum(one.num_rows for one in self._held) >= _GROUP:
            self._write_group()

    def _write_group(self) -> None:
        import pyarrow as pa

        self._writer.write_table(pa.Table.from_batches(self._held, schema()))
        self._held.clear()

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None and self._held:
            self._write_group()
        self._writer.close()
