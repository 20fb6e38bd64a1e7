"""``weft bulk``: many files of sentence pairs, aligned by the workers of a Ray cluster."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

import tyro

from weft.cli.align import Options as AlignOptions
from weft.cli.aligning import Device
from weft.cli.bulk_units import Manifest, Unit, UnitAligner, units_of
from weft.cli.options import choice
from weft.config import Merge
from weft.errors import WeftError
from weft.progress import Progress
from weft.text.reading import Form

_SECONDS_BETWEEN_MANIFESTS = 10.0
_ALIGN = (
    *("model", "input_format", "languages", "raw", "reverse"),
    *("merge", "threshold", "fast", "exact", "device", "cores"),
)


@dataclass(frozen=True)
class Options:
    """The options of the command, with their help."""

    inputs: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="FILE|FOLDER…")]
    """Files with both sides, in any form that weft align reads, or folders of them: paths that all nodes share, or
    addresses such as s3://bucket/folder."""
    _: KW_ONLY
    output: Annotated[str, tyro.conf.arg(aliases=["-o"], metavar="FOLDER")]
    """Folder or address for the results, a file for each part of the text, and manifest.json. The same command again
    does what is left."""
    to: Literal["parquet", "jsonl", "pharaoh", "probabilities", "words"] = "parquet"
    """What is written: rows, or lines as of weft align --format, compressed as .zst."""
    parts: int = 1
    """In how many parts each file is aligned; more than 1 for few large files."""
    address: Annotated[str | None, choice("ADDRESS", "that of RAY_ADDRESS; else this machine alone")] = None
    """The Ray cluster; auto for one that runs here."""
    workers: Annotated[int, choice("N", "as many as the cluster has room for")] = 0
    """How many processes align at most."""
    cores: int = 1
    """How many cores each of them has."""
    device: Annotated[Device | None, choice("cpu,cuda", "cpu")] = None
    """Where to compute; with cuda each worker has a GPU, and needs torch."""
    model: Annotated[str | None, choice("NAME", "multi")] = None
    """A name that `weft models` lists, or a folder that all nodes share."""
    input_format: Form = "auto"
    """Columns or jsonl; auto: as the files' names say."""
    languages: Annotated[tuple[str, str] | None, choice("CODE CODE", "the two that there are, source first")] = None
    """Source and target language of memories (.tmx, .xlf, .po, .zip), such as de en."""
    raw: bool = False
    """The text is not split into words yet: do that by simple rules. Otherwise words stand between spaces."""
    reverse: bool = False
    """The text has the model's target language first; so have the links."""
    merge: Annotated[Merge | None, choice("RULE", "what suits the model")] = None
    """How links are made of both directions, as for weft align."""
    threshold: Annotated[float | None, choice("0…1", "what the model says")] = None
    """The probability that a link needs. Higher: fewer and better links."""
    fast: bool = False
    """Use the narrow encoders of a small aligner, if it has them: faster, less accurate."""
    exact: bool = False
    """Write the same links on every kind of processor, in twice the time: for clusters that have several kinds."""

    def check(self) -> None:
        """Raise WeftError for what can be told to be wrong without looking at any file."""
        for name, least in (("parts", 1), ("workers", 0), ("cores", 1)):
            if getattr(self, name) < least:
                raise WeftError(f"--{name} must be at least {least}, not {getattr(self, name)}")
        AlignOptions(**self.align).check()

    @property
    def align(self) -> dict[str, Any]:
        """The options of weft align for each part."""
        settings = {name: getattr(self, name) for name in _ALIGN}
        return settings if self.to == "parquet" else settings | {"format": self.to}


def bulk(options: Annotated[Options, tyro.conf.arg(name="")]) -> None:
    """Align many files on a Ray cluster: `weft bulk shards -o links`; run again, it does what is left."""
    options.check()
    units = units_of(options.inputs, options.parts, options.to)
    manifest = Manifest.open(options.output, options.align | {"to": options.to, "parts": options.parts})
    left = [unit for unit in units if not manifest.has(unit)]
    with Progress() as progress:
        progress.phase("aligning", len(units), "files", done=len(units) - len(left))
        if left:
            manifest.save()  # where nothing can be written, that shows before the work, not after it
            saved = time.monotonic()
            for result in _results(left, options):
                manifest.add(result)
                if result["error"]:
                    progress.say(f"weft: {result['error']}")
                progress.advance(1, pairs=f"{manifest.pairs:,}")
                if time.monotonic() - saved > _SECONDS_BETWEEN_MANIFESTS:
                    manifest.save()
                    saved = time.monotonic()
    manifest.save()
    failed = sum(bool(manifest.results[unit.output]["error"]) for unit in units)
    if failed:
        raise WeftError(f"{failed:,} of {len(units):,} parts could not be aligned; the same command tries them again")


def _results(units: list[Unit], options: Options) -> Iterator[dict[str, Any]]:
    """Yield what became of each unit, in any order."""
    import ray
    import ray.data

    logging.getLogger("ray.data").setLevel(logging.WARNING)
    ray.data.DataContext.get_current().enable_progress_bars = False
    ray.init(options.address, include_dashboard=False, logging_level=logging.WARNING)
    try:
        gpus = 1 if options.device == "cuda" else 0
        resources = ray.cluster_resources()
        room = int(resources.get("GPU", 0) if gpus else resources.get("CPU", 0) // options.cores)
        if not room:
            raise WeftError(
                f"the cluster has no node with {'a GPU' if gpus else f'{options.cores} cores'} for a worker"
            )
        workers = min(options.workers or room, room, len(units))
        # A unit is a block of its own: workers take one after the other, and what a dead one had is done by another.
        rows = ray.data.from_items([unit._asdict() for unit in units], override_num_blocks=len(units))
        yield from rows.map(
            UnitAligner,  # pyrefly: ignore
            fn_constructor_args=(options.output, options.align),
            num_cpus=options.cores,
            num_gpus=gpus,
            compute=ray.data.ActorPoolStrategy(min_size=1, max_size=workers),
        ).iter_rows()
    finally:
        ray.shutdown()
