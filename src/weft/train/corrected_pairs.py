"""Sentence pairs whose links a person has corrected: as the page exports them, or text and a file of gold links."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from weft.errors import BadLine, WeftError
from weft.links import LinkLine, Links, open_gold
from weft.text.reading import Block, Corpus, kind_of, side_by_side
from weft.text.subwords import Pieces, Subwords
from weft.text.words import Sentence


class CorrectedPair(NamedTuple):
    """A sentence pair and its links."""

    source: Sentence
    target: Sentence
    links: LinkLine

    @property
    def texts(self) -> tuple[str, str]:
        return self.source.text, self.target.text


class TaughtPair(NamedTuple):
    """A corrected pair in pieces, and the attention that its words are to pay."""

    pieces: tuple[Pieces, Pieces]
    words: tuple[np.ndarray, np.ndarray]  # (pieces,) each: the number of each piece's word
    forward: np.ndarray  # (target words, source words): that of target words, whose sum is one, or 0 without links
    backward: np.ndarray  # (target words, source words): that of source words

    @classmethod
    def of(cls, pair: CorrectedPair, subwords: Subwords) -> TaughtPair:
        """Share the attention of each word equally among those that it is surely linked to.

        What has only possible links shares it among these.
        """
        source, target = subwords.encode(pair.source), subwords.encode(pair.target)
        words = _begun_words(source), _begun_words(target)
        parts = _parts(target, words[1], len(pair.target)), _parts(source, words[0], len(pair.source))
        sure, possible = (_between(links, *parts) for links in (pair.links.sure, pair.links.possible))
        return cls((source, target), words, _shares(sure, possible, 1), _shares(sure, possible, 0))


def text_key(source: str, target: str) -> tuple[str, str]:
    """Return a sentence pair without white space, in which lists of words and running text may differ."""
    return "".join(source.split()), "".join(target.split())


def read_corrected(name: str, gold: str | None = None, gold_base: int = 1) -> Iterator[CorrectedPair]:
    """Yield the corrected pairs of a file: all, with their links in the file ``gold``, or those checked on the page.

    With ``gold``, words are between spaces. Raises WeftError, which names the line, if something is wrong with one.
    """
    if gold is None:
        if kind_of(name) != ".jsonl":
            raise WeftError(
                f"{name}: give the links of its lines with --gold, or the .jsonl file that the page exports"
            )
        yield from _checked_pairs(name)
        return
    texts = (pair for block in Corpus.of([name]).blocks() for pair in block.pairs())
    readers: list[Iterator[Any]] = [texts, open_gold(gold, gold_base).lines]
    any_links = False
    for (source, target), links in side_by_side([name, gold], readers, "sentence pairs"):
        sentences = Sentence.from_text(source), Sentence.from_text(target)
        links.check(*map(len, sentences))
        any_links |= bool(links.possible)
        yield CorrectedPair(*sentences, links)
    if not any_links:
        raise WeftError(f"{gold}: no links in it")


def _checked_pairs(name: str) -> Iterator[CorrectedPair]:
    any_checked = False
    for block in Corpus.of([name]).blocks():
        for index in range(len(block.source)):
            pair = _checked_pair(block, index)
            if pair is not None:
                any_checked = True
                yield pair
    if not any_checked:
        raise WeftError(f"{name}: no pair is checked; correct some on the page, or give their links with --gold")


def _checked_pair(block: Block, index: int) -> CorrectedPair | None:
    """Return what a line of the page says about a pair; None if nobody has checked its links. Raises WeftError."""
    source, target = block.pair(index)
    read = json.loads(block.source[index])
    if read.get("checked") is not True:
        return None
    try:
        sides = _sentence(source, read["source"]["offsets"]), _sentence(target, read["target"]["offsets"])
        links, possible = _links(read["links"]), _links(read.get("possible", []))
    except (ValueError, KeyError, TypeError):
        problem = 'a checked pair needs "offsets" of the words on both sides, in order, and "links"'
        raise BadLine(block.file, block.line(index), problem) from None
    line = LinkLine(f"{block.file}:{block.line(index)}", links - possible, links)
    line.check(*map(len, sides))
    return CorrectedPair(*sides, line)


def _sentence(text: str, offsets: list[list[int]]) -> Sentence:
    spans = tuple((start, end) for start, end in offsets)
    places = [0, *(_number(place) for span in spans for place in span), len(text)]
    if places != sorted(places):
        raise ValueError
    return Sentence(text, spans, raw=True)


def _links(listed: list[list[Any]]) -> Links:
    return frozenset((_number(source), _number(target)) for source, target, *_ in listed)


def _number(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError
    return value


def _begun_words(pieces: Pieces) -> np.ndarray:
    """Return the number of each piece's word, where a piece of several words counts to the first. (pieces,)"""
    return np.cumsum(np.diff(pieces.first, prepend=pieces.first[:1]) > 0)


def _parts(pieces: Pieces, numbers: np.ndarray, words: int) -> np.ndarray:
    """Return which of the user's words the pieces of each numbered word are parts of. (numbered words, words)"""
    every = np.arange(words)
    inside = (np.array(pieces.first)[:, None] <= every) & (every <= np.array(pieces.last)[:, None])  # (pieces, words)
    found = np.zeros((int(numbers.max(initial=-1)) + 1, words), bool)
    np.logical_or.at(found, numbers, inside)
    return found


def _between(links: Links, target: np.ndarray, source: np.ndarray) -> np.ndarray:
    """Return links of the user's words as links of the words that pieces begin. (target words, source words)"""
    linked = np.zeros((target.shape[1], source.shape[1]), bool)
    for of_source, of_target in links:
        linked[of_target, of_source] = True
    return target @ linked @ source.T


def _shares(sure: np.ndarray, possible: np.ndarray, axis: int) -> np.ndarray:
    linked = np.where(sure.any(axis, keepdims=True), sure, possible)
    return linked / np.maximum(linked.sum(axis, keepdims=True), 1)
