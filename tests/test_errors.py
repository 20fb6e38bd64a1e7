"""Errors: what they say, that they travel between processes, and that what they quote cannot harm a terminal."""

from __future__ import annotations

import pickle

import pytest

from weft.errors import BadLine, WeftError, printable, remedy_for_bad_lines


def test_a_bad_line_names_file_line_and_problem_and_no_remedy() -> None:
    bad = pickle.loads(pickle.dumps(BadLine("text.tsv", 7, "found one column")))
    assert str(bad) == "text.tsv:7: found one column"
    assert (bad.file, bad.line, bad.problem) == ("text.tsv", 7, "found one column")


def test_the_remedy_is_added_by_who_knows_it() -> None:
    with pytest.raises(WeftError) as caught, remedy_for_bad_lines("use --skip-bad"):
        raise BadLine("text.tsv", 7, "found one column")
    assert str(caught.value) == "text.tsv:7: found one column; use --skip-bad"
    with pytest.raises(WeftError, match=r"^another$"), remedy_for_bad_lines("use --skip-bad"):
        raise WeftError("another")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("größer 字 👩‍💻\tx\n", "größer 字 👩‍💻\tx\n"),
        ("\x1b[31mred\x07\r", "\\x1b[31mred\\x07\\r"),
        ("a\u202eb\u2066c\u2028d\ud800", "a\\u202eb\\u2066c\\u2028d\\ud800"),
        ("no-break\u00a0space and \u200d", "no-break\u00a0space and \u200d"),
    ],
)
def test_control_characters_are_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_line_ends_can_be_escaped_as_well() -> None:
    assert printable("two\nlines\t", keep="") == "two\\nlines\\t"
