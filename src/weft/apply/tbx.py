"""Dictionaries as TBX-Basic (ISO 30042:2019), the exchange format of the termbases of translators' tools."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.sax.saxutils import escape

from weft.apply.dictionaries import Entry
from weft.errors import WeftError

_LANGUAGE = re.compile(r"[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*")
_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
TBX_START = """<?xml version="1.0" encoding="UTF-8"?>
<tbx type="TBX-Basic" style="dca" xml:lang="en" xmlns="urn:iso:std:iso:30042:ed-2">
<tbxHeader><fileDesc><sourceDesc><p>Made of parallel text by weft lexicon</p></sourceDesc></fileDesc></tbxHeader>
<text><body>
"""
TBX_END = "</body></text>\n</tbx>\n"


def check_languages(languages: tuple[str, str]) -> None:
    """Raise WeftError unless both are codes of languages such as ``de`` or ``pt-BR``."""
    for code in languages:
        if not _LANGUAGE.fullmatch(code):
            raise WeftError(f"'{code}' is not the code of a language, such as de or pt-BR")


def tbx_concept(entries: Sequence[Entry], number: int, languages: tuple[str, str]) -> str:
    """Return a concept made of the entries of one source: its targets are its terms, with their examples."""
    source = _term(entries[0].source, entries[0].source_example)
    targets = "".join(_term(entry.target, entry.target_example) for entry in entries)
    sides = zip(languages, (source, targets), strict=True)
    sections = "".join(f'<langSec xml:lang="{code}">{terms}</langSec>' for code, terms in sides)
    return f'<conceptEntry id="c{number}">{sections}</conceptEntry>\n'


def _term(term: str, example: str) -> str:
    context = f'<descrip type="context">{_text(example)}</descrip>' if example else ""
    return f"<termSec><term>{_text(term)}</term>{context}</termSec>"


def _text(text: str) -> str:
    return escape(_NOT_IN_XML.sub("\ufffd", text))
