"""Dictionaries as TBX-Basic (ISO 30042:2019), the exchange format of the termbases of translators' tools."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from xml.sax.saxutils import escape

from weft.apply.dictionaries import Entry
from weft.errors import WeftError

_LANGUAGE = re.compile(r"[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*")
_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_START = """<?xml version="1.0" encoding="UTF-8"?>
<tbx type="TBX-Basic" style="dca" xml:lang="en" xmlns="urn:iso:std:iso:30042:ed-2">
<tbxHeader><fileDesc><sourceDesc><p>Made of parallel text by weft lexicon</p></sourceDesc></fileDesc></tbxHeader>
<text><body>
"""
_END = "</body></text>\n</tbx>\n"


def check_languages(languages: tuple[str, str]) -> None:
    """Raise WeftError unless both are codes of languages such as ``de`` or ``pt-BR``."""
    for code in languages:
        if not _LANGUAGE.fullmatch(code):
            raise WeftError(f"'{code}' is not the code of a language, such as de or pt-BR")


def tbx_parts(entries: Iterable[Entry], languages: tuple[str, str]) -> Iterator[str]:
    """Yield the parts of a TBX file: a concept for each source, whose targets are its terms, with their examples."""
    yield _START
    for number, (_, group) in enumerate(itertools.groupby(entries, lambda entry: entry.source.lower()), 1):
        found = list(group)
        source = _term(found[0].source, found[0].source_example)
        targets = "".join(_term(entry.target, entry.target_example) for entry in found)
        sides = zip(languages, (source, targets), strict=True)
        sections = "".join(f'<langSec xml:lang="{code}">{terms}</langSec>' for code, terms in sides)
        yield f'<conceptEntry id="c{number}">{sections}</conceptEntry>\n'
    yield _END


def _term(term: str, example: str) -> str:
    context = f'<descrip type="context">{_text(example)}</descrip>' if example else ""
    return f"<termSec><term>{_text(term)}</term>{context}</termSec>"


def _text(text: str) -> str:
    return escape(_NOT_IN_XML.sub("\ufffd", text))
