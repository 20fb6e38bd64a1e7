"""Files of sentence pairs on the page: reading, order, gold, corrections, and what Python reads of them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from page_user import LATE, click_curve, close_page, drag, export, links, open_page, word
from playwright.sync_api import Browser, Page, expect

import weft
from weft.align.alignment import Alignment
from weft.align.formats import FORMATS
from weft.cli.evaluate import evaluate
from weft.links import format_links, read_gold, read_links
from weft.scoring import score
from weft.text.reading import Corpus
from weft.train.corrected_pairs import read_corrected

PAIRS = [
    ("Das alte Haus gehört meiner Schwester.", "The old house belongs to my sister."),
    ("Guten Morgen!", "Good morning!"),
    ("Der Zug nach Berlin fährt um acht Uhr ab.", "The train to Berlin leaves at eight o'clock."),
    ("Ich habe keine Zeit.", "Bananas are yellow, and the sea is deep."),
    ("Wir 😀 lesen ein Buch.", "We 😀 are reading a book."),
]
MENU = "#corpus-export"


@pytest.fixture(scope="module")
def page(browser: Browser, page_folder: Path) -> Iterator[Page]:
    page = open_page(browser, page_folder, tab="file")
    yield page
    close_page(page)


@pytest.fixture(scope="module")
def aligned() -> list[Alignment]:
    with weft.load(raw=True, fast=True, exact=True, cores=1) as aligner:
        return list(aligner.align(PAIRS))


def give(page: Page, *files: Path) -> None:
    """Choose files, and wait until all pairs are aligned."""
    page.set_input_files("#files", list(files))
    expect(page.locator("#file-name")).to_have_text(" + ".join(one.name for one in files if one.name != "gold.txt"))
    expect(page.locator("#aligning")).to_be_hidden(timeout=LATE)
    page.select_option("#order", "place")
    page.locator("#list button").first.click()


def tsv(folder: Path, pairs: list[tuple[str, str]] = PAIRS) -> Path:
    path = folder / f"{folder.name}.tsv"  # another name for each test, by which `give` knows that the page has read it
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), "utf-8")
    return path


def numbers(page: Page) -> list[int]:
    return [
        int(text)
        for text in page.locator("#list .number").evaluate_all("(all) => all.map((one) => one.firstChild.data)")
    ]


def test_pairs_are_aligned_and_sorted(page: Page, aligned: list[Alignment], tmp_path: Path) -> None:
    give(page, tsv(tmp_path))
    expect(page.locator("#file-facts")).to_have_text("5 pairs · 0 checked")
    assert numbers(page) == [1, 2, 3, 4, 5] and links(page) == str(aligned[0])
    page.select_option("#order", "doubt")
    assert numbers(page) == sorted(range(1, 6), key=lambda number: aligned[number - 1].score) and numbers(page)[0] == 4
    page.select_option("#order", "length")
    assert numbers(page)[0] == 2
    page.fill("#find", "berlin")
    assert numbers(page) == [3]
    page.fill("#find", "")
    page.select_option("#order", "place")
    page.click("#file .after")
    expect(word(page, "source", 0)).to_have_text("Guten")
    page.keyboard.press("Alt+ArrowRight")
    expect(word(page, "source", 0)).to_have_text("Der")
    page.click("#file .before")
    expect(page.locator("#list [aria-current=true]")).to_contain_text("Guten Morgen!")


def test_every_kind_of_file_is_read(page: Page, aligned: list[Alignment], tmp_path: Path) -> None:
    bars = tmp_path / "pairs.txt.gz"
    bars.write_bytes(gzip.compress("".join(f"{one} ||| {two}\n" for one, two in PAIRS).encode()))
    sides = [tmp_path / "text.de", tmp_path / "text.en"]
    for side, path in enumerate(sides):
        path.write_text("".join(f"{pair[side]}\n" for pair in PAIRS), "utf-8")
    rows = tmp_path / "set.jsonl"
    rows.write_text("".join(json.dumps({"translation": {"de": one, "en": two}}) + "\n" for one, two in PAIRS), "utf-8")
    for files in ([bars], sides, [rows]):
        give(page, *files)
        assert numbers(page) == [1, 2, 3, 4, 5] and links(page) == str(aligned[0])


def test_what_weft_align_writes_is_shown_as_it_is(page: Page, aligned: list[Alignment], tmp_path: Path) -> None:
    path = tmp_path / "links.jsonl"
    one = Alignment(aligned[4].source, aligned[4].target, {(1, 1): 0.5, (0, 3): 0.25}, score=0.125)
    path.write_text(FORMATS["jsonl"].one(one, 1) + FORMATS["jsonl"].one(aligned[0], 2), "utf-8")
    give(page, path)
    assert links(page) == "0-3 1-1"  # not those of the aligner
    assert page.locator("#file .words.source .word").all_text_contents() == aligned[4].source.words
    expect(page.locator("#file .score")).to_contain_text("Score 0.13")
    content = [json.loads(line) for line in export(page, MENU, "jsonl").splitlines()]
    assert content[0] == json.loads(FORMATS["jsonl"].one(one, 1)) | {"links": [[0, 3, 0.25], [1, 1, 0.5]]}
    assert content[1] == json.loads(FORMATS["jsonl"].one(aligned[0], 2))


def test_files_can_be_dropped(page: Page, tmp_path: Path) -> None:
    page.click("#tab-sentences")
    transfer = page.evaluate_handle(
        """(text) => {
            const transfer = new DataTransfer();
            transfer.items.add(new File([text], "dropped.tsv"));
            return transfer;
        }""",
        "das Haus\tthe house\n",
    )
    page.dispatch_event("body", "drop", {"dataTransfer": transfer})
    expect(page.locator("#file-name")).to_have_text("dropped.tsv")
    expect(page.locator("#file .words.source .word")).to_have_text(["das", "Haus"])


def test_gold_is_compared_and_scored_as_in_python(page: Page, aligned: list[Alignment], tmp_path: Path) -> None:
    lines = ["1-1 2-2 3p3 4-4 5p5", "1-1", "", "", "1-1 2p4"]
    gold_file = tmp_path / "gold.txt"
    gold_file.write_text("".join(f"{line}\n" for line in lines))
    give(page, tsv(tmp_path), gold_file)
    result = score([one.links for one in aligned], read_gold(str(gold_file)))
    expect(page.locator("#scores")).to_contain_text(
        f"AER {100 * result.aer:.1f} · precision {100 * result.precision:.1f}"
    )
    expect(page.locator("#scores")).to_contain_text(f"recall {100 * result.recall:.1f} · 5 pairs")
    gold = read_gold(str(gold_file))[0]
    assert page.locator("#file .link.extra").count() == len(aligned[0].links - gold.possible) > 0
    assert page.locator("#file .link.missing").count() == len(gold.possible - aligned[0].links) > 0
    expect(page.locator("#file .legend .missing")).to_be_visible()
    page.select_option("#filter", "different")
    assert 1 in numbers(page)
    page.select_option("#filter", "all")
    page.select_option("#base", "0")
    zero = score([one.links for one in aligned], read_gold(str(gold_file), base=0))
    expect(page.locator("#scores")).to_contain_text(f"AER {100 * zero.aer:.1f}")
    own = tmp_path / "own.txt"  # other links, later, counted from zero, which the page sees
    own.write_text("".join(f"{format_links(one.links)}\n" for one in aligned))
    page.set_input_files("#files", own)
    expect(page.locator("#scores")).to_contain_text("AER 0.0 · precision 100.0 · recall 100.0")
    assert page.locator("#file .link.extra, #file .link.missing").count() == 0


def test_corrections_are_gold_for_weft_evaluate(
    page: Page, aligned: list[Alignment], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    give(page, tsv(tmp_path))
    expect(page.locator("#file .checked")).to_have_attribute("aria-pressed", "false")
    drag(page, word(page, "source", 0), word(page, "target", 6))
    page.click("#file .after")
    page.click("#file .checked")  # right as it is
    expect(page.locator("#file-facts")).to_contain_text("2 checked")
    page.select_option("#reference", "model")
    expect(page.locator("#scores")).to_contain_text("The aligner's links against your corrections: AER ")
    page.select_option("#filter", "open")
    assert numbers(page) == [3, 4, 5]
    page.select_option("#filter", "all")
    files = {name: tmp_path / name for name in ("gold", "words", "pharaoh")}
    for name, path in files.items():
        path.write_bytes(export(page, MENU, name))
    expected = [aligned[0].links | {(0, 6)}, aligned[1].links]
    assert [line.sure for line in read_gold(str(files["gold"]))] == expected
    assert [line.sure for line in read_links(str(files["pharaoh"]))] == expected + [one.links for one in aligned[2:]]
    pairs = [pair for block in Corpus.of([str(files["words"])]).blocks() for pair in block.pairs(None)]
    assert pairs == [(" ".join(one.source.words), " ".join(one.target.words)) for one in aligned[:2]]
    system = tmp_path / "system"
    system.write_text("".join(f"{one}\n" for one in aligned[:2]))
    evaluate(str(files["gold"]), (str(system),), resamples=10)
    found = score([one.links for one in aligned[:2]], read_gold(str(files["gold"])))
    assert f"{100 * found.aer:.2f}" in capsys.readouterr().out
    expect(page.locator("#scores")).to_contain_text(f"AER {100 * found.aer:.1f}")


def test_corrections_are_what_weft_tune_learns(page: Page, aligned: list[Alignment], tmp_path: Path) -> None:
    give(page, tsv(tmp_path, PAIRS[3:]))  # not all, of which the browser keeps the corrections of other tests
    page.locator("#list button").nth(1).click()  # with an emoji, after which places differ in the browser
    expect(word(page, "source", 1)).to_have_text("😀")
    drag(page, word(page, "source", 0), word(page, "target", 2))
    click_curve(page, 0, shift=True)  # We: possible
    assert links(page).startswith("0p0 0-2 1-1 ")
    files = {name: tmp_path / f"saved.{name}" for name in ("jsonl", "words", "gold")}
    for name, path in files.items():
        path.write_bytes(export(page, MENU, name))
    found = aligned[4]
    (of_jsonl,) = read_corrected(str(files["jsonl"]))
    (of_gold,) = read_corrected(str(files["words"]), str(files["gold"]))
    for pair in (of_jsonl, of_gold):
        assert [pair.source.words, pair.target.words] == [found.source.words, found.target.words]
        assert pair.links.sure == found.links - {(0, 0)} | {(0, 2)} and pair.links.possible == found.links | {(0, 2)}
    assert of_jsonl.texts == PAIRS[4]


def test_corrections_are_kept_by_the_browser_and_in_jsonl(browser: Browser, page_folder: Path, tmp_path: Path) -> None:
    page = open_page(browser, page_folder, tab="file")
    give(page, tsv(tmp_path))
    drag(page, word(page, "source", 0), word(page, "target", 6))
    page.keyboard.press("p")  # nothing: no word has the focus
    corrected = links(page)
    saved = tmp_path / "saved.jsonl"
    saved.write_bytes(export(page, MENU, "jsonl"))
    page.reload()
    page.click("#tab-file")
    give(page, tsv(tmp_path))
    expect(page.locator("#file-facts")).to_contain_text("corrections of 1 pair kept from before")
    assert links(page) == corrected
    page.click("#file .undo")
    assert links(page) != corrected
    page.check("#file-spaced")  # other words, so other corrections
    expect(page.locator("#file-facts")).to_contain_text("0 checked")
    give(page, saved)
    expect(page.locator("#file-facts")).to_contain_text("1 checked")
    assert links(page) == corrected
    page.click("#file .reset")
    assert links(page) != corrected and links(page)
    close_page(page)


def test_a_browser_without_room_says_that_corrections_are_not_kept(
    browser: Browser, page_folder: Path, tmp_path: Path
) -> None:
    page = open_page(browser, page_folder, tab="file")
    page.evaluate(
        "() => { Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }; }"
    )
    give(page, tsv(tmp_path))
    assert "cannot keep" not in page.inner_text("#file-facts")
    page.click("#file .checked")
    expect(page.locator("#file-facts")).to_contain_text("this browser cannot keep your corrections: export them")
    is_asked = page.evaluate(
        """() => {
            const event = new Event("beforeunload", { cancelable: true });
            dispatchEvent(event);
            return event.defaultPrevented;
        }"""
    )
    assert is_asked
    close_page(page)


def test_keys_keep_their_place_in_the_list(page: Page, tmp_path: Path) -> None:
    give(page, tsv(tmp_path, [(f"Satz {number}", f"Sentence {number}") for number in range(20)]))
    page.locator("#list button").nth(2).focus()
    page.keyboard.press("Enter")
    expect(page.locator("#list button").nth(2)).to_be_focused()
    expect(page.locator("#list [aria-current=true]")).to_contain_text("Satz 2")
    page.focus("#page-after")
    page.keyboard.press("Enter")  # to the last page: there is no other after it
    expect(page.locator("#page-before")).to_be_focused()


def test_thousands_of_pairs_are_listed_at_once_and_aligned_bit_by_bit(page: Page, tmp_path: Path) -> None:
    pairs = [(f"Satz {number} ist ein Satz.", f"Sentence {number} is a sentence.") for number in range(5_000)]
    page.set_input_files("#files", tsv(tmp_path, pairs))
    expect(page.locator("#page-place")).to_have_text("1 of 334")
    assert page.locator("#list li").count() == 15
    page.click("#cancel")
    expect(page.locator("#cancel")).to_have_text("Continue")
    done = page.locator("#aligning progress").evaluate("(bar) => bar.value")
    assert done < 1
    page.click("#page-after")
    expect(page.locator("#page-place")).to_have_text("2 of 334")
    page.fill("#find", "Sentence 4321 ")
    page.locator("#list button").first.click()
    expect(word(page, "target", 1)).to_have_text("4321")
    page.fill("#find", "")
    page.click("#cancel")
    page.wait_for_function("(done) => document.querySelector('#aligning progress').value > done", arg=done)
    page.click("#cancel")
    expect(page.locator("#cancel")).to_have_text("Continue")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a.txt": "das Haus\n"}, "a.txt: has one side alone; give the file of the other side with it."),
        ({"a.txt": "das\nHaus\n", "b.txt": "the house\n"}, "a.txt has 2 lines but b.txt has 1"),
        ({"a.tsv": ""}, "has one side alone"),
        ({"a.tsv": b"\xff\xfe\t\xff"}, "a.tsv: is neither text in UTF-8 nor such text in .gz"),
        (
            {"a.tmx": '<?xml version="1.0"?>\n<tmx/>\n'},
            "a.tmx: is XML; give what `weft align --raw a.tmx --format jsonl`",
        ),
        ({"a.gz": b"no gzip"}, "a.gz: is neither text in UTF-8 nor such text in .gz"),
        ({"a.tsv": "a\tb\n", "b.tsv": "a\tb\n"}, "Give one file of pairs"),
        (
            {"a.tsv": "a\tb\n", "gold": "1-1\n2-2\n"},
            "The file of links: 2 lines but 1 sentence pair; is it of other text?",
        ),
        ({"a.tsv": "a\tb\nc\td\n", "gold": "1-1\n2x2\n"}, "The file of links: line 2: “2x2” is not a link"),
    ],
)
def test_files_that_cannot_be_read_are_named(
    page: Page, tmp_path: Path, files: dict[str, str | bytes], message: str
) -> None:
    for name, content in files.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    page.set_input_files("#files", [tmp_path / name for name in files])
    expect(page.locator("#file-problem")).to_contain_text(message)


def test_bad_lines_keep_their_place_and_scripts_in_files_do_not_run(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "bad.tsv"
    danger = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    path.write_text(f"{danger}\t{danger}\na\tb\tc\n\ndas Haus\tthe house\n")
    give(page, path)
    expect(page.locator("#file-facts")).to_contain_text("4 pairs · 0 checked · line 2: expected two columns, found 3")
    assert numbers(page) == [1, 2, 3, 4] and page.locator("main img, main script").count() == 0
    expect(page.locator("#list")).to_contain_text("<script>alert(2)</script>")
    assert len(export(page, MENU, "pharaoh").splitlines()) == 4
    page.locator("#list button").nth(3).click()
    assert links(page) == "0-0 1-1"
    jsonl = tmp_path / "bad.jsonl"
    sides = '{"text": "a b", "offsets": [[0, 1], [2, 3]]}'
    jsonl.write_text(f'{{"source": {sides}, "target": {sides}, "links": [[5, 0, 1]]}}\nno JSON\n{{"source": 1}}\n')
    page.set_input_files("#files", jsonl)
    expect(page.locator("#file-facts")).to_contain_text("line 1: a link leads out of the sentences; 2 more like it")
