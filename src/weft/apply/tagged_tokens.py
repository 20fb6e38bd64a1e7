"""Files of tokens with IOB tags: a token a line, its tags in the columns after it, a blank line between sentences.

The last column is tags. So is every other one that has nothing but tags in a sentence; what else there is becomes ``_``
in the translation, as it is no label of a span. Lines before the first token, such as ``-DOCSTART-``, are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from weft.apply.label_file import Unit
from weft.apply.projection import Label, Labelled, Projected
from weft.errors import BadLine
from weft.text.words import Sentence, split_spaces

_TAG = re.compile(r"O|[BIMESLU](?:-(.*))?")  # also those of IOB1, BILOU and IOBES
_MOST_COLUMNS = 100
_BEGINS, _ENDS = "BSU", "ESLU"
TokenSpan = tuple[int, int, str]
"""First token, the one after the last, label."""


def is_tag(text: str) -> bool:
    """Tell whether a column has an IOB tag."""
    return _TAG.fullmatch(text) is not None


def tagged_spans(tags: Iterable[str]) -> list[TokenSpan]:
    """Return the spans that tags mark.

    >>> tagged_spans(["B-PER", "I-PER", "O", "U-LOC"])
    [(0, 2, 'PER'), (3, 4, 'LOC')]
    """
    spans: list[TokenSpan] = []
    is_open = False
    for number, tag in enumerate(tags):
        label = tag[2:]
        if tag == "O":
            is_open = False
        elif is_open and tag[0] not in _BEGINS and spans[-1][2] == label:
            spans[-1] = (spans[-1][0], number + 1, label)
        else:
            spans.append((number, number + 1, label))
            is_open = True
        if tag[0] in _ENDS:
            is_open = False
    return spans


def iob2_tags(spans: Iterable[TokenSpan], tokens: int) -> list[str]:
    """Return a tag for each token. Spans must not overlap."""
    tags = ["O"] * tokens
    for start, end, label in spans:
        name = f"-{label}" if label else ""
        tags[start:end] = [f"B{name}", *[f"I{name}"] * (end - start - 1)]
    return tags


def token_labels(sentence: Sentence, spans: Iterable[TokenSpan], layer: str) -> list[Label]:
    """Return labels of spans of tokens."""
    places = sentence.spans
    return [Label(places[start][0], places[end - 1][1], label, layer) for start, end, label in spans]


def token_spans(sentence: Sentence, labels: Iterable[Label]) -> list[TokenSpan]:
    """Return which tokens labels are on, if they begin and end with tokens."""
    starts = {start: number for number, (start, _) in enumerate(sentence.spans)}
    ends = {end: number + 1 for number, (_, end) in enumerate(sentence.spans)}
    return [(starts[label.start], ends[label.end], label.label) for label in labels]


def solid_words(sentence: Sentence) -> list[str]:
    """Return the words without white space, which those of Arabic may have inside."""
    return ["".join(word.split()) for word in sentence.words]


class TaggedTokens:
    """A sentence of a file of tokens with tags."""

    def __init__(self, unit: Unit, raw: bool, columns: Sequence[str]) -> None:
        """Read it. Raises BadLine."""
        self._head, rows = _head_and_rows(unit.text)
        self._separator = "\t" if "\t" in unit.text else " "
        self._columns = len(rows[0])
        for number, row in enumerate(rows, unit.line + len(self._head)):
            if len(row) < 2 or not row[0].strip() or not is_tag(row[-1]):
                problem = "expected a token and, in the last column, a tag: O, B-PER … (parts of speech: CoNLL-U)"
                raise BadLine(unit.file, number, problem)
            if len(row) != self._columns:
                problem = f"has {len(row)} columns, but the first line of its sentence {self._columns}"
                raise BadLine(unit.file, number, problem)
            if len(row) > _MOST_COLUMNS:
                raise BadLine(unit.file, number, f"has {len(row):,} columns; {_MOST_COLUMNS} are the most")
        source = Sentence.from_words([row[0] for row in rows])
        self._tagged = [column for column in range(1, self._columns) if all(is_tag(row[column]) for row in rows)]
        labels = [
            label
            for column in self._tagged
            for label in token_labels(source, tagged_spans(row[column] for row in rows), _layer(column))
        ]
        self.labelled = Labelled(source, labels, Sentence.from_text(unit.target or "", raw))

    @staticmethod
    def has_token(line: str) -> bool:
        """Tell whether a line has a token."""
        columns = split_spaces(line)
        return bool(columns) and columns[0] != "-DOCSTART-" and (not line.startswith("#") or is_tag(columns[-1]))

    def written(self, projected: Projected) -> str:
        """Return the sentence for the translation."""
        words = solid_words(projected.target)
        columns = [words, *[["_"] * len(words)] * (self._columns - 1)]
        for column in self._tagged:
            labels = [label for label in projected.labels if label.layer == _layer(column)]
            columns[column] = iob2_tags(token_spans(projected.target, labels), len(words))
        rows = [self._separator.join(row) for row in zip(*columns, strict=True)]
        return "".join(f"{line}\n" for line in (*self._head, *rows, ""))


def _head_and_rows(text: str) -> tuple[list[str], list[list[str]]]:
    """Return the lines before the first token, and the columns of the others."""
    lines = [line.rstrip() for line in text.split("\n")]
    head = next(number for number, line in enumerate(lines) if TaggedTokens.has_token(line))
    return lines[:head], [line.split("\t") if "\t" in line else split_spaces(line) for line in lines[head:]]


def _layer(column: int) -> str:
    return f"column {column + 1}"
