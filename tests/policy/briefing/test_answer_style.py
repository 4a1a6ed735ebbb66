"""Rules and preferences about how to answer are recognized, and no others."""

from collections.abc import Callable

import numpy as np
import pytest

from memory_butler.models import Maturity, MemoryType, Ranked
from memory_butler.policy.briefing.answer_style import is_unconditional, says_how_to_answer
from memory_butler.policy.briefing.task import Task

USER = frozenset({"ada", "ada_lovelace"})
TASK = Task(
    profile=np.zeros(2, np.float32),
    domains=["food", "answer_style"],
    names=frozenset(),
    user_names=USER,
    is_first_person=False,
)


@pytest.mark.parametrize(
    "text",
    [
        "Answer Ada like a text message, she reads it on the train between customers.",
        "Explain things to Ada Lovelace with an example.",
        "Write for me in plain words.",
        "Begin every answer with the result.",
        "Keep answers under 100 words.",
        "Give the answer first, then the reasons.",
        "Answer in Italian.",
        "Always reply briefly.",
        "The first line says what to do. No headings, no emojis.",
    ],
)
def test_a_rule_about_answers(text: str) -> None:
    assert says_how_to_answer(text, USER)


@pytest.mark.parametrize(
    "text",
    [
        "Answer customers in Portuguese.",
        "Answer Ada's mails within a day.",
        "Send answers to customers as a draft.",
        "Reply in the customer's language.",
        "Write minutes with headings and numbered paragraphs.",
        "Commit messages have one short line, no emojis.",
        "Indent with tabs.",
        "Tell customers a maximum price.",
    ],
)
def test_a_rule_about_other_texts(text: str) -> None:
    assert not says_how_to_answer(text, USER)


@pytest.mark.parametrize(
    ("predicate", "subject", "expected"),
    [
        ("prefers_answers", "user", True),
        ("answer_style", "Ada", True),
        ("communication_style", "user", True),
        ("prefers_answers", "Grace", False),
        ("customer_replies", "user", False),
        ("prefers_mail_style", "user", False),
    ],
)
def test_a_preference_of_the_user(entry: Callable[..., Ranked], predicate: str, subject: str, expected: bool) -> None:
    hit = entry(predicate_label=predicate, subject_label=subject).hit
    assert is_unconditional(hit, None, TASK) is expected


def test_the_profile_tells_too_and_warnings_are_left_out(entry: Callable[..., Ranked]) -> None:
    rule = entry(kind=MemoryType.RULE, maturity=Maturity.PROVEN).hit
    assert is_unconditional(rule, (0.1, 1.3), TASK)
    assert not is_unconditional(rule, (1.2, 1.3), TASK), "a rule about food"
    assert not is_unconditional(rule, None, TASK), "right after an upgrade"
    assert not is_unconditional(rule._replace(maturity=Maturity.ANTI_PATTERN), (0.1, 1.3), TASK)
