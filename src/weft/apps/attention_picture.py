"""What a trained system makes of a sentence pair, method by method, as a picture."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import torch

from weft.apps.picture import Panel, Picture
from weft.model.aligner import align, word_attention
from weft.model.system import AlignmentSystem
from weft.text.pairs import WordPair


def with_system(model: Path, pictures: list[Picture]) -> list[Picture]:
    """Pictures of sentence pairs, with what a trained system makes of them in front."""
    system = AlignmentSystem.load(model, torch.device("cpu"))
    return [
        dataclasses.replace(picture, panels=system_panels(system, (picture.source, picture.target)) + picture.panels)
        for picture in pictures
    ]


def system_panels(system: AlignmentSystem, pair: WordPair) -> tuple[Panel, ...]:
    """Both directions optimised on their own, both at once, and the guided layers if there are any.

    In the panel of both at once, links that neither direction has found alone stand out.
    """
    forward, backward = word_attention(system, pair, system.attend("optimised"))
    ways = align(system, [pair], system.attend("optimised"), ("forward", "backward"))
    panels = [
        Panel("forward, optimised", ways["forward"][0], forward),
        Panel("backward, optimised", ways["backward"][0], backward),
    ]
    attend = system.attend("bidirectional")
    links = align(system, [pair], attend, ("best-cells",))["best-cells"][0]
    forward, backward = word_attention(system, pair, attend)
    new = links - ways["forward"][0] - ways["backward"][0]
    panels.append(Panel("bidirectional", links, forward * backward, new))
    if system.guided is not None:
        attend = system.attend("guided")
        links = align(system, [pair], attend, ("mean",), system.guided.threshold)["mean"][0]
        forward, backward = word_attention(system, pair, attend)
        panels.append(Panel("guided", links, (forward + backward) / 2))
    return tuple(panels)
