"""What has not the form of an answer is no answer in a small store."""

from datetime import UTC, datetime

import pytest

from memory_butler.policy.retrieval.answer_form import form_of
from memory_butler.policy.retrieval.question import parse_question

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("when is Bev's birthday", "Bev was born on 3 May.", "Bev is the ward manager."),
        ("how old is Noa", "Noa is 31.", "Noa has a dog."),
        ("what is Jun's phone number", "Jun: 555 0134.", "Jun writes the gameplay code."),
        ("what's Derya's phone?", "Derya: 555 0134.", "Derya drives at night."),
        ("what's Petra's email", "petra@acme.example", "Petra runs the fork."),
        ("what is my salary at Kestrion", "The salary is 61,000 euros.", "The contract forbids side jobs."),
        ("what did the lawyer charge", "The lawyer took 400 euros.", "The lawyer answers late."),
    ],
)
def test_an_answer_has_the_form_that_is_asked_for(question: str, answer: str, other: str) -> None:
    has_form = form_of(parse_question(question, NOW))
    assert has_form is not None
    assert has_form(answer)
    assert not has_form(other)


@pytest.mark.parametrize(
    "question",
    [
        *("who is Alma", "what did the school want", "what did Vicent e-mail about", "which phone case does Anna like"),
        *(
            "Anna's phone is 555 0199 now. Anna likes jazz.",
            "prepare the salary talk with Tom",
            "mum's phone is broken",
        ),
    ],
)
def test_other_questions_take_any_form(question: str) -> None:
    assert form_of(parse_question(question, NOW)) is None
