"""How a question is read before anything is looked up."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_butler.policy.retrieval.intent import Intent
from memory_butler.policy.retrieval.question import (
    HEAD_CHARACTERS,
    TAIL_CHARACTERS,
    head_and_tail,
    parse_question,
    without_stop_words,
)

NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)


def test_a_question_is_read_for_names_times_and_kind() -> None:
    """Who, when and what for, each found on its own."""
    parsed = parse_question("When did Anna visit Ben in May 2023?", NOW)
    assert parsed.kind.intent is Intent.EVENT
    assert {"anna", "ben"} <= set(parsed.likely_names) <= set(parsed.possible_names)
    assert parsed.time_hint is not None
    assert parsed.time_hint.windows[0].start == datetime(2023, 5, 1, tzinfo=UTC)
    assert not parsed.time_hint.relative


def test_names_are_left_out_only_if_the_store_knows_them() -> None:
    """What is compared in meaning is the question less the names that are given, and nothing else of it."""
    parsed = parse_question("Which tea does Anna like?", NOW)
    assert parsed.text_without(()) == "Which tea does Anna like?"
    assert parsed.text_without({"anna"}) == "Which tea does like?"
    assert parsed.text_without({"ben"}) == "Which tea does Anna like?"


def test_a_question_written_small_may_still_hold_a_name() -> None:
    """Without a capital it is no guess, but the store is asked whether it knows the name."""
    parsed = parse_question("which tea does anna like?", NOW)
    assert parsed.likely_names == ()
    assert "anna" in parsed.possible_names


@pytest.mark.parametrize(
    ("text", "names"),
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
def test_an_order_names_nobody(text: str, names: tuple[str, ...]) -> None:
    """A capital that begins a sentence says nothing: only others may be somebody the store has never heard of."""
    assert parse_question(text, NOW).possible_new_names == names


def test_of_a_long_prompt_the_beginning_and_the_end_are_read() -> None:
    """What is searched with is bounded, and holds how the prompt begins and how it ends."""
    prompt = "BEGIN " + "x" * 50_000 + " END"
    read = head_and_tail(prompt)
    assert len(read) == HEAD_CHARACTERS + TAIL_CHARACTERS + 1
    assert read.startswith("BEGIN")
    assert read.endswith("END")
    assert head_and_tail("short") == "short"


def test_words_that_no_memory_is_about_are_left_out() -> None:
    """Question words and the like go; a question of nothing else stays as it is."""
    assert without_stop_words("How many cats does she have recently?").split() == ["cats", "?"]
    assert without_stop_words("what is it?") == "what is it?"
    assert without_stop_words("don’t") == "don’t"


@given(st.text(max_size=300))
def test_any_text_can_be_asked(text: str) -> None:
    """Whatever is written: reading it raises nothing and gives the same each time; guesses are among the possible."""
    parsed = parse_question(text, NOW)
    assert parsed == parse_question(text, NOW)
    assert set(parsed.likely_names) <= set(parsed.possible_names)
    assert isinstance(parsed.text_without(parsed.possible_names), str)
    assert isinstance(without_stop_words(text), str)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Who closed INC-4711?", ("inc-4711",)),
        ("call 0151 5550182", ("0151", "5550182")),
        ("roll out v2.41, please.", ("v2.41",)),
        ("What happened in May 2023?", ()),
        ("What does Anna like?", ()),
    ],
)
def test_numbers_and_identifiers_are_exact_terms(text: str, terms: tuple[str, ...]) -> None:
    """The numbers of a time are none."""
    assert parse_question(text, datetime(2026, 1, 1, tzinfo=UTC)).exact_terms == terms
