"""The whole system for one language pair: two frozen translation models and the layers on top of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from weft.config import AlignmentConfig, Direction, GuidedConfig, Method, ModelConfig, OptimisationConfig
from weft.config_io import from_dict, to_dict
from weft.errors import WeftError
from weft.model.alignment_layers import AlignmentLayer, Features, GuidedLayer, frozen_features
from weft.model.attention_optimisation import Predictor, initial_logits, optimise_attention
from weft.model.rows import DIRECTIONS, Attend, Attention, PairRows, half_precision, masked_softmax
from weft.model.torch_folder import Content, read_folder, with_weights, write_folder
from weft.model.translation import TranslationModel
from weft.text.subwords import Subwords

FORMAT = "weft alignment system 1"
METHODS: tuple[Method, ...] = ("forward-pass", "optimised", "bidirectional", "guided")


class DirectionModel(nn.Module):
    """A translation model and the layers on top of it."""

    def __init__(self, translation: TranslationModel, alignment: AlignmentConfig, guided: GuidedConfig | None) -> None:
        super().__init__()
        self.translation = translation.requires_grad_(False).eval()
        width = translation.config.width
        self.alignment = AlignmentLayer(width, alignment)
        self.guided = GuidedLayer(width, guided) if guided is not None else None

    @torch.no_grad()
    def encode(self, pair: PairRows) -> Tensor:
        """Return states of the translation model's encoder. (batch, source, width)"""
        return self.translation.encode(pair.source)

    def features(self, pair: PairRows, encoded: Tensor, read: Tensor | None = None) -> Features:
        return frozen_features(self.translation, pair.source, pair.target, encoded, read)

    def predictor(self, pair: PairRows) -> tuple[Tensor, Predictor]:
        """Return the alignment layer's logits, unmasked, and what turns attention into predictions."""
        logits, values = self.alignment.logits_and_values(self.features(pair, self.encode(pair)))
        return logits, Predictor(self.alignment, values, self.translation.table, pair.target, pair.source)

    def guided_logits(self, pair: PairRows, encoded: Tensor, read: Tensor) -> Tensor:
        """Return the guided layer's logits, unmasked; ``read`` are the states of the other direction's encoder."""
        if self.guided is None:
            raise WeftError("this system has no guided layers; train one with the stage guide")
        return self.guided(self.features(pair, encoded, read), pair.target)

    def plain_attention(self, pair: PairRows, layer: int) -> Tensor:
        """Return the translation model's own attention: the mean over the heads of a decoder layer."""
        memory = self.translation.encode(pair.source)
        logits = self.translation.cross_logits(pair.target, memory, pair.source, layer)
        return masked_softmax(logits, pair.cells()[:, None], 3).mean(1)


@dataclass
class AlignmentSystem:
    """Both directions, ready to align. Training puts new layers into its models."""

    models: dict[Direction, DirectionModel]
    subwords: Subwords
    alignment: AlignmentConfig
    optimisation: OptimisationConfig  # in one direction
    bidirectional: OptimisationConfig
    guided: GuidedConfig | None  # None: there are no guided layers

    @classmethod
    def on_top_of(
        cls,
        models: dict[Direction, TranslationModel],
        subwords: Subwords,
        alignment: AlignmentConfig,
        optimisation: OptimisationConfig,
        bidirectional: OptimisationConfig,
        guided: GuidedConfig | None,
    ) -> AlignmentSystem:
        """Put new layers on trained translation models."""
        both = {direction: DirectionModel(models[direction], alignment, guided) for direction in DIRECTIONS}
        return cls(both, subwords, alignment, optimisation, bidirectional, guided)

    @property
    def methods(self) -> tuple[Method, ...]:
        """The methods it can align by, from the simplest to the best."""
        return METHODS if self.guided is not None else METHODS[:-1]

    def attend(self, method: Method) -> Attend:
        """Return what attends as a method does, with this system's settings."""
        return {
            "forward-pass": partial(self.layer_attention, optimisation=OptimisationConfig(steps=0)),
            "optimised": partial(self.layer_attention, optimisation=self.optimisation),
            "bidirectional": partial(self.bidirectional_attention, optimisation=self.bidirectional),
            "guided": self.guided_attention,
        }[method]

    @property
    def threshold(self) -> float:
        """The mean attention that makes a link, for methods whose directions are merged by it."""
        return self.guided.threshold if self.guided is not None else 0.0

    @property
    def device(self) -> torch.device:
        return self.models["forward"].translation.table.device

    @property
    def width(self) -> int:
        """Width of the translation models."""
        return self.models["forward"].translation.config.width

    def new_alignment_layers(self, config: AlignmentConfig) -> nn.ModuleList:
        """Put untrained alignment layers into both directions. Returns them, forward first."""
        for model in self.models.values():
            model.alignment = AlignmentLayer(self.width, config)
        return nn.ModuleList(model.alignment for model in self.models.values())

    def new_guided_layers(self, config: GuidedConfig) -> nn.ModuleList:
        """Put guided layers that begin as the alignment layers into both directions. Returns them, forward first."""
        layers = nn.ModuleList()
        for model in self.models.values():
            model.guided = GuidedLayer(self.width, config)
            model.guided.start_from(model.alignment)
            layers.append(model.guided)
        return layers

    def inference(self) -> AlignmentSystem:
        """Switch dropout off. Returns the system."""
        for model in self.models.values():
            model.eval()
        return self

    @torch.no_grad()
    def plain_attention(self, pair: PairRows, layer: int) -> Attention:
        """Return the attention of the translation models themselves."""
        with half_precision(self.device):
            forward, backward = (
                self.models[direction].plain_attention(pair.seen(direction), layer) for direction in DIRECTIONS
            )
        return Attention(forward, backward.mT)

    @torch.no_grad()
    def layer_attention(self, pair: PairRows, optimisation: OptimisationConfig) -> Attention:
        """Return the attention of the alignment layers, each optimised on its own (0 steps: not at all)."""
        found = []
        for direction in DIRECTIONS:
            seen = pair.seen(direction)
            cells = seen.cells()
            with half_precision(self.device):
                logits, predictor = self.models[direction].predictor(seen)
                logits = optimise_attention(logits, cells, predictor, None, optimisation, self.alignment.kernel)
            found.append(masked_softmax(logits, cells, 2))
        return Attention(found[0], found[1].mT)

    @torch.no_grad()
    def bidirectional_attention(self, pair: PairRows, optimisation: OptimisationConfig) -> Attention:
        """Return two softmaxes of one matrix of logits that is optimised for both models at once."""
        cells = pair.cells()
        with half_precision(self.device):
            (forward, reads_source), (backward, reads_target) = (
                self.models[direction].predictor(pair.seen(direction)) for direction in DIRECTIONS
            )
            start = initial_logits(forward, backward, cells, optimisation.start)
            logits = optimise_attention(start, cells, reads_source, reads_target, optimisation, self.alignment.kernel)
        return Attention(masked_softmax(logits, cells, 2), masked_softmax(logits, cells, 1))

    @torch.no_grad()
    def guided_attention(self, pair: PairRows) -> Attention:
        """Return the attention of the guided layers."""
        with half_precision(self.device):
            forward, backward = self.guided_logits(pair)
        cells = pair.cells()
        return Attention(masked_softmax(forward, cells, 2), masked_softmax(backward.mT, cells, 1))

    def guided_logits(self, pair: PairRows) -> tuple[Tensor, Tensor]:
        """Return the guided layers' logits, unmasked: (batch, target, source) and (batch, source, target)."""
        seen = {direction: pair.seen(direction) for direction in DIRECTIONS}
        encoded = {direction: self.models[direction].encode(seen[direction]) for direction in DIRECTIONS}
        return (
            self.models["forward"].guided_logits(seen["forward"], encoded["forward"], read=encoded["backward"]),
            self.models["backward"].guided_logits(seen["backward"], encoded["backward"], read=encoded["forward"]),
        )

    def save(self, folder: Path, training: dict[str, Any]) -> None:
        shape = self.models["forward"].translation.config
        config = {
            "model": to_dict(shape),
            "alignment": to_dict(self.alignment),
            "optimisation": to_dict(self.optimisation),
            "bidirectional": to_dict(self.bidirectional),
            "guided": to_dict(self.guided) if self.guided is not None else None,
            "training": training,
        }
        weights = {
            f"{direction}.{name}": value
            for direction, model in self.models.items()
            for name, value in model.state_dict().items()
        }
        write_folder(folder, FORMAT, Content(config, weights, self.subwords))

    @classmethod
    def load(cls, folder: Path, device: torch.device) -> AlignmentSystem:
        """Load a system for inference."""
        needs = ("model", "alignment", "optimisation", "bidirectional", "guided")
        config, weights, subwords = read_folder(folder, FORMAT, needs)
        where = str(folder / "config.json")
        shape = from_dict(ModelConfig, config["model"], f"{where}: model")
        alignment = from_dict(AlignmentConfig, config["alignment"], f"{where}: alignment")
        optimisation, bidirectional = (
            from_dict(OptimisationConfig, config[name], f"{where}: {name}")
            for name in ("optimisation", "bidirectional")
        )
        guided = from_dict(GuidedConfig, config["guided"], f"{where}: guided") if config["guided"] is not None else None

        def build() -> DirectionModel:
            return DirectionModel(TranslationModel(shape, config["vocabulary"]), alignment, guided)

        models: dict[Direction, DirectionModel] = {}
        for direction in DIRECTIONS:
            prefix = f"{direction}."
            own = {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}
            models[direction] = with_weights(build, own, folder).to(device)
        return cls(models, subwords, alignment, optimisation, bidirectional, guided).inference()


def mean_guided_attention(systems: Sequence[AlignmentSystem], pair: PairRows) -> Attention:
    """Return the mean guided attention of several systems with the same subwords."""
    found = [system.guided_attention(pair) for system in systems]
    return Attention(*(torch.stack(direction).mean(0) for direction in zip(*found, strict=True)))
