"""A broad question is answered with the best of its class."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memory_butler.models import Hit, Ranked, ScoreParts
from memory_butler.policy.retrieval.overview import Overview
from memory_butler.policy.retrieval.overview_members import best_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MakeHit = Callable[..., Hit]


def ranked(make_hit: MakeHit, number: int, importance: int = 5, **given: Any) -> Ranked:
    parts = ScoreParts(0.5, 0.5, 0.001, importance / 10, 1.0, 1.0, 1, None, 0.1, None)
    return Ranked(make_hit(number, importance=importance, **given), parts)


def test_the_user_is_known_by_all_names(make_hit: MakeHit) -> None:
    """The most important facts about the user come first, whatever name they are stored under."""
    mine = ranked(make_hit, 1, 4, subject_label="user")
    named = ranked(make_hit, 2, 9, subject_label="Lena")
    other = ranked(make_hit, 3, 10, subject_label="Malik")
    assert best_of(Overview.USER, [mine, named, other], NOW, {"lena"}) == [named, mine]


def test_people_come_one_by_one(make_hit: MakeHit) -> None:
    """One fact about each person before the second of any; things and the user are not people."""
    first = ranked(make_hit, 1, 9, subject_label="Malik", content="Malik is a paramedic; he works nights.")
    second = ranked(make_hit, 2, 8, subject_label="Malik", content="His birthday is in December.")
    third = ranked(make_hit, 3, 5, subject_label="Renate", content="Renate is her mother.")
    thing = ranked(make_hit, 4, 10, subject_label="billing service", content="Written in Go.")
    user = ranked(make_hit, 5, 10, subject_label="user", content="She works in Berlin.")
    assert best_of(Overview.PEOPLE, [second, thing, first, user, third], NOW, set()) == [first, third, second]


def test_plans_come_in_the_order_of_their_time(make_hit: MakeHit) -> None:
    """What lies ahead comes soonest first, then undated plans; what is over does not come."""
    soon = ranked(make_hit, 1, 1, valid_at=NOW + timedelta(days=1))
    late = ranked(make_hit, 2, 9, valid_at=NOW + timedelta(days=90))
    over = ranked(make_hit, 3, 9, valid_at=NOW - timedelta(days=1))
    undated = ranked(make_hit, 4, 5, content="The exam is scheduled for the winter.")
    plain = ranked(make_hit, 5, 5, content="Tea is better than coffee.")
    assert best_of(Overview.PLANS, [plain, over, undated, late, soon], NOW, set()) == [soon, late, undated]


def test_everything_is_a_class_too(make_hit: MakeHit) -> None:
    """Without any topic the most important memories are returned."""
    low, high = ranked(make_hit, 1, 2, subject_label="tea"), ranked(make_hit, 2, 9, subject_label="oven")
    assert best_of(Overview.EVERYTHING, [low, high], NOW, set()) == [high, low]


FACTS = (
    ("user", "daughter", "Runa, nine years old."),
    ("Runa", "condition:asthma", "Carries a blue inhaler."),
    ("Ola", "relation", "Grandfather, lives in Tromso."),
    ("Petra", "note:dog", "Petra is our neighbour and walks the dog."),
    ("Bruno", "note:kin", "Bruno looks after his brother."),
    ("Bruno", "role", "Bruno leads the support team."),
    ("user", "prefers:tea", "Green tea in the morning."),
    ("Heron", "deadline", "The Heron project ends in June."),
    ("user", "employer", "Works for a shipyard."),
    ("tide table", "source", "Kept in the drawer."),
)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (Overview.FAMILY, {"daughter", "condition:asthma", "relation"}),
        (Overview.FRIENDS, {"note:dog"}),
        (Overview.TEAM, {"role"}),
        (Overview.HEALTH, {"condition:asthma"}),
        (Overview.PREFERENCES, {"prefers:tea"}),
        (Overview.PROJECTS, {"deadline"}),
        (Overview.WORK, {"role", "employer", "deadline"}),
    ],
)
def test_each_class_has_its_members(make_hit: MakeHit, kind: Overview, expected: set[str]) -> None:
    """A relative is known by a word for the relation or because a fact about the user names her; then all facts about
    her are members. "His brother" is not the user's."""
    facts = [
        ranked(make_hit, number, subject_label=subject, predicate_label=predicate, content=content)
        for number, (subject, predicate, content) in enumerate(FACTS, start=1)
    ]
    assert {one.hit.predicate_label for one in best_of(kind, facts, NOW, set())} == expected
