"""Highlight: the words of a text that a search asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_butler.policy.retrieval.highlight import has_words, highlighted


@pytest.mark.parametrize(
    ("text", "query", "marked"),
    [
        ("12 June is the birthday of Sofia", "Sofia's birthdays", ["birthday", "Sofia"]),
        ("Inês works on Tuesdays", "ines", ["Inês"]),
        ("The cats sleep", "cat", ["cats"]),
        ("a predicate", "cat", []),
        ("green as grass", "gra", ["grass"]),
        ("of the cat", "the", ["the"]),
        ("nothing", "", []),
    ],
)
def test_forms_of_the_words_are_marked(text: str, query: str, marked: list[str]) -> None:
    """Whatever the accents, the case and the ending; a part within a word is not."""
    assert [piece for is_marked, piece in highlighted(text, query) if is_marked] == marked
    assert has_words(text, query) == bool(marked)


@given(st.text(max_size=200), st.text(max_size=40))
def test_the_pieces_are_the_text(text: str, query: str) -> None:
    assert "".join(piece for _, piece in highlighted(text, query)) == text
