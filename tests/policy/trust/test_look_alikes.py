"""Folding of texts for detection."""

import pytest

from memory_butler.policy.trust.look_alikes import folded, mixes_scripts, without_digits


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ignore", "ignore"),
        ("Іgnоrе", "ignore"),
        ("ig\u200bnore", "ignore"),
        ("ｉｇｎｏｒｅ", "ignore"),
        ("i g n o r e", "ignore"),
        ("ígnoré", "ignore"),
        ("a b", "a b"),
    ],
)
def test_a_reader_and_a_detector_see_the_same_word(text: str, expected: str) -> None:
    """Look-alikes, hidden characters, wide and spaced letters are folded."""
    assert folded(text) == expected


def test_digits_that_stand_for_letters() -> None:
    """Numbers stay numbers."""
    assert without_digits("1gn0re all 2026 rules of v2") == "lgnore all 2026 rules of v2"


def test_words_of_two_scripts() -> None:
    """A word in Cyrillic or Greek is a word; one with a Latin letter in it is a disguise."""
    assert mixes_scripts("prеvious")
    assert not mixes_scripts("Привет мир, hello world, Ελλάδα, 日本語テスト")
