"""The service in this process: what it answers, what it refuses, and that its schema is exact."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import weft
from weft.apply.markup_transfer import transfer
from weft.serve.limits import Limits, Metrics
from weft.serve.messages import MOST_CHARACTERS, MOST_LABELS, MOST_PAIRS
from weft.serve.service import Model, create_app, loaded_models

PAIR = {"source": "Das alte Haus gehört Anna.", "target": "The old house belongs to Anna."}
ORDINARY = Path(__file__).parents[1] / "ordinary" / "de-en.tsv"


@pytest.fixture(scope="module")
def models() -> Iterator[dict[str, Model]]:
    with loaded_models(["multi"], cores=1, batch=64, metrics=Metrics()) as models:
        yield models


@pytest.fixture(scope="module")
def client(models: dict[str, Model]) -> TestClient:
    return TestClient(create_app(models, Metrics()), raise_server_exceptions=False)


def ordinary_pairs() -> list[tuple[str, str]]:
    rows = [line.split("\t") for line in ORDINARY.read_text("utf-8").splitlines()]
    return [(row[0], row[1]) for row in rows]


def post(client: TestClient, path: str, **members: Any) -> Any:
    answer = client.post(path, json=members)
    assert answer.status_code == 200, answer.text
    return answer.json()


def error(client: TestClient, status: int, path: str = "/align", **members: Any) -> str:
    answer = client.post(path, **members)
    assert answer.status_code == status and answer.json().keys() == {"error"}, answer.text
    return answer.json()["error"]


def test_links_have_words_and_characters(client: TestClient) -> None:
    answer = post(client, "/align", pairs=[PAIR, {"source": "", "target": "a"}], raw=True, format="pharaoh")
    first, second = answer["alignments"]
    expected = weft.load(raw=True).align_one(PAIR["source"], PAIR["target"])
    assert answer["model"] == "multi" and first["line"] == str(expected) and first["problem"] is None
    assert {(link["source_word"], link["target_word"]) for link in first["links"]} == expected.links
    for link in first["links"]:
        for side in ("source", "target"):
            start, end = link[f"{side}_range"]
            assert first[side]["text"][start:end] == first[side]["words"][link[f"{side}_word"]]
    assert first["target"]["ranges"][1] == [4, 7] and 0.5 < first["score"] <= 1
    assert second["links"] == [] and second["line"] == ""


def test_characters_are_code_points(client: TestClient) -> None:
    (found,) = post(client, "/align", pairs=[{"source": "🙂 Haus", "target": "🙂 house"}])["alignments"]
    assert found["source"]["ranges"] == [[0, 1], [2, 6]]


def test_options_are_those_of_the_command(client: TestClient) -> None:
    text = ordinary_pairs()[:20]
    pairs = [{"source": source, "target": target} for source, target in text]
    choices: list[dict[str, Any]] = [
        {"fast": True},
        {"merge": "union"},
        {"threshold": 0.9},
        {"reverse": True, "merge": "forward"},
    ]
    for chosen in choices:
        found = post(client, "/align", pairs=pairs, raw=True, format="pharaoh", **chosen)["alignments"]
        with weft.load(raw=True, cores=1, **chosen) as aligner:
            assert [one["line"] for one in found] == [str(one) for one in aligner.align(text)], chosen


def test_words_may_be_given(client: TestClient) -> None:
    words = {"source": ["Das", "alte Haus"], "target": ["the", "old", "house"]}
    (found,) = post(client, "/align", pairs=[words], format="pharaoh")["alignments"]
    assert found["source"]["text"] == "Das alte Haus" and found["line"] == "0-0 1-1 1-2"


def test_a_sentence_that_is_too_long_has_a_problem_and_the_others_have_links(client: TestClient) -> None:
    words = {"source": "a b " * 1_000, "target": "a"}
    pieces = {"source": "x" * 5_000, "target": "a"}
    empty = {"source": "\u200b " * 4_000 + "a", "target": "a"}  # words without pieces
    found = post(client, "/align", pairs=[words, PAIR, pieces, empty])["alignments"]
    assert [bool(one["links"]) for one in found] == [False, True, False, False]
    assert "words" in found[0]["problem"] and "pieces" in found[2]["problem"] and "words" in found[3]["problem"]


def test_requests_at_the_same_time_have_the_links_that_they_have_alone(client: TestClient) -> None:
    text = ordinary_pairs()
    requests = [
        {"pairs": [{"source": source, "target": target}], "raw": True, "threshold": 0.2 + number % 3 / 5}
        for number, (source, target) in enumerate(text)
    ]
    alone = [post(client, "/align", **request) for request in requests]
    with ThreadPoolExecutor(16) as threads:
        assert list(threads.map(lambda request: post(client, "/align", **request), requests)) == alone


def test_markup_is_transferred(client: TestClient) -> None:
    pairs = [
        {"source": "The <b>old</b> house", "target": "Das alte Haus"},
        {"source": "The old house", "target": "Das alte Haus"},
        {"source": "<x>My</x> house", "target": "Mein Haus"},
    ]
    answer = post(client, "/transfer", pairs=pairs, tag_handling="xml")
    text = [(pair["source"], pair["target"]) for pair in pairs]
    assert answer["targets"] == list(transfer(weft.load(), text, "xml"))
    assert answer["targets"][0] == "Das <b>alte</b> Haus"
    (target,) = post(client, "/transfer", pairs=[{"source": "Hello {0}!", "target": "Hallo!"}], placeholders=True)[
        "targets"
    ]
    assert "{0}" in target


def test_labels_are_projected(client: TestClient) -> None:
    source, target = "Anna lives in the old town.", "Anna wohnt in der Altstadt."
    labels = [
        {"start": 0, "end": 4.0, "label": "PER"},
        {"start": 18, "end": 26, "label": "LOC", "layer": "places"},
        {"start": 20, "end": 90, "label": "out of the text"},
        {"start": 4, "end": 0, "label": "turned round"},
    ]
    answer = post(client, "/project", pairs=[{"source": source, "target": target, "labels": labels}])
    (pair,) = answer["pairs"]
    found = [(one["label"], one["layer"], one["range"], one["words"]) for one in pair["labels"]]
    assert found[:2] == [("PER", "", [0, 4], [0, 1]), ("LOC", "places", [18, 26], [4, 5])]
    assert [one[2:] for one in found[2:]] == [(None, None)] * 2 and pair["target"]["words"][4] == "Altstadt"
    words = {"source": source.split(), "target": target.split(), "labels": labels[:1]}
    assert post(client, "/project", pairs=[words], fast=True, reverse=True)["pairs"][0]["labels"][0]["range"] == [0, 4]


def test_models_health_and_metrics(client: TestClient) -> None:
    (model,) = client.get("/models").json()["models"]
    assert model["name"] == "multi" and model["fast"] and "27 languages" in model["description"]
    assert client.get("/health").json() == {"status": "ok", "version": weft.__version__}
    post(client, "/align", pairs=[PAIR])
    shown = client.get("/metrics").text
    assert 'weft_requests_total{path="/align",status="200"}' in shown and "weft_request_seconds_bucket" in shown


@pytest.mark.parametrize(
    ("path", "body", "shown"),
    [
        ("/align", {}, "pairs: Field required"),
        ("/align", {"pairs": [PAIR], "colour": 1}, "colour: Extra inputs"),
        ("/align", {"pairs": [PAIR], "fast": "yes"}, "fast: Input should be a valid boolean"),
        ("/align", {"pairs": [PAIR], "threshold": 2}, "threshold: Input should be less"),
        ("/align", {"pairs": [PAIR], "merge": "best"}, "merge: Input should be 'forward'"),
        ("/align", {"pairs": [PAIR] * (MOST_PAIRS + 1)}, "at most 100 items"),
        ("/align", {"pairs": [{"source": "a" * (MOST_CHARACTERS + 1), "target": ""}]}, "at most 10000 characters"),
        ("/transfer", {"pairs": [{"source": ["a"], "target": "b"}]}, "pairs.0.source: Input should be a valid string"),
        ("/project", {"pairs": [], "strength": 2}, "strength: Input should be less"),
        (
            "/align",
            {"pairs": [{"source": 1, "target": ""}]},
            "source: Input should be a valid string; or: Input should",
        ),
        ("/project", {"pairs": [{**PAIR, "labels": [{}] * (MOST_LABELS + 1)}]}, "labels"),
        ("/project", {"pairs": [{**PAIR, "labels": [{"start": -1, "end": 2, "label": ""}]}]}, "start: Input"),
        ("/project", {"pairs": [{**PAIR, "labels": [{"start": 0.5, "end": 2, "label": ""}]}]}, "start: Input"),
    ],
)
def test_what_is_wrong_is_said(client: TestClient, path: str, body: dict[str, Any], shown: str) -> None:
    assert shown in error(client, 422, path, json=body)


def test_broken_bodies_are_refused(client: TestClient) -> None:
    headers = {"content-type": "application/json; charset=utf-8"}
    broken = [b"", b'{"pairs": [', b'{"pairs": ["\xff"]}', b"[" * 100_000, b'{"pairs": [], "model": "\\ud800"}']
    for body in broken:
        assert "not JSON" in error(client, 400, content=body, headers=headers)
    assert "Content-Type" in error(client, 415, content=b"source=a&target=b")
    assert "Content-Type" in error(client, 415, content=b'{"pairs": []}', headers={"content-type": "text/plain"})
    packed = gzip.compress(b'{"pairs": []}')
    assert "not compressed" in error(client, 415, content=packed, headers=headers | {"content-encoding": "gzip"})
    assert "the body: " in error(client, 422, content=b"[]", headers=headers)
    assert client.post("/align/", json={"pairs": []}, follow_redirects=False).status_code == 404
    assert client.get("/align").status_code == 405 and client.get("/nothing").json() == {"error": "Not Found"}
    assert "there is multi" in error(client, 404, json={"pairs": [], "model": "../../secrets"})


def test_a_request_that_takes_too_long_is_given_up(models: dict[str, Model]) -> None:
    client = TestClient(create_app(models, Metrics(), Limits(seconds=1e-6)))
    assert "within 1e-06 s" in error(client, 504, json={"pairs": [PAIR]})


def test_tokens_guard_all_but_health(models: dict[str, Model]) -> None:
    client = TestClient(create_app(models, Metrics(), tokens=["first-token", "second-token"]))
    for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Basic first-token"}):
        assert "token" in error(client, 401, json={"pairs": [PAIR]}, headers=headers)
        assert client.get("/metrics", headers=headers).status_code == 401
    for token in ("first-token", "second-token"):
        headers = {"authorization": f"Bearer {token}"}
        assert client.post("/align", json={"pairs": [PAIR]}, headers=headers).status_code == 200
        assert client.get("/models", headers=headers).status_code == 200
    assert client.get("/health").status_code == 200


def test_two_models_may_not_have_one_name() -> None:
    twice = loaded_models(["ro-en", "ro-en"], cores=1, batch=1, metrics=Metrics())
    with pytest.raises(weft.WeftError, match="another model is called ro-en"), twice:
        pass
