"""Sentence pairs in Parquet files: the columns ``source`` and ``target``, or Hugging Face's ``translation``."""

from __future__ import annotations

import bisect
import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

from weft.errors import WeftError
from weft.text.memories import TRANSLATION, two_of, which_two
from weft.text.streams import LONGEST_LINE, TOO_LONG

_ROWS = 2_000  # that are decoded at a time
_SIDES = ("source", "target")
_TEXT_TYPES = {"string", "large_string", "string_view", "binary", "large_binary", "binary_view"}


def count_rows(name: str) -> int:
    """Return the number of rows of a file. Raises WeftError."""
    with _opened(name) as file:
        return file.metadata.num_rows


def parquet_pairs(name: str, rows: range, languages: tuple[str, ...] = ()) -> Iterator[tuple[bytes, bytes]]:
    """Yield both texts of the given rows, counted from zero; what is missing is empty. Raises WeftError."""
    with _opened(name) as file:
        sides = _sides(name, file.schema_arrow, languages)
        groups = range(file.num_row_groups)
        ends = list(itertools.accumulate(file.metadata.row_group(group).num_rows for group in groups))
        first = bisect.bisect_right(ends, rows.start)  # the row group with the first row that is wanted
        skipped = ends[first - 1] if first else 0
        batches = file.iter_batches(_ROWS, row_groups=groups[first:], columns=[".".join(side) for side in sides])
        pairs = (zip(*(_texts(_column(batch, side)) for side in sides), strict=True) for batch in batches)
        yield from itertools.islice(itertools.chain.from_iterable(pairs), rows.start - skipped, rows.stop - skipped)


def _sides(name: str, schema: Any, languages: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the paths of the columns of both sides. Raises WeftError if there are none."""
    import pyarrow

    kinds = {field.name: field.type for field in schema}
    if all(side in kinds and _is_text(kinds[side]) for side in _SIDES):
        return [(side,) for side in _SIDES]
    table = kinds.get(TRANSLATION)
    if table is not None and pyarrow.types.is_struct(table):
        codes = [field.name for field in table if _is_text(field.type)]
        if chosen := two_of(codes, languages):
            return [(TRANSLATION, code) for code in chosen]
        raise WeftError(f"{name}: {which_two(codes)}")
    columns = ", ".join(f"{column} ({kind})" for column, kind in kinds.items())
    raise WeftError(f"{name}: needs two columns of text, source and target; its columns are {columns}")


def _column(batch: Any, path: tuple[str, ...]) -> Any:
    """Return a column, or one of the columns in it, as an array."""
    column, *inner = path
    return batch[column].field(*inner) if inner else batch[column]


@contextlib.contextmanager
def _opened(name: str) -> Iterator[Any]:
    """Open a file with pyarrow, and name it in errors, also those of reading it."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise WeftError(f"{name}: to read it, pip install 'weft[parquet]'") from None
    try:
        with parquet.ParquetFile(name) as file:
            yield file
    except (OSError, pyarrow.ArrowException) as error:
        raise WeftError(f"{name}: cannot be read: {str(error).splitlines()[0]}") from None


def _is_text(kind: Any) -> bool:
    """Tell whether a column of this type has text; pandas' categories are dictionaries of it."""
    import pyarrow

    return str(kind.value_type if pyarrow.types.is_dictionary(kind) else kind) in _TEXT_TYPES


def _texts(column: Any) -> list[bytes]:
    """Return the texts of a column as bytes: invalid UTF-8 in it is a bad line, not the end of the file."""
    import pyarrow

    texts = column.cast(pyarrow.large_binary()).to_pylist()
    return [TOO_LONG if text and len(text) > LONGEST_LINE else text or b"" for text in texts]
