"""JSONL with spans of characters, as annotation tools write it: ``{"text": …, "spans": [{"start", "end", "label"}]}``.

Every list of spans is a layer, whatever it is called: a member of the object, or a member of a member, as spaCy has it.
A span is an object with ``start`` and ``end`` (or ``start_offset`` and ``end_offset``) and ``label`` or ``labels``; or
a list, ``[start, end, label]``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from weft.apply.label_file import Unit
from weft.apply.projection import Label, Labelled, Projected
from weft.errors import BadLine

MISSING = "not_projected"
"""The member that has the spans without a counterpart."""
_OFFSETS = (("start", "end"), ("start_offset", "end_offset"))
_OF_TOKENS = {"token_start", "token_end"}  # in a span: numbers of the source's tokens

Path = tuple[str, ...]
"""The name of a member, or also that of a member of it."""


class SpanObject:
    """A line of a JSONL file: an object with text and its spans; or with both sides, ``source`` and ``target``."""

    has_token = None  # each line is a unit

    def __init__(self, unit: Unit, raw: bool, columns: Sequence[str]) -> None:
        """Read it. Raises BadLine."""
        self._unit, self._has_both = unit, unit.target is None
        self._object = self._read()
        if self._has_both:
            source, self._target = self._side("source"), self._side("target")
        else:
            source, self._target = self._object, {**self._object, "text": unit.target}
        texts = [text for side in (source, self._target) if isinstance(text := side.get("text"), str)]
        if len(texts) < 2:
            sides = '"source" and "target", each of them text or an object with "text"' if self._has_both else '"text"'
            raise self._bad(f"expected an object with {sides}")
        self._layers = [(path, spans) for path, spans in _layers(source) if spans or path[0] not in self._target]
        if self._has_both and (labelled := [path[0] for path, _ in self._layers if path[0] in self._target]):
            raise self._bad(f'"target" has "{labelled[0]}" already')
        labels = [self._label(span, path, texts[0]) for path, spans in self._layers for span in spans]
        self.labelled = Labelled(texts[0], labels, texts[1])

    def _read(self) -> dict[str, Any]:
        try:
            found = json.loads(self._unit.text)
            json.dumps(found, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise self._bad("half a surrogate pair, such as \\ud800, which is no character") from None
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise self._bad("expected a JSON object")
        found.pop(MISSING, None)  # of what was projected before
        return found

    def _side(self, name: str) -> dict[str, Any]:
        side = self._object.get(name)
        return side if isinstance(side, dict) else {"text": side}

    def _label(self, span: Any, path: Path, text: str) -> Label:
        start, end = (span[place] for place in _places(span))
        if type(start) is not int or type(end) is not int or not 0 <= start <= end <= len(text):
            problem = f"a span from {start!r:.40} to {end!r:.40}, but the text has {len(text):,} characters"
            raise self._bad(problem)
        label = span[2] if isinstance(span, list) else span.get("label", span.get("labels"))
        return Label(start, end, label, ".".join(path))

    def _bad(self, problem: str) -> BadLine:
        return BadLine(self._unit.file, self._unit.line, problem)

    def written(self, projected: Projected) -> str:
        """Return the object with the spans of the translation."""
        places = iter(projected.places)
        side, missing = self._target, {}
        for path, spans in self._layers:
            placed = [(span, next(places)) for span in spans]
            moved = [_moved(span, place, projected.target.text) for span, place in placed if place]
            side = _with_member(side, path, moved)
            if lost := [span for span, place in placed if place is None]:
                missing[".".join(path)] = lost
        whole = {**self._object, "target": side} if self._has_both else side
        return json.dumps(whole | ({MISSING: missing} if missing else {}), ensure_ascii=False) + "\n"


def _layers(members: Mapping[str, Any]) -> Iterator[tuple[Path, list[Any]]]:
    for name, value in members.items():
        if _is_layer(value):
            yield (name,), value
        elif isinstance(value, dict):
            yield from (((name, inner), one) for inner, one in value.items() if _is_layer(one))


def _is_layer(value: Any) -> bool:
    return isinstance(value, list) and all(_places(item) for item in value)


def _places(span: Any) -> tuple[Any, ...]:
    """Return where a span has its offsets; nothing if it is no span."""
    if isinstance(span, list):
        return (0, 1) if len(span) == 3 and isinstance(span[0], int) and isinstance(span[2], str) else ()
    if isinstance(span, dict) and ("label" in span or "labels" in span):
        return next((names for names in _OFFSETS if set(names) <= span.keys()), ())
    return ()


def _moved(span: Any, place: Label, text: str) -> Any:
    """Return a span at its place in the translation; the other members stay."""
    if isinstance(span, list):
        return [place.start, place.end, span[2]]
    first, last = _places(span)
    moved = {name: value for name, value in span.items() if name not in _OF_TOKENS}
    moved |= {first: place.start, last: place.end}
    return moved | ({"text": text[place.start : place.end]} if "text" in span else {})


def _with_member(members: Mapping[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """Return members of which one is new."""
    name, *inner = path
    return {**members, name: _with_member(members.get(name, {}), tuple(inner), value) if inner else value}
