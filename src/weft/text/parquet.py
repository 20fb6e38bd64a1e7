"""Sentence pairs in Parquet files: two columns of text, ``source`` and ``target``."""

from __future__ import annotations

from collections.abc import Iterator

from weft.errors import WeftError


def read_pairs(name: str, size: int) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """Both columns, at most ``size`` rows at a time; what is missing is empty."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise WeftError(f"{name}: to read it, pip install 'weft[parquet]'") from None
    try:
        with parquet.ParquetFile(name) as file:
            kinds = {field.name: field.type for field in file.schema_arrow}
            for side in ("source", "target"):
                if side not in kinds or not (
                    pyarrow.types.is_string(kinds[side]) or pyarrow.types.is_large_string(kinds[side])
                ):
                    columns = ", ".join(kinds)
                    raise WeftError(f"{name}: needs two columns of text, source and target; its columns are {columns}")
            for batch in file.iter_batches(batch_size=size, columns=["source", "target"]):
                yield _bytes(batch["source"].to_pylist()), _bytes(batch["target"].to_pylist())
    except (OSError, pyarrow.ArrowException) as error:
        raise WeftError(f"{name}: cannot be read: {str(error).splitlines()[0]}") from None


def _bytes(column: list[str | None]) -> list[bytes]:
    return [(text or "").encode() for text in column]
