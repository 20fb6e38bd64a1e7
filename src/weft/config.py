"""Every choice a user can make, as frozen dataclasses. A field's docstring is its help text on the command line."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Literal

from weft.errors import WeftError

MOST_PIECES = 1_023
"""Longest sentence, in pieces: models have positions for these and end-of-sentence."""

Direction = Literal["forward", "backward"]
Method = Literal["forward-pass", "optimised", "bidirectional", "guided"]
Symmetrisation = Literal[
    "intersection",
    "union",
    "grow-diag",
    "grow-diag-final",
    "grow-diag-final-and",
    "lilt-grow-diag",
    "lilt-grow-diag-final",
]
Merge = Literal["forward", "backward", "best-cells", "mean"] | Symmetrisation
"""The best cells of one direction or of both, cells with a high mean, or a symmetrisation of both directions."""


def _at_least(config: Any, least: int, *names: str) -> None:
    for name in names:
        if not least <= getattr(config, name) < float("inf"):  # also refuses nan
            raise WeftError(f"{name} must be at least {least}, but is {getattr(config, name)}")


def _check_width(config: Any) -> None:
    _at_least(config, 1, "width", "feed_forward", "heads")
    if config.width % (2 * config.heads):
        raise WeftError(f"width must be a multiple of twice the heads, but is {config.width} for {config.heads} heads")


def _shares(config: Any, *names: str) -> None:
    for name in names:
        if not 0 <= getattr(config, name) < 1:
            raise WeftError(f"{name} must be at least 0 and below 1, but is {getattr(config, name)}")


@dataclass(frozen=True)
class TextConfig:
    """How text is normalised before it is cut into pieces."""

    lowercase: bool = True
    """Lower-case every word."""
    compatibility: bool = False
    """Fold compatibility characters (Unicode NFKC): full-width letters, ligatures, superscripts."""
    plain_punctuation: bool = False
    """Write all quotation marks, apostrophes, dashes, commas and full stops as a keyboard has them: " ' - , ."""
    sharp_s: bool = False
    """Spell ß as ss, so that the old and the new German spelling meet."""
    strip_diacritics: bool = False
    """Remove accents and other combining marks."""


@dataclass(frozen=True)
class CorpusConfig:
    """Parallel text of two languages."""

    languages: tuple[str, ...] = ()
    """Codes of the source and the target language, such as ["es", "en"]; noise, pivots and memories look at them."""
    files: tuple[str, ...] = ()
    """One or many files of TSV or `source ||| target` lines, or memories."""
    source: tuple[str, ...] = ()
    """Source side of text in two files, with as many target files beside it."""
    target: tuple[str, ...] = ()
    form: Literal["auto", "columns", "jsonl"] = "auto"
    """How the lines of files with both sides hold a pair; auto: as the file's name says."""
    contract_french: Literal["no", "source", "target"] = "no"
    """The side that is French with all elisions and contractions taken apart (`de le`, `le énergie`): half of its
    training sentences are written as people write them."""

    def __post_init__(self) -> None:
        if self.languages and len(set(self.languages)) != 2:
            raise WeftError(f'languages must be two codes such as ["es", "en"], not {list(self.languages)}')

    @property
    def name(self) -> str:
        """What messages call it: its languages, or its first file."""
        return "-".join(self.languages) or (*self.files, *self.source, "pivots")[0]


@dataclass(frozen=True)
class PrepareConfig:
    """How parallel text becomes a prepared corpus."""

    text: TextConfig = field(default_factory=TextConfig)
    merges: int = 40_000
    """Merges of the joint byte pair encoding (the vocabulary has 258 entries more: the bytes, padding, end)."""
    longest: int = 200
    """Leave out pairs with more words than this on either side (0: keep all)."""
    ratio: float = 0.0
    """Leave out pairs with more than this many words on one side for each on the other (0: keep all)."""
    temperature: float = 1.0
    """Corpora of n pairs are drawn in proportion to n^(1/temperature): above 1, small ones more often than their size
    says. The corpus that is drawn least is seen once an epoch."""
    both_orders: bool = False
    """Exchange the sides of half of the pairs, so that both directions read and write all languages."""
    noise: float = 0.0
    """Spell this share of all sentences as other people do: without diacritics, with other quotes, with ss for ß."""
    pivots: int = 0
    """Make so many pairs of two other languages from pairs with the same English sentence, spread over all pairs of
    languages."""
    zero_shot: tuple[str, ...] = ()
    """Pairs of languages, such as "de-fr", of which none are made."""
    drop_duplicates: bool = False
    """Keep only the first of several equal pairs."""
    hold_out: int = 0
    """Hold this many pairs out of training, and with them every pair that shares a side with one of them."""
    seed: int = 1
    """Chooses the pairs to hold out."""
    skip_bad: bool = False
    """Leave out and count lines that cannot be read, instead of stopping at the first."""

    def __post_init__(self) -> None:
        _at_least(self, 0, "merges", "longest", "ratio", "hold_out", "seed", "pivots")
        _at_least(self, 1, "temperature")
        _shares(self, "noise")


@dataclass(frozen=True)
class ModelConfig:
    """The shape of a translation model."""

    width: int = 256
    """Size of embeddings and hidden states."""
    feed_forward: int = 512
    """Size of the hidden layer of the feed-forward networks."""
    heads: int = 8
    """Attention heads per layer."""
    encoder_layers: int = 6
    decoder_layers: int = 3
    dropout: float = 0.1
    """Dropout on embeddings and on the output of every sublayer."""

    def __post_init__(self) -> None:
        _at_least(self, 1, "encoder_layers", "decoder_layers")
        _check_width(self)
        _shares(self, "dropout")


PRESETS: dict[str, ModelConfig] = {
    "paper": ModelConfig(),
    "base": ModelConfig(width=512, feed_forward=2048, heads=8, encoder_layers=6, decoder_layers=6),
    "small": ModelConfig(width=128, feed_forward=512, heads=4, encoder_layers=3, decoder_layers=2),
    "tiny": ModelConfig(width=64, feed_forward=128, heads=4, encoder_layers=2, decoder_layers=2),
}


@dataclass(frozen=True)
class TrainingConfig:
    """How a model is trained."""

    updates: int = 90_000
    """Number of updates; the learning rate falls to zero over them."""
    minutes: float = 0.0
    """If above 0, the time to train: the learning rate falls over it, and training stops when it is spent, even if
    fewer updates were made."""
    target_tokens: int = 36_000
    """Real (unpadded) target tokens per update, over all processes."""
    row_length: int = 128
    """Sentence pairs are packed into rows of this many source and target tokens; longer ones don't take part."""
    optimiser: Literal["muon", "adamw"] = "muon"
    """Muon for the matrices of the layers and AdamW for the rest, or AdamW for all."""
    learning_rate: float = 8e-3
    """Peak learning rate."""
    weight_decay: float = 0.01
    warm_up: int = 400
    """Updates over which the learning rate rises to its peak."""
    label_smoothing: float = 0.1
    clip: float = 1.0
    """Largest norm of the gradient."""
    average: int = 0
    """The final model is the mean of this many last checkpoints (0 or 1: the last weights)."""
    checkpoint_every: int = 1_000
    """Updates between two checkpoints."""
    log_every: int = 50
    """Updates between two lines of metrics.jsonl."""
    precision: Literal["auto", "bfloat16", "float32"] = "auto"
    """auto: bfloat16 on a GPU that has it, float32 elsewhere."""
    compile: Literal["auto", "yes", "no"] = "auto"
    """Compile the model; auto: on a GPU only."""
    seed: int = 1

    def __post_init__(self) -> None:
        _at_least(self, 0, "updates", "minutes", "weight_decay", "warm_up", "average", "seed")
        _at_least(self, 1, "target_tokens", "row_length", "checkpoint_every", "log_every")
        _shares(self, "label_smoothing")
        if self.row_length > MOST_PIECES + 1:
            raise WeftError(f"row_length must be at most {MOST_PIECES + 1:,}, but is {self.row_length:,}")
        for name in ("clip", "learning_rate"):
            if not 0 < getattr(self, name) < float("inf"):
                raise WeftError(f"{name} must be above 0, but is {getattr(self, name)}")


_LAYER_TRAINING = TrainingConfig(updates=1_000, warm_up=100, weight_decay=0.0, label_smoothing=0.0)


@dataclass(frozen=True)
class AlignmentConfig:
    """The alignment layer and what it is trained to do."""

    hidden: int = 256
    """Size of the hidden layer of its feed-forward network."""
    dropout: float = 0.1
    logit_dropout: float = 0.1
    """Share of attention cells that are hidden from each word in training; without it the layer can collapse."""
    contiguity: float = 1.0
    """Weight λ of the contiguity loss in training."""
    kernel: int = 2
    """Side of the contiguity loss's kernel, 1 to 5."""
    agreement: float = 0.0
    """Weight of the agreement loss between the two directions (ours; 0 in the paper)."""
    least_agreement: float = 0.1
    """Layers whose attention agrees less than this (0 to 1) have collapsed: training starts again from others."""
    most_null: float = 0.6
    """The same if words give more than this share of their attention to end-of-sentence."""
    restarts: int = 2
    """After so many new starts training gives up."""
    training: TrainingConfig = field(default_factory=lambda: _LAYER_TRAINING)

    def __post_init__(self) -> None:
        _at_least(self, 1, "hidden", "kernel")
        _at_least(self, 0, "contiguity", "agreement", "restarts")
        _shares(self, "dropout", "logit_dropout")
        if self.kernel > 5:
            raise WeftError(f"kernel must be at most 5, but is {self.kernel}")
        for name in ("least_agreement", "most_null"):
            if not 0 <= getattr(self, name) <= 1:
                raise WeftError(f"{name} must be between 0 and 1, but is {getattr(self, name)}")


@dataclass(frozen=True)
class OptimisationConfig:
    """Attention optimisation: gradient descent on the attention logits of a sentence pair."""

    steps: int = 3
    step_size: float = 1.0
    contiguity: float = 1.0
    """Weight λ of the contiguity loss."""
    start: Literal["logits", "log-probabilities"] = "logits"
    """In two directions, start from the mean of both models' logits or of the logarithms of their attention."""

    def __post_init__(self) -> None:
        _at_least(self, 0, "steps", "step_size", "contiguity")


@dataclass(frozen=True)
class GuidedConfig:
    """The guided layer and the links it learns from."""

    dropout: float = 0.1
    heads: int = 1
    """Of its self-attention over the target sentence."""
    positions: bool = False
    """Add positional encodings to the self-attention. The word itself is only in the next decoder state, which is hard
    to find without them."""
    own_word: bool = False
    """Add the embedding of the target word itself to the query (ours; in the paper it is not)."""
    whole_target: bool = False
    """Add the states of the other direction's encoder, which has read the target sentence, to the query (ours)."""
    pairs: int = 0
    """Learn from so many pairs of the corpus, chosen at random (0: all)."""
    threshold: float = 0.35
    """The probability that two words need to be linked; beside another link, three fifths of it."""
    training: TrainingConfig = field(default_factory=lambda: _LAYER_TRAINING)

    def __post_init__(self) -> None:
        _at_least(self, 0, "pairs")
        _at_least(self, 1, "heads")
        _shares(self, "dropout", "threshold")


@dataclass(frozen=True)
class EncoderConfig:
    """The shape of the encoders of a small aligner."""

    layers: int = 3
    width: int = 256
    feed_forward: int = 512
    heads: int = 8

    def __post_init__(self) -> None:
        _at_least(self, 0, "layers")
        _check_width(self)


@dataclass(frozen=True)
class RefineConfig:
    """How a scorer learns its own attention as corrected by a lexicon of it."""

    pairs: int = 0
    """Learn from so many pairs at most (0: all that the scorer learned from)."""
    lexicon: int = 30_000
    """Find in so many of them how often words that meet are linked."""
    training: TrainingConfig = field(
        default_factory=lambda: TrainingConfig(
            updates=0,
            target_tokens=4_000,
            warm_up=30,
            learning_rate=1e-3,
            weight_decay=0.0,
            label_smoothing=0.0,
            checkpoint_every=100,
            log_every=10,
            compile="no",
        )
    )
    """No updates: no such round."""

    def __post_init__(self) -> None:
        _at_least(self, 0, "pairs")
        _at_least(self, 1, "lexicon")


@dataclass(frozen=True)
class ScorerConfig:
    """The small model that learns from the guided layers."""

    layers: int = 3
    """Encoder layers for each side, begun from those of the translation models if they have the same shape."""
    width: int = 0
    """Width of the encoders (0: that of the translation models). Narrower ones begin from embeddings reduced to it."""
    feed_forward: int = 0
    """Size of the hidden layer of their feed-forward networks (0: that of the translation models)."""
    shared: bool = False
    """One encoder reads both sides: half the size, and the same links in both directions."""
    dropout: float = 0.1
    """With far more pairs than it can learn by heart it learns faster without. The fast scorer never has any."""
    fast: EncoderConfig = field(default_factory=lambda: EncoderConfig(layers=3, width=128, feed_forward=256, heads=4))
    """A second, faster scorer, which reads the same embeddings (layers = 0: none)."""
    lexicon: int = 30_000
    """Correct what the teachers say by how often words that meet are linked, in so many pairs (0: do not)."""
    pairs: int = 0
    """Learn from so many pairs of the corpus, chosen at random (0: all)."""
    training: TrainingConfig = field(
        default_factory=lambda: TrainingConfig(updates=2_000, warm_up=100, learning_rate=2e-3, label_smoothing=0.0)
    )
    refine: RefineConfig = field(default_factory=RefineConfig)
    """A second round, in which the scorer learns its own attention as corrected by a lexicon of its own."""

    def __post_init__(self) -> None:
        _at_least(self, 1, "layers")
        _at_least(self, 0, "width", "feed_forward", "lexicon", "pairs")
        _shares(self, "dropout")

    def shape(self, model: ModelConfig) -> EncoderConfig:
        """Return the shape of the encoders, given that of the translation models."""
        return EncoderConfig(
            self.layers, self.width or model.width, self.feed_forward or model.feed_forward, model.heads
        )


@dataclass(frozen=True)
class TuneConfig:
    """How a small aligner is tuned to other text."""

    pairs: int = 40_000
    """Learn from so many pairs at most, chosen at random (0: as many as 3 GB of memory allow)."""
    merges: int = 4_000
    """Join pieces of the vocabulary that are often side by side, so many times at most."""
    training: TrainingConfig = field(
        default_factory=lambda: dataclasses.replace(
            RefineConfig().training, updates=600, target_tokens=1_500, learning_rate=2e-3
        )
    )
    dropout: float = 0.1

    def __post_init__(self) -> None:
        _at_least(self, 0, "pairs", "merges")
        _at_least(self.training, 1, "updates")
        _shares(self, "dropout")


@dataclass(frozen=True)
class AlignerConfig:
    """What config.json of a small aligner says."""

    format: str
    vocabulary: int
    """Entries of the tokenizer."""
    threshold: float
    """The probability that two words need to be linked; beside another link, three fifths of it."""
    encoders: EncoderConfig = field(default_factory=EncoderConfig)
    fast: EncoderConfig = field(default_factory=lambda: EncoderConfig(layers=0))
    """The fast encoders, if they have layers."""
    text: TextConfig = field(default_factory=TextConfig)
    shared: bool = False
    """One encoder reads both sides; so does one fast encoder."""

    def __post_init__(self) -> None:
        _at_least(self, 1, "vocabulary")
        _shares(self, "threshold")
