"""Prediction of names: what is learned from earlier questions, and how far the look of a word is trusted."""

from datetime import UTC, datetime

import pytest

from memory_butler.models import Reach
from memory_butler.policy.retrieval import name_predictor
from memory_butler.policy.retrieval.name_predictor import (
    FIRST_TRUST,
    MAX_TRUST,
    NamePredictor,
    is_believed,
    trust_after,
)
from memory_butler.policy.retrieval.question import parse_question

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ALL = Reach(None, None)
OWN = Reach(("global", "chef"), ("chef",))


def test_readers_are_kept_apart() -> None:
    """What one tenant, or one who sees more of it, knows is nothing to another, not even by the time it takes."""
    predictor, parsed = NamePredictor(), parse_question("Does Anna like tea?", NOW)
    predictor.learn(("acme", ALL), parsed, {"anna"})
    predictor.learn(("acme", OWN), parsed, set())
    assert predictor.predict(("acme", ALL), parsed) == {"anna"}
    assert predictor.predict(("acme", OWN), parsed) == set()
    assert predictor.predict(("other", ALL), parsed) == {"anna"}, "by its look"


def test_no_more_is_kept_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest goes first, of words as of readers, and a word as long as a book is not kept at all."""
    monkeypatch.setattr(name_predictor, "MAX_WORDS", 2)
    monkeypatch.setattr(name_predictor, "MAX_READERS", 2)
    predictor = NamePredictor()
    for tenant, name in enumerate(("Anna", "Ben", "Carla", "D" + 500 * "o")):
        predictor.learn((str(tenant), ALL), parse_question(f"Does {name} like tea?", NOW), {name.casefold()})
    assert [key for (_, key) in predictor._is_name] == ["ben", "carla"]
    assert [tenant for tenant, _ in predictor._trust] == ["2", "3"]


def after(*questions: tuple[set[str], set[str]]) -> int:
    trust = FIRST_TRUST
    for new, names in questions:
        trust = trust_after(trust, new, names)
    return trust


NAME, CITY = ({"anna"}, {"anna"}), ({"seattle"}, set[str]())


@pytest.mark.parametrize(
    ("questions", "believed"),
    [
        ((), True),
        ((CITY,), False),
        ((NAME, CITY), True),
        ((NAME, CITY, CITY), False),
        ((CITY, NAME), True),
        ((CITY, CITY, NAME), False),
        ((CITY, CITY, NAME, NAME), True),
        (((set(), {"anna"}),), True),
        ((({"anna", "seattle"}, {"anna"}),), True),
    ],
)
def test_a_look_is_believed_as_long_as_it_was_right(
    questions: tuple[tuple[set[str], set[str]], ...], believed: bool
) -> None:
    """One surprise is enough at first; after names that were known it takes two, and as many to come back."""
    assert is_believed(after(*questions)) is believed


def test_trust_has_bounds() -> None:
    """However long it was right or wrong, two surprises change it."""
    assert after(*[NAME] * 9) == MAX_TRUST
    assert after(*[CITY] * 9) == 0
