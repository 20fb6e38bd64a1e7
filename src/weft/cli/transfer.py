"""``weft transfer``: the inline markup of sources onto their translations, in documents and in lines."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import tyro

from weft.apply.html_documents import HtmlDocument, HtmlTags, read_html_document
from weft.apply.markup import TagHandling
from weft.apply.xml_documents import read_xml_document
from weft.cli.aligning import BLOCK_LINES, AlignerPlan, Answer, Warnings, answers, pairs_of, plan_aligner
from weft.cli.options import Output, choice
from weft.cli.output import open_output
from weft.errors import BadLine, WeftError
from weft.progress import Progress, say
from weft.text.reading import Block, Corpus, read_text

if TYPE_CHECKING:
    from weft.align.windowed import WindowedAligner

Kind = Literal["lines", "html", "xml"]

_MEANT_FOR: dict[str, tuple[Kind, str]] = {
    "extract": ("html", "HTML pages"),
    "splitting_tags": ("html", "HTML pages"),
    "non_splitting_tags": ("html", "HTML pages"),
    "languages": ("xml", "TMX"),
    "all": ("xml", "XLIFF and TMX"),
    "tag_handling": ("lines", "lines of text"),
}


@dataclass(frozen=True)
class Options:
    """The options of the command, with their help."""

    file: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[FILE]")] = "-"
    """.xlf, .xliff, .tmx or .html; or lines of source with markup TAB target without, in all forms that weft align
    reads; - is stdin."""
    translation: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[TRANSLATION]")] = ""
    """Of a page: the lines that --extract has written, translated. Of lines: the target side, if FILE has only the
    source side."""
    _: KW_ONLY
    extract: bool = False
    """Write the text of a page, one segment a line, to be translated."""
    tag_handling: Annotated[TagHandling | None, choice("html,xml,xliff,markdown", "html")] = None
    """What the markup of lines is."""
    ignore_tags: Annotated[str, choice("TAG,TAG", "none")] = ""
    """Elements that are taken as they are, with their text."""
    splitting_tags: Annotated[str, choice("TAG,TAG", "none")] = ""
    """More elements that are blocks: their tags are borders of segments."""
    non_splitting_tags: Annotated[str, choice("TAG,TAG", "none")] = ""
    """Elements that are no blocks."""
    languages: Annotated[tuple[str, str] | None, choice("SOURCE TARGET", "as the file says, all targets")] = None
    """Which languages of a TMX file to take."""
    all: bool = False
    """Also place markup anew in targets that have that of their source already."""
    split: bool = False
    """An element whose words are apart in the translation may become several."""
    model: Annotated[str | None, choice("NAME", "multi")] = None
    """A name that `weft models` lists, or a folder."""
    reverse: bool = False
    """The source is in the model's target language."""
    fast: bool = False
    """Use the narrow encoders of a small aligner, if it has them: faster, less accurate."""
    output: Output = None
    """Write into this file instead of stdout."""
    cores: int = 0
    """How many cores of the processor to use; 0 for all."""

    @property
    def kind(self) -> Kind:
        name = self.file.lower()
        return (
            "html"
            if name.endswith((".html", ".htm"))
            else "xml"
            if name.endswith(("xlf", "xliff", ".tmx"))
            else "lines"
        )

    def check(self) -> None:
        """Raise WeftError for what can be told to be wrong without looking at any file."""
        for name, (kind, shown) in _MEANT_FOR.items():
            if getattr(self, name) and kind != self.kind:
                raise WeftError(f"--{name.replace('_', '-')} is for {shown}, which {self.file} is not")
        if self.kind == "xml" and self.translation:
            raise WeftError(f"{self.file}: has its targets in it; leave out {self.translation}")
        if self.kind == "html" and bool(self.translation) == self.extract:
            raise WeftError(
                f"{self.file}: either write its text with --extract, or give the translated text as a second file"
            )
