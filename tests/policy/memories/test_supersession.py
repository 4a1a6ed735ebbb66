"""What a new fact does to what is known: decided by structure alone."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from memory_butler.models import Fact, Permanence, Validity
from memory_butler.policy.memories.supersession import Coexists, Replaces, Restates, decide

KNOWN = Fact(
    id=UUID(int=1),
    tenant_id="t",
    ref="k3f7",
    subject="user",
    subject_label="User",
    predicate="city",
    predicate_label="city",
    content="Lisbon",
    scope="global",
    importance=5,
    tags=[],
    validity=Validity.ACTIVE,
    confidence=1.0,
    decay_rate=0.008,
    permanence=Permanence.STANDARD,
    valid_at=None,
    source_butler="main",
    source_episode_id=None,
    supersedes_id=None,
    created_at=datetime(2026, 1, 1, tzinfo=UTC),
    last_confirmed_at=None,
    last_referenced_at=None,
    reference_count=0,
    metadata={},
    request_id=None,
    pinned=False,
)


@pytest.mark.parametrize("is_event", [False, True])
def test_the_first_of_its_kind_is_simply_stored(is_event: bool) -> None:
    """With nothing live in its place a fact coexists."""
    assert decide("Lisbon", is_event=is_event, known=None) == Coexists()


def test_another_value_of_a_property_replaces_the_old_one() -> None:
    """The old fact is named, so that it can be superseded and kept."""
    assert decide("Porto", is_event=False, known=KNOWN) == Replaces(KNOWN)


@pytest.mark.parametrize("validity", [Validity.ACTIVE, Validity.FADING])
def test_the_same_value_restates(validity: Validity) -> None:
    """An equal property is confirmed, a fading one too."""
    known = replace(KNOWN, validity=validity)
    assert decide("Lisbon", is_event=False, known=known) == Restates(known)


def test_the_same_occurrence_restates_and_never_replaces() -> None:
    """An event that is already recorded is confirmed; an event never takes another's place."""
    assert decide("Lisbon", is_event=True, known=KNOWN) == Restates(KNOWN)


@pytest.mark.parametrize("content", ["lisbon", "Lisbon.", "Lisbon, Portugal"])
def test_nearly_the_same_is_not_the_same(content: str) -> None:
    """Meaning is not guessed at: different words of a property are a different value."""
    assert decide(content, is_event=False, known=KNOWN) == Replaces(KNOWN)
