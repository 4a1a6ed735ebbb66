"""Server side of the briefing hooks: what a session was told, and what is left of a block."""

import pytest

from memory_butler.adapters.hooks.briefings import (
    LONGEST_BLOCK,
    MOST_SESSIONS,
    ToldSessions,
    references_in,
    trimmed,
)
from memory_butler.policy.briefing.composition import NOTHING, TITLE

TEA = "- Anna · tea: green, see [fact:zzzz]. [fact:k3f7] confidence 0.98"
RULE = "- Ask first. [rule:aaaa] candidate"
EPISODE = "- 2026-03-01: Tea was served. [episode:bbbb]"
BLOCK = "\n".join([TITLE, "## Facts", TEA, "## Rules", RULE, "## Recent episodes", EPISODE])


def test_the_references_of_a_block_are_those_at_the_ends_of_its_lines() -> None:
    """A reference in a memory's own text is not the line's."""
    assert references_in(BLOCK) == {"fact:k3f7", "rule:aaaa", "episode:bbbb"}


@pytest.mark.parametrize(
    ("told", "left"),
    [
        (set(), BLOCK),
        ({"fact:zzzz"}, BLOCK),
        ({"rule:aaaa"}, "\n".join([TITLE, "## Facts", TEA, "## Recent episodes", EPISODE])),
        ({"fact:k3f7", "episode:bbbb"}, "\n".join([TITLE, "## Rules", RULE])),
        ({"fact:k3f7", "rule:aaaa", "episode:bbbb"}, ""),
    ],
)
def test_lines_that_were_told_go_with_their_headings(told: set[str], left: str) -> None:
    """If nothing is left, the title goes, too."""
    assert trimmed(BLOCK, frozenset(told)) == left


def test_an_empty_briefing_is_no_block() -> None:
    """Neither one that says so, nor one for which the budget is too small."""
    assert trimmed(f"{TITLE}\n{NOTHING}\n") == trimmed("") == ""


def test_a_long_block_ends_with_a_whole_line() -> None:
    """A heading without lines does not stay at the end."""
    facts = [f"- s · p: {'x' * 2000} [fact:k3f{digit}] confidence 1.00" for digit in range(4)]
    block = "\n".join([TITLE, "## Facts", *facts, "## Rules", f"- {'y' * LONGEST_BLOCK} [rule:aaaa] candidate"])
    assert trimmed(block) == "\n".join([TITLE, "## Facts", *facts])


def test_a_session_has_one_first_prompt() -> None:
    """Sessions do not affect each other; a new start renews what was told and not the first prompt."""
    sessions, one, other = ToldSessions(), (None, "one"), (None, "other")
    sessions.at_start(one, BLOCK)
    assert sessions.references(one) == references_in(BLOCK)
    assert sessions.references(other) == frozenset()
    assert [sessions.is_first_prompt(each) for each in (one, one, other)] == [True, False, True]
    sessions.at_start(one, "")
    assert sessions.references(one) == frozenset()
    assert not sessions.is_first_prompt(one)


def test_only_the_latest_sessions_are_kept() -> None:
    """The memory of a server that runs for months does not grow."""
    sessions = ToldSessions()
    for number in range(MOST_SESSIONS + 1):
        sessions.is_first_prompt((None, str(number)))
    assert len(sessions._sessions) == MOST_SESSIONS
    assert sessions.is_first_prompt((None, "0"))
    assert not sessions.is_first_prompt((None, str(MOST_SESSIONS)))
