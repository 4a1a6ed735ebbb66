"""Forms of one word and parts of compounds, by their spelling alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_butler.languages.folding import fold
from memory_butler.languages.similarity import syllable_similarity, word_similarity

RELATED = [
    ("Blume", "Blumen"),
    ("Haus", "Hochhaus"),
    ("Schlüssel", "Haustürschlüssel"),
    ("Fahrrad", "Fahrradschloss"),
    ("Garten", "Gärtner"),
    ("perro", "perras"),
    ("trabaja", "trabajaron"),
    ("cheval", "chevaux"),
    ("книга", "книгами"),
    ("писать", "записать"),
    ("kirja", "kirjoissa"),
    ("evler", "evlerimizden"),
    ("كتاب", "الكتاب"),
    ("samochód", "samochodem"),
]
UNRELATED = [("Haus", "Maus"), ("pan", "pain"), ("rot", "Brot"), ("сад", "суд"), ("immer", "schwimme"), ("a", "an")]
words = st.text(alphabet="abcdeäß", max_size=12)


@pytest.mark.parametrize(("one", "other"), RELATED)
def test_related_words_are_similar(one: str, other: str) -> None:
    assert 0.5 <= word_similarity(fold(one), fold(other)) < 1


@pytest.mark.parametrize(("one", "other"), UNRELATED)
def test_unrelated_words_are_not(one: str, other: str) -> None:
    assert word_similarity(fold(one), fold(other)) < 0.5


def test_particles_of_korean_do_not_matter() -> None:
    assert syllable_similarity("우산을", "우산은") > 0.8
    assert syllable_similarity("우산", "우산에서") > 0.8
    assert syllable_similarity("우산을", "사과를") == 0


@given(words, words)
def test_similarity_is_a_symmetric_share(one: str, other: str) -> None:
    for similarity in (word_similarity, syllable_similarity):
        assert 0 <= similarity(one, other) == similarity(other, one) <= 1
        assert (similarity(one, other) == 1) == (one == other)
