"""Cues in the words of a task."""

import pytest

from memory_butler.policy.briefing.task_cues import is_for_children, is_for_household, looks_like_code, needs_no_memory


@pytest.mark.parametrize(
    "prompt",
    [
        "plan 4 days in Rome with the family",
        "what can I cook for all of us on Sunday?",
        "lunch on Saturday, my parents are coming",
        "pack for the kids",
        "plan dinner on Saturday for the band at ours",
        "do the grocery order for the week",
        "christmas dinner, what do we need",
    ],
)
def test_a_task_for_the_family_or_guests_is_recognised(prompt: str) -> None:
    assert is_for_household(prompt)


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("pack for the kids", True),
        ("the boys want to go swimming", True),
        ("lunch for the kids and their grandparents", False),
        ("a trip with the family, the children need passports", False),
        ("the boys of the band", True),
        ("dinner for all of us", False),
        ("write to the children's librarian", True),
        ("book me a dentist", False),
    ],
)
def test_a_task_for_children_alone(prompt: str, expected: bool) -> None:
    assert is_for_children(prompt) is expected


@pytest.mark.parametrize("prompt", ["book me a dentist", "fix the build", "the parcel for Anna is late"])
def test_a_task_for_one_person_is_not_for_the_household(prompt: str) -> None:
    assert not is_for_household(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "why does parser.py crash",
        "add a column to stg_orders",
        "run it with --verbose",
        "what raises ValueError here",
        "call load() twice",
    ],
)
def test_names_of_files_functions_and_options_look_like_code(prompt: str) -> None:
    assert looks_like_code(prompt)


@pytest.mark.parametrize("prompt", ["bake a cake", "mail to anna@example.com", "e.g. next week", "it costs 3.50"])
def test_plain_words_do_not_look_like_code(prompt: str) -> None:
    assert not looks_like_code(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "hello!",
        "good evening, are you there?",
        "ok thx",
        "Great, thank you so much!",
        "hi Claude",
        "good morning, how are you today?",
        "Thank you, that's all for now",
        "buenos días!",
        "what is the boiling point of mercury?",
        "who painted the Night Watch?",
        "explain recursion to me",
        "how many legs does a crab have",
    ],
)
def test_greetings_and_general_knowledge_need_no_memory(prompt: str) -> None:
    assert needs_no_memory(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "what is left for my trip?",
        "how many days do we still have?",
        "who is coming tomorrow?",
        "who's going to water the plants?",
        "whats on for October with the boat",
        "morning routine: check the backups",
        "morning routine",
        "hi, book the flight to Rome",
        "hey plan dinner",
        "good morning! what's the plan for Lena",
        "thanks, now write to Birgit",
        "why does the build fail?",
        "how does LEDGER_ROW get its key?",
        "what is a lease? put one into the folder",
        "explain to the customer why the parcel is late, and offer a refund or a voucher for the next order instead",
        "write a function that parses CSV",
    ],
)
def test_questions_about_own_affairs_and_tasks_need_memory(prompt: str) -> None:
    assert not needs_no_memory(prompt)
