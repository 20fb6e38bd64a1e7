"""CoNLL-U files: columns that label each word, and spans that are marked in MISC.

A MISC attribute marks spans in one of two ways: by brackets, ``Entity=(1-person`` at the first word and ``Entity=1)``
at the last, where spans may overlap; or by IOB tags, ``NER=B-PER``. Ranges such as 1-2, empty nodes such as 1.1 and the
tree are not carried over.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from weft.apply.label_file import Unit
from weft.apply.projection import Label, Labelled, Projected
from weft.apply.tagged_tokens import TokenSpan, iob2_tags, is_tag, solid_words, tagged_spans, token_labels, token_spans
from weft.errors import BadLine, WeftError
from weft.text.words import Sentence

COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
OF_WORDS = ("UPOS", "XPOS", "FEATS", "DEPREL")
"""Columns that can be carried over, word by word."""
_BRACKET = re.compile(r"\(([^()]++)(\)?)|([^()]++)\)")  # what begins, and perhaps ends at once; what ends
_BRACKETS = re.compile(rf"(?:{_BRACKET.pattern})*+")


class ConlluSentence:
    """A sentence of a CoNLL-U file."""

    def __init__(self, unit: Unit, raw: bool, columns: Sequence[str]) -> None:
        """Read what ``columns`` name: columns of words, or attributes of MISC that mark spans. Raises BadLine."""
        lines = list(enumerate(unit.text.split("\n"), unit.line))
        self._comments = [line for _, line in lines if line.startswith("#") and not re.match(r"#\s*text\s*=", line)]
        self._raw, self._columns = raw, columns
        rows: list[list[str]] = []
        for number, line in lines:
            row = line.split("\t")
            if not line or line.startswith("#"):
                continue
            if len(row) != len(COLUMNS) or not all(row):
                problem = f"expected {len(COLUMNS)} columns separated by tabs, none of them empty"
                raise BadLine(unit.file, number, problem)
            if row[0].isdecimal():
                rows.append(row)
        source = Sentence.from_words([row[1] for row in rows])
        misc = [dict(part.split("=", 1) for part in row[-1].split("|") if "=" in part) for row in rows]
        self._tagged: dict[str, str] = {}  # attributes with IOB tags, and what they have at words outside of spans
        labels: list[Label] = []
        for name in columns:
            values = [attributes.get(name, "") for attributes in misc]
            if name in OF_WORDS or not any(values):
                continue
            if all(not value or is_tag(value) for value in values):
                self._tagged[name] = "O" if "O" in values else ""
                spans = tagged_spans(value or "O" for value in values)
            else:
                try:
                    spans = _bracketed_spans(values)
                except ValueError as error:
                    raise BadLine(unit.file, unit.line, f"{name} in this sentence: {error}") from None
            labels += token_labels(source, spans, name)
        tags = {name: [row[COLUMNS.index(name)] for row in rows] for name in columns if name in OF_WORDS}
        self.labelled = Labelled(source, labels, Sentence.from_text(unit.target or "", raw), tags)

    @staticmethod
    def has_token(line: str) -> bool:
        """Tell whether a line has a token."""
        return not line.startswith("#")

    def written(self, projected: Projected) -> str:
        """Return the sentence for the translation."""
        target, words = projected.target, solid_words(projected.target)
        rows = [dict.fromkeys(COLUMNS, "_") | {"ID": str(number), "FORM": word} for number, word in enumerate(words, 1)]
        for name, values in projected.tags.items():
            for row, value in zip(rows, values, strict=True):
                row[name] = value or "_"
        misc: list[list[str]] = [[] for _ in words]
        for name in self._columns:
            spans = token_spans(target, (label for label in projected.labels if label.layer == name))
            if name in self._tagged:
                marks = [tag if tag != "O" else self._tagged[name] for tag in iob2_tags(spans, len(words))]
            else:
                marks = _brackets(spans, len(words))
            for attributes, mark in zip(misc, marks, strict=True):
                attributes += [f"{name}={mark}"] if mark else []
        if self._raw:
            for number, (before, after) in enumerate(zip(target.spans, target.spans[1:], strict=False)):
                misc[number] += ["SpaceAfter=No"] if before[1] == after[0] else []
        for row, attributes in zip(rows, misc, strict=True):
            row["MISC"] = "|".join(attributes) or "_"
        lines = [*self._comments, f"# text = {target.text.strip()}", *("\t".join(row.values()) for row in rows), ""]
        return "".join(f"{line}\n" for line in lines)


def check_columns(columns: Iterable[str]) -> None:
    """Raise WeftError if a column cannot be carried over."""
    for name in columns:
        if name in COLUMNS and name not in OF_WORDS:
            raise WeftError(f"--columns: {name} cannot be projected; {', '.join(OF_WORDS)} and attributes of MISC can")


def _bracketed_spans(values: Iterable[str]) -> list[TokenSpan]:
    """Return the spans that brackets mark. Raises ValueError.

    >>> _bracketed_spans(["(1-person(2-place)", "", "1)"])
    [(0, 1, '2-place'), (0, 3, '1-person')]
    """
    spans: list[TokenSpan] = []
    opened: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for number, value in enumerate(values):
        if not _BRACKETS.fullmatch(value):
            raise ValueError(f"expected IOB tags, or brackets such as (1-person and 1), not {value[:80]}")
        for begun, is_single, ended in _BRACKET.findall(value):
            if begun and not is_single:
                opened[_name(begun)].append((number, begun))
            elif begun:
                spans.append((number, number + 1, begun))
            elif fitting := opened[ended] or opened[_name(ended)]:
                start, label = fitting.pop()
                spans.append((start, number + 1, label))
            else:
                raise ValueError(f"{ended}) ends what has not begun")
    for _, label in itertools.chain(*opened.values()):
        raise ValueError(f"({label} does not end")
    return sorted(spans)


def _brackets(spans: Iterable[TokenSpan], tokens: int) -> list[str]:
    """Return the brackets at each token: what ends comes before what begins, inner spans end first and begin last."""
    marks = [""] * tokens
    for start, end, label in sorted(spans, key=lambda span: -span[0]):
        if end > start + 1:
            marks[end - 1] += f"{_name(label)})"
    for start, end, label in sorted(spans, key=lambda span: -span[1]):
        marks[start] += f"({label}{')' if end == start + 1 else ''}"
    return marks


def _name(label: str) -> str:
    """Return what ends a span: its number, with which labels such as 1-person begin, or else the whole label."""
    first = label.partition("-")[0]
    return first if any(map(str.isdigit, first)) else label
