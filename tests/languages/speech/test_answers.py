"""Short answers and the questions they belong to."""

import pytest

from memory_butler.languages.speech.answers import asked, is_answer, tells_nothing


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Porto", True),
        ("6. wide fit", True),
        ("10", True),
        ("no, all Europe/Zurich", True),
        ("i do", True),
        ("I have lived in Porto since 2019", False),
        ("is that right?", False),
        ("the dog is fine and my sister in Leeds has a new flat with a garden", False),
        ("...", False),
    ],
)
def test_words_that_need_their_question(words: str, expected: bool) -> None:
    assert is_answer(words) is expected


def test_a_question_that_follows_another_is_quoted_with_it() -> None:
    """ "And for Callum?" alone asks for nothing that can be understood."""
    assert asked("Which size?", "Where to? – Porto") == "Which size?"
    assert asked("And for Callum?", "Which size? – 6") == "Which size? – 6 – And for Callum?"


@pytest.mark.parametrize("question", ["How are you?", "Anything else?", "Does that help?", "Wie kann ich helfen?"])
def test_questions_that_open_a_conversation_are_not_quoted(question: str) -> None:
    assert asked(question, "") == ""


@pytest.mark.parametrize(
    ("question", "answer", "expected"),
    [
        ("Shall I book the tickets?", "yes please", True),
        ("Shall I answer in French?", "always", False),
        ("Are you vegetarian?", "yes", False),
        ("Which colour?", "up to you", True),
        ("Which colour?", "ok", True),
        ("Which city?", "Porto", False),
    ],
)
def test_answers_without_news(question: str, answer: str, expected: bool) -> None:
    assert tells_nothing(question, answer) is expected


def test_a_spanish_question_begins_after_its_mark() -> None:
    assert asked("todo bien, ¿en qué te ayudo?", "") == ""
    assert asked("vale, ¿a qué hora cenáis?", "") != ""
