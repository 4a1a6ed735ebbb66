"""Conventions: rules that are not worded as orders."""

import pytest

from memory_butler.english.extraction.conventions import is_convention, wanted

ACTIONS = frozenset({"regenerate", "run", "review", "send"})


@pytest.mark.parametrize(
    "text",
    [
        "PRs need two approvals",
        "all timestamps are stored in UTC",
        "branch names are lowercase",
        "we write dates as ISO",
        "nothing gets merged without a green build",
        "after a schema change regenerate the client",
        "invoices in German, not English",
    ],
)
def test_general_statements_are_conventions(text: str) -> None:
    assert is_convention(text, ACTIONS)


@pytest.mark.parametrize(
    "text",
    [
        "the tests need more time",
        "these tests are slow today",
        "commits were pushed yesterday",
        "we merged the release branch last week",
        "I need the report by tomorrow",
        "my sister needs two tickets",
    ],
)
def test_one_thing_or_one_day_is_none(text: str) -> None:
    assert not is_convention(text, ACTIONS)


def test_what_is_wanted_of_all_things_of_a_kind() -> None:
    assert wanted("I want commit messages in the imperative") == "commit messages in the imperative"
    assert wanted("I want a sandwich") == ""
