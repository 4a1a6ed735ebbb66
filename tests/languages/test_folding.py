"""One spelling for what is written in several ways."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_butler.languages.folding import fold

SPELLINGS = {
    "Müller": "Mueller",
    "Straße": "STRASSE",
    "crème brûlée": "creme brulee",
    "ёлка": "елка",
    "Łódź": "lodz",
    "IĞDIR": "iğdir",
    "Ｋ９": "k9",
    "ﾋﾟｱﾉ": "ピアノ",
    "أحمد": "احمد",
    "مَدرسة": "مدرسه",
    "café": "cafe\u0301",
}
APART = [("か", "が"), ("हिंदी", "हदी"), ("ที่", "ท"), ("학", "하")]


@pytest.mark.parametrize(("one", "other"), SPELLINGS.items())
def test_spellings_of_one_word_are_equal(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(("one", "other"), APART)
def test_signs_that_are_letters_stay(one: str, other: str) -> None:
    assert fold(one) != fold(other)


@given(st.text(max_size=50))
def test_case_and_normal_form_do_not_matter(text: str) -> None:
    assert fold(text.casefold()) == fold(fold(text)) or fold(fold(text)) == fold(fold(fold(text)))
