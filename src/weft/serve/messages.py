"""What the service reads and writes: the JSON of requests and answers, and their limits.

Places in text are ranges ``[start, end]`` of characters (Unicode code points), half-open and counted from zero:
``text[start:end]`` in Python. Words are counted from zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from weft.align.alignment import Alignment
from weft.align.formats import FORMATS
from weft.apply.markup import TagHandling
from weft.apply.projection import Label, Projected
from weft.apply.spans import STRENGTH
from weft.config import MOST_PIECES, Merge
from weft.text.words import Sentence

MOST_PAIRS = 100  # in a request
MOST_CHARACTERS = 10_000  # in a sentence
MOST_LABELS = 200  # of a sentence

Name = Annotated[str, Field(max_length=1_000)]
Text = Annotated[str, Field(max_length=MOST_CHARACTERS)]
Words = Annotated[list[Name], Field(max_length=MOST_PIECES)]
Side = Annotated[Text | Words, Field(description="A sentence: its text, or its words.")]
Range = Annotated[
    tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]],
    Field(description="Half-open, counted from zero; of characters: Unicode code points."),
]


def _whole(value: Any) -> Any:
    """Return 3 for 3.0: in JSON they are the same number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Place = Annotated[int, Field(ge=0), BeforeValidator(_whole)]
Probability = Annotated[float, Field(ge=0, le=1)]
LineFormat = Literal["pharaoh", "probabilities", "words"]


class Request(BaseModel):
    """What every request may choose."""

    model_config = ConfigDict(extra="forbid", strict=True)

    model: Name | None = Field(None, description="A name that `/models` lists; null: the first of them.")
    fast: bool = Field(False, description="Use the narrow encoders: faster, less accurate.")
    reverse: bool = Field(False, description="The source is in the model's target language.")


class Pair(BaseModel):
    """A sentence and its translation."""

    model_config = ConfigDict(extra="forbid", strict=True)

    source: Side
    target: Side


class AlignRequest(Request):
    """Sentence pairs to align."""

    pairs: list[Pair] = Field(max_length=MOST_PAIRS)
    raw: bool = Field(False, description="Text is not split into words yet. Otherwise words stand between spaces.")
    merge: Merge = Field("mean", description="How links are made of both directions.")
    threshold: Probability | None = Field(
        None, description="For the merge `mean`: the probability that a link needs; null: the model's own."
    )
    format: LineFormat | None = Field(None, description="Also give the links as a line of text.")


class MarkedPair(BaseModel):
    """A segment with markup and its translation, both as they stand in a file."""

    model_config = ConfigDict(extra="forbid", strict=True)

    source: Text
    target: Text


class TransferRequest(Request):
    """Translations that are to have the inline markup of their sources."""

    pairs: list[MarkedPair] = Field(max_length=MOST_PAIRS)
    tag_handling: TagHandling = Field("html", description="What is markup.")
    ignore_tags: list[Name] = Field([], max_length=100, description="Elements that move with all that they contain.")
    split: bool = Field(False, description="An element whose words are apart in the target is there several times.")
    placeholders: bool = Field(False, description="`{0}`, `%s` and the like are markup if the target lacks them.")


class SourceLabel(BaseModel):
    """A label of a stretch of the source. One that leads out of the text has no place in the target."""

    model_config = ConfigDict(extra="forbid", strict=True)

    start: Place = Field(description="The first character, counted from zero.")
    end: Place = Field(description="The character after the last.")
    label: Name
    layer: Name = Field("", description="Labels of one layer that do not overlap will not overlap in the target.")

    def within(self, text: str) -> Label:
        """Return the label of this text, or an empty one, which has no counterpart, if it leads out of the text."""
        start, end = (self.start, self.end) if self.start < self.end <= len(text) else (0, 0)
        return Label(start, end, self.label, self.layer)


class LabelledPair(Pair):
    """A sentence with labels, and its translation. Text is running text; labels begin and end with words."""

    labels: list[SourceLabel] = Field(max_length=MOST_LABELS)


class ProjectRequest(Request):
    """Translations that are to have the labels of their sources."""

    pairs: list[LabelledPair] = Field(max_length=MOST_PAIRS)
    strength: Probability = Field(STRENGTH, description="How sure a place must be.")


@dataclass(slots=True)
class Split:
    """A sentence and its words."""

    text: str
    words: list[str]
    ranges: Annotated[list[Range], Field(description="Of each word, in characters.")]

    @classmethod
    def of(cls, sentence: Sentence) -> Split:
        return cls(sentence.text, sentence.words, list(sentence.spans))


@dataclass(slots=True)
class Link:
    """Two words that belong together."""

    source_word: Annotated[int, Field(ge=0)]
    target_word: Annotated[int, Field(ge=0)]
    source_range: Range
    target_range: Range
    probability: Probability


@dataclass(slots=True)
class AlignedPair:
    """The links of a pair, sorted by words."""

    source: Split
    target: Split
    links: list[Link]
    score: Annotated[Probability, Field(description="How well the two sentences fit together.")]
    line: Annotated[str | None, Field(description="The links in the format that was asked for.")]
    problem: Annotated[str | None, Field(description="Why the pair could not be aligned.")]

    @classmethod
    def of(cls, alignment: Alignment, problem: str | None, format: LineFormat | None) -> AlignedPair:
        sources, targets = alignment.source.spans, alignment.target.spans
        links = [
            Link(source, target, sources[source], targets[target], _probability(probability))
            for (source, target), probability in sorted(alignment.probabilities.items())
        ]
        return cls(
            Split.of(alignment.source),
            Split.of(alignment.target),
            links,
            _probability(alignment.score),
            FORMATS[format].one(alignment, 1).removesuffix("\n") if format else None,
            problem,
        )


@dataclass(slots=True)
class AlignAnswer:
    """An alignment for each pair, in order."""

    model: str
    alignments: list[AlignedPair]


@dataclass(slots=True)
class TransferAnswer:
    """The target of each pair with the markup of its source, in order."""

    model: str
    targets: list[str]


@dataclass(slots=True)
class TargetLabel:
    """A label of the source and its place in the target."""

    label: str
    layer: str
    range: Annotated[Range | None, Field(description="In characters of the target; null: it has no place there.")]
    words: Annotated[Range | None, Field(description="The first word of the target, and the one after the last.")]
    strength: Annotated[Probability, Field(description="How sure the place is.")]


@dataclass(slots=True)
class ProjectedPair:
    """The target and, for each label of the source, its place in it."""

    target: Split
    labels: list[TargetLabel]

    @classmethod
    def of(cls, projected: Projected, labels: list[SourceLabel]) -> ProjectedPair:
        """``labels`` are those of the request."""
        target, found = projected.target, []
        for label, place, strength in zip(labels, projected.places, projected.strengths, strict=True):
            words = target.words_in(place.start, place.end) if place else []
            place_in_text = (place.start, place.end) if place else None
            place_in_words = (words[0], words[-1] + 1) if words else None
            found.append(TargetLabel(label.label, label.layer, place_in_text, place_in_words, _probability(strength)))
        return cls(Split.of(target), found)


@dataclass(slots=True)
class ProjectAnswer:
    """The labels of each target, in order."""

    model: str
    pairs: list[ProjectedPair]


class ServedModel(BaseModel):
    """An aligner of this service."""

    name: str
    fast: bool = Field(description="Whether it has narrow encoders.")
    description: str


class ModelsAnswer(BaseModel):
    """The aligners of this service, the default one first."""

    models: list[ServedModel]


class Health(BaseModel):
    """The service is up, and answers."""

    status: Literal["ok"] = "ok"
    version: str


class Problem(BaseModel):
    """What went wrong, and what to do about it."""

    error: str


def _probability(value: float) -> float:
    return min(round(float(value), 4), 1.0)
