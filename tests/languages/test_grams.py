"""The n-grams that find texts in other languages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_butler.languages.grams import MAX_ASKED, MAX_INDEXED, asked_grams, indexed_grams

GRAMS = {
    "Tür": ["_tur"],
    "Türen": ["_tur", "ture", "uren"],
    "ab": ["_ab"],
    "우산을": ["우산", "산을"],
    "ร่มสีแดง": ["ร่มส", "่มสี", "มสีแ", "สีแด", "ีแดง"],
    "傘": [],
    "2028": [],
}
FINDS = [
    ("Wo liegt der Schlüssel?", "Der Haustürschlüssel ist weg."),
    ("¿Quién tiene un perro?", "Las perras del vecino ladran."),
    ("Где моя книга?", "Книги лежат на полке."),
    ("우산이 어디 있어?", "우산을 샀다"),
]


@pytest.mark.parametrize(("text", "expected"), GRAMS.items())
def test_a_text_has_its_grams(text: str, expected: list[str]) -> None:
    assert indexed_grams(text) == expected


@pytest.mark.parametrize(("question", "text"), FINDS)
def test_another_form_shares_grams(question: str, text: str) -> None:
    assert set(asked_grams(question)) & set(indexed_grams(text))


def test_function_words_are_not_asked_for() -> None:
    assert asked_grams("Wo ist der Ofen?") == ["_ofe", "ofen"]


@given(st.text(max_size=300))
def test_grams_are_distinct_and_bounded(text: str) -> None:
    many = indexed_grams(text * 50)
    assert len(set(many)) == len(many) <= MAX_INDEXED
    assert len(asked_grams(text)) <= MAX_ASKED
