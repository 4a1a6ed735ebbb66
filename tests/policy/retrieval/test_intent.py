"""What kind of answer a question wants."""

import pytest

from memory_butler.models import MemoryType
from memory_butler.policy.retrieval.intent import QUESTION_KINDS, Intent, kind_of

TABLE = {
    "When did Anna move to Lisbon?": Intent.EVENT,
    "  when is the next release": Intent.EVENT,
    "What date did the lease end?": Intent.EVENT,
    "On which day do we deploy?": Intent.EVENT,
    "In what year was it founded?": Intent.EVENT,
    "How many cats does Anna have?": Intent.QUANTITY,
    "how long does the build take?": Intent.QUANTITY,
    "How old is the dog": Intent.QUANTITY,
    "How do I deploy the billing service?": Intent.PROCEDURE,
    "How should we name branches?": Intent.PROCEDURE,
    "what should I do before deploying?": Intent.PROCEDURE,
    "What is the process for refunds?": Intent.PROCEDURE,
    "What are the steps of a release?": Intent.PROCEDURE,
    "how to rotate the keys": Intent.PROCEDURE,
    "Which color does Anna like?": Intent.PREFERENCE,
    "What is Anna's favourite tea?": Intent.PREFERENCE,
    "Can you recommend a restaurant?": Intent.PREFERENCE,
    "Who is Ben?": Intent.IDENTITY,
    "What is my phone number?": Intent.IDENTITY,
    "What's her job?": Intent.IDENTITY,
    "Where does the cat sleep?": Intent.OTHER,
    "Fix the failing invoice test": Intent.OTHER,
    "Tell me whenever it fails": Intent.OTHER,
    "The show likewise ended": Intent.OTHER,
    "": Intent.OTHER,
}


@pytest.mark.parametrize("question", TABLE)
def test_a_question_is_told_by_how_it_is_asked(question: str) -> None:
    """One line of the table for each way of asking; what fits none is of no kind."""
    assert kind_of(question).intent is TABLE[question]


def test_only_a_question_how_to_do_something_wants_rules_first() -> None:
    """The type that a kind of question prefers."""
    preferred = {kind.intent: kind.preferred_type for kind in QUESTION_KINDS if kind.preferred_type}
    assert preferred == {Intent.PROCEDURE: MemoryType.RULE}


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("When did it happen?", "We left last Tuesday.", "We left by train."),
        ("When did it happen?", "It was 2023.", "It was long before."),
        ("How many are there?", "She has two cats.", "She has cats."),
        ("How much was it?", "It cost 14 euros.", "It cost a fortune."),
    ],
)
def test_an_answer_says_what_is_asked_for(question: str, answer: str, other: str) -> None:
    """Asked when, it says a time; asked how many, it says a number."""
    matches_answer = kind_of(question).matches_answer
    assert matches_answer is not None
    assert matches_answer(answer)
    assert not matches_answer(other)


def test_a_very_long_question_is_told_by_its_beginning() -> None:
    """Only the beginning is read: what a long text happens to say further down decides nothing."""
    assert kind_of("x " * 400 + "recommend").intent is Intent.OTHER
    assert kind_of("recommend " + "x " * 400).intent is Intent.PREFERENCE


TIMES = """
yesterday today tonight tomorrow last next ago recently soon day weeks weekend months year morning evenings summer
winter spring autumn fall monday tuesday wednesday thursday friday saturday sunday january february march april may june
july august september october november december 7
"""
NUMBERS = """
one two three four five six seven eight nine ten eleven twelve dozen hundred thousand once twice couple several half 7
"""


@pytest.mark.parametrize(("question", "words"), [("When was it?", TIMES), ("How many are there?", NUMBERS)])
def test_every_word_for_a_time_or_a_number_is_known_as_one(question: str, words: str) -> None:
    """Each word alone makes a text say it, however it is written; as the beginning of a longer word it does not."""
    matches_answer = kind_of(question).matches_answer
    assert matches_answer is not None
    for word in words.split():
        assert matches_answer(f"(it: {word})"), word
        assert matches_answer(f"(it: {word.upper()})"), word
        assert word.isdigit() or not matches_answer(f"(it: {word}ix)"), word
