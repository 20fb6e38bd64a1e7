"""The small aligners that come with weft, and how the name of one becomes its folder."""

from __future__ import annotations

from pathlib import Path

from weft.errors import WeftError

FOLDER = Path(__file__).parent.parent / "models"


def shipped_models() -> dict[str, Path]:
    """The folders of all shipped models by name, such as de-en."""
    return {path.parent.name: path.parent for path in sorted(FOLDER.glob("*/config.json"))}


def find_model(name: str) -> Path:
    """The folder that a user means: that of a shipped model, or a path."""
    models = shipped_models()
    if name in models:
        return models[name]
    path = Path(name)
    if path.is_dir():
        return path
    turned = "-".join(reversed(name.split("-")))
    if turned in models:
        raise WeftError(f"{name}: use --model {turned} --reverse; the same model aligns both ways")
    raise WeftError(f"{name}: neither a shipped model ({', '.join(models) or 'there is none'}) nor a model folder")


def card(folder: Path) -> str:
    """What a model's README.md says of it."""
    path = folder / "README.md"
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise WeftError(f"{path}: {error.strerror}") from None
