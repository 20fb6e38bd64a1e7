"""Links from attention: unaligned words, one-to-many, many-to-many, several sentences in a row."""

from __future__ import annotations

from itertools import chain

import torch
from torch import Tensor

from weft.model.packed_links import best_cell_links, best_source_links
from weft.model.rows import PairRows, Rows, masked_softmax


def sentence(words: int) -> Rows:
    return Rows.of(torch.tensor([[*range(2, 2 + words), 1]]))


def pairs(links: Tensor) -> set[tuple[int, int]]:
    """(target, source) of a single row."""
    return {(target, source) for _, target, source in links.nonzero().tolist()}


def test_one_direction_takes_the_best_cell_of_each_target_word() -> None:
    attention = torch.tensor([[[0.6, 0.3, 0.1], [0.5, 0.4, 0.1], [0.1, 0.2, 0.7], [0.9, 0.1, 0.0]]])
    # words 0 and 1 share a source word, word 2 looks at end-of-sentence, and the last row is the target's own
    assert pairs(best_source_links(attention, sentence(3), sentence(2))) == {(0, 0), (1, 0)}


def test_two_directions_take_as_many_cells_as_the_shorter_sentence_has_words() -> None:
    forward = torch.tensor([[[0.9, 0.05, 0.05], [0.1, 0.8, 0.1], [0.5, 0.2, 0.3], [0.0, 0.0, 1.0]]])
    backward = torch.tensor([[[0.7, 0.1, 0.3], [0.1, 0.8, 0.3], [0.2, 0.05, 0.1], [0.0, 0.05, 0.3]]])
    assert pairs(best_cell_links(forward, backward, sentence(3), sentence(2))) == {(0, 0), (1, 1)}  # word 2 unaligned


def test_two_directions_may_link_many_to_many() -> None:
    forward = torch.tensor([[[0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0], [0.1, 0.1, 0.1, 0.7], [0, 0, 0, 1.0]]])
    backward = torch.tensor([[[0.5, 0.5, 0.1, 0], [0.5, 0.4, 0.1, 0], [0, 0.1, 0.1, 0], [0, 0, 0.7, 1.0]]])
    assert pairs(best_cell_links(forward, backward, sentence(3), sentence(3))) == {(0, 0), (0, 1), (1, 0)}


def test_end_of_sentence_is_never_linked() -> None:
    sure = torch.zeros(1, 3, 3)
    sure[0, :, 2] = sure[0, 2, :] = 1
    sure[0, 0, 0] = 0.01
    assert not best_source_links(sure, sentence(2), sentence(2)).any()
    links = pairs(best_cell_links(sure, sure, sentence(2), sentence(2)))
    assert (0, 0) in links and not any(2 in link for link in links)


def test_packed_sentences_are_linked_as_if_alone() -> None:
    torch.manual_seed(5)
    targets, sources = [[5, 6, 7, 1], [8, 1], [9, 5, 6, 7, 8, 1]], [[9, 8, 1], [7, 6, 5, 1], [4, 3, 1]]
    target = Rows.of(torch.tensor([[*chain(*targets), 0, 0, 0], [7] * 14 + [1]]))
    source = Rows.of(torch.tensor([[*chain(*sources), 0], [7] * 9 + [1, 0]]))
    cells = PairRows(source, target).cells()
    logits = 3 * torch.randn(cells.shape)
    forward, backward = masked_softmax(logits, cells, 2), masked_softmax(logits, cells, 1)
    both, one = best_cell_links(forward, backward, target, source), best_source_links(forward, target, source)
    row = column = 0
    for target_ids, source_ids in zip(targets, sources, strict=True):
        block = slice(0, 1), slice(row, row + len(target_ids)), slice(column, column + len(source_ids))
        row, column = block[1].stop, block[2].stop
        alone = Rows.of(torch.tensor([target_ids])), Rows.of(torch.tensor([source_ids]))
        assert torch.equal(both[block], best_cell_links(forward[block], backward[block], *alone))
        assert torch.equal(one[block], best_source_links(forward[block], *alone))
        assert both[block].sum() == min(len(target_ids), len(source_ids)) - 1
    assert both[0].sum() == 2 + 1 + 2 and both[1].sum() == 9
