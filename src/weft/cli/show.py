"""``weft show``: the links of chosen sentence pairs as matrices, in the terminal or in a file."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from weft.align.pictures import Panel, Picture, draw, terminal_grid
from weft.errors import WeftError
from weft.links import LinkLine, open_gold, read_links
from weft.text.reading import check_stdin, read_text, side_by_side
from weft.text.words import split_spaces

if TYPE_CHECKING:
    from weft.align.windowed import WordPair
    from weft.model.system import AlignmentSystem


def show(
    source: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="SOURCE")],
    target: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TARGET")],
    links: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[LINKS …]")] = (),
    /,
    *,
    model: str | None = None,
    line: Annotated[tuple[int, ...], tyro.conf.arg(metavar="N …")] = (1,),
    gold: str | None = None,
    gold_base: Literal[0, 1] = 1,
    new: bool = False,
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None,
) -> None:
    """Show the links of a sentence pair as a matrix, in the terminal or as a picture.

    Args:
        source: The source sentences, one a line.
        target: The target sentences.
        links: Links counted from zero, such as 0-0 1-2; each file becomes a panel.
        model: A name that `weft models` lists, or a model folder: show what it makes of the sentences, too.
        line: Lines to show, counted from one.
        gold: Gold links, shown as frames; `3-4` sure and `3p4` possible, or in the format of NAACL 2003.
        gold_base: The number of the first word in the gold file.
        new: Set off the links of the last file that no other file has (needs three files or more).
        output: Draw a picture of one line instead; its ending says which format (.svg, .png, .pdf).
    """
    if not links and model is None:
        raise WeftError("nothing to show: give files of links, or a trained aligner with --model")
    if new and len(links) < 3:
        raise WeftError("--new marks the links that only the last file has: give three files of links or more")
    if output is not None and len(line) != 1:
        raise WeftError(f"{output}: a picture shows one line, but --line names {len(line)}; draw them one by one")
    pictures = _read_pictures(source, target, links, line, gold, gold_base, new)
    if model is not None:
        pictures = _with_model(model, pictures)
    if output is not None:
        draw(pictures[0], output)
    else:
        grids = [f"line {number}\n\n{terminal_grid(picture)}" for number, picture in zip(line, pictures, strict=True)]
        print("\n\n".join(grids))


def _with_model(model: str, pictures: list[Picture]) -> list[Picture]:
    """Put what an aligner makes of the sentence pairs in front of the other panels."""
    from weft.align.model_folder import open_model

    opened = open_model(model)
    if not opened.is_small_aligner:
        return with_system(opened.path, pictures)
    from weft.align.onnx_aligner import Aligner

    found = Aligner(opened).align((picture.source, picture.target) for picture in pictures)
    return [
        dataclasses.replace(picture, panels=(Panel(opened.path.name, alignment.links), *picture.panels))
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
    names = [source, target, *links, *([] if gold is None else [gold])]
    check_stdin(names)
    readers: list[Iterator[Any]] = [
        *(map(split_spaces, read_text(name)) for name in (source, target)),
        *map(read_links, links),
    ]
    if gold is not None:
        readers.append(open_gold(gold, gold_base).lines)
    rows: dict[int, tuple[Any, ...]] = {}
    count = 0
    for count, row in enumerate(side_by_side(names, readers, "sentences"), 1):
        if count in lines:
            rows[count] = row
    titles = [Path(name).name for name in links]
    if len(set(titles)) < len(titles):
        titles = list(links)
    pictures = []
    for number in lines:
        if number not in rows:
            raise WeftError(f"--line {number}: {source} has {count:,} lines, counted from one")
        source_words, target_words, *found = rows[number]
        for line in found:
            line.check(len(source_words), len(target_words))
        known = found.pop() if gold is not None else None
        pictures.append(Picture(source_words, target_words, _panels(titles, found, new), known))
    return pictures


def _panels(titles: Sequence[str], found: Sequence[LinkLine], new: bool) -> tuple[Panel, ...]:
    panels = [Panel(title, line.possible) for title, line in zip(titles, found, strict=True)]
    if new:
        *others, last = panels
        panels = [*others, Panel(last.title, last.links, new=last.links.difference(*(panel.links for panel in others)))]
    return tuple(panels)


def with_system(model: Path, pictures: list[Picture]) -> list[Picture]:
    """Put what a whole system makes of the sentence pairs in front of the other panels."""
    import torch

    from weft.model.system import AlignmentSystem

    system = AlignmentSystem.load(model, torch.device("cpu"))
    return [
        dataclasses.replace(picture, panels=system_panels(system, (picture.source, picture.target)) + picture.panels)
        for picture in pictures
    ]


def system_panels(system: AlignmentSystem, pair: WordPair) -> tuple[Panel, ...]:
    """Return panels of both directions optimised alone, of both at once, and of the guided layers if there are any.

    In the panel of both at once, links that neither direction has found alone stand out.
    """
    from weft.model.torch_aligner import BEST_MERGE, align, word_attention

    attend = system.attend("optimised")
    alone = align(system, [pair], attend, ("forward", "backward"))
    panels = [
        Panel(f"{direction}, optimised", links[0], attention)
        for (direction, links), attention in zip(alone.items(), word_attention(system, pair, attend), strict=True)
    ]
    for method in system.methods:
        if method not in ("bidirectional", "guided"):
            continue
        attend, merge = system.attend(method), BEST_MERGE[method]
        threshold = system.threshold
        links = align(system, [pair], attend, (merge,), threshold)[merge][0]
        forward, backward = word_attention(system, pair, attend)
        if method == "bidirectional":
            new = links.difference(*(one[0] for one in alone.values()))
            panels.append(Panel(method, links, forward * backward, new))
        else:
            panels.append(Panel(method, links, (forward + backward) / 2))
    return tuple(panels)
