"""``weft show``: the links of chosen sentence pairs as matrices, in the terminal or in a file."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from weft.align.aligner import Aligner
from weft.align.folder import is_small_aligner
from weft.align.shipped import find_model
from weft.apps.grid import terminal_grid
from weft.apps.lines import read_text
from weft.apps.picture import Panel, Picture, draw
from weft.errors import WeftError
from weft.text.links import LinkLine, read_gold, read_links
from weft.text.words import split_spaces


def show_files(
    source: str,
    target: str,
    links: Sequence[str],
    model: str | None,
    lines: Sequence[int],
    gold: str | None,
    gold_base: int,
    new: bool,
    output: Path | None,
) -> None:
    """Print the sentence pairs of some lines, counted from one, or draw the only one into ``output``."""
    if not links and model is None:
        raise WeftError("nothing to show: give files of links, or a trained aligner with --model")
    if new and len(links) < 3:
        raise WeftError("--new marks the links that only the last file has: give three files of links or more")
    if output is not None and len(lines) != 1:
        raise WeftError(f"{output}: a picture shows one line, but --line names {len(lines)}; draw them one by one")
    pictures = _read_pictures(source, target, links, lines, gold, gold_base, new)
    if model is not None:
        pictures = _with_model(find_model(model), pictures)
    if output is not None:
        draw(pictures[0], output)
    else:
        grids = [f"line {number}\n\n{terminal_grid(picture)}" for number, picture in zip(lines, pictures, strict=True)]
        print("\n\n".join(grids))


def _with_model(model: Path, pictures: list[Picture]) -> list[Picture]:
    """The same pictures, with what a trained aligner makes of the sentence pairs in front."""
    if not is_small_aligner(model):
        from weft.apps.attention_picture import with_system

        return with_system(model, pictures)
    found = Aligner(model).align((picture.source, picture.target) for picture in pictures)
    return [
        dataclasses.replace(picture, panels=(Panel(model.name, alignment.links), *picture.panels))
        for picture, alignment in zip(pictures, found, strict=True)
    ]


def _read_pictures(
    source: str,
    target: str,
    links: Sequence[str],
    lines: Sequence[int],
    gold: str | None,
    gold_base: int,
    new: bool,
) -> list[Picture]:
    sources, targets = list(read_text(source)), list(read_text(target))
    systems = [read_links(name) for name in links]
    golds = read_gold(gold, gold_base) if gold is not None else None
    lengths = {target: len(targets)} | {name: len(system) for name, system in zip(links, systems, strict=True)}
    if gold is not None and golds is not None:
        lengths[gold] = len(golds)
    for name, length in lengths.items():
        if length != len(sources):
            raise WeftError(f"{name} has {length:,} sentences but {source} has {len(sources):,}; is one of other text?")
    titles = [Path(name).name for name in links]
    if len(set(titles)) < len(titles):
        titles = list(links)
    pictures = []
    for number in lines:
        if not 1 <= number <= len(sources):
            raise WeftError(f"--line {number}: {source} has {len(sources):,} lines, counted from one")
        pair = split_spaces(sources[number - 1]), split_spaces(targets[number - 1])
        found = [system[number - 1] for system in systems]
        known = golds[number - 1] if golds is not None else None
        for line in [*found, known]:
            if line is not None:
                line.check(len(pair[0]), len(pair[1]))
        pictures.append(Picture(*pair, _panels(titles, found, new), known))
    return pictures


def _panels(titles: Sequence[str], found: Sequence[LinkLine], new: bool) -> tuple[Panel, ...]:
    panels = [Panel(title, line.possible) for title, line in zip(titles, found, strict=True)]
    if new:
        *others, last = panels
        panels = [*others, Panel(last.title, last.links, new=last.links.difference(*(panel.links for panel in others)))]
    return tuple(panels)
