"""How a question is read before anything is looked up."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_butler.policy.asking import HEAD_CHARACTERS, TAIL_CHARACTERS, essence, read_question, telling_words
from memory_butler.policy.intent import Intent

NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)


def test_a_question_is_read_for_names_times_and_kind() -> None:
    """Who, when and what for, each found on its own."""
    asking = read_question("When did Anna visit Ben in May 2023?", NOW)
    assert asking.kind.intent is Intent.EVENT
    assert {"anna", "ben"} <= set(asking.guessed) <= set(asking.possible)
    assert asking.moments is not None
    assert asking.moments.windows[0].start == datetime(2023, 5, 1, tzinfo=UTC)
    assert not asking.moments.relative


def test_names_are_left_out_only_if_the_store_knows_them() -> None:
    """What is compared in meaning is the question less the names that are given, and nothing else of it."""
    asking = read_question("Which tea does Anna like?", NOW)
    assert asking.without(()) == "Which tea does Anna like?"
    assert asking.without({"anna"}) == "Which tea does like?"
    assert asking.without({"ben"}) == "Which tea does Anna like?"


def test_a_question_written_small_may_still_hold_a_name() -> None:
    """Without a capital it is no guess, but the store is asked whether it knows the name."""
    asking = read_question("which tea does anna like?", NOW)
    assert asking.guessed == ()
    assert "anna" in asking.possible


@pytest.mark.parametrize(
    ("text", "strangers"),
    [
        ("Install their editor on the laptop", ()),
        ("Cook without peanuts. Deploy it: Then rest.", ()),
        ("Cook for Vladimir", ("vladimir",)),
        ("What is Vladimir allergic to?", ("vladimir",)),
        ("Tell me. Vladimir came.", ()),
        ("Who teaches the Portuguese course on New Year's Eve?", ()),
        ("Did Eve call before Christmas Eve?", ("eve",)),
    ],
)
def test_an_order_names_nobody(text: str, strangers: tuple[str, ...]) -> None:
    """A capital that begins a sentence says nothing: only others may be somebody the store has never heard of."""
    assert read_question(text, NOW).strangers == strangers


def test_of_a_long_prompt_the_beginning_and_the_end_are_read() -> None:
    """What is searched with is bounded, and holds how the prompt begins and how it ends."""
    prompt = "BEGIN " + "x" * 50_000 + " END"
    read = essence(prompt)
    assert len(read) == HEAD_CHARACTERS + TAIL_CHARACTERS + 1
    assert read.startswith("BEGIN")
    assert read.endswith("END")
    assert essence("short") == "short"


def test_words_that_no_memory_is_about_are_left_out() -> None:
    """Question words and the like go; a question of nothing else stays as it is."""
    assert telling_words("How many cats does she have recently?").split() == ["cats", "?"]
    assert telling_words("what is it?") == "what is it?"
    assert telling_words("don’t") == "don’t"


@given(st.text(max_size=300))
def test_any_text_can_be_asked(text: str) -> None:
    """Whatever is written: reading it raises nothing and gives the same each time; guesses are among the possible."""
    asking = read_question(text, NOW)
    assert asking == read_question(text, NOW)
    assert set(asking.guessed) <= set(asking.possible)
    assert isinstance(asking.without(asking.possible), str)
    assert isinstance(telling_words(text), str)
