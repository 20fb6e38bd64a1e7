"""Units: what text is cut into before it is cut into pieces, in every language by the same rule."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.text.units import INVISIBLE, SPACE, chunk_spans, chunks, unit_spans

SENTENCES = [  # language, text as people write it, its units
    ("ar", "وبالنسبة للشخص الذي كتبها، فلن يعود.", "وبالنسبة|للشخص|الذي|كتبها|،|فلن|يعود|."),
    ("ar", "هٰذَا كِتَابٌ جميـــل؟", "هٰذَا|كِتَابٌ|جميـــل|؟"),
    ("ar", "«٢٬٥٠٠٫٥٠ ريال»", "«|٢٬٥٠٠٫٥٠|ريال|»"),
    ("bg", "„Елате!“ – каза сестра ми.", "„|Елате|!|“|–|каза|сестра|ми|."),
    ("cs", "Příliš žluťoučký kůň za 1.250,50 Kč.", "Příliš|žluťoučký|kůň|za|1.250,50|Kč|."),
    ("da", "TV'et og EU's regler.", "TV|'et|og|EU|'s|regler|."),
    ("de", "„Das kostet 3,50 €“, sagte er, z.B. hier.", "„|Das|kostet|3,50|€|“|,|sagte|er|,|z.B.|hier|."),
    ("de", "Donau\u00addampf\u00adschiffe bzw. Züge", "Donau\u00addampf\u00adschiffe|bzw.|Züge"),
    ("el", "Απ' το σπίτι, γι’ αυτό; «Ναι»", "Απ'|το|σπίτι|,|γι’|αυτό|;|«|Ναι|»"),
    ("en", "My sister's house (the old one) isn't sold.", "My|sister|'s|house|(|the|old|one|)|is|n't|sold|."),
    ("en", "“Don’t,” she said... We'll see!", "“|Do|n’t|,|”|she|said|...|We|'ll|see|!"),
    ("en", "It cost 1,250.50 at 12:30 in the U.S. market.", "It|cost|1,250.50|at|12:30|in|the|U.S.|market|."),
    ("en", "Mr. J. Smith and Dr. Jones.", "Mr.|J.|Smith|and|Dr.|Jones|."),
    ("en", "At https://a.org/b?c=1, or ask me@a.org.", "At|https://a.org/b?c=1|,|or|ask|me@a.org|."),
    ("en", "a well-known cherry-picker -- yes, 1/2", "a|well-known|cherry-picker|--|yes|,|1/2"),
    ("es", "¿Dónde está la estación? ¡Aquí!", "¿|Dónde|está|la|estación|?|¡|Aquí|!"),
    ("et", "Õun ei kuku kännust kaugele.", "Õun|ei|kuku|kännust|kaugele|."),
    ("fi", "Hän sanoi: ”Hyvää päivää”.", "Hän|sanoi|:|”|Hyvää|päivää|”|."),
    ("fr", "L'énergie d’aujourd'hui, qu'est-ce que c'est ?", "L'|énergie|d’|aujourd'hui|,|qu'|est-ce|que|c'|est|?"),
    ("fr", "Quelqu'un l'a vu jusqu'à l'11 mai.", "Quelqu'un|l'|a|vu|jusqu'|à|l'|11|mai|."),
    ("hi", "हिन्दी भाषा में लिखा है।", "हिन्दी|भाषा|में|लिखा|है|।"),
    ("hi", "क्या आप कॉफ़ी पीएँगे?", "क्या|आप|कॉफ़ी|पीएँगे|?"),
    ("hu", "Az EU-ban élő „polgárok” száma.", "Az|EU-ban|élő|„|polgárok|”|száma|."),
    ("id", "Anak-anak itu pergi ke sekolah.", "Anak-anak|itu|pergi|ke|sekolah|."),
    ("it", "Dell'Unione, un'altra, c'è un po' d'acqua.", "Dell'|Unione|,|un'|altra|,|c'|è|un|po'|d'|acqua|."),
    ("ja", "私は学生です。", "私|は|学生|です|。"),
    ("ja", "データベースのバックアップを作成します。", "データベース|の|バックアップ|を|作成|します|。"),
    ("ja", "「人々」とらーめん、ﾊﾞｽで２０１６年。", "「|人々|」|とらーめん|、|ﾊﾞｽ|で|２０１６|年|。"),
    ("ko", "저는 학교에 갑니다. API를 쓰십시오.", "저는|학교에|갑니다|.|API를|쓰십시오|."),
    ("nl", "'s avonds eet hij foto's, zo'n idee.", "'s|avonds|eet|hij|foto|'s|,|zo|'n|idee|."),
    ("pl", "Zażółć gęślą jaźń – powiedział.", "Zażółć|gęślą|jaźń|–|powiedział|."),
    ("pt", "Disse-lhe: não! São 2,5 km.", "Disse-lhe|:|não|!|São|2,5|km|."),
    ("ro", "Într-o zi, președintele a spus: „da”.", "Într-o|zi|,|președintele|a|spus|:|„|da|”|."),
    ("ru", "В 2016 г. А. С. Пушкин — поэт.", "В|2016|г.|А.|С.|Пушкин|—|поэт|."),
    ("sl", "Kje je železniška postaja?", "Kje|je|železniška|postaja|?"),
    ("sv", "Hon är från Malmö, sade hon.", "Hon|är|från|Malmö|,|sade|hon|."),
    ("th", "ฉันชอบเรียนภาษาไทย 123 บาท", "ฉันชอบเรียนภาษาไทย|123|บาท"),
    ("th", "เธอพูดว่า “ไปไหน”", "เธอพูดว่า|“|ไปไหน|”"),
    ("tr", "İstanbul'da yaşıyor; Ankara’ya gitti.", "İstanbul|'da|yaşıyor|;|Ankara|’ya|gitti|."),
    ("uk", "П'ять об’єктів і комп\u02bcютер.", "П'ять|об’єктів|і|комп\u02bcютер|."),
    ("vi", "Tôi không biết tiếng Việt.", "Tôi|không|biết|tiếng|Việt|."),
    ("vi", "Tie\u0302\u0301ng Vie\u0323\u0302t", "Tie\u0302\u0301ng|Vie\u0323\u0302t"),
    ("zh", "我爱北京。“软件”版本2.0（２０２４年）：", "我爱北京|。|“|软件|”|版本|2.0|（|２０２４|年|）|："),
    ("zh", "请访问https://a.org/b，联系me@a.org吧！", "请访问|https://a.org/b|，|联系|me@a.org|吧|！"),
    ("zh", "API接口", "API|接口"),
    ("emoji", "👩‍💻👍🏽 🇸🇮🇫🇷 ❤️ 1️⃣", "👩‍💻|👍🏽|🇸🇮|🇫🇷|❤️|1️⃣"),
    ("marks", "e\u0301te\u0301 می\u200cخواهم", "e\u0301te\u0301|می\u200cخواهم"),
    ("code", "%s {0} <b> snake_case a/b.txt()", "%|s|{|0|}|<|b|>|snake_case|a|/|b|.|txt|(|)"),
]  # fmt: skip


def units(text: str) -> list[str]:
    return [text[start:end] for start, end in unit_spans(text)]


@pytest.mark.parametrize(("language", "text", "expected"), SENTENCES)
def test_sentences_of_all_languages(language: str, text: str, expected: str) -> None:
    assert units(text) == expected.split("|")


@pytest.mark.parametrize(("language", "text", "expected"), SENTENCES)
def test_tokenised_text_has_the_same_units(language: str, text: str, expected: str) -> None:
    assert units(expected.replace("|", " ")) == expected.split("|")


def test_all_languages_have_sentences() -> None:
    wanted = "ar bg cs da de el en es et fi fr hi hu id it ja ko nl pl pt ro ru sl sv tr uk vi zh"
    assert set(wanted.split()) <= {language for language, _, _ in SENTENCES}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我 爱 \u3000北京", "我 爱 \u3000北京"),
        ("接口 文档 の データ ベース", "接口 文档|の|データ ベース"),
        ("ไป ไหน\u200bมา", "ไป ไหน\u200bมา"),
        ("我 1 爱", "我|1|爱"),
        ("我\nbin 爱", "我|bin|爱"),
    ],
)
def test_white_space_counts_for_nothing_inside_scripts_without_spaces(text: str, expected: str) -> None:
    assert units(text) == expected.split("|")
    assert len(chunk_spans(text)) == 1 or "\n" in text or "1" in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("المسموح ب ه ل لشخص الواحد", "المسموح|ب ه|ل لشخص|الواحد"),  # as treebanks split it
        ("كلام ه و ب شأن نا .", "كلام ه|و|ب شأن نا|."),
        ("أ ب 5 ل", "أ|ب|5|ل"),  # no word to be part of
        ("book ه ها", "book|ه ها"),
    ],
)
def test_parts_of_arabic_words_stand_with_the_rest(text: str, expected: str) -> None:
    assert units(text) == expected.split("|")
    assert [text[start:end] for start, end in chunk_spans(text)] == units(text)


def test_invisible_characters_belong_to_the_word_before_them_or_to_none() -> None:
    assert units("\ufeff\u200fשלום\u200f \u202aok\u202c!") == ["שלום\u200f", "ok\u202c", "!"]
    assert units("\u200b\u200e \u00ad") == []


def test_what_stands_for_a_space_is_one() -> None:
    assert units("▁Das ▁ alte▁Haus ▁▁ .") == ["Das", "alte", "Haus", "."]
    assert units("我 ▁ 爱▁你") == ["我 ▁ 爱▁你"]


@given(st.text())
def test_units_cover_everything_that_can_be_seen(text: str) -> None:
    found = unit_spans(text)
    assert all(start < end for start, end in found)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(found))
    outside = "".join(
        text[end:start]
        for end, start in zip([0, *(e for _, e in found)], [*(s for s, _ in found), len(text)], strict=True)
    )
    assert re.fullmatch(rf"[{SPACE}{INVISIBLE}]*", outside)


@given(st.text(st.characters() | st.sampled_from("我日の ー ำ'’.a\u0301\u200d\u00ad\u3000 "), max_size=30))
def test_no_unit_crosses_chunks(text: str) -> None:
    found = [
        (begin + start, begin + end) for begin, last in chunk_spans(text) for start, end in unit_spans(text[begin:last])
    ]
    assert found == unit_spans(text)


@pytest.mark.parametrize(
    "unit",
    [*("字", "か", "字 ", "a.-+", "a@", "-", "x'", ".", "www.", "www.,", "https://.", "1.", "a-", "a\u0301", "\u200d"),
     *("a@b.", "a.", "prud'", "an't", "nn'", "a ", " ", "\u200b", "ก ", "🇦", "👩\u200d", "п'", "l'", "ー", "\ufe0f")],
)  # fmt: skip
@pytest.mark.parametrize("begin", ["", "www.", "x@", "x@y", "http://", "字", "n"])
def test_time_is_linear(begin: str, unit: str) -> None:
    """Each takes a moment; if any rule were tried again from every character, minutes to hours."""
    text = begin + unit * (100_000 // len(unit))
    assert sum(end - start for start, end in unit_spans(text)) <= len(text)
    assert sum(end - start for start, end in chunk_spans(text)) <= len(text)


@pytest.mark.parametrize("word", ["n", "dont", "Straße", "σ", "п", "اَ", "كتاب", "हिन्दी", "한국어", "北", "ab北"])
def test_a_word_alone_has_the_units_that_it_has_in_text(word: str) -> None:
    assert unit_spans(word) == [span for span in unit_spans(f"{word} +") if span[1] <= len(word)]


@given(st.text(st.one_of(st.characters(max_codepoint=127), st.sampled_from(" \u200b\u3000北京بهل"))))
def test_chunks_are_those_of_their_spans(text: str) -> None:
    assert chunks(text) == [text[start:end] for start, end in chunk_spans(text)]
