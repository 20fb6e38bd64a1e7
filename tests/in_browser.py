"""Values that go to the browser and come back."""

from __future__ import annotations

import json
from typing import Any

from playwright.sync_api import Page


def run(page: Page, function: str, value: Any) -> Any:
    """Return what a function of JavaScript returns for a value.

    Both travel as JSON in ASCII, since the browser's protocol replaces halves of surrogate pairs.
    """
    body = f"async (value) => JSON.stringify(await ({function})(JSON.parse(value)))"
    return json.loads(page.evaluate(body, json.dumps(value)))


def code_point_spans(text: str, spans: list[list[int]]) -> list[tuple[int, int]]:
    """Return spans that JavaScript counts, in UTF-16, as Python counts them."""
    places, place = {0: 0}, 0
    for number, character in enumerate(text, 1):
        place += 2 if character > "\uffff" else 1
        places[place] = number
    return [(places[start], places[end]) for start, end in spans]
