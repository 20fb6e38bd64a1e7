"""The made-up language has what it promises."""

from __future__ import annotations

from weft.corpus.made_up import ARTICLES, LANGUAGES, NOUNS, VERBS, examples, links_between, translations
from weft.text.words import split_spaces


def test_examples_are_reproducible_and_well_formed() -> None:
    first, again = list(examples(200, 3)), list(examples(200, 3))
    assert first == again != list(examples(200, 4))
    for example in first:
        assert all(s < len(example.english) and t < len(example.made_up) for s, t in example.links)
        assert example.english == split_spaces(" ".join(example.english))


def test_links_join_translations() -> None:
    for example in examples(300, 1):
        for source, target in example.links:
            english, made_up = example.english[source], example.made_up[target]
            if english in NOUNS:
                assert made_up.startswith(NOUNS[english])
            elif english in ARTICLES:
                assert made_up.endswith(ARTICLES[english])
            elif english in VERBS:
                assert made_up in VERBS[english].split()


def test_every_difficulty_occurs() -> None:
    found = list(examples(300, 1))
    for example in found:
        linked_sources = {source for source, _ in example.links}
        linked_targets = {target for _, target in example.links}
        assert {example.english[i] for i in range(len(example.english)) if i not in linked_sources} <= {"well"}
        assert {example.made_up[j] for j in range(len(example.made_up)) if j not in linked_targets} <= {"ka"}
    assert any("well" in example.english for example in found) and any("ka" in example.made_up for example in found)
    assert any(len(set(example.english)) < len(example.english) for example in found)  # a word occurs twice
    crossing = [
        (a, b) for example in found for a in example.links for b in example.links if a[0] < b[0] and a[1] > b[1]
    ]
    assert crossing
    meanings = {example.english[s] for example in found for s, t in example.links if example.made_up[t] == "lente"}
    assert meanings == {"quiet", "slowly"}


def test_languages_say_the_same_in_other_letters_and_another_order() -> None:
    for sentences in translations(100, 5):
        english, first, second, third = (sentences[name] for name in ("en", *LANGUAGES))
        for other in (second, third):
            assert sorted(word.meaning for word in first) == sorted(word.meaning for word in other)
            assert not {word.spelling for word in first[:-1]} & {word.spelling for word in other}
        assert [word.meaning for word in second[:-1]] == [word.meaning for word in first[-2::-1]]
        assert third[0].meaning == first[-2].meaning and third[-1] == first[-1]
        between = links_between(second, third)
        assert between == {
            (s, t)
            for s, one in enumerate(second)
            for t, two in enumerate(third)
            if one.meaning and one.meaning == two.meaning
        }
        by_english = {
            (s, t) for e, s in links_between(english, second) for also, t in links_between(english, third) if also == e
        }
        assert between == by_english
    vocabularies = [
        {word.spelling.split("-")[0] for one in translations(300, 6) for word in one[name]} for name in LANGUAGES
    ]
    assert len({len(words) for words in vocabularies[:2]}) == 1  # no two words became one
