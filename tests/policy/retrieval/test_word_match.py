"""Relevance by words, where the judge does not know the language."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_butler.models import Hit
from memory_butler.policy.retrieval.question import parse_question
from memory_butler.policy.retrieval.word_match import word_relevances

NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)
FLOOR = 0.01
MakeHit = Callable[..., Hit]
CONTENTS = [
    "Der Haustürschlüssel hängt neben dem Kühlschrank.",
    "Die Katze schläft im Wäschekorb.",
    "Mein Spind im Schwimmbad hat die Nummer 238.",
    "The umbrella is in the hall.",
    "Rosalind hat im Herbst Geburtstag.",
]


def relevances(make_hit: MakeHit, query: str, *contents: str, **given: object) -> list[float | None]:
    hits = [make_hit(n, content=content, keyword_score=1.0, **given) for n, content in enumerate(contents, start=1)]
    parsed = parse_question(query, NOW)
    return word_relevances(hits, parsed)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("Wo sind die Schlüssel?", 0),
        ("Wo schlafen unsere Katzen?", 1),
        ("Was hat die Nummer 238?", 2),
        ("Wann wurde Rosalind geboren?", 4),
        ("Wie alt ist der Bürgermeister?", None),
    ],
)
def test_shared_words_decide(make_hit: MakeHit, query: str, found: int | None) -> None:
    by_words = relevances(make_hit, query, *CONTENTS)
    above = [at for at, likely in enumerate(by_words) if likely is not None and likely >= FLOOR]
    assert above == ([] if found is None else [found])


def test_the_judge_decides_between_english_texts(make_hit: MakeHit) -> None:
    by_words = relevances(make_hit, "Where is the umbrella of Rosalind?", *CONTENTS)
    assert by_words[3] is None
    assert by_words[4] is not None
    assert by_words[4] >= FLOOR
    assert relevances(make_hit, "umbrella hall", CONTENTS[3], "red umbrella") == [None, None]


def test_without_a_word_in_common_nothing_is_compared(make_hit: MakeHit) -> None:
    parsed = parse_question("Wo ist der Schlüssel?", NOW)
    hit = make_hit(1, content=CONTENTS[0], keyword_score=None, word_score=0.0, is_named=False)
    assert word_relevances([hit], parsed) == [0.0]
    assert word_relevances([], parsed) == []


def test_a_memory_of_the_named_is_more_relevant(make_hit: MakeHit) -> None:
    (plain,) = relevances(make_hit, "Wann hat Rosalind frei?", CONTENTS[4])
    (named,) = relevances(make_hit, "Wann hat Rosalind frei?", CONTENTS[4], is_named=True)
    assert plain is not None
    assert named is not None
    assert plain < named


@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=5))
def test_relevance_is_a_probability(make_hit: MakeHit, query: str, contents: list[str]) -> None:
    by_words = relevances(make_hit, query, *contents)
    assert len(by_words) == len(contents)
    assert all(likely is None or 0 <= likely <= 1 for likely in by_words)
