"""Search with caches equals search without, and sentences do not depend on their batch."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from weft.config import PRESETS
from weft.model.rows import Rows
from weft.model.translation import TranslationModel
from weft.model.translator import advance, beam_search, greedy_search, start
from weft.text.subwords import END

SOURCE = torch.tensor([[5, 6, 7, 8, 9, 1], [10, 11, 1, 0, 0, 0], [12, 13, 14, 15, 1, 0]])


@pytest.fixture
def model() -> TranslationModel:
    torch.manual_seed(4)
    model = TranslationModel(PRESETS["tiny"], 40).eval()
    with torch.no_grad():  # untrained weights repeat the word before; larger ones in the layers make sentences
        for layer in model.decoder_layers:
            for parameter in layer.parameters():
                parameter.mul_(4 if parameter.dim() == 2 else 1)
    return model


@torch.no_grad()
def uncached_logits(model: TranslationModel, source: Tensor, words: list[int]) -> Tensor:
    """The logits after ``words``, from the whole network."""
    return model.logits(model(Rows.of(source[source != 0][None]), Rows.of(torch.tensor([[*words, END]]))))[0, -1]


@torch.no_grad()
def test_cached_steps_equal_the_whole_network(model: TranslationModel) -> None:
    cache = start(model, SOURCE)
    words = [[END, 20, 21, 22], [END, 23, 24, 25], [END, 26, 27, 28]]
    for step in range(4):
        logits = advance(model, torch.tensor([row[step] for row in words]), cache)
        for row in range(3):
            torch.testing.assert_close(logits[row], uncached_logits(model, SOURCE[row], words[row][1 : step + 1]))


def test_greedy_search_takes_the_best_word_each_time(model: TranslationModel) -> None:
    for source, found in zip(SOURCE, greedy_search(model, SOURCE), strict=True):
        assert found
        words: list[int] = []
        while len(words) < len(found):
            words.append(int(uncached_logits(model, source, words).argmax()))
        assert found == words


def plain_beam_search(model: TranslationModel, source: Tensor, beam: int) -> list[int]:
    """One sentence, one hypothesis at a time, the whole network for each word."""
    limit = int((source != 0).sum()) * 2 + 10
    hypotheses: list[tuple[float, list[int]]] = [(0.0, [])]
    best: tuple[float, list[int]] = (float("-inf"), [])
    for step in range(limit):
        candidates = []
        for score, words in hypotheses:
            scores = score + uncached_logits(model, source, words).log_softmax(-1)
            best = max(best, (scores[END].item() / (step + 1), words))
            candidates += [(scores[word].item(), [*words, word]) for word in range(len(scores)) if word != END]
        hypotheses = sorted(candidates, reverse=True)[:beam]
        if hypotheses[0][0] / limit <= best[0]:
            break
    return best[1]


@pytest.mark.parametrize("beam", [1, 2, 5])
def test_beam_search_equals_a_plain_one_whatever_the_batch(model: TranslationModel, beam: int) -> None:
    with torch.no_grad():
        model.table[END] += 0.3 * model.decoder_norm.weight  # let some sentences end before the limit
    found = beam_search(model, SOURCE, beam)
    assert found == [plain_beam_search(model, source, beam) for source in SOURCE]
    assert len({tuple(words) for words in found}) == 3
