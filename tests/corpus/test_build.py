"""Prepared folders: what is left out, what is held out, and what is in them."""

from __future__ import annotations

import itertools
import os
import random
from collections import Counter
from pathlib import Path

import pytest
from prepared_text import contents, held_out_pairs, training_pairs, write, write_pairs

from weft.config import CorpusConfig, PrepareConfig, TextConfig
from weft.corpus import build as prepare_module
from weft.corpus.build import prepare
from weft.corpus.made_up import sentence_pairs
from weft.corpus.prepared import report
from weft.errors import WeftError
from weft.text import reading as corpus_module
from weft.text.spelling import Speller

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


def test_rare_words_are_forgotten_if_there_are_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("".join(random.Random(number).choices("abcdefghijklmnopqrstuvwxyz", k=6)) for number in range(1_000))
    pairs = [(f"dog cat {word}", f"chien chat {word[::-1]}") for word in words]
    text = [write_pairs(tmp_path / "text.tsv", pairs)]
    monkeypatch.setattr(prepare_module, "_BLOCK_PAIRS", 20)
    monkeypatch.setattr(prepare_module, "available_cores", lambda: 1)
    forget, sizes = prepare_module._without_rarest, []

    def forgetful(units: Counter[str]) -> Counter[str]:
        left = forget(units)
        sizes.append(len(left))
        return left

    monkeypatch.setattr(prepare_module, "_without_rarest", forgetful)
    config = PrepareConfig(merges=8)
    all_words = prepare(text, config, tmp_path / "all").subwords.spellings
    assert not sizes
    monkeypatch.setattr(prepare_module, "_MOST_UNITS", 100)
    assert prepare(text, config, tmp_path / "some").subwords.spellings == all_words
    assert len(sizes) > 10 and set(sizes) == {4}


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
