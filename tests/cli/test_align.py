"""``weft align`` and ``weft.load`` with the aligners that are shipped."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import weft

EXAMPLES = Path(__file__).parents[2] / "examples"
TEXT = EXAMPLES / "de-en.tsv"
PAIRS = [(source, target) for source, target in (line.split("\t") for line in TEXT.read_text("utf-8").splitlines())]


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "weft", *map(str, arguments)], capture_output=True, text=True)


def test_one_line_out_before_the_next_goes_in() -> None:
    command = [sys.executable, "-m", "weft", "align", "--model", "de-en", "--line-buffered"]
    expected = [str(one) for one in weft.load("de-en").align(PAIRS)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        assert process.stdin is not None and process.stdout is not None
        for (source, target), links in zip(PAIRS, expected, strict=True):
            process.stdin.write(f"{source}\t{target}\n")
            assert process.stdout.readline() == f"{links}\n"
        process.stdin.close()
    assert process.returncode == 0


def test_one_direction_alone_and_other_merges() -> None:
    found = {merge: run("align", TEXT, "--model", "de-en", "--merge", merge).stdout.splitlines()
             for merge in ("forward", "backward", "intersection", "union")}  # fmt: skip
    links = {merge: [set(line.split()) for line in lines] for merge, lines in found.items()}
    for forward, backward, both, either in zip(*links.values(), strict=True):
        assert both == forward & backward and either == forward | backward and len(both) > 3
    assert [str(one) for one in weft.load("de-en", merge="union").align(PAIRS)] == found["union"]


def test_a_higher_threshold_keeps_fewer_links() -> None:
    few, many = (
        [
            set(line.split())
            for line in run("align", TEXT, "--model", "de-en", "--threshold", threshold).stdout.splitlines()
        ]
        for threshold in (0.9, 0.3)
    )
    assert all(one <= other for one, other in zip(few, many, strict=True)) and few != many


def test_pairs_that_are_no_translations_have_low_scores() -> None:
    aligner = weft.load("de-en")
    wrong = [(source, target) for (source, _), (_, target) in zip(PAIRS, PAIRS[1:] + PAIRS[:1], strict=True)]
    assert min(one.score for one in aligner.align(PAIRS)) > 0.6 > max(one.score for one in aligner.align(wrong))


def test_many_threads_may_use_one_aligner() -> None:
    aligner = weft.load("de-en", threads=2)
    expected = list(aligner.align(PAIRS))
    with ThreadPoolExecutor(8) as threads:
        for found in threads.map(lambda _: list(aligner.align(PAIRS)), range(32)):
            assert found == expected
