"""Prepared folders: what is left out, what is in them, and that failures leave nothing behind."""

from __future__ import annotations

import dataclasses
import itertools
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from weft.config import CorpusConfig, PrepareConfig, TextConfig
from weft.config_io import from_dict
from weft.corpus import build as prepare_module
from weft.corpus.build import prepare
from weft.corpus.made_up import sentence_pairs
from weft.corpus.prepared import PreparedCorpus, open_prepared, report
from weft.errors import BadLine, WeftError
from weft.storage import checksum_of
from weft.text import reading as corpus_module
from weft.text.spelling import Speller

WEFT = [sys.executable, "-m", "weft"]
# Runs weft with files limited to so many bytes: what a full disk does, on a disk that is not full.
ON_A_FULL_DISK = """
import os, resource, sys
limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
os.execv(sys.executable, [sys.executable, "-m", "weft", *sys.argv[2:]])
"""


def write_pairs(path: Path, pairs: Iterable[tuple[str, str]]) -> CorpusConfig:
    return write(path, "".join(f"{source}\t{target}\n" for source, target in pairs).encode())


def write(path: Path, content: bytes) -> CorpusConfig:
    path.write_bytes(content)
    return CorpusConfig(files=(str(path),))


def training_pairs(prepared: PreparedCorpus) -> list[tuple[str, str]]:
    """The normalised text of all pairs in a prepared folder."""
    decode = prepared.subwords.decode
    return [
        (decode(prepared.source[index].tolist()), decode(prepared.target[index].tolist()))
        for index in range(len(prepared))
    ]


def held_out_pairs(prepared: PreparedCorpus) -> list[tuple[str, ...]]:
    lines = prepared.held_out.read_text(encoding="utf-8").split("\n")
    assert lines.pop() == ""
    return [tuple(line.split("\t")) for line in lines]


def contents(folder: Path) -> dict[str, str]:
    return {path.name: checksum_of(path) for path in folder.iterdir()}


# -- what is left out --------------------------------------------------------------------------------------------------


@pytest.fixture
def mixed(tmp_path: Path) -> CorpusConfig:
    """Thirty good pairs, and some of everything that can be left out."""
    good = list(sentence_pairs(30, 2))
    lines = [f"{source}\t{target}".encode() for source, target in good]
    lines[5:5] = [b"", b"\t", b"only source\t", b" \tonly target"]
    lines[9:9] = [b"bad", b"a\tb\tc", b"\xff\tx"]
    lines += [b"w " * 51 + b"\tv", b"v\t" + b"w " * 51]
    lines += [b"one\tun deux trois quatre", b"one two three four\tun"]
    lines += [lines[0], lines[0].upper(), lines[0].replace(b" ", b"  "), lines[-1]]
    return write(tmp_path / "mixed.tsv", b"\n".join(lines) + b"\n")


def test_all_that_is_left_out_is_counted(mixed: CorpusConfig, tmp_path: Path) -> None:
    config = PrepareConfig(merges=50, longest=50, ratio=3.0, drop_duplicates=True, skip_bad=True)
    prepared = prepare([mixed], config, tmp_path / "corpus")
    assert prepared.manifest.counts == {
        "read": 45,
        "bad": 3,
        "empty": 4,
        "too long": 2,
        "unequal lengths": 3,
        "duplicates": 3,
        "kept": 30,
    }
    assert training_pairs(prepared) == [(source.lower(), target.lower()) for source, target in sentence_pairs(30, 2)]
    file = mixed.files[0]
    assert [line.partition(": ")[0] for line in prepared.manifest.bad_lines] == [f"{file}:{n}" for n in (10, 11, 12)]


def test_by_default_only_empty_pairs_and_very_long_ones_are_left_out(mixed: CorpusConfig, tmp_path: Path) -> None:
    counts = prepare([mixed], PrepareConfig(merges=50, skip_bad=True), tmp_path / "corpus").manifest.counts
    assert {name: count for name, count in counts.items() if count} == {"read": 45, "bad": 3, "empty": 4, "kept": 38}


def test_limits_are_the_last_that_is_kept(tmp_path: Path) -> None:
    pairs = [("w " * 6, "w " * 2), ("w " * 7, "w " * 7), ("w " * 8, "w " * 8), ("w " * 7, "w " * 2)]
    config = PrepareConfig(merges=5, longest=7, ratio=3.0)
    counts = prepare([write_pairs(tmp_path / "text.tsv", pairs)], config, tmp_path / "corpus").manifest.counts
    assert counts == {"read": 4, "kept": 2, "too long": 1, "unequal lengths": 1}


def test_the_report_names_every_reason(mixed: CorpusConfig, tmp_path: Path) -> None:
    config = PrepareConfig(merges=50, longest=50, ratio=3.0, drop_duplicates=True, skip_bad=True, hold_out=2)
    prepared = prepare([mixed], config, tmp_path / "corpus")
    text = report(prepared)
    counts = prepared.manifest.counts
    assert counts["held out"] == 2
    assert f"{counts['kept']} of 45 pairs" in text
    left_out = {name: count for name, count in counts.items() if name not in {"read", "kept"} and count}
    assert {"bad", "empty", "too long", "unequal lengths", "duplicates", "held out"} <= set(left_out)
    for name, count in left_out.items():
        assert f"{count} {name}" in text
    assert f"bad line {mixed.files[0]}:10: expected two columns" in text
    assert sum(left_out.values()) + counts["kept"] == counts["read"]


def test_the_report_shows_a_few_bad_lines_and_counts_the_others(tmp_path: Path) -> None:
    corpus = write(tmp_path / "text.tsv", b"a\tb\n" + b"bad\n" * 9)
    lines = report(prepare([corpus], PrepareConfig(merges=5, skip_bad=True), tmp_path / "corpus")).splitlines()
    assert sum(line.startswith("bad line ") for line in lines) == 5
    assert lines[-1] == "… and 4 more bad lines"


def test_the_report_has_no_line_for_nothing(tmp_path: Path) -> None:
    corpus = write(tmp_path / "text.tsv", b"a\tb\n")
    assert "left out" not in report(prepare([corpus], PrepareConfig(merges=5), tmp_path / "corpus"))


# -- held-out pairs ----------------------------------------------------------------------------------------------------


@pytest.fixture
def related(tmp_path: Path) -> CorpusConfig:
    """300 pairs in which many share a side, up to letter case."""
    pairs = list(sentence_pairs(100, 4))
    crossed = [(source.upper(), target) for (source, _), (_, target) in itertools.pairwise(pairs)]
    return write_pairs(tmp_path / "related.tsv", [*pairs, *crossed, *pairs, ("a dog", "kuno-un")])


def test_no_training_pair_shares_a_side_with_a_held_out_one(related: CorpusConfig, tmp_path: Path) -> None:
    prepared = prepare([related], PrepareConfig(merges=50, hold_out=10), tmp_path / "corpus")
    lines = Path(related.files[0]).read_text(encoding="utf-8").lower().splitlines()
    held_out = [tuple(side.lower() for side in pair) for pair in held_out_pairs(prepared)]
    sources, targets = {source for source, _ in held_out}, {target for _, target in held_out}
    everything = [tuple(line.split("\t")) for line in lines]
    apart = [pair for pair in everything if pair[0] not in sources and pair[1] not in targets]
    assert training_pairs(prepared) == apart
    assert len(set(held_out)) == 10 and set(held_out) <= set(everything)
    counts = prepared.manifest.counts
    assert counts["held out"] == 10
    assert counts["like held out"] == len(everything) - 10 - len(apart) >= 20
    assert counts["kept"] == len(apart) == len(prepared)


def test_held_out_pairs_are_in_the_words_of_the_user(tmp_path: Path) -> None:
    pairs = [(f"The  DOG\u00a0{number}", f"Le\tCHIEN {number}") for number in range(20)]
    (tmp_path / "text.en").write_text("".join(f"{source}\n" for source, _ in pairs), encoding="utf-8")
    (tmp_path / "text.fr").write_text("".join(f"{target}\n" for _, target in pairs), encoding="utf-8")
    corpus = CorpusConfig(source=(str(tmp_path / "text.en"),), target=(str(tmp_path / "text.fr"),))
    prepared = prepare([corpus], PrepareConfig(merges=20, hold_out=3), tmp_path / "corpus")
    expected = {(f"The DOG\u00a0{number}", f"Le CHIEN {number}") for number in range(20)}
    assert len(held_out_pairs(prepared)) == 3
    assert set(held_out_pairs(prepared)) < expected


def test_the_seed_chooses_what_is_held_out(text_file: Path, tmp_path: Path) -> None:
    corpus = CorpusConfig(files=(str(text_file),))
    chosen = [
        held_out_pairs(prepare([corpus], PrepareConfig(merges=10, hold_out=20, seed=seed), tmp_path / name))
        for name, seed in (("one", 1), ("again", 1), ("two", 2))
    ]
    assert chosen[0] == chosen[1] != chosen[2]


def test_without_hold_out_the_file_is_there_and_empty(text_file: Path, tmp_path: Path) -> None:
    prepared = prepare([CorpusConfig(files=(str(text_file),))], PrepareConfig(merges=10), tmp_path / "corpus")
    assert held_out_pairs(prepared) == []


@pytest.mark.parametrize("hold_out", [3, 4, 1000])
def test_more_cannot_be_held_out_than_there_is(hold_out: int, tmp_path: Path) -> None:
    corpus = write(tmp_path / "text.tsv", b"a\tb\nc\td\nA\tB\ne\tf\n")  # three different pairs
    with pytest.raises(WeftError, match=rf"cannot hold {hold_out:,} pairs out of 3 different ones"):
        prepare([corpus], PrepareConfig(merges=5, hold_out=hold_out), tmp_path / "corpus")
    assert os.listdir(tmp_path) == ["text.tsv"]


# -- what is inside ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        TextConfig(),
        TextConfig(lowercase=False),
        TextConfig(compatibility=True, sharp_s=True, strip_diacritics=True),
    ],
    ids=["lowercase", "nothing", "everything"],
)
def test_ids_decode_to_the_normalised_text(text: TextConfig, tmp_path: Path) -> None:
    pairs = [*sentence_pairs(20, 6), ("Die Straẞe ﬁel\u00a0auf", "L’İle 漢字 \u0301 ö"), ("</s>", "<pad>")]
    prepared = prepare(
        [write_pairs(tmp_path / "text.tsv", pairs)], PrepareConfig(text=text, merges=60), tmp_path / "out"
    )
    speller = Speller(text)
    expected = [tuple("".join(speller.texts(side)).strip() for side in pair) for pair in pairs]
    assert training_pairs(prepared) == expected
    assert prepared.manifest.pieces == {"source": len(prepared.source.ids), "target": len(prepared.target.ids)}


def test_raw_and_tokenised_text_are_the_same_text(tmp_path: Path) -> None:
    text = write(tmp_path / "text.tsv", b"It's water.\tC'est l'eau.\nIt 's water .\tC' est l' eau .\n")
    prepared = prepare([text], PrepareConfig(merges=5, drop_duplicates=True), tmp_path / "corpus")
    assert training_pairs(prepared) == [("it 's water .", "c' est l' eau .")]
    assert prepared.manifest.counts["duplicates"] == 1


def test_scripts_without_spaces_count_by_character(tmp_path: Path) -> None:
    text = write(tmp_path / "text.tsv", "我爱 北京。\tI love Beijing .\n".encode())
    with pytest.raises(WeftError, match="1 too long"):
        prepare([text], PrepareConfig(longest=4, merges=0), tmp_path / "corpus")
    assert len(prepare([text], PrepareConfig(longest=5, merges=0), tmp_path / "corpus")) == 1


def test_vocabularies_beyond_sixteen_bits_have_wider_ids(tmp_path: Path) -> None:
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=40)) for _ in range(5_000)]
    text = write_pairs(tmp_path / "text.tsv", ((f"{word} {word}", word) for word in words))
    prepared = prepare([text], PrepareConfig(merges=65_300), tmp_path / "corpus")
    assert prepared.manifest.id_type == "<u4"
    assert prepared.source.ids.max() == len(prepared.subwords) - 1 == 65_557
    assert [target for _, target in training_pairs(prepared)] == words


def test_the_manifest_records_options_inputs_and_checksums(text_file: Path, tmp_path: Path) -> None:
    config = PrepareConfig(text=TextConfig(sharp_s=True), merges=30, longest=90, ratio=9, hold_out=4, seed=8)
    prepared = prepare([CorpusConfig(files=(str(text_file),))], config, tmp_path / "corpus")
    manifest = prepared.manifest
    assert manifest.options == config
    assert prepared.config == config
    assert manifest.inputs == (CorpusConfig(files=(str(text_file),)),)
    recorded = {name: file.sha256 for name, file in manifest.files.items()}
    present = contents(tmp_path / "corpus")
    del present["manifest.json"]
    assert recorded == present
    assert set(recorded) == {
        "held-out.tsv", "source.ids", "source.offsets", "target.ids", "target.offsets", "tokenizer.json"
    }  # fmt: skip


def test_several_processes_make_the_same_folder_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # More pairs than a block of the last pass has (10,000), duplicates and a bad line among them.
    pairs = [f"The word{number % 3_000}\tle mot{number % 3_000} {number % 7}\n" for number in range(10_500)]
    corpus = write(tmp_path / "text.tsv", "".join([*pairs[:5_000], "bad\n", *pairs[5_000:]]).encode())
    config = PrepareConfig(merges=100, hold_out=50, skip_bad=True)
    monkeypatch.setattr(corpus_module, "_BLOCK_LINES", 3_000)
    manifests = []
    for processes in (1, 2):
        monkeypatch.setattr(prepare_module, "available_cores", lambda processes=processes: processes)
        manifests.append(prepare([corpus], config, tmp_path / f"with {processes}").manifest)
    assert manifests[0] == manifests[1]
    assert manifests[0].counts["kept"] > 10_000
    assert manifests[0].bad_lines[0].startswith(f"{corpus.files[0]}:5001: ")


# -- several corpora ---------------------------------------------------------------------------------------------------


@pytest.fixture
def three(tmp_path: Path) -> list[CorpusConfig]:
    """Corpora of three languages with the same English sentences, one of them with English first."""
    english = [f"this is sentence number {number} of them" for number in range(200)]
    rows = {"qq": english, "ww": english[:80], "zz": english[40:60]}
    corpora = []
    for name, sentences in rows.items():
        pairs = [(sentence.replace("e", name), sentence) for sentence in sentences]
        languages = (name, "en")
        if name == "ww":
            pairs, languages = [(target, source) for source, target in pairs], ("en", name)
        corpora.append(dataclasses.replace(write_pairs(tmp_path / f"{name}.tsv", pairs), languages=languages))
    return corpora


def test_corpora_follow_each_other_and_are_counted(three: list[CorpusConfig], tmp_path: Path) -> None:
    with Path(three[1].files[0]).open("a") as file:
        file.write("this is one\t\nthis is another\tthis is anothwwr\nthis is another\tthis is anothwwr\n")
    prepared = prepare(three, PrepareConfig(merges=50, drop_duplicates=True, hold_out=5), tmp_path / "corpus")
    records = prepared.manifest.corpora
    assert prepared.manifest.inputs == tuple(three)
    assert [record.counts["read"] for record in records] == [200, 83, 20]
    assert [record.counts.get("empty", 0) for record in records] == [0, 1, 0]
    assert [record.counts["duplicates"] for record in records] == [0, 1, 0]
    assert [record.pairs for record in records] == [record.counts["kept"] for record in records]
    for name in ("read", "kept", "held out", "like held out", "duplicates"):
        assert prepared.manifest.counts[name] == sum(record.counts[name] for record in records)
    assert sum(record.pairs for record in records) == len(prepared)
    pairs = training_pairs(prepared)
    first = 0
    for record, text in zip(records, three, strict=True):
        foreign = next(name for name in text.languages if name != "en")
        side = text.languages.index(foreign)
        assert all(foreign in pair[side] for pair in pairs[first : first + record.pairs])
        first += record.pairs


def test_a_corpus_of_which_nothing_is_left_is_named(three: list[CorpusConfig], tmp_path: Path) -> None:
    empty = dataclasses.replace(write(tmp_path / "empty.tsv", b"\n\n"), languages=("dd", "en"))
    with pytest.raises(WeftError, match=r"no sentence pair of dd-en is left to train on \(2 read; 2 empty\)"):
        prepare([*three, empty], PrepareConfig(merges=5), tmp_path / "corpus")


def test_merges_are_learned_from_what_is_drawn(tmp_path: Path) -> None:
    sizes = {"ab": 900, "cd": 100, "ce": 90}
    text = [write_pairs(tmp_path / f"{word}.tsv", [(word, word)] * size) for word, size in sizes.items()]
    plain, even = (
        prepare(text, PrepareConfig(merges=1, temperature=temperature), tmp_path / str(temperature))
        for temperature in (1.0, 100.0)
    )
    assert plain.subwords.spellings[-1] == "Ġa"  # 900 to 190 of Ġc
    assert even.subwords.spellings[-1] == "Ġc"  # nearly as often in each of two corpora
    assert len(plain.draws(seed=1)) == 1_090 and len(even.draws(seed=1)) == pytest.approx(2_665, abs=20)


def test_half_of_the_pairs_are_exchanged(three: list[CorpusConfig], tmp_path: Path) -> None:
    plain = training_pairs(prepare(three, PrepareConfig(merges=50), tmp_path / "plain"))
    mixed = training_pairs(prepare(three, PrepareConfig(merges=50, both_orders=True), tmp_path / "mixed"))
    exchanged = [pair[::-1] == other for pair, other in zip(plain, mixed, strict=True)]
    assert all(pair == other or swap for pair, other, swap in zip(plain, mixed, exchanged, strict=True))
    assert 110 < sum(exchanged) < 190


def test_some_sentences_are_spelled_as_others_do(tmp_path: Path) -> None:
    pairs = [(f"Straße {number}", f'the "street" {number}') for number in range(1_000)]
    text = dataclasses.replace(write_pairs(tmp_path / "text.tsv", pairs), languages=("de", "en"))
    spelled = training_pairs(prepare([text], PrepareConfig(merges=60, noise=0.2, hold_out=10), tmp_path / "corpus"))
    german = Counter(source.split()[0] for source, _ in spelled)
    english = Counter("“" in target for _, target in spelled)
    assert set(german) == {"straße", "strasse"} and 150 < german["strasse"] < 250
    assert 150 < english[True] < 250
    held_out = held_out_pairs(open_prepared(tmp_path / "corpus"))
    assert len(held_out) == 10 and set(held_out) <= set(pairs)


def test_pairs_by_way_of_english_are_a_corpus_of_their_own(three: list[CorpusConfig], tmp_path: Path) -> None:
    config = PrepareConfig(merges=50, pivots=100, zero_shot=("zz-qq",))
    prepared = prepare(three, config, tmp_path / "corpus")
    assert prepared.manifest.inputs == tuple(three)
    made = prepared.manifest.corpora[-1]
    assert (made.pairs, made.counts) == (100, {})
    assert "300 of 300 pairs and 100 by way of English" in report(prepared)
    assert "pivots: 100 pairs" in report(prepared)
    pairs = training_pairs(prepared)
    assert len(pairs) == 400 and prepared.manifest.counts["kept"] == 300
    for first, second in pairs[300:]:
        assert first != second
        assert first.replace("qq", "e").replace("ww", "e") == second.replace("ww", "e").replace("zz", "e")
    assert {("qq" in first, "zz" in second) for first, second in pairs[300:]} == {(True, False), (False, True)}


def test_pivots_need_shared_sentences(three: list[CorpusConfig], tmp_path: Path) -> None:
    with pytest.raises(WeftError, match="pivots: there are no two corpora with the same sentences of language en"):
        prepare(three[:1], PrepareConfig(merges=5, pivots=10), tmp_path / "corpus")


def test_a_prepared_corpus_stays_as_it_was(tmp_path: Path) -> None:
    """Runs are taken up again by the checksum of their corpus: the same text must always give the same ids."""
    chance = random.Random(3)
    sentence = [" ".join(f"word{chance.randrange(3_000)}" for _ in range(chance.randint(1, 20))) for _ in range(24_000)]
    text = write_pairs(tmp_path / "text.tsv", zip(sentence[::2], sentence[1::2], strict=True))
    prepared = prepare([text], PrepareConfig(merges=400, hold_out=20, drop_duplicates=True), tmp_path / "corpus")
    found = {name: file.sha256[:16] for name, file in prepared.manifest.files.items() if name != "tokenizer.json"}
    assert found == {
        "held-out.tsv": "f5eecdbe28faa598",
        "source.ids": "3bbe606404fce526",
        "source.offsets": "9acf627caf156c48",
        "target.ids": "04eaf3dd2fe743cc",
        "target.offsets": "4a96ded5cb9afa76",
    }


# -- folders that exist ------------------------------------------------------------------------------------------------


def test_a_folder_that_exists_is_not_touched(text_file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "precious").write_text("data", encoding="utf-8")
    with pytest.raises(WeftError, match=r"corpus: already exists; .* force its replacement"):
        prepare([CorpusConfig(files=(str(text_file),))], PrepareConfig(merges=10), folder)
    assert os.listdir(tmp_path) == ["corpus"]
    assert (folder / "precious").read_text(encoding="utf-8") == "data"


def test_a_folder_that_exists_is_replaced_where_that_is_forced(tmp_path: Path) -> None:
    # The second text has words of the first, so it must not be cut by what was learned from the first.
    first = write_pairs(tmp_path / "first.tsv", [("aa bb", "cc dd")] * 10)
    second = write_pairs(tmp_path / "second.tsv", [("dd cc", "bb aa"), ("dd dd", "bb cc")] * 10)
    config, folder = PrepareConfig(merges=50), tmp_path / "corpus"
    prepare([first], config, folder)
    assert training_pairs(prepare([second], config, folder, force=True))[:2] == [("dd cc", "bb aa"), ("dd dd", "bb cc")]
    assert sorted(os.listdir(tmp_path)) == ["corpus", "first.tsv", "second.tsv"]


def test_a_forced_run_that_fails_leaves_the_folder_as_it_was(text_file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    prepare([CorpusConfig(files=(str(text_file),))], PrepareConfig(merges=10), folder)
    before = contents(folder)
    with pytest.raises(BadLine):
        prepare([write(tmp_path / "text.tsv", b"bad\n")], PrepareConfig(merges=10), folder, force=True)
    assert contents(folder) == before
    assert sorted(os.listdir(tmp_path)) == ["corpus", "text.tsv"]


# -- failures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\tb\nbad\n", r"text\.tsv:2: expected two columns"),
        (b"", r"no sentence pair is left to train on \(0 read; no lines\)"),
        (b"\n\n", r"no sentence pair is left to train on \(2 read; 2 empty\)"),
        (b"w w w w w\tw\n", r"no sentence pair is left to train on \(1 read; 1 too long\)"),
    ],
    ids=["bad line", "empty file", "empty pairs", "long pairs"],
)
def test_a_failure_leaves_nothing(content: bytes, message: str, tmp_path: Path) -> None:
    corpus = write(tmp_path / "text.tsv", content)
    with pytest.raises(WeftError, match=message):
        prepare([corpus], PrepareConfig(merges=5, longest=4), tmp_path / "corpus")
    assert os.listdir(tmp_path) == ["text.tsv"]


def test_a_failure_in_a_worker_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_module, "_BLOCK_LINES", 4)
    monkeypatch.setattr(prepare_module, "available_cores", lambda: 2)
    corpus = write(tmp_path / "text.tsv", b"a\tb\n" * 9 + b"bad\n")
    with pytest.raises(BadLine, match=r"text\.tsv:10: "):
        prepare([corpus], PrepareConfig(merges=5), tmp_path / "corpus")
    assert os.listdir(tmp_path) == ["text.tsv"]


@pytest.mark.parametrize("name", ["merges", "longest", "ratio", "hold_out", "seed"])
def test_negative_numbers_are_an_error(name: str) -> None:
    with pytest.raises(WeftError, match=f"test: {name} must be at least 0, but is -1"):
        from_dict(PrepareConfig, {name: -1}, "test")


def test_force_does_not_delete_what_is_no_prepared_corpus(text_file: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(WeftError, match="not a prepared corpus"):
        prepare([CorpusConfig(files=(str(text_file),))], PrepareConfig(merges=5), tmp_path, force=True)
    assert os.listdir(tmp_path) == ["thesis.tex"]


@pytest.mark.parametrize(
    "limit",
    [
        pytest.param(3_000, id="first pass"),
        pytest.param(14_000, id="offsets"),
        pytest.param(24_007, id="last byte of the offsets"),
    ],
)
def test_a_full_disk_is_one_line_and_leaves_nothing(limit: int, tmp_path: Path) -> None:
    # 12,000 bytes of text and of ids, 24,008 bytes of offsets for each side
    (tmp_path / "text.tsv").write_bytes(b"a\tb\n" * 3_000)
    command = [sys.executable, "-c", ON_A_FULL_DISK, str(limit), "prepare", "text.tsv", "merges=9", "-o", "corpus"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert result.returncode == 1, result.stderr
    assert result.stderr.startswith("weft: ")
    assert result.stderr.count("\n") == 1
    assert "File too large" in result.stderr
    assert os.listdir(tmp_path) == ["text.tsv"]


def test_a_killed_run_leaves_nothing_that_opens_and_does_not_disturb_the_next(text_file: Path, tmp_path: Path) -> None:
    folder, partial = tmp_path / "corpus", tmp_path / "corpus.partial"
    process = subprocess.Popen([*WEFT, "prepare", "-", "merges=9", "-o", str(folder)], stdin=subprocess.PIPE)
    assert process.stdin is not None
    with process:
        process.stdin.write(text_file.read_bytes())
        process.stdin.flush()  # and no end: it waits for more
        while not list(partial.glob("*")):
            assert process.poll() is None
            time.sleep(0.02)
        process.kill()
    for left in (folder, partial):
        with pytest.raises(WeftError, match="not a prepared corpus"):
            open_prepared(left)
    assert partial.exists()  # it was killed in the middle
    assert len(prepare([CorpusConfig(files=(str(text_file),))], PrepareConfig(merges=10), folder)) == 2_000
    assert os.listdir(tmp_path) == ["corpus"]


def test_the_command_line_reports_and_makes_the_same_folder(text_file: Path, tmp_path: Path) -> None:
    settings = ["merges=20", "hold_out=5", "seed=3", "text.lowercase=false"]
    with text_file.open("rb") as stdin:
        result = subprocess.run(
            [*WEFT, "prepare", "-", *settings, "-o", "corpus"],
            stdin=stdin, cwd=tmp_path, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert result.stdout == ""
    config = PrepareConfig(text=TextConfig(lowercase=False), merges=20, hold_out=5, seed=3)
    here = prepare([CorpusConfig(files=(str(text_file),))], config, tmp_path / "here")
    there = open_prepared(tmp_path / "corpus")
    assert there.config == config
    assert there.checksum == here.checksum
    assert result.stderr.strip() == report(here).replace(str(here.folder), "corpus")
