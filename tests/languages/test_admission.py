"""Unicode normalization takes linear time, and leaves the text of every language as it is."""

import time
import unicodedata
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_butler.languages.admission import MOST_MARKS, nfc, without_long_runs

# Marks, and characters that are no marks but are taken apart into marks.
PUMPED = ["\u0301", "\u0316\u0301", "\u0344", "\u0f73", "\uff9e", "\u3099", "\U0001d165", "\u0f81\u0316"]


@pytest.mark.parametrize("unit", PUMPED)
@pytest.mark.parametrize("form", ["NFC", "NFKC", "NFD", "NFKD"])
def test_normalizing_a_cut_text_takes_linear_time(unit: str, form: Literal["NFC", "NFKC", "NFD", "NFKD"]) -> None:
    def seconds(characters: int) -> float:
        text = "a" + unit * (characters // len(unit))
        started = time.thread_time()
        unicodedata.normalize(form, without_long_runs(text))
        return time.thread_time() - started

    seconds(1000)
    least, most = (min(seconds(size) for _ in range(3)) for size in (200_000, 400_000))
    # Uncut, the second takes four times as long as the first, and both take many seconds.
    assert most < 3 * least + 0.05


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_a_text_without_long_runs_is_only_normalized(text: str) -> None:
    assert nfc(text) == unicodedata.normalize("NFC", text)


def test_of_a_long_run_the_first_marks_stay() -> None:
    assert without_long_runs("x" + "\u0316" * 500 + "y") == "x" + "\u0316" * MOST_MARKS + "y"
    assert without_long_runs("x" + "\u0316" * MOST_MARKS + "y") == "x" + "\u0316" * MOST_MARKS + "y"


@pytest.mark.parametrize("text", ["ngữ điệu Việt", "हिन्दी में लिखा", "ᾧ", "שָׁלוֹם", "ไม่เป็นไร", "각", "z͓͎̫a̧͎l̷̺g̡o̡͎̓"])
def test_the_words_of_all_languages_stay(text: str) -> None:
    for form in ("NFC", "NFD"):
        assert nfc(unicodedata.normalize(form, text)) == unicodedata.normalize("NFC", text)
