"""Hostile segments: time stays linear, and too much is refused."""

from __future__ import annotations

import contextlib

import pytest

from weft.apply.markup import TagHandling, parse_markup
from weft.errors import WeftError


@pytest.mark.parametrize("handling", ["html", "xliff"])
@pytest.mark.parametrize(
    "part", ["<!--", "<?", "<![CDATA[", "<!x", "<a ", "<a b='", "<ph>", "<script>", "<b>", "&a", "{{"]
)
def test_time_is_linear(part: str, handling: TagHandling) -> None:
    """A square of this size would take minutes."""
    with contextlib.suppress(WeftError):  # too many tags
        parse_markup(part * 100_000, handling, ("script",), "")


@pytest.mark.parametrize(
    ("segment", "problem"),
    [("<br>" * 10_001, "more than 10,000 tags"), ("<b>" * 501 + "</b>" * 501, "more than 500 elements within")],
)
def test_too_much_is_refused(segment: str, problem: str) -> None:
    with pytest.raises(WeftError, match=problem):
        parse_markup(segment)


def test_quotes_are_quotes_after_an_equals_sign_only() -> None:
    marked = parse_markup("<a title=it's>y</a>'>")
    assert marked.text == "y'>" and [(one.opening, one.closing) for one in marked.elements] == [
        ("<a title=it's>", "</a>")
    ]
