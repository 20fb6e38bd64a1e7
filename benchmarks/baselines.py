"""Statistical aligners on the same text, scored by the same code: eflomal, fast_align, MGIZA.

    python benchmarks/baselines.py OUT prepared --files train-*.tsv.xz --source dev.src --target dev.tgt --gold dev.gold

The programs are called by their names and must be on the PATH; those that are not are left out. ``prepared`` gives the
rules by which words are normalised and, with --pieces, cut: then the programs align pieces, and two words are linked if
any of their pieces are. Text to be scored is appended to the training text, as users of these programs do it; our own
models never see it. Each program leaves its links of that text in OUT, and its scores and times in OUT/scores.jsonl.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from weft.align.symmetrisation import symmetrise
from weft.align.windowed import WordPair
from weft.config import Merge, Symmetrisation
from weft.corpus.prepared import open_prepared
from weft.links import LinkLine, Links, format_links, read_gold
from weft.scoring import score
from weft.text.reading import Corpus
from weft.text.subwords import Pieces, Subwords
from weft.text.words import Sentence, split_spaces
from weft.train.report import RESAMPLES, SEED

MERGES: tuple[Symmetrisation, ...] = ("grow-diag", "lilt-grow-diag", "grow-diag-final", "grow-diag-final-and")
_LONGEST = 200  # words; longer sentences are left out, as in training


def word_pairs(corpus: Corpus) -> Iterator[WordPair]:
    for block in corpus.blocks():
        for source, target in block.pairs(on_bad=lambda bad: None):
            yield split_spaces(source), split_spaces(target)


class Text:
    """What the programs read: training text, then the sentences to be scored."""

    def __init__(self, folder: Path, subwords: Subwords, pieces: bool) -> None:
        self.folder, self._subwords, self._pieces = folder, subwords, pieces
        self.source, self.target, self.both = (folder / name for name in ("source", "target", "both"))
        self.scored: list[tuple[Pieces, Pieces]] = []

    def write(self, training: Iterator[WordPair], scored: Sequence[WordPair]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with (
            self.source.open("w", encoding="utf-8") as source,
            self.target.open("w", encoding="utf-8") as target,
            self.both.open("w", encoding="utf-8") as both,
        ):

            def write(pair: WordPair) -> None:
                sides = [" ".join(self._shown(words)) for words in pair]
                source.write(sides[0] + "\n")
                target.write(sides[1] + "\n")
                both.write(f"{sides[0]} ||| {sides[1]}\n")

            for pair in training:
                if all(0 < len(words) <= _LONGEST for words in pair):
                    write(pair)
            for pair in scored:
                write(pair)
        encode = self._subwords.encode
        self.scored = [(encode(Sentence.from_words(one)), encode(Sentence.from_words(other))) for one, other in scored]

    def _shown(self, words: list[str]) -> Iterator[str]:
        """Normalised words or pieces; a bar inside text would look like a separator."""
        if self._pieces:
            ids = self._subwords.encode(Sentence.from_words(words)).ids
            shown = [self._subwords.spellings[index] for index in ids]
        else:
            shown = [self._subwords.decode(self._subwords.ids(word)).replace(" ", "") or word for word in words]
        yield from (one.replace("|", "¦") for one in shown)

    def links(self, path: Path, turned: bool = False) -> list[Links]:
        """Links between words of the scored sentences, which are the last lines of a file."""
        lines = path.read_text().splitlines()[-len(self.scored) :]
        found = []
        for line, (source, target) in zip(lines, self.scored, strict=True):
            numbers = [tuple(map(int, link.split("-"))) for link in line.split()]
            pairs = [(j, i) if turned else (i, j) for i, j in numbers]
            if self._pieces:
                pairs = [
                    (first, second)
                    for i, j in pairs
                    for first in range(source.first[i], source.last[i] + 1)
                    for second in range(target.first[j], target.last[j] + 1)
                ]
            found.append(frozenset(pairs))
        return found


def eflomal(text: Text) -> tuple[list[Links], list[Links]]:
    forward, backward = text.folder / "forward", text.folder / "backward"
    _call(
        "eflomal-align", "--overwrite", "-m", "3", "-s", text.source, "-t", text.target, "-f", forward, "-r", backward
    )
    return text.links(forward), text.links(backward)


def fast_align(text: Text) -> tuple[list[Links], list[Links]]:
    for name, options in (("forward", ["-d", "-o", "-v"]), ("backward", ["-d", "-o", "-v", "-r"])):
        with (text.folder / name).open("w") as output:
            _call("fast_align", "-i", text.both, *options, output=output)
    return text.links(text.folder / "forward"), text.links(text.folder / "backward")


def mgiza(text: Text) -> tuple[list[Links], list[Links]]:
    """Five iterations each of Model 1, HMM, Model 3 and Model 4, both ways; words of 50 classes."""
    source, target = text.source, text.target
    _call("plain2snt", source, target)
    for side in (source, target):
        _call("mkcls", "-n2", "-c50", f"-p{side}", f"-V{side}.vcb.classes")
    directions = []
    for name, (of, to) in (("forward", (source, target)), ("backward", (target, source))):
        sentences = text.folder / f"{of.name}_{to.name}.snt"
        _call("snt2cooc", text.folder / f"{name}.cooc", f"{of}.vcb", f"{to}.vcb", sentences)
        files = [
            "-S",
            f"{of}.vcb",
            "-T",
            f"{to}.vcb",
            "-C",
            sentences,
            "-CoocurrenceFile",
            text.folder / f"{name}.cooc",
        ]
        iterations = ["-m1", "5", "-m2", "0", "-mh", "5", "-m3", "5", "-m4", "5"]
        _call("mgiza", *files, *iterations, "-ncpus", "2", "-o", text.folder / name)
        directions.append(text.links(_from_a3(text.folder, name), turned=name == "backward"))
    return directions[0], directions[1]


def _from_a3(folder: Path, name: str) -> Path:
    """The lines of MGIZA's parts, in order, as links from the first side's word to the second's."""
    lines: dict[int, str] = {}
    for part in folder.glob(f"{name}.A3.final.part*"):
        text = part.read_text(encoding="utf-8").rstrip("\n").split("\n")  # a word may hold other line ends
        for header, aligned in zip(text[::3], text[2::3], strict=True):
            links, word = [], -1  # the first word is NULL
            for token in aligned.split("({")[1:]:
                places = token.split("})")[0].split()
                links += [f"{word}-{int(place) - 1}" for place in places if word >= 0]
                word += 1
            lines[int(header.split("(")[1].split(")")[0])] = " ".join(links)
    path = folder / name
    path.write_text("".join(f"{lines[number]}\n" for number in sorted(lines)))
    return path


def _call(program: str, *arguments: object, output: object = subprocess.DEVNULL) -> None:
    command = [program, *map(str, arguments)]
    subprocess.run(command, check=True, stdout=output, stderr=subprocess.DEVNULL)  # pyrefly: ignore


PROGRAMS = {"eflomal": ("eflomal-align", eflomal), "fast_align": ("fast_align", fast_align), "mgiza": ("mgiza", mgiza)}


def scores(forward: list[Links], backward: list[Links], gold: list[LinkLine]) -> dict[Merge, dict[str, float]]:
    ways: dict[Merge, list[Links]] = {"forward": forward, "backward": backward}
    for merge in MERGES:
        ways[merge] = [symmetrise(*both, merge) for both in zip(forward, backward, strict=True)]
    found = {}
    for merge, links in ways.items():
        one = score(links, gold)
        low, high = one.interval(RESAMPLES, SEED)
        figures = {"aer": one.aer, "low": low, "high": high, "precision": one.precision, "recall": one.recall}
        found[merge] = {name: round(100 * figure, 2) for name, figure in figures.items()}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("prepared", type=Path)
    parser.add_argument("--files", nargs="+", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--target", required=True)
    parser.add_argument("--gold", required=True)
    parser.add_argument("--gold-base", type=int, choices=(0, 1), default=1)
    parser.add_argument("--pieces", action="store_true")
    parser.add_argument("--programs", nargs="+", choices=PROGRAMS, default=list(PROGRAMS))
    arguments = parser.parse_args()

    gold = read_gold(arguments.gold, arguments.gold_base)
    scored = list(word_pairs(Corpus(source=(arguments.source,), target=(arguments.target,))))
    text = Text(arguments.output / "text", open_prepared(arguments.prepared).subwords, arguments.pieces)
    text.write(word_pairs(Corpus(files=tuple(arguments.files))), scored)
    for name in arguments.programs:
        program, run = PROGRAMS[name]
        if not shutil.which(program):
            print(f"{name}: left out, for {program} is not on the PATH")
            continue
        clock, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        forward, backward = run(text)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        title = f"{name}-pieces" if arguments.pieces else name
        for way, links in (("forward", forward), ("backward", backward)):
            path = arguments.output / f"{title}.{way}.links"
            path.write_text("".join(f"{format_links(one)}\n" for one in links), encoding="utf-8")
        line = {"system": title, "seconds": round(time.perf_counter() - clock, 1), "cpu_seconds": round(cpu, 1)}
        line |= dict(scores(forward, backward, gold))
        with (arguments.output / "scores.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        print(json.dumps(line), flush=True)
    shutil.rmtree(text.folder)


if __name__ == "__main__":
    main()
