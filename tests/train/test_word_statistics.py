"""Word statistics: words from pieces, the hidden Markov model against all paths, links of the made-up language."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from weft.corpus.made_up import Example, examples
from weft.corpus.prepared import PreparedCorpus, Side
from weft.links import LinkLine, Links
from weft.model.rows import Attend, Attention, PairRows
from weft.scoring import score
from weft.text.words import Sentence
from weft.train.distributed import Process
from weft.train.task import encoded_sides
from weft.train.word_statistics import Posteriors, WordSide, hidden_markov, word_posteriors

PROCESS = Process(0, 1, torch.device("cpu"))
EXAMPLES = list(examples(400, seed=5))


def no_idea(pair: PairRows) -> Attention:
    nothing = torch.zeros(len(pair.source.ids), pair.target.ids.shape[1], pair.source.ids.shape[1])
    return Attention(nothing, nothing)


def encoded(corpus: PreparedCorpus, chosen: list[Example]) -> tuple[tuple[Side, Side], tuple[WordSide, WordSide]]:
    sides = encoded_sides(((" ".join(one.english), " ".join(one.made_up)) for one in chosen), corpus.subwords)
    return sides, (WordSide.of(sides[0], corpus.subwords), WordSide.of(sides[1], corpus.subwords))


def posteriors(
    corpus: PreparedCorpus, attend: Attend, chosen: list[Example] = EXAMPLES
) -> tuple[Posteriors, list[np.ndarray]]:
    """What is found, and the mean of both directions for each pair; (target, source)."""
    sides, words = encoded(corpus, chosen)
    found = word_posteriors(sides, words, attend, PROCESS)
    mean = ((found.forward.float() + found.backward.float()) / 2).numpy()
    shapes = [(len(one.made_up), len(one.english)) for one in chosen]
    parts = np.split(mean, found.offsets[1:-1].numpy())
    return found, [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


def error_rate(links: list[Links]) -> float:
    return score(links, [LinkLine("", one.links, one.links) for one in EXAMPLES]).aer


def strong(matrix: np.ndarray) -> Links:
    return frozenset((int(source), int(target)) for target, source in np.argwhere(matrix > 0.5))


def test_words_are_found_in_pieces(corpus: PreparedCorpus) -> None:
    (source, _), (words, _) = encoded(corpus, EXAMPLES[:20])
    for number, example in enumerate(EXAMPLES[:20]):
        assert [words.spellings[word] for word in words.sentences[number]] == example.english
        pieces = slice(source.offsets[number], source.offsets[number + 1])
        found = corpus.subwords.encode(Sentence.from_words(example.english))
        assert words.places[pieces].tolist() == found.first.tolist()
    assert len(set(words.spellings)) == len(words.spellings)


def test_posteriors_are_those_of_all_paths() -> None:
    torch.manual_seed(1)
    made, given, longest = 4, 3, 5
    emissions, alone, jumps = torch.rand(2, longest, longest), torch.rand(2, longest), torch.rand(25)
    emissions[:, made:] = emissions[:, :, given:] = 0
    found, expected = hidden_markov(emissions[:1], alone[:1], jumps, torch.tensor([[given, made]]))

    def move(before: int, after: int) -> float:
        return (jumps[after - before + 12] / jumps[12 - before : 12 - before + given].sum()).item()

    links, leaps, total = torch.zeros(longest, longest), torch.zeros(25), 0.0
    for path in itertools.product([None, *range(given)], repeat=made):
        weight, at, steps = 1.0, -1, []
        for word, place in enumerate(path):
            if place is None:
                weight *= 0.1 * alone[0, word].item()
            else:
                weight *= 0.9 * move(at, place) * emissions[0, word, place].item()
                steps.append(place - at)
                at = place
        total += weight
        for word, place in enumerate(path):
            if place is not None:
                links[word, place] += weight
        for step in steps:
            leaps[step + 12] += weight
    torch.testing.assert_close(found[0], links / total)
    torch.testing.assert_close(expected, leaps / total)


def test_a_pair_is_the_same_in_any_batch() -> None:
    torch.manual_seed(1)
    emissions, alone, jumps = torch.rand(2, 5, 4), torch.rand(2, 5), torch.rand(25)
    emissions[1, 3:] = emissions[1, :, 2:] = 0
    both, _ = hidden_markov(emissions, alone, jumps, torch.tensor([[4, 5], [2, 3]]))
    second, _ = hidden_markov(emissions[1:, :3, :2], alone[1:, :3], jumps, torch.tensor([[2, 3]]))
    torch.testing.assert_close(both[1, :3, :2], second[0])
    assert both[1, 3:].sum() == both[1, :, 2:].sum() == 0


def test_links_are_found_without_a_model(corpus: PreparedCorpus) -> None:
    found, matrices = posteriors(corpus, no_idea)
    assert error_rate([strong(one) for one in matrices]) < 0.2
    assert found.agreement == 0 and not found.known


def test_a_model_that_knows_the_links_is_trusted(corpus: PreparedCorpus) -> None:
    known = _knowing(corpus)
    found, matrices = posteriors(corpus, known)
    assert error_rate([strong(one) for one in matrices]) < 0.07
    assert found.known


@pytest.mark.parametrize("pairs", [100, 400])
def test_few_pairs_do_not_make_a_language_known(corpus: PreparedCorpus, pairs: int) -> None:
    """Of a model that has an idea of the links, but not more, is said the same however many pairs there are."""
    right = _knowing(corpus)

    def unsure(pair: PairRows) -> Attention:
        cells = pair.word_cells().float()
        alike = cells / cells.sum(2, keepdim=True).clamp(min=1), cells / cells.sum(1, keepdim=True).clamp(min=1)
        return Attention(*((one + other) / 2 for one, other in zip(right(pair), alike, strict=True)))

    found, _ = posteriors(corpus, unsure, EXAMPLES[:pairs])
    assert 0.3 < found.agreement < 0.4 and not found.known


def _knowing(corpus: PreparedCorpus) -> Attend:
    """Attention to what gold links say."""
    links = {}
    for example in EXAMPLES:
        sentences = Sentence.from_words(example.english), Sentence.from_words(example.made_up)
        source, target = map(corpus.subwords.encode, sentences)
        cells = torch.tensor([[(s, t) in example.links for s in source.first] for t in target.first]).float()
        links[tuple(source.ids), tuple(target.ids)] = cells

    def attend(pair: PairRows) -> Attention:
        cells = no_idea(pair).forward
        for row, (source, target) in enumerate(zip(pair.source.ids.tolist(), pair.target.ids.tolist(), strict=True)):
            key = tuple(source[: source.index(1)]), tuple(target[: target.index(1)])
            cells[row, : len(key[1]), : len(key[0])] = links[key]
        return Attention(
            cells / cells.sum(2, keepdim=True).clamp(min=1), cells / cells.sum(1, keepdim=True).clamp(min=1)
        )

    return attend


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_probabilities_of_a_word_sum_to_one_at_most(corpus: PreparedCorpus, direction: str) -> None:
    found, _ = posteriors(corpus, no_idea)
    axis = 1 if direction == "forward" else 0
    for one, cells in zip(
        EXAMPLES, np.split(getattr(found, direction).numpy(), found.offsets[1:-1].numpy()), strict=True
    ):
        sums = cells.astype(float).reshape(len(one.made_up), len(one.english)).sum(axis)
        assert sums.min() >= 0 and sums.max() < 1.01


def test_links_that_are_given_stay_and_teach_others(corpus: PreparedCorpus) -> None:
    """Given links that no counting finds: the first word of one side is linked to all words of the other, and so on."""
    sides, words = encoded(corpus, EXAMPLES)
    shapes = [(len(one.made_up), len(one.english)) for one in EXAMPLES]
    given = [(np.full(shape, 1 / shape[1]), np.zeros(shape)) for shape in shapes[:50]]
    free, bound = (word_posteriors(sides, words, no_idea, PROCESS, links) for links in ((), given))
    ends = bound.offsets.tolist()
    for number, shape in enumerate(shapes[:50]):
        cells = slice(ends[number], ends[number + 1])
        assert torch.allclose(bound.forward[cells].float(), torch.tensor(1 / shape[1]), atol=1e-3)
        assert (bound.backward[cells] == 0).all()
    others = slice(ends[50], None)
    assert not torch.equal(free.forward[others], bound.forward[others])
    right = [matrix_of(one, shape) for one, shape in zip(EXAMPLES[:200], shapes, strict=False)]
    taught = word_posteriors(sides, words, no_idea, PROCESS, right)

    def error_of_others(found: Posteriors) -> float:
        mean = (found.forward.float() + found.backward.float()) / 2
        links = [
            strong(mean[ends[number] : ends[number + 1]].numpy().reshape(shapes[number]))
            for number in range(200, len(EXAMPLES))
        ]
        return score(links, [LinkLine("", one.links, one.links) for one in EXAMPLES[200:]]).aer

    assert error_of_others(taught) < error_of_others(free)


def matrix_of(example: Example, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    links = np.zeros(shape)
    for source, target in example.links:
        links[target, source] = 1
    return links / links.sum(1, keepdims=True).clip(min=1), links / links.sum(0, keepdims=True).clip(min=1)
