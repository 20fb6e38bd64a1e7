"""The joint byte pair encoding: any text comes back from its pieces, and pieces know their words."""

from __future__ import annotations

import functools
import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

from weft.config import TextConfig
from weft.config_io import from_dict
from weft.corpus.made_up import sentence_pairs
from weft.errors import WeftError
from weft.text.subwords import END, PAD, Subwords
from weft.text.words import normaliser

RULES = ("lowercase", "compatibility", "plain_punctuation", "sharp_s", "strip_diacritics")
CONFIGS = [
    from_dict(TextConfig, dict(zip(RULES, choice, strict=True)), "test")
    for choice in itertools.product((False, True), repeat=len(RULES))
]
any_word = st.text(st.characters(codec="utf-8", exclude_characters=" \t\n\r\f\v"), min_size=1)
# Words that training has seen, in part or whole, make longer pieces than arbitrary ones.
seen_word = st.lists(st.sampled_from(["The", "dog", "kuno", "-la", "ß", "É", "İ"]), min_size=1, max_size=3).map("".join)


def sentences() -> list[str]:
    """Some text to learn from."""
    return [side for pair in sentence_pairs(300, 3) for side in pair]


@functools.cache
def learned(config: TextConfig = TextConfig(), merges: int = 200) -> Subwords:  # noqa: B008
    return Subwords.learn(sentences(), merges, config)


def describe(config: TextConfig) -> str:
    return "+".join(rule for rule in RULES if getattr(config, rule)) or "nothing"


# -- learning ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("merges", [0, 1, 50, 200])
def test_rich_text_gives_exactly_the_merges_asked_for(merges: int) -> None:
    subwords = learned(merges=merges)
    assert subwords.merges == merges
    assert len(subwords) == len(subwords.starts_word) == merges + 258


def test_poor_text_gives_fewer_merges() -> None:
    subwords = Subwords.learn(["ab ab", "once"], 100, TextConfig())
    assert subwords.merges == 2  # the space in front and a, then b; what occurs once is not merged
    assert len(subwords) == 260


def test_merges_shorten_text() -> None:
    words = sentences()[0].split()
    lengths = [len(learned(merges=merges).encode(words).ids) for merges in (0, 50, 200)]
    assert lengths[0] > lengths[1] > lengths[2] >= len(words)
    assert lengths[0] == sum(len(word.encode()) + 1 for word in words)


def test_learning_twice_gives_the_same(tmp_path: Path) -> None:
    for name in ("one", "two"):
        Subwords.learn(sentences(), 100, TextConfig()).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


# -- encoding and decoding ---------------------------------------------------------------------------------------------


def test_characters_that_were_never_seen_come_back() -> None:
    words = ["漢字", "Ωμέγα", "مرحبا", "🙂‍↔️", "naïve", "\x00", "Ġ", "�"]
    assert learned().decode(learned().encode(words).ids) == [word.lower() for word in words]


@pytest.mark.parametrize("config", CONFIGS, ids=describe)
@settings(max_examples=50)
@given(words=st.lists(any_word | seen_word, max_size=5))
@example(words=["İ", "Straẞe", "ΟΔΟΣ", "\u0301", "\u00a8", "\u00a0", "ﷺ"])
def test_pieces_spell_the_normalised_words_and_know_them(config: TextConfig, words: list[str]) -> None:
    subwords = learned(config)
    ids, owners = subwords.encode(words)
    assert subwords.decode(ids) == [normaliser(config)(word) for word in words]
    assert owners == sorted(owners)
    assert set(owners) == set(range(len(words)))
    firsts = [place == 0 or owners[place - 1] != owner for place, owner in enumerate(owners)]
    assert subwords.starts_word[ids].tolist() == firsts


def test_a_sentence_without_words_has_no_pieces() -> None:
    assert learned().encode([]) == ([], [])
    assert learned().decode([]) == []


def test_special_symbols_spell_nothing() -> None:
    ids = learned().encode(["dog"]).ids
    assert learned().decode([END, *ids, END, PAD, PAD]) == ["dog"]
    assert not learned().starts_word[[PAD, END]].any()


def test_bytes_that_are_no_text_are_replaced() -> None:
    ids = learned(merges=0).encode(["é"]).ids
    assert learned(merges=0).decode(ids[:-1]) == ["�"]


def test_the_spelling_of_special_symbols_in_text_is_text() -> None:
    words = ["</s>", "<pad>", "x</s>", "<pad>y", "</s></s>"]
    ids = learned().encode(words).ids
    assert not {PAD, END} & set(ids)
    assert learned().decode(ids) == words


def test_the_spelling_of_special_symbols_can_be_learned_as_text(tmp_path: Path) -> None:
    words = [f"{letter}{symbol}" for letter in "abcdefgh" for symbol in ("</s>", "<pad>")]
    subwords = Subwords.learn([" ".join(words)] * 5, 40, TextConfig())
    subwords.save(tmp_path / "tokenizer.json")
    subwords = Subwords.load(tmp_path / "tokenizer.json", TextConfig())
    ids = subwords.encode(words).ids
    assert not {PAD, END} & set(ids)
    assert max(ids) < len(subwords)
    assert subwords.decode(ids) == words


# -- files -------------------------------------------------------------------------------------------------------------


def test_saved_and_loaded_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    learned().save(path)
    loaded = Subwords.load(path, TextConfig())
    words = ["The", "strange", "KUNO-LA", "漢字", "</s>"]
    assert loaded.encode(words) == learned().encode(words)
    assert len(loaded) == len(learned())
    assert np.array_equal(loaded.starts_word, learned().starts_word)


def test_a_loaded_tokenizer_follows_the_rules_it_is_given(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    learned().save(path)
    loaded = Subwords.load(path, TextConfig(lowercase=False))
    assert loaded.decode(loaded.encode(["Dog"]).ids) == ["Dog"]


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


@pytest.mark.parametrize("word", ["\ud800", "a\udfffb", "\ude00\ud83d"])
def test_half_a_surrogate_pair_counts_as_a_replacement_character(word: str) -> None:
    subwords = learned()
    expected = "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in word)
    assert subwords.pieces_of_word(word) == subwords.pieces_of_word(expected)
    assert subwords.pieces_of_word("\ud83d\ude00") == subwords.pieces_of_word("\U0001f600")


def test_very_long_words_are_not_kept_in_memory() -> None:
    subwords = Subwords.learn(["ab ab"], 1, TextConfig())
    for length in (50, 500, 5_000):
        assert len(subwords.pieces_of_word("x" * length)) == length + 1
    assert max(map(len, subwords._cache)) == 50


def test_a_vocabulary_can_be_extended() -> None:
    subwords = Subwords.learn(["abab abab abba"] * 3, merges=2, text=TextConfig())
    words = {subwords.pieces_of_word(word): count for word, count in (("abba", 9), ("baba", 5), ("rare", 1))}
    larger, made_of = subwords.extended(words, merges=100)
    assert larger.spellings[: len(subwords)] == subwords.spellings
    for piece, parts in enumerate(made_of, start=len(subwords)):
        assert larger.spellings[piece] == "".join(subwords.spellings[part] for part in parts)
    assert len(larger) == len(subwords) + len(made_of) > len(subwords)
    assert [len(larger.pieces_of_word(word)) for word in ("abba", "baba")] == [1, 1]
    assert larger.pieces_of_word("rare") == subwords.pieces_of_word("rare")
    assert larger.decode(larger.encode(["abba", "rare"]).ids) == ["abba", "rare"]


def test_an_extended_vocabulary_is_a_vocabulary(tmp_path: Path) -> None:
    subwords = Subwords.learn(["abab abab abba"] * 3, merges=2, text=TextConfig())
    larger, _ = subwords.extended({subwords.pieces_of_word("abba"): 9}, merges=1)
    larger.save(tmp_path / "tokenizer.json")
    assert Subwords.load(tmp_path / "tokenizer.json", TextConfig(), len(subwords) + 1).spellings == larger.spellings
    same, made_of = subwords.extended({subwords.pieces_of_word("abba"): 3}, merges=100)
    assert made_of == [] and same.spellings == subwords.spellings
