"""Links between the tokens of other programs, made of the links between words.

weft aligns the words that it finds in running text; a trainer of translation models has tokens of its own. Words and
tokens meet by their places in the text: two tokens are linked if they share characters with two words that are.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from operator import itemgetter

from weft.align.alignment import Alignment
from weft.errors import WeftError
from weft.text.units import Span
from weft.text.words import Sentence

FILLER = "▁"
"""What stands for white space in tokens. A token of nothing else is a filler and is never linked."""

_BLANK = FILLER + "".join(filter(str.isspace, map(chr, range(0x3001))))  # no white space comes later
_WORD = re.compile(r"\S+")
_SPACE = re.compile(r"\s")
_KEPT = re.compile(rf"[^\s{FILLER}\x00-\x1f\x7f]")  # by all who write tokens
_JOINED = re.compile("@(.+)@")  # as Moses writes the hyphen of a word that it has split


@dataclass(frozen=True)
class Tokens(Sentence):
    """A text and its tokens, in order: ``spans`` are the characters that they stand for, none for a filler."""

    written: tuple[str, ...] = ()
    """The tokens as their program writes them: ``▁Haus`` for the span of ``Haus`` and the space before it."""

    @cached_property
    def words(self) -> list[str]:
        """The tokens, as written."""
        return list(self.written)


Tokenizer = Callable[[str], Tokens]
"""Finds the tokens of a text."""


def is_filler(token: str) -> bool:
    """Return whether a token stands for white space only."""
    return not token.strip(_BLANK)


def _tokens(text: str, written: Sequence[str], spans: Iterable[Span]) -> Tokens:
    """Build tokens; fillers get an empty span."""
    places = tuple(
        (start, start if is_filler(token) else end) for token, (start, end) in zip(written, spans, strict=True)
    )
    return Tokens(text, places, True, tuple(written))


# -- tokenizers --------------------------------------------------------------------------------------------------------


def spaces(text: str) -> Tokens:
    """Find what is between white space, as Python's ``split`` does: also between no-break spaces."""
    found = list(_WORD.finditer(text))
    return _tokens(text, [match[0] for match in found], [match.span() for match in found])


def icu(locale: str = "") -> Tokenizer:
    """Return what finds ICU's words, punctuation and, as fillers, white space: all characters of the text."""
    from icu4py.breakers import WordBreaker
    from icu4py.locale import Locale

    breaks = Locale(locale)

    def tokens(text: str) -> Tokens:
        written, spans, start = [], [], 0
        for token in WordBreaker(text, breaks):
            written.append(_SPACE.sub(FILLER, token))
            spans.append((start, start + len(token)))
            start += len(token)
        return _tokens(text, written, spans)

    return tokens


def moses(language: str = "en") -> Tokenizer:
    """Return what finds the tokens of the Moses tokenizer, without its XML escapes. Raises WeftError for a text."""
    from sacremoses import MosesTokenizer

    tokenizer = MosesTokenizer(language)
    return lambda text: found_in(text, tokenizer.tokenize(text, escape=False))


def sentencepiece(model: str) -> Tokenizer:
    """Return what finds the pieces of a SentencePiece model, with their places in the text before its normalisation."""
    from sentencepiece import SentencePieceProcessor

    try:
        processor = SentencePieceProcessor(model_file=model)
    except (OSError, RuntimeError) as error:
        raise WeftError(f"{model}: not a SentencePiece model: {str(error).splitlines()[0]}") from None

    def tokens(text: str) -> Tokens:
        found = processor.encode(text, return_type="offset_mapping")
        # Of the pieces of one character, be they bytes or what normalisation made of it, the last one has its place and
        # those before it have none: they get it, too.
        spans = [(start, end if end > start else start + 1) for start, end in found["offsets"]]
        return _tokens(text, found["pieces"], spans)

    return tokens


def found_in(text: str, written: Sequence[str]) -> Tokens:
    """Find given tokens in the text that they were made from. Raises WeftError if they have other characters than it.

    White space and fillers count for nothing. Tokens may have XML escapes, ``@-@`` for a hyphen, and ``@@`` at the end
    of a part of a word, as the tokenizers of Moses and of byte pair encoding write them.
    """
    places, letters = [match.start() for match in _KEPT.finditer(text)], "".join(_KEPT.findall(text))
    spans, done = [], 0
    for number, token in enumerate(written, 1):
        spelling = next((one for one in _spellings(token) if letters.startswith(one, done)), None)
        if spelling is None:
            raise WeftError(f"token {number} is {token!r}, but the text goes on with {letters[done : done + 20]!r}")
        last = done + len(spelling)
        start = places[done] if done < len(places) else len(text)
        spans.append((start, places[last - 1] + 1 if spelling else start))
        done = last
    if done < len(letters):
        raise WeftError(f"the tokens end before the text, which goes on with {letters[done : done + 20]!r}")
    return _tokens(text, written, spans)


def _spellings(token: str) -> list[str]:
    """Return what a token may be in the text, the most literal first."""
    plain = "".join(_KEPT.findall(token))
    joined = _JOINED.fullmatch(plain)
    return [plain, html.unescape(plain), plain.removesuffix("@@"), *([joined[1]] if joined else [])]


# -- links -------------------------------------------------------------------------------------------------------------


def retokenised(alignment: Alignment, source: Tokens, target: Tokens) -> Alignment:
    """Return the alignment of the tokens of both texts.

    A link has the greatest probability of those between words that it is made of.
    """
    of_source, of_target = _tokens_of_words(alignment.source, source), _tokens_of_words(alignment.target, target)
    links: dict[tuple[int, int], float] = {}
    for (i, j), probability in sorted(alignment.probabilities.items(), key=itemgetter(1)):
        links |= dict.fromkeys(product(of_source[i], of_target[j]), probability)
    return Alignment(source, target, {link: links[link] for link in sorted(links)}, alignment.score)


def _tokens_of_words(words: Sentence, tokens: Tokens) -> list[list[int]]:
    """Return the numbers of the tokens that share characters with each word."""
    numbers = [number for number, (start, end) in enumerate(tokens.spans) if start < end]
    starts, ends = ([tokens.spans[number][side] for number in numbers] for side in (0, 1))
    return [numbers[bisect_right(ends, start) : bisect_left(starts, end)] for start, end in words.spans]


def with_diagonal(alignment: Alignment) -> Alignment:
    """Return the alignment with links along the diagonal instead of its own, with the probability 0."""
    source, target = (
        [number for number, word in enumerate(side.words) if not is_filler(word)]
        for side in (alignment.source, alignment.target)
    )
    steps = max(len(source), len(target)) if source and target else 0
    links = {(source[step * len(source) // steps], target[step * len(target) // steps]): 0.0 for step in range(steps)}
    return replace(alignment, probabilities=links)
