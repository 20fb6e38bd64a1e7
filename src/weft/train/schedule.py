"""The learning rate over time."""

from __future__ import annotations


def learning_rate(fraction: float, update: int, warm_up: int) -> float:
    """The share of the peak rate: up over ``warm_up`` updates, and straight down to zero at the end of training.

    ``fraction`` is how much of the training is done. The first update, number 0, already moves.
    """
    rising = (update + 1) / warm_up if warm_up else 1.0
    return max(0.0, min(rising, 1.0, 1 - fraction))
