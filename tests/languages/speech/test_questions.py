"""Questions and suppositions, and what they tell."""

import pytest

from memory_butler.languages.speech.questions import is_question, is_supposed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("where did I park", True),
        ("what time does the pool open?", True),
        ("wo habe ich geparkt?", True),
        ("my son hates fish, what can he eat?", False),
        ("could you check the flat, my sister lives there now", False),
        ("could you check the flat, please", True),
        ("I live in Porto", False),
    ],
)
def test_a_question_may_tell_something(text: str, expected: bool) -> None:
    assert is_question(text, marked=text.endswith("?")) is expected


def test_suppositions() -> None:
    assert is_supposed("If I moved to Oslo I'd need a car")
    assert not is_supposed("I moved to Oslo")
