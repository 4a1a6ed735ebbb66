"""Hidden characters are removed, those that writing needs are kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_butler.policy.memories.visible_text import visible_text


@pytest.mark.parametrize(
    "text",
    ["tea\tand\nmilk\r\n", "👨‍👩‍👧 ❤️ 1️⃣ 🏳️‍🌈 👩🏽‍💻", "می‌خواهم", "क्‍ष", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "naïve café", "日本語 ไทย 한국어"],
)
def test_what_people_write_stays(text: str) -> None:
    """Line breaks, emoji, joiners of scripts that join, flags, accents."""
    assert visible_text(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\u202eb\u2066c\u200fd", "abcd"),
        ("ig\u200bno\u00adre\ufeff", "ignore"),
        ("a\u200db \u200c", "ab "),
        ("hi\U000e0041\U000e0042\U000e007f", "hi"),
        ("x\ufe00\ufe0f\U000e0100", "x"),
        ("\x1b[31mred\x1b[0m \x1b]0;title\x07bell\x07", "red bell"),
        ("a\rb\x0bc\u2028d\x85e", "a\nb\nc\nd\ne"),
        ("\u3164\u115f", ""),
    ],
)
def test_what_people_do_not_see_goes(text: str, expected: str) -> None:
    """Bidirectional controls, zero-width characters, tags, variation selectors, terminal escapes, controls."""
    assert visible_text(text) == expected


@given(st.text())
def test_nothing_is_left_to_remove(text: str) -> None:
    """Removing again changes nothing that a reader would miss: no bidirectional or escape character is left."""
    once = visible_text(text)
    assert not set(once) & set("\x1b\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u200b\ufeff")
