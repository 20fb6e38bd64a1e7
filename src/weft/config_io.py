"""Configs from plain data and back: TOML recipes and the command line come in, JSON goes out.

Prepared folders, checkpoints and models record ``to_dict`` of the config classes, so that every setting that has an
effect is recorded. All commands take settings in one form, ``name=value``, such as ``training.updates=500``.
"""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import json
import os
import re
import reprlib
import tomllib
import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from weft.errors import WeftError
from weft.storage import read_text

Config = TypeVar("Config")
_MOST_TOML = 10_000_000  # bytes
_SETTING = re.compile(r"[a-z_]+(\.[a-z_]+)*=")


def to_dict(config: Any) -> dict[str, Any]:
    """Turn a config into the plain data that JSON gives back, so that recorded and present settings can be compared."""
    return json.loads(json.dumps(dataclasses.asdict(config)))


def from_dict(kind: type[Config], values: dict[str, Any], where: str, base: Config | None = None) -> Config:
    """Build a config from plain data.

    Fields that ``values`` lacks are taken from ``base``, or from the defaults of ``kind`` if there is none. Raises
    WeftError, beginning with ``where``, for unknown names, wrong types and values that make no sense.
    """
    hints = typing.get_type_hints(kind)
    unknown = sorted(set(values) - set(hints))
    if unknown:
        meant = _names_like(unknown[0], hints)
        remedy = f"did you mean {' or '.join(meant)}?" if meant else f"known ones are {', '.join(hints)}"
        raise WeftError(f"{where}: unknown setting {reprlib.repr(unknown[0])}; {remedy}")
    defaults = {one.name: one.default_factory for one in dataclasses.fields(kind)}  # type: ignore[arg-type]
    arguments = {}
    for name, value in values.items():
        default = getattr(base, name) if base is not None else None
        if default is None and dataclasses.is_dataclass(hints[name]):
            default = defaults[name]()  # pyrefly: ignore
        arguments[name] = _convert(hints[name], value, f"{where}: {name}", default)
    try:
        return dataclasses.replace(base, **arguments) if base is not None else kind(**arguments)  # type: ignore[type-var]
    except WeftError as error:  # a value that makes no sense
        raise WeftError(f"{where}: {error}") from None
    except TypeError as error:  # a field without a default is missing
        raise WeftError(f"{where}: {str(error).partition(') ')[2] or error}") from None


def _names_like(wrong: str, hints: dict[str, Any]) -> list[str]:
    """Return settings of the same name in a table, such as ``prepare.merges`` for ``merges``, or of a similar one."""
    tables = {name: typing.get_type_hints(hint) for name, hint in hints.items() if dataclasses.is_dataclass(hint)}
    in_tables = [f"{table}.{wrong}" for table, members in tables.items() if wrong in members]
    return in_tables or difflib.get_close_matches(wrong, hints)


def _convert(hint: Any, value: Any, where: str, default: Any) -> Any:
    """Return ``value`` as the type ``hint``; what a table does not say is taken from ``default``."""
    if dataclasses.is_dataclass(hint):
        if not isinstance(value, dict):
            raise WeftError(f"{where} must be a table of settings, not {reprlib.repr(value)}")
        return from_dict(typing.cast(type, hint), value, where, base=default)
    origin = typing.get_origin(hint)
    if origin is Literal:
        if not any(type(value) is type(one) and value == one for one in typing.get_args(hint)):  # True is not 1
            raise WeftError(
                f"{where} must be one of {', '.join(map(str, typing.get_args(hint)))}, not {reprlib.repr(value)}"
            )
        return value
    if origin is tuple:
        if isinstance(value, dict) and dataclasses.is_dataclass(typing.get_args(hint)[0]):
            value = [value]  # one table instead of a list of tables
        if not isinstance(value, list | tuple):
            raise WeftError(f"{where} must be a list, not {reprlib.repr(value)}")
        return tuple(_convert(typing.get_args(hint)[0], item, where, None) for item in value)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        with contextlib.suppress(OverflowError):  # one of hundreds of digits is no float
            return float(value)
    if not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
        raise WeftError(f"{where} must be of type {hint.__name__}, not {reprlib.repr(value)}")
    return value


def read_toml(path: Path, settings: Sequence[str] = ()) -> dict[str, Any]:
    """Read a TOML file. Returns its values, replaced by those of ``settings`` such as ``training.updates=500``."""
    try:
        values = tomllib.loads(read_text(path, _MOST_TOML))
    except ValueError as error:  # also of numbers with thousands of digits
        raise WeftError(f"{path}: not a valid TOML file: {str(error)[:200]}") from None
    except RecursionError:
        raise WeftError(f"{path}: not a valid TOML file: too many tables or lists in one another") from None
    return put_settings(values, settings)


def put_settings(values: dict[str, Any], settings: Sequence[str]) -> dict[str, Any]:
    """Put settings such as ``training.updates=500`` into nested values. Returns ``values``."""
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise WeftError(f"{setting}: expected a setting such as training.updates=500")
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except (ValueError, RecursionError):
            value = text  # a string needs no quotes on the command line
        *tables, last = name.split(".")
        table = values
        for part in tables:
            table = table.setdefault(part, {})
            if not isinstance(table, dict):
                raise WeftError(f"{setting}: {part} is not a table of settings")
        table[last] = value
    return values


def with_settings(config: Config, settings: Sequence[str]) -> Config:
    """Return ``config`` with settings such as ``training.updates=500`` replaced."""
    return from_dict(type(config), put_settings({}, settings), "settings", base=config)


def is_setting(argument: str) -> bool:
    """Tell whether an argument of the command line is a setting; a file of that name counts as a file."""
    return bool(_SETTING.match(argument)) and not os.path.exists(argument)  # which may be too long for a name


def split_settings(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split arguments of the command line. Returns files and settings."""
    settings = [argument for argument in arguments if is_setting(argument)]
    return [argument for argument in arguments if argument not in settings], settings
