"""Finding the proposal in an answer, and what an answer costs."""

import json

import pytest

from memory_butler.ai.distillers.answers import MAX_ANSWER_CHARACTERS, charged, microdollars, proposal_in, spent
from memory_butler.errors import InternalError, UnusableProposal
from memory_butler.models import Usage

ONE = {"version": 1, "facts": [{"content": 'a { brace } and a "quote"'}]}
WRITTEN = json.dumps(ONE)


@pytest.mark.parametrize(
    "answer",
    [
        WRITTEN,
        f"```json\n{WRITTEN}\n```",
        f"Here you are:\n\n{WRITTEN}\n\nAnything else?",
        f'<think>Perhaps {{"version": 1, "facts": [1]}}? No.</think>{WRITTEN}',
        f'The form is {{"version": 1, "facts": [{{"content": "x"}}]}}. My answer: {WRITTEN}',
        f'{WRITTEN}\nHad there been nothing, I would have said {{"version": 1}}.',
        f"{{not json}} {{}} {WRITTEN}",
    ],
)
def test_a_proposal_is_found_with_words_around_it(answer: str) -> None:
    assert proposal_in(answer) == ONE


def test_nothing_to_propose_is_an_answer() -> None:
    assert proposal_in('{"version": 1}') == {"version": 1}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("", "blank"),
        (" \n\t", "blank"),
        ("<think>hm</think>", "blank"),
        ("I found nothing worth keeping.", "no proposal"),
        (WRITTEN[:-1], "no proposal"),
        ('{"facts": []}', "no proposal"),
        ("[1, 2]", "no proposal"),
        ('"{}"', "no proposal"),
        ('{"version": 1, "facts": [' + '{"x": [' * 5000, "no proposal"),
        ("{" * 100_000, "no proposal"),
        ('{"version": ' + "9" * 10_000 + "}", "no proposal"),
        (WRITTEN + " " + "x" * MAX_ANSWER_CHARACTERS, "longer than"),
    ],
)
def test_what_is_no_proposal_is_a_failure(answer: str, why: str) -> None:
    """Never an empty success: blank, cut off, without a version, nested without end."""
    with pytest.raises(UnusableProposal, match=why):
        proposal_in(answer)


def test_the_message_never_repeats_the_answer() -> None:
    with pytest.raises(UnusableProposal) as caught:
        proposal_in("my secret is hunter2 {")
    assert "hunter2" not in str(caught.value.as_dict())


def test_numbers_that_json_does_not_have_become_nothing() -> None:
    """No database would take them."""
    assert proposal_in('{"version": 1, "facts": [{"importance": NaN}, Infinity]}')["facts"] == [
        {"importance": None},
        None,
    ]


def test_an_error_can_tell_what_was_spent() -> None:
    usage = Usage(input_tokens=10, output_tokens=2, cost_microdollars=3)
    assert spent(charged(UnusableProposal("x"), usage)) == usage
    assert spent(InternalError("x")) == Usage()


@pytest.mark.parametrize(("dollars", "expected"), [(0, 0), (0.0000001, 1), (0.001, 1000), (0.1 + 0.2, 300_000)])
def test_costs_are_rounded_up(dollars: float, expected: int) -> None:
    assert microdollars(dollars) == expected
