"""Misspelt names are corrected if one known name is close enough."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_butler.policy.retrieval.spelling import (
    MAX_CHECKED,
    corrected,
    corrections,
    edits,
    edits_allowed,
    words_to_check,
)

words = st.text("abcde", min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("word", "names", "right"),
    [
        ("kacpr", ["kacper"], "kacper"),
        ("kaczper", ["kacper", "karin"], "kacper"),
        ("schmitd", ["anna_schmidt"], "schmidt"),
        ("tidvaten", ["tidvatten", "tidvatten-dbt"], "tidvatten"),
        ("kuberntees", ["kubernetes"], "kubernetes"),
        ("kubrnets", ["kubernetes"], None),
        ("anns", ["anna"], None),
        ("marta", ["maria", "marla"], None),
        ("magda", ["magda"], None),
        ("garden", ["gordon_smith"], None),
    ],
)
def test_one_close_name_is_the_correction(word: str, names: list[str], right: str | None) -> None:
    """Short words, words with two close names, and words that are names already stay as they are."""
    assert corrections([word], names) == ({word: right} if right else {})


def test_one_edit_from_five_letters_and_two_from_nine() -> None:
    """A short word has too many neighbours to be corrected."""
    assert [edits_allowed("x" * length) for length in (1, 4, 5, 8, 9, 20)] == [0, 0, 1, 1, 2, 2]


def test_only_words_with_a_meaning_are_checked() -> None:
    """Stop words, roles, short words and numbers are no misspelt names."""
    assert words_to_check("What would Kacpr tell everyone about 12345 team?") == ("kacpr",)


def test_a_long_prompt_has_a_bounded_number_of_words_to_check() -> None:
    """Each is looked up in the database."""
    assert (
        len(words_to_check(" ".join(f"word{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(300)))) == MAX_CHECKED
    )


def test_a_correction_keeps_the_capital() -> None:
    """The corrected word is written like the one it replaces."""
    assert corrected("Is Kacpr home, kacpr?", {"kacpr": "kacper"}) == "Is Kacper home, kacper?"


@given(left=words, right=words, most=st.integers(0, 3))
def test_edits_are_symmetric_and_bounded(left: str, right: str, most: int) -> None:
    """The distance is the same both ways, 0 only for equal words, and never more than one above the limit."""
    found = edits(left, right, most)
    assert found == edits(right, left, most)
    assert (found == 0) == (left == right)
    assert found <= most + 1


@given(word=words, at=st.integers(0, 11), letter=st.sampled_from("abcde"))
def test_one_change_is_one_edit(word: str, at: int, letter: str) -> None:
    """A letter more, a letter less or two letters swapped count as one."""
    at %= len(word)
    assert edits(word, word[:at] + letter + word[at:], 2) == 1
    assert edits(word, word[:at] + word[at + 1 :], 2) == 1
    assert edits(word, word[: at - 1] + word[at : at + 1] + word[at - 1 : at] + word[at + 1 :], 2) <= 1 or at == 0
