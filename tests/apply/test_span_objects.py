"""JSONL with spans: the shapes that tools write, what is kept, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from weft.apply.label_file import Unit
from weft.apply.projection import Label, Projected
from weft.apply.span_objects import SpanObject
from weft.errors import BadLine
from weft.text.words import Sentence


def read(line: Any, target: str | None = "x y") -> SpanObject:
    text = line if isinstance(line, str) else json.dumps(line)
    return SpanObject(Unit("file", 7, text, target), False, [])


def written(one: SpanObject, *places: Label | None) -> dict[str, Any]:
    target = one.labelled.target
    assert isinstance(target, str)
    sentence = Sentence.from_text(target, raw=True)
    return json.loads(one.written(Projected(sentence, sentence, list(places), [], {})))


PLACE = Label(2, 3, "", "")


@pytest.mark.parametrize(
    ("spans", "moved"),
    [
        ([{"start": 0, "end": 1, "label": "A", "id": 5}], [{"start": 2, "end": 3, "label": "A", "id": 5}]),
        ([{"start_offset": 0, "end_offset": 1, "label": "A"}], [{"start_offset": 2, "end_offset": 3, "label": "A"}]),
        (
            [{"start": 0, "end": 1, "text": "a", "labels": ["A", "B"]}],
            [{"start": 2, "end": 3, "text": "y", "labels": ["A", "B"]}],
        ),
        (
            [{"start": 0, "end": 1, "label": "A", "token_start": 0, "token_end": 0}],
            [{"start": 2, "end": 3, "label": "A"}],
        ),
        ([[0, 1, "A"]], [[2, 3, "A"]]),
    ],
)
def test_spans_of_all_shapes(spans: list[Any], moved: list[Any]) -> None:
    assert written(read({"text": "a b", "spans": spans}), PLACE) == {"text": "x y", "spans": moved}


def test_layers_have_any_name_and_other_members_stay() -> None:
    span = {"start": 0, "end": 3, "label": "A"}
    members = {
        "id": 1,
        "text": "a b",
        "entities": [span],
        "spans": {"one": [span], "two": []},
        "tokens": [{"start": 0}],
    }
    one = read(members)
    assert one.labelled.labels == [Label(0, 3, "A", "entities"), Label(0, 3, "A", "spans.one")]
    moved = {"start": 2, "end": 3, "label": "A"}
    assert written(one, PLACE, PLACE) == {
        "id": 1,
        "text": "x y",
        "entities": [moved],
        "spans": {"one": [moved], "two": []},
        "tokens": [{"start": 0}],
    }


def test_what_has_no_place_is_a_member_of_its_own() -> None:
    first, second = {"start": 0, "end": 1, "label": "A"}, {"start": 2, "end": 3, "label": "B"}
    one = read({"text": "a b", "spans": [first, second], "not_projected": {"old": [first]}})
    assert written(one, PLACE, None) == {
        "text": "x y",
        "spans": [{"start": 2, "end": 3, "label": "A"}],
        "not_projected": {"spans": [second]},
    }


def test_an_object_with_both_sides() -> None:
    source = {"text": "a b", "spans": [{"start": 0, "end": 1, "label": "A"}], "more": {"x": []}}
    one = read({"source": source, "target": "x y", "id": 3}, None)
    target = {"text": "x y", "spans": [{"start": 2, "end": 3, "label": "A"}], "more": {"x": []}}
    assert written(one, PLACE) == {"source": source, "target": target, "id": 3}
    one = read({"source": source, "target": {"text": "x y", "by": "me", "more": 1}}, None)
    assert written(one, None)["target"] == {"text": "x y", "by": "me", "more": 1, "spans": []}


SPAN = {"start": 0, "end": 1, "label": "A"}


@pytest.mark.parametrize(
    ("line", "target", "problem"),
    [
        ("{", "x", "expected a JSON object"),
        ("[]", "x", "expected a JSON object"),
        ("[" * 100_000, "x", "expected a JSON object"),
        ('{"text": "\\ud800"}', "x", "half a surrogate pair"),
        ({"spans": []}, "x", 'an object with "text"'),
        ({"text": "a"}, None, '"source" and "target"'),
        ({"source": "a", "target": {"text": 1}}, None, '"source" and "target"'),
        (
            {"source": {"text": "a", "s": [SPAN]}, "target": {"text": "b", "s": [SPAN]}},
            None,
            '"target" has "s" already',
        ),
        ({"text": "a", "s": [SPAN | {"end": 2}]}, "x", "from 0 to 2, but the text has 1 char"),
        ({"text": "a", "s": [SPAN | {"start": -1}]}, "x", "from -1 to 1"),
        ({"text": "a", "s": [SPAN | {"start": "0"}]}, "x", "from '0' to 1"),
        ({"text": "a", "s": [SPAN | {"start": True}]}, "x", "from True to 1"),
        ({"text": "a", "s": [[0, 2, "A"]]}, "x", "from 0 to 2"),
    ],
)
def test_bad_lines(line: Any, target: str | None, problem: str) -> None:
    with pytest.raises(BadLine, match=problem) as error:
        read(line, target)
    assert error.value.line == 7
