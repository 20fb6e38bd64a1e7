"""Tokens of other programs: their places in the text, and links between them."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sentencepiece import SentencePieceProcessor

from weft.align.alignment import Alignment
from weft.apply.tokens import (
    Tokenizer,
    Tokens,
    found_in,
    icu,
    is_filler,
    moses,
    retokenised,
    sentencepiece,
    spaces,
    with_diagonal,
)
from weft.errors import WeftError
from weft.text.words import Sentence


def aligned(source: str, target: str, links: str) -> Alignment:
    """An alignment of raw text, with probabilities that grow from link to link."""
    pairs = (link.split("-") for link in links.split())
    found = {(int(one), int(other)): (number + 1) / 10 for number, (one, other) in enumerate(pairs)}
    return Alignment(Sentence(source, raw=True), Sentence(target, raw=True), found, 0.5)


def shown(tokens: Tokens) -> list[tuple[str, str]]:
    """Each token with the part of the text that it stands for."""
    return [(token, tokens.text[start:end]) for token, (start, end) in zip(tokens.words, tokens.spans, strict=True)]


# -- tokenizers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokenizer", "text", "expected"),
    [
        (spaces, "  das Haus.\u00a0\u2009ja ", "das Haus. ja"),
        (spaces, "", ""),
        (icu("de"), "Das  Haus, ja!", "Das ▁▁ Haus , ▁ ja !"),
        (icu("fr"), "Ça\u00a0va\u202f?", "Ça ▁ va▁ ?"),  # white space of any kind: some readers split at it
        (icu(), "我爱北京 x", "我 爱 北京 ▁ x"),
        (icu(), "a 😀 bc d", "a ▁ 😀 ▁ bc ▁ d"),  # characters are counted, not halves of surrogate pairs
        (icu(), "", ""),
        (moses("en"), "It's  well-known, e.g. “5,000.50” & <b>.", "It 's well-known , e.g. “ 5,000.50 ” & < b > ."),
        (moses("fr"), "l'énergie\x01 du soleil...", "l' énergie du soleil ..."),
    ],
)
def test_tokens_and_their_places(tokenizer: Tokenizer, text: str, expected: str) -> None:
    tokens = tokenizer(text)
    assert " ".join(tokens.words) == expected
    for token, characters in shown(tokens):
        assert ("" if is_filler(token) else token) == characters.replace("\u202f", "▁")


@pytest.mark.parametrize("text", ["Das Haus", "  Das   Haus ", "", " "])
def test_pieces_are_of_the_text_as_written(pieces_model: str, text: str) -> None:
    tokens = sentencepiece(pieces_model)(text)
    assert all(token.strip("▁") == characters.strip() for token, characters in shown(tokens))
    assert "".join(tokens.words).replace("▁", " ").split() == text.split()


@pytest.mark.parametrize(
    ("text", "of_one_character"),
    [("🤣", "🤣"), ("a🤣b", "🤣"), ("das ½ Haus", "½"), ("Haus…", "…"), ("ﷺ", "ﷺ"), ("我", "我")],
)
def test_all_pieces_of_a_character_have_its_place(pieces_model: str, text: str, of_one_character: str) -> None:
    tokens = sentencepiece(pieces_model)(text)
    assert tokens.words == SentencePieceProcessor(model_file=pieces_model).encode(text, return_type=str)
    found = [token for token, characters in shown(tokens) if characters == of_one_character]
    assert len(found) > 1 and not any(map(is_filler, found))
    assert all(not characters for token, characters in shown(tokens) if is_filler(token))


@given(text=st.text(st.characters(codec="utf-8") | st.sampled_from("  ▁aéﬁ½…\u0301\u200b\u00a0字"), max_size=30))
def test_pieces_of_any_text_are_in_order_and_inside_of_it(pieces_model: str, text: str) -> None:
    tokens = sentencepiece(pieces_model)(text)
    assert all(0 <= start <= end <= max(len(text), 1) for start, end in tokens.spans)
    for side in (0, 1):
        places = [span[side] for span in tokens.spans]
        assert places == sorted(places)


def test_what_is_no_model_is_named(tmp_path) -> None:
    (tmp_path / "text").write_text("no model\n")
    for name in ("text", "missing"):
        with pytest.raises(WeftError, match=f"{name}: not a SentencePiece model"):
            sentencepiece(str(tmp_path / name))


# -- given tokens ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tokens", "places"),
    [
        ("Das  Haus.", "Das Haus .", "Das|Haus|."),
        ("Das  Haus.", "Das ▁▁ Haus .", "Das||Haus|."),
        ("Das Haus", "▁Das ▁Ha us", "Das|Ha|us"),
        ("10 000 €", "10▁000 ▁ €", "10 000||€"),
        ("Haustür", "Hau@@ s@@ tür", "Hau|s|tür"),
        ("me@@x @@", "me@@x @@", "me@@x|@@"),
        ("don't & <b>", "don &apos;t &amp; &lt; b &gt;", "don|'t|&|<|b|>"),
        ("&apos; |", "&apos; &#124;", "&apos;||"),
        ("well-known @-@", "well @-@ known @-@", "well|-|known|@-@"),
        ("a\x01b\u00a0c", "ab c", "a\x01b|c"),
        (" ", "", ""),
        ("", "▁", ""),
    ],
)
def test_given_tokens_are_found(text: str, tokens: str, places: str) -> None:
    found = found_in(text, tokens.split())
    assert found.words == tokens.split()
    assert "|".join(characters for _, characters in shown(found)) == places


@pytest.mark.parametrize(
    ("text", "tokens", "problem"),
    [
        ("das Haus", "das haus", "token 2 is 'haus', but the text goes on with 'Haus'"),
        ("das", "das Haus", "token 2 is 'Haus', but the text goes on with ''"),
        ("das Haus", "das ▁", "the tokens end before the text, which goes on with 'Haus'"),
        ("A&B", "A &amp;amp; B", "token 2 is '&amp;amp;', but the text goes on with '&B'"),
    ],
)
def test_tokens_of_another_text_are_refused(text: str, tokens: str, problem: str) -> None:
    with pytest.raises(WeftError, match=f"^{problem}$"):
        found_in(text, tokens.split())


@given(st.lists(st.lists(st.text("aé字@&;.", min_size=1, max_size=4), min_size=1, max_size=3), max_size=5), st.data())
def test_words_in_any_parts_are_found(words: list[list[str]], data: st.DataObject) -> None:
    gaps = data.draw(st.lists(st.text(" \u00a0\t", min_size=1, max_size=2), min_size=len(words), max_size=len(words)))
    text = "".join(gap + "".join(parts) for gap, parts in zip(gaps, words, strict=True))
    parts = list(itertools.chain(*words))
    assert [characters for _, characters in shown(found_in(text, parts))] == parts


# -- links -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "target", "links", "tokenizer", "expected"),
    [
        ("das Haus.", "the house.", "0-0 1-1 2-2", spaces, "0-0 1-1"),
        ("das Haus.", "the house .", "0-0 1-1 2-2", spaces, "0-0 1-1 1-2"),
        ("l'énergie", "the energy", "0-0 1-1", spaces, "0-0 0-1"),  # a token of two words
        ("don't go", "geh nicht", "0-1 1-1 2-0", spaces, "0-1 1-0"),
        ("das Haus", "the house", "0-0 1-1", icu(), "0-0 2-2"),
        ("sehr gut", "good", "0-0 1-0", icu(), "0-0 2-0"),
        ("1/2 l", "½ l", "0-0 1-1", icu(), "0-0 1-0 2-0 4-2"),  # a word of several tokens
        ("كتاب ها", "her book", "0-0 0-1", icu(), "0-0 0-2 2-0 2-2"),  # a word with white space in it
        ("das Haus", "the house", "", icu(), ""),
        ("", "the house", "", icu(), ""),
    ],
)
def test_tokens_are_linked_if_their_words_are(
    source: str, target: str, links: str, tokenizer: Tokenizer, expected: str
) -> None:
    alignment = aligned(source, target, links)
    found = retokenised(alignment, tokenizer(source), tokenizer(target))
    assert str(found) == expected and found.score == alignment.score


def test_pieces_of_linked_words_are_all_linked(pieces_model: str) -> None:
    pieces = sentencepiece(pieces_model)
    source, target = pieces("Das alte Haus gehört meiner Schwester."), pieces("我🤣 sister")
    found = retokenised(aligned(source.text, target.text, "2-0 3-1 5-2"), source, target)
    for (i, j), (start, end) in itertools.product(found.links, [(9, 13)]):  # Haus
        inside = source.spans[i][0] < end and source.spans[i][1] > start
        assert inside == (target.text[slice(*target.spans[j])] == "我")
    assert {j for _, j in found.links} == {j for j, token in enumerate(target.words) if not is_filler(token)}


def test_a_link_has_the_greatest_probability_of_those_that_it_is_made_of() -> None:
    alignment = aligned("do n't", "nicht", "0-0 1-0")  # 0.1 and 0.2
    one = Tokens("do n't", ((0, 6),), True, ("don't",))
    assert retokenised(alignment, one, spaces("nicht")).probabilities == {(0, 0): 0.2}


_SPANS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=8).map(
    lambda steps: [  # in order, with gaps; some are empty
        (end - length, end)
        for end, length in zip(
            itertools.accumulate(gap + size for gap, size in steps), (s for _, s in steps), strict=True
        )
    ]
)


@given(_SPANS, _SPANS, _SPANS, _SPANS, st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7))))
def test_links_are_those_of_shared_characters(source, target, source_tokens, target_tokens, links) -> None:
    text = "x" * 60
    words = [[span for span in spans if span[0] < span[1]] for spans in (source, target)]
    chosen = {(i, j): 0.5 for i, j in links if i < len(words[0]) and j < len(words[1])}
    alignment = Alignment(*(Sentence(text, tuple(one), True) for one in words), probabilities=chosen)
    sides = [Tokens(text, tuple(spans), True, ("x",) * len(spans)) for spans in (source_tokens, target_tokens)]

    def shares(one: tuple[int, int], other: tuple[int, int]) -> bool:
        return bool(set(range(*one)) & set(range(*other)))

    expected = {
        (a, b)
        for a, one in enumerate(source_tokens)
        for b, other in enumerate(target_tokens)
        if any(shares(one, words[0][i]) and shares(other, words[1][j]) for i, j in chosen)
    }
    assert retokenised(alignment, *sides).links == expected


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("a b c", "d e f", "0-0 1-1 2-2"),
        ("a b c d", "x y", "0-0 1-0 2-1 3-1"),
        ("a", "x y z", "0-0 0-1 0-2"),
        ("a ▁ b", "x ▁▁ y ▁", "0-0 2-2"),  # not the fillers
        ("", "a", ""),
        ("▁", "a", ""),
    ],
)
def test_links_along_the_diagonal(source: str, target: str, expected: str) -> None:
    alignment = Alignment(Sentence(source), Sentence(target), {(0, 0): 0.9}, 0.5)
    assert str(with_diagonal(alignment)) == expected and with_diagonal(alignment).score == 0.5
