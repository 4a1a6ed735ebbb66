"""What is kept of earlier guesses about names."""

from datetime import UTC, datetime

import pytest

from memory_butler.models import Reach
from memory_butler.operations import name_guesses
from memory_butler.operations.name_guesses import NameGuesses
from memory_butler.policy.asking import read_question

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ALL = Reach(None, None)
OWN = Reach(("global", "chef"), ("chef",))


def test_readers_are_kept_apart() -> None:
    """What one tenant, or one who sees more of it, knows is nothing to another, not even by the time it takes."""
    guesses, asking = NameGuesses(), read_question("Does Anna like tea?", NOW)
    guesses.learn(("acme", ALL), asking, {"anna"})
    guesses.learn(("acme", OWN), asking, set())
    assert guesses.names(("acme", ALL), asking) == {"anna"}
    assert guesses.names(("acme", OWN), asking) == set()
    assert guesses.names(("other", ALL), asking) == {"anna"}, "by its look"


def test_no_more_is_kept_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest goes first, of words as of readers, and a word as long as a book is not kept at all."""
    monkeypatch.setattr(name_guesses, "VERDICTS_KEPT", 2)
    monkeypatch.setattr(name_guesses, "READERS_KEPT", 2)
    guesses = NameGuesses()
    for tenant, name in enumerate(("Anna", "Ben", "Carla", "D" + 500 * "o")):
        guesses.learn((str(tenant), ALL), read_question(f"Does {name} like tea?", NOW), {name.casefold()})
    assert [key for (_, key) in guesses._verdicts] == ["ben", "carla"]
    assert [tenant for tenant, _ in guesses._trust] == ["2", "3"]
