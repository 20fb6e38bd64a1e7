"""The joint byte pair encoding: any text comes back from its pieces, and pieces know their places and words."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from pathlib import Path

import pytest
from given_pieces import listed
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

from weft.config import TextConfig
from weft.config_io import from_dict
from weft.corpus.made_up import sentence_pairs
from weft.errors import WeftError
from weft.text.spelling import Speller
from weft.text.subwords import END, PAD, Subwords
from weft.text.units import unit_spans
from weft.text.words import Sentence

RULES = ("lowercase", "compatibility", "plain_punctuation", "sharp_s", "strip_diacritics")
CONFIGS = [
    from_dict(TextConfig, dict(zip(RULES, choice, strict=True)), "test")
    for choice in itertools.product((False, True), repeat=len(RULES))
]
STRIPPED = TextConfig(compatibility=True, strip_diacritics=True)
any_text = st.text(st.characters() | st.sampled_from("我爱北京のデーターﾊﾞกั่ßİé \u0301\u00ad'’.\u3000"), max_size=25)
# Words that training has seen, in part or whole, make longer pieces than arbitrary ones.
seen_text = st.lists(st.sampled_from(["The ", "dog", "kuno", "-la", "ß", "É", "İ", "我爱", "北京 "]), max_size=8).map(
    "".join
)


def sentences() -> list[str]:
    """Some text to learn from."""
    return [side for pair in sentence_pairs(300, 3) for side in pair]


def learn(sentences: list[str], merges: int, config: TextConfig = TextConfig()) -> Subwords:  # noqa: B008
    speller = Speller(config)
    return Subwords.learn(Counter(unit for sentence in sentences for unit in speller.texts(sentence)), merges, config)


@functools.cache
def learned(config: TextConfig = TextConfig(), merges: int = 200) -> Subwords:  # noqa: B008
    return learn(sentences(), merges, config)


def describe(config: TextConfig) -> str:
    return "+".join(rule for rule in RULES if getattr(config, rule)) or "nothing"


# -- learning ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("merges", [0, 1, 50, 200])
def test_rich_text_gives_exactly_the_merges_asked_for(merges: int) -> None:
    subwords = learned(merges=merges)
    assert subwords.merges == merges
    assert len(subwords) == merges + 258


def test_poor_text_gives_fewer_merges() -> None:
    subwords = Subwords.learn({" ab": 2, " once": 1}, 100, TextConfig())
    assert subwords.merges == 2  # the space in front and a, then b; what occurs once is not merged
    assert len(subwords) == 260


def test_the_table_of_merges_says_what_pieces_are_made_of() -> None:
    subwords = learned()
    single, merges = subwords.merge_table()
    assert subwords.decode([single[byte] for byte in "weiß".encode()]) == "weiß"
    spellings = subwords.spellings
    assert all(spellings[left] + spellings[right] == spellings[piece] for left, right, piece in merges)
    assert {*single.tolist(), *merges[:, 2].tolist()} == set(range(2, len(subwords)))  # all but the special symbols


def test_merges_shorten_text() -> None:
    text = sentences()[0]
    lengths = [len(learned(merges=merges).ids(text)) for merges in (0, 50, 200)]
    assert lengths[0] > lengths[1] > lengths[2] >= len(text.split())
    assert lengths[0] == sum(len(word.encode()) + 1 for word in text.split())


def test_pieces_of_scripts_without_spaces_can_be_longer_than_a_character() -> None:
    text = ["我爱北京", "北京很大", "我 在 北 京"] * 3
    subwords = learn(text, 30)
    cut = subwords.cut("他在 北京")
    assert subwords.decode(cut.ids[-1:]) == "北京" and (cut.starts[-1], cut.ends[-1]) == (3, 5)
    assert "Ġ" not in "".join(subwords.spellings[index] for index in cut.ids)


def test_learning_twice_gives_the_same(tmp_path: Path) -> None:
    for name in ("one", "two"):
        learn(sentences(), 100).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


# -- encoding and decoding ---------------------------------------------------------------------------------------------


def test_characters_that_were_never_seen_come_back() -> None:
    text = "漢字 Ωμέγα مرحبا 🙂 ↔ naïve \x00 Ġ �"
    assert learned().decode(learned().ids(text)) == text.lower()


@pytest.mark.parametrize("config", CONFIGS, ids=describe)
@settings(max_examples=50)
@given(text=any_text | seen_text)
@example(text="İ Straẞe ΟΔΟΣ \u0301 \u00a8 \u00a0 ﷺ ก ่ ก 北 京")
def test_pieces_are_in_order_and_cover_their_units(config: TextConfig, text: str) -> None:
    subwords = learned(config)
    ids, starts, ends = subwords.cut(text)
    assert subwords.ids(text) == ids
    assert subwords.decode(ids) == "".join(Speller(config).texts(text)).strip(" ")
    assert len(ids) == len(starts) == len(ends)
    assert starts == sorted(starts) and ends == sorted(ends)
    covered: set[int] = set()
    for start, end in zip(starts, ends, strict=True):
        assert any(first <= start < end <= last for first, last in unit_spans(text))
        covered.update(range(start, end))
    seen = {place for first, last in unit_spans(text) for place in range(first, last) if not is_space(text[place])}
    assert seen <= covered


def is_space(character: str) -> bool:
    return character.isspace() or character == "\u200b"


@given(text=any_text | seen_text, raw=st.booleans())
@example(text="ก ่ ก", raw=False)
def test_every_word_that_can_be_seen_has_pieces(text: str, raw: bool) -> None:
    sentence = Sentence.from_text(text, raw)
    ids, firsts, lasts = listed(learned(STRIPPED).encode(sentence))
    assert ids == learned(STRIPPED).ids(text)
    assert all(0 <= first <= last < len(sentence) for first, last in zip(firsts, lasts, strict=True))
    found = {word for first, last in zip(firsts, lasts, strict=True) for word in range(first, last + 1)}
    assert {number for number, word in enumerate(sentence.words) if unit_spans(word)} <= found


@given(st.lists(any_text, max_size=5))
def test_pieces_of_given_words_lie_inside_them(words: list[str]) -> None:
    sentence = Sentence.from_words(words)
    (ids, firsts, lasts), cut = listed(learned().encode(sentence)), learned().cut(sentence.text)
    assert ids == cut.ids
    for first, last, start, end in zip(firsts, lasts, cut.starts, cut.ends, strict=True):
        assert sentence.spans[first][0] <= start < sentence.spans[first][1]
        assert sentence.spans[last][0] < end <= sentence.spans[last][1] or is_space(sentence.text[end - 1])


@given(st.lists(st.text(st.characters(min_codepoint=0x3400, max_codepoint=0x9FFF, categories=["Lo"]), min_size=1)))
def test_spaces_between_chinese_words_change_nothing(words: list[str]) -> None:
    assert learned().ids(" ".join(words)) == learned().ids("".join(words))


def test_a_piece_may_span_words_and_a_word_pieces() -> None:
    subwords = learn(["我爱北京"] * 3, 20)
    for sentence in (Sentence.from_text("我爱 北 京 ok"), Sentence.from_words(["我爱", "北", "京", "ok"])):
        ids, first, last = listed(subwords.encode(sentence))
        assert (first[0], last[0]) == (0, 2) and len(ids) == 1 + 3  # the bytes of " ok"
        assert first[1:] == last[1:] == [3, 3, 3]
    assert listed(subwords.encode(Sentence.from_text("我爱北京", raw=True))) == (ids[:1], [0], [3])


def test_parts_of_arabic_words_share_the_pieces_of_the_whole() -> None:
    subwords = learn(["له كتابها"] * 3, 40)
    apart, whole = (listed(subwords.encode(Sentence.from_text(text))) for text in ("ل ه كتاب ها", "له كتابها"))
    assert apart[0] == whole[0] == subwords.ids("ل ه كتاب ها")
    assert whole[1:] == ([0, 1], [0, 1]) and apart[1:] == ([0, 2], [1, 3])


def test_a_sentence_without_words_has_no_pieces() -> None:
    assert listed(learned().encode(Sentence.from_text(""))) == ([], [], [])


sentence_kinds = st.one_of(
    st.builds(Sentence.from_text, any_text | seen_text, st.booleans()),
    st.builds(Sentence.from_words, st.lists(any_text, max_size=5)),
    st.builds(lambda text: Sentence(text, tuple((place, place + 1) for place in range(len(text))), raw=True), any_text),
)


@given(st.lists(sentence_kinds, max_size=6))
def test_sentences_of_every_kind_can_be_encoded_together(sentences: list[Sentence]) -> None:
    together = learned().encode_all(sentences)
    assert [listed(pieces) for pieces in together] == [listed(learned().encode(one)) for one in sentences]
    assert learned().decode([]) == ""


def test_special_symbols_spell_nothing() -> None:
    assert learned().decode([END, *learned().ids("dog"), END, PAD, PAD]) == "dog"


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert learned(merges=0).decode(learned(merges=0).ids("é")[:-1]) == "�"


def test_the_spelling_of_special_symbols_in_text_is_text() -> None:
    text = "⟨/s⟩ ⟨pad⟩ x⟨/s⟩ </s>"
    ids = learned().ids(text)
    assert not {PAD, END} & set(ids)
    assert learned().decode(ids).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize("word", ["\ud800", "a\udfffb", "\ude00\ud83d"])
def test_half_a_surrogate_pair_counts_as_a_replacement_character(word: str) -> None:
    expected = "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in word)
    assert learned().decode(learned().ids(word)).replace(" ", "") == expected
    assert learned().ids("\ud83d\ude00") == learned().ids("\U0001f600")


# -- files -------------------------------------------------------------------------------------------------------------


def test_saved_and_loaded_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    learned().save(path)
    loaded = Subwords.load(path, TextConfig())
    text = "The strange KUNO-LA 漢字 </s>"
    assert loaded.cut(text) == learned().cut(text)
    assert len(loaded) == len(learned())


def test_a_loaded_tokenizer_follows_the_rules_it_is_given(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    learned().save(path)
    loaded = Subwords.load(path, TextConfig(lowercase=False))
    assert loaded.decode(loaded.ids("Dog")) == "Dog"


@pytest.mark.parametrize("content", [b"", b"no json", b"{}", b"[1, 2]", b"\xff\xfe"])
def test_a_file_that_is_no_tokenizer_is_an_error(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(WeftError, match=r"tokenizer\.json: not a tokenizer file"):
        Subwords.load(path, TextConfig())


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match=r"tokenizer\.json: No such file"):
        Subwords.load(tmp_path / "tokenizer.json", TextConfig())


@pytest.mark.parametrize(
    "vocabulary",
    [
        {"<unk>": 0, "<s>": 1, "dog": 2},
        {"<pad>": 0, "</s>": 1, "<unk>": 2, "dog": 3},
    ],
    ids=["other special symbols", "the same special symbols"],
)
def test_a_foreign_tokenizer_is_an_error(vocabulary: dict[str, int], tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>")).save(str(path))
    with pytest.raises(WeftError, match=r"tokenizer\.json: not a tokenizer of weft"):
        Subwords.load(path, TextConfig())


def test_two_ways_to_one_piece_make_one_piece(tmp_path: Path) -> None:
    units = {" aba": 5, "ab": 4, "xba": 4, "xab": 7, " ababa": 9, "bab": 3, "ababab": 8, "é": 2}
    for merges in range(40):
        subwords = Subwords.learn(units, merges, TextConfig())
        subwords.save(tmp_path / "tokenizer.json")
        assert len(Subwords.load(tmp_path / "tokenizer.json", TextConfig())) <= 258 + merges


def test_a_vocabulary_can_be_extended() -> None:
    subwords = learn(["abab abab abba"] * 3, 2)
    words = {tuple(subwords.ids(word)): count for word, count in (("abba", 9), ("baba", 5), ("rare", 1))}
    larger, made_of = subwords.extended(words, merges=100)
    assert larger.spellings[: len(subwords)] == subwords.spellings
    for piece, parts in enumerate(made_of, start=len(subwords)):
        assert larger.spellings[piece] == "".join(subwords.spellings[part] for part in parts)
    assert len(larger) == len(subwords) + len(made_of) > len(subwords)
    assert [len(larger.ids(word)) for word in ("abba", "baba")] == [1, 1]
    assert larger.ids("rare") == subwords.ids("rare")
    assert larger.decode(larger.ids("abba rare")) == "abba rare"


def test_an_extended_vocabulary_is_a_vocabulary(tmp_path: Path) -> None:
    subwords = learn(["abab abab abba"] * 3, 2)
    larger, _ = subwords.extended({tuple(subwords.ids("abba")): 9}, merges=1)
    larger.save(tmp_path / "tokenizer.json")
    assert Subwords.load(tmp_path / "tokenizer.json", TextConfig(), len(subwords) + 1).spellings == larger.spellings
    same, made_of = subwords.extended({tuple(subwords.ids("abba")): 3}, merges=100)
    assert made_of == [] and same.spellings == subwords.spellings


def test_ids_tell_where_words_of_some_kind_begin() -> None:
    subwords = learn(["我爱北京", "the dogs"] * 3, 30)
    ids = subwords.ids("dogs我爱 the")
    assert [subwords.decode([piece]) for piece, starts in zip(ids, subwords.starts_word[ids], strict=True) if starts]
    assert subwords.starts_word[ids].tolist() == [
        subwords.spellings[piece].startswith("Ġ") or "我" in subwords.decode([piece]) for piece in ids
    ]
    assert not subwords.starts_word[[PAD, END]].any()
