"""The aligner in the browser: Python's links, if that computes exactly, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from align.test_all_languages import pairs_of_languages
from given_pieces import given_pieces, listed
from in_browser import run
from playwright.sync_api import Browser, Page

from weft.align.attention_to_links import BatchAttention
from weft.align.onnx_aligner import Aligner
from weft.serve.page_files import write_page
from weft.text.subwords import Pieces

ORDINARY = [
    (source, target)
    for path in sorted((Path(__file__).parents[1] / "ordinary").glob("*.tsv"))
    for source, target, _ in (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
]

ALIGN = """async ({ pairs, fast, raw }) => {
  const aligner = await weft.aligner.load({ fast });
  const cut = raw ? weft.words.rawSentence : weft.words.spacedSentence;
  const found = [];
  for (const [source, target] of pairs) {
    const { links, score, matrix } = await aligner.align(cut(source), cut(target));
    found.push({ links, score, matrix: Array.from(matrix) });
  }
  return found;
}"""
LINKS = """(cases) => cases.map(({ matrix, columns }) =>
  [0.1, 0.35, 0.8].map((threshold) => weft.links.fromMatrix(Float32Array.from(matrix), threshold, columns)))"""
ATTENTION = """(cases) => cases.map(({ forward, backward, sourceLength, source, target, rows, columns }) => {
  const attention = { forward: Float32Array.from(forward), backward: Float32Array.from(backward), sourceLength };
  const { matrix } = weft.links.betweenWords(attention, source, target, rows, columns);
  return { matrix: Array.from(matrix), score: weft.links.score(attention, source, target) };
})"""


@pytest.mark.parametrize("fast", [True, False])
def test_500_pairs_of_all_languages_have_the_links_of_python(page: Page, fast: bool) -> None:
    pairs = ORDINARY + pairs_of_languages(raw=False)[: 500 - len(ORDINARY)]
    assert len(pairs) == 500
    with Aligner(fast=fast, exact=True) as aligner:
        wanted = list(aligner.align(pairs, matrices=True))
    found = run(page, ALIGN, {"pairs": pairs, "fast": fast, "raw": False})
    for one, other in zip(found, wanted, strict=True):
        assert other.matrix is not None
        np.testing.assert_allclose(one["matrix"], other.matrix.ravel(), atol=1e-6)
        assert [(source, target) for source, target, _ in one["links"]] == [*other.probabilities]
        assert one["score"] == pytest.approx(other.score, abs=1e-6)


def test_running_text_and_many_questions_at_once(page: Page) -> None:
    with Aligner(raw=True, fast=True, exact=True) as aligner:
        pairs = pairs_of_languages(raw=True)[:8]
        wanted = [[list(link) for link in one.probabilities] for one in aligner.align(pairs)]
    at_once = """async (pairs) => {
      const aligners = await Promise.all([weft.aligner.load(), weft.aligner.load()]);
      const sides = pairs.map((pair) => pair.map(weft.words.rawSentence));
      const found = await Promise.all(sides.map((pair, number) => aligners[number % 2].align(...pair)));
      return found.map(({ links }) => links.map(([source, target]) => [source, target]));
    }"""
    assert run(page, at_once, pairs) == wanted


def test_without_words_there_are_no_links_and_long_sentences_are_refused(page: Page) -> None:
    empty, *_ = run(page, ALIGN, {"pairs": [["", "a b"]], "fast": True, "raw": True})
    assert empty == {"links": [], "score": 0, "matrix": []}
    nothing, *_ = run(page, ALIGN, {"pairs": [["\ufeff", "a b"]], "fast": True, "raw": False})
    assert nothing == {"links": [], "score": 0, "matrix": [0, 0]}
    with pytest.raises(Exception, match="a sentence of 2,000 pieces, but the model's limit is 1,023; split it"):
        run(page, ALIGN, {"pairs": [["a " * 2_000, "b"]], "fast": True, "raw": True})
    again, *_ = run(page, ALIGN, {"pairs": [["Haus", "house"]], "fast": True, "raw": True})
    assert [link[:2] for link in again["links"]] == [[0, 0]]


def members_of(pieces: Pieces) -> dict[str, list[int]]:
    return dict(zip(Pieces._fields, listed(pieces), strict=True))


def test_links_of_probabilities(page: Page) -> None:
    """The same numbers give the same links, whatever the threshold."""
    random = np.random.default_rng(5)
    matrices = [(random.random(random.integers(1, 12, 2)) ** 2).astype(np.float32) for _ in range(200)]
    matrices += [np.round(matrix, 1) for matrix in matrices]  # many are equal
    found = run(page, LINKS, [{"matrix": one.ravel().tolist(), "columns": one.shape[1]} for one in matrices])
    for matrix, answers in zip(matrices, found, strict=True):
        pieces = [[given_pieces(range(size))] for size in matrix.shape]
        attention = BatchAttention.of(matrix.T[None], matrix.T[None], *pieces)
        for threshold, links in zip((0.1, 0.35, 0.8), answers, strict=True):
            wanted = attention.links("mean", threshold)[0]
            assert {(source, target): probability for source, target, probability in links} == wanted
            assert links == sorted(links)


def test_probabilities_of_words_of_several_pieces(page: Page) -> None:
    """Words may have several pieces, and pieces be part of several words."""
    random = np.random.default_rng(6)
    cases: list[dict[str, Any]] = []
    wanted = []
    for _ in range(100):
        sides = []
        for length in random.integers(1, 12, 2):
            first = np.cumsum(random.integers(0, 2, length)) - 1
            first = np.maximum(first - first[0], 0)
            sides.append(given_pieces(first.tolist(), (first + random.integers(0, 2, length)).tolist()))
        lengths = [len(side.ids) + 3 for side in sides]
        forward, backward = random.random((2, 1, lengths[1], lengths[0]), np.float32)
        attention = BatchAttention.of(forward, backward, *([side] for side in sides))
        wanted.append((attention.probability[0].T, attention.scores()[0]))
        cases.append(
            {
                **{"forward": forward.ravel().tolist(), "backward": backward.ravel().tolist()},
                **{"source": members_of(sides[0]), "target": members_of(sides[1]), "sourceLength": lengths[0]},
                **{"rows": attention.source.words, "columns": attention.target.words},
            }
        )
    for one, (matrix, score) in zip(run(page, ATTENTION, cases), wanted, strict=True):
        assert one["matrix"] == matrix.ravel().tolist()
        assert one["score"] == pytest.approx(score, abs=1e-6)


def test_an_aligner_with_two_encoders(browser: Browser, tmp_path: Path) -> None:
    write_page(tmp_path / "page", "ro-en")
    page = browser.new_page()
    page.goto((tmp_path / "page" / "index.html").as_uri())
    pairs = ORDINARY[-60:]
    with Aligner("ro-en", fast=True, exact=True) as aligner:
        wanted = [[list(link) for link in one.probabilities] for one in aligner.align(pairs)]
    found = run(page, ALIGN, {"pairs": pairs, "fast": True, "raw": False})
    equal = [[link[:2] for link in one["links"]] == other for one, other in zip(found, wanted, strict=True)]
    assert sum(equal) >= 57
    page.close()
