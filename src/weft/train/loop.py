"""One training loop for all stages.

A ``Trainer`` makes the updates of a ``Task``; ``train`` runs one trainer or several side by side, each on its own
stream of the GPU, and takes care of checkpoints, metrics and signals; ``train_stage`` trains a task once.

An update has two halves. ``_gradients`` runs the task on this process's part of the batch; after gradients were summed
over all processes, ``_apply`` clips and steps. On a GPU both halves are recorded as CUDA graphs after a few updates, so
the hundreds of small kernels of an update cost two launches.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from weft.corpus.row_order import RowOrder
from weft.errors import WeftError
from weft.model.layers import DropoutKeys
from weft.progress import Progress
from weft.train.batches import Batches
from weft.train.checkpoint import Checkpoints, load_weights, save_weights
from weft.train.distributed import Process, stop_signals
from weft.train.optimisers import make_optimisers
from weft.train.runlog import RunLog
from weft.train.stages import WEIGHTS, finish, is_finished
from weft.train.task import Task

_EAGER_UPDATES = 3  # before a graph is recorded: compilation and lazy initialisation must be over
_SMALLEST_NORM = 1e-6  # added to norms of gradients before they are divided by


class Trainer:
    """Makes the updates of one task."""

    def __init__(self, task: Task, process: Process, folder: Path, settings: dict[str, Any]) -> None:
        config = task.training
        self.checkpoints = Checkpoints(folder, settings, config.average, config.checkpoint_every)
        self.checkpoints.check()
        task.prepare()
        rows = task.text.rows
        self.task, self.config, self.process = task, config, process
        self.order = order = RowOrder.for_budget(rows, config.target_tokens, config.seed, process.rank, process.world)
        self.optimisers = make_optimisers(task.module, config)
        self.update, self.seconds = self.checkpoints.resume(task.module, self.optimisers, process.device)
        self.saved = self.update  # updates that are in a checkpoint
        self.log = RunLog(folder, self.update) if process.first else None

        device = process.device
        self._parameters = [parameter for parameter in task.module.parameters() if parameter.requires_grad]
        self._sums = torch.zeros(2 + len(task.figures), device=device)  # of the task, in the last update
        self._totals = torch.zeros(len(self._sums) + 1, device=device, dtype=torch.float64)  # since the last report
        self._batches = Batches(lambda update: task.batch(order.batch(update)), self.update, device)
        self._keys = DropoutKeys(task.module, config.seed, process.rank * order.share, device)
        self._updates_in_totals = 0
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None
        self._graphs: list[torch.cuda.CUDAGraph] = []
        self._updates_made_here = 0
        self._time_used = self.seconds / 60 / config.minutes if config.minutes else 0.0

    @property
    def size(self) -> int:
        """Parameters of the module."""
        return sum(parameter.numel() for parameter in self.task.module.parameters())

    @property
    def finished(self) -> bool:
        return self.update >= self.config.updates or self._time_used >= 1

    @property
    def fraction(self) -> float:
        """How much of the training is done, by updates or by time, whichever is further."""
        return max(self.update / max(1, self.config.updates), self._time_used)

    def step(self) -> None:
        """Make one update. On a GPU the call returns before the work is done."""
        with torch.cuda.stream(self._stream) if self._stream else nullcontext():
            # Randomness depends on the seed and the number of the update only, so a resumed run is the same run.
            self._keys.set(self.update)
            self.task.begin(self.fraction)
            self._batches.advance()
            rate = learning_rate(self.fraction, self.update, self.config.warm_up)
            for optimiser in self.optimisers:
                for group in optimiser.param_groups:
                    group["lr"].fill_(rate * self.config.learning_rate)
            if self._stream is not None and self._updates_made_here == _EAGER_UPDATES:
                self._graphs = [self._record(self._gradients), self._record(self._apply)]
            if self._graphs:
                self._graphs[0].replay()
                self._share()
                self._graphs[1].replay()
            else:
                self._gradients()
                self._share()
                self._apply()
        self._updates_made_here += 1
        self.update += 1
        self._updates_in_totals += 1

    def _gradients(self) -> None:
        """Leave the gradients of the summed loss of this process's rows in the parameters, and the task's sums."""
        for parameter in self._parameters:
            parameter.grad = None
        sums = self.task.sums(self._batches.tensors)
        sums.loss.backward()
        # Everything is summed over updates and processes and then divided by all tokens, so means become sums here.
        found = [sums.loss, sums.tokens.float(), *(figure * sums.tokens for figure in sums.figures)]
        self._sums.copy_(torch.stack(found).detach())

    def _share(self) -> None:
        """Sum gradients and sums over all processes."""
        self.process.sum([self._sums, *self._gradient_list()])

    @torch.no_grad()
    def _apply(self) -> None:
        """Clip the mean gradient over all tokens and make a step."""
        gradients = self._gradient_list()
        norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients))) / self._sums[1]
        torch._foreach_mul_(gradients, (self.config.clip / (norm + _SMALLEST_NORM)).clamp(max=1) / self._sums[1])
        self._totals += torch.cat([self._sums, norm[None]])
        for optimiser in self.optimisers:
            optimiser.step()

    def _gradient_list(self) -> list[Tensor]:
        return [parameter.grad for parameter in self._parameters if parameter.grad is not None]

    def _record(self, half: Callable[[], None]) -> torch.cuda.CUDAGraph:
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=self._stream):
            half()
        return graph

    def report(self, seconds: float) -> dict[str, float]:
        """Return mean figures since the last report; waits for the device."""
        totals = self._finite_totals()
        loss, tokens, *figures, norm = totals
        with torch.cuda.stream(self._stream) if self._stream else nullcontext():
            self._totals.zero_()
        updates, self._updates_in_totals = self._updates_in_totals, 0
        return {
            "update": self.update,
            "loss": loss / tokens,
            **{name: figure / tokens for name, figure in zip(self.task.figures, figures, strict=True)},
            "gradient_norm": norm / updates,
            "learning_rate": self.optimisers[0].param_groups[0]["lr"].item(),
            "target_tokens": int(tokens),
            "tokens_per_second": tokens / seconds,
            "seconds": self.seconds,
        }

    def _finite_totals(self) -> list[float]:
        """Wait for the device. Returns the totals; raises WeftError if one of them is not a finite number."""
        with torch.cuda.stream(self._stream) if self._stream else nullcontext():
            totals = self._totals.tolist()
        if not all(map(math.isfinite, totals)):
            kept = f"the checkpoint of update {self.saved:,} is kept" if self.saved else "nothing was saved"
            raise WeftError(
                f"{self.checkpoints.folder}: the loss or its gradient is no longer a finite number by update "
                f"{self.update:,}; {kept}; start again with a lower learning_rate or a longer warm_up"
            )
        return totals

    def set_clock(self, seconds: float) -> None:
        """Take over the time that training has taken so far, the same in all processes."""
        self.seconds = seconds
        if self.config.minutes:
            self._time_used = seconds / 60 / self.config.minutes

    def wait(self) -> None:
        """Wait until the device has made all updates."""
        if self._stream is not None:
            self._stream.synchronize()

    def save(self) -> None:
        """Write a checkpoint, unless training has gone wrong since the one before."""
        self._finite_totals()
        if self.process.first:
            self.checkpoints.save(self.update, self.seconds, self.task.module, self.optimisers)
        self.saved = self.update
        self.process.wait()


def train(name: str, trainers: Sequence[Trainer], process: Process, progress: Progress) -> None:
    """Run trainers side by side until all are finished. A signal to stop saves them and exits."""
    config = trainers[0].config
    running = [trainer for trainer in trainers if not trainer.finished]
    if not running:
        return
    shown = _reached(running)
    if config.minutes:
        progress.phase(name, round(config.minutes * 60), "s", done=shown)
    else:
        progress.phase(name, config.updates, "updates", done=shown)
    base = {id(trainer): trainer.seconds for trainer in running}
    begin = last = time.perf_counter()

    def new() -> bool:
        return any(trainer.update > trainer.saved for trainer in trainers)

    with stop_signals(new) as stop:
        while running:
            for trainer in running:
                trainer.step()
            updates = running[0].update
            stopping = stop() if process.world == 1 else 0
            if updates % config.log_every == 0 or stopping or any(trainer.finished for trainer in running):
                stopping = process.highest(stop())
                reports = _report(running, process, begin, last, base)
                last = time.perf_counter()
                speed = sum(report["tokens_per_second"] for report in reports)
                losses = " ".join(f"{report['loss']:.3f}" for report in reports)
                progress.advance(_reached(running) - shown, **{"loss": losses, "tokens/s": f"{speed:,.0f}"})
                shown = _reached(running)
            for trainer in running:
                if trainer.finished or stopping or trainer.update % config.checkpoint_every == 0:
                    trainer.save()
            if stopping:
                if process.first:
                    update = min(trainer.update for trainer in trainers)
                    progress.say(f"stopped and saved at update {update:,}; the same command goes on from there")
                raise SystemExit(128 + stopping)
            running = [trainer for trainer in running if not trainer.finished]


def _reached(running: Sequence[Trainer]) -> int:
    """Return how far the last of the trainers is, in updates or, if time is the measure, in seconds."""
    return min(round(trainer.seconds) if trainer.config.minutes else trainer.update for trainer in running)


def _report(
    running: Sequence[Trainer], process: Process, begin: float, last: float, base: dict[int, float]
) -> list[dict[str, float]]:
    """Write the metrics of all trainers. Returns them."""
    for trainer in running:
        trainer.wait()
    now, previous = process.agree([time.perf_counter() - begin, last - begin])
    reports = []
    for trainer in running:
        trainer.set_clock(base[id(trainer)] + now)
        reports.append(trainer.report(now - previous))
        if trainer.log is not None:
            trainer.log.write(**reports[-1])
        trainer.task.watch(reports[-1], trainer.fraction)
    return reports


def learning_rate(fraction: float, update: int, warm_up: int) -> float:
    """Return the share of the peak rate: up over ``warm_up`` updates, and straight down to zero at the end of training.

    ``fraction`` is how much of the training is done. The first update, number 0, already moves.
    """
    rising = (update + 1) / warm_up if warm_up else 1.0
    return max(0.0, min(rising, 1.0, 1 - fraction))


def train_stage(name: str, task: Task, folder: Path, settings: dict[str, Any], process: Process) -> None:
    """Train the module of a task, or load its weights if that was done. Leaves it on the device in eval mode."""
    if is_finished(folder, settings):
        load_weights(folder / WEIGHTS, task.module)
    else:
        trainer = Trainer(task, process, folder, settings)
        with Progress(visible=process.first) as progress:
            if process.first:
                going_on = f"; going on from update {trainer.update:,}" if trainer.update else ""
                progress.say(f"{name}: {trainer.size:,} parameters{going_on}")
            train(name, [trainer], process, progress)
        if process.first:
            save_weights(folder / WEIGHTS, task.module)
            finish(folder, settings, trainer.seconds, updates=trainer.update)
        process.wait()
    task.module.to(process.device).eval()
