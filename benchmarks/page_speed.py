"""The page in a browser: how much it loads, how long a pair takes, and whether links are those of Python.

    python benchmarks/page_speed.py pairs.tsv
    python benchmarks/page_speed.py pairs.tsv --raw --rounds 5

``pairs.tsv`` has lines of source TAB target. Needs Debian's chromium, or ``--browser``. Prints a JSON line for the fast
encoders, if the model has some, and one for the accurate ones. Times are those of the browser's process in
milliseconds of the processor, a pair in the fastest of the rounds, so that other work on the machine counts little.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import CDPSession, Page, sync_playwright

from weft.align.onnx_aligner import Aligner
from weft.serve.page_files import write_page

_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
_LOAD = "async (fast) => { globalThis.aligner = await weft.aligner.load({ fast }); }"
_ALIGN = """async ([pairs, raw]) => {
  const cut = raw ? weft.words.rawSentence : weft.words.spacedSentence;
  const found = [];
  for (const [source, target] of pairs) found.push((await aligner.align(cut(source), cut(target))).links);
  return found;
}"""


def processor_seconds(session: CDPSession) -> float:
    """Return the time of the processor that the browser's process of the page has taken so far."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return next(metric["value"] for metric in metrics if metric["name"] == "ProcessTime")


def measure(page: Page, arguments: argparse.Namespace, pairs: list[tuple[str, str]], fast: bool) -> dict[str, Any]:
    """Load the aligner in an opened page and align the pairs there and in Python."""
    files: set[Path] = set()
    page.on("requestfinished", lambda request: files.add(Path(request.url.removeprefix("file://"))))
    page.reload()
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    began = processor_seconds(session)
    page.evaluate(_LOAD, fast)
    loaded = processor_seconds(session)
    rounds = []
    for _ in range(arguments.rounds):
        start = processor_seconds(session)
        links = page.evaluate(_ALIGN, [pairs, arguments.raw])
        rounds.append(processor_seconds(session) - start)
    with Aligner(arguments.model, raw=arguments.raw, fast=fast, exact=True) as aligner:
        wanted = [one.probabilities for one in aligner.align(pairs)]
    found = [{(source, target): probability for source, target, probability in one} for one in links]
    differences = [
        abs(one[link] - other[link]) for one, other in zip(found, wanted, strict=True) for link in one if link in other
    ]
    return {
        "fast": fast,
        "pairs": len(pairs),
        "loaded_megabytes": round(sum(file.stat().st_size for file in files if file.is_file()) / 1e6, 2),
        "load_milliseconds": round(1e3 * (loaded - began)),
        "milliseconds_a_pair": round(1e3 * min(rounds) / len(pairs), 2),
        "first_round": round(1e3 * rounds[0] / len(pairs), 2),
        "links": sum(map(len, wanted)),
        "pairs_with_other_links": sum(one.keys() != other.keys() for one, other in zip(found, wanted, strict=True)),
        "other_links": sum(len(one.keys() ^ other.keys()) for one, other in zip(found, wanted, strict=True)),
        "greatest_difference": round(max(differences, default=0), 6),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--model")
    parser.add_argument("--raw", action="store_true", help="find words in running text")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--browser", default="/usr/bin/chromium")
    arguments = parser.parse_args()

    lines = arguments.pairs.read_text(encoding="utf-8").splitlines()
    pairs = [(source, target) for source, target, *_ in (line.split("\t") for line in lines)]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        write_page(Path(folder) / "page", arguments.model)
        address = (Path(folder) / "page" / "index.html").as_uri()
        with playwright.chromium.launch(executable_path=arguments.browser, args=_FLAGS) as browser:
            page = browser.new_page()
            page.goto(address)
            choices = [True, False] if page.evaluate("weft.manifest.hasFast") else [False]
            page.close()
            for fast in choices:
                page = browser.new_page()
                page.goto(address)
                print(json.dumps(measure(page, arguments, pairs, fast)), flush=True)
                page.close()


if __name__ == "__main__":
    main()
