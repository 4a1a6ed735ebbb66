"""Broad questions are recognised, and answered with the best of their class."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memory_butler.models import Hit, Ranked, ScoreParts
from memory_butler.policy.retrieval.overview import Overview, best_of, overview_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MakeHit = Callable[..., Hit]


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What do you know about me?", Overview.USER),
        ("tell me everything you know about me", Overview.USER),
        ("Who am I?", Overview.USER),
        ("who is on the team?", Overview.PEOPLE),
        ("Who’s in my family?", Overview.PEOPLE),
        ("tell me about people", Overview.PEOPLE),
        ("Who do I work with?", Overview.PEOPLE),
        ("what's coming up?", Overview.PLANS),
        ("What do I have planned?", Overview.PLANS),
        ("anything coming up soon?", Overview.PLANS),
        ("what's on my calendar?", Overview.PLANS),
        ("What do you remember?", Overview.EVERYTHING),
        ("Who is Anna?", None),
        ("who is on the billing team?", None),
        ("What do you know about Kestrel?", None),
        ("tell me about the release", None),
        ("what is planned for the garden?", None),
        ("Who am I meeting in Oslo?", None),
        ("what do you know about me and my taxes", None),
    ],
)
def test_a_question_is_broad_only_if_it_has_no_topic(question: str, kind: Overview | None) -> None:
    """Every word of a broad question belongs to its wording."""
    assert overview_of(question) is kind


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
