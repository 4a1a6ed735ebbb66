"""Undo that is refused: the reason is said, and nothing is changed."""

import asyncio
import uuid
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from tests.support.sweeping import Life, Row

from memory_butler.errors import Conflict, InvalidInput, NotFound, PermissionDenied
from memory_butler.models import Caller, NewFact, Principal, Role, Stored
from memory_butler.operations.history.replay import replay
from memory_butler.operations.history.undo import undo
from memory_butler.operations.lifecycle import sweep
from memory_butler.operations.writing import feedback, forget, remember
from memory_butler.resources import Resources

Everything = Callable[[], dict[str, list[str]]]


@pytest.fixture
def life(resources: Resources, clock: Any, owner: psycopg.Connection[Any]) -> Life:
    return Life(resources, clock, owner)


def last(life: Life, memory: Stored) -> Row:
    return life.history(memory)[-1]


def tea(content: str = "green", **given: Any) -> NewFact:
    return NewFact(subject="User", predicate="tea", content=content, **given)


async def test_a_later_change_is_in_the_way_until_it_is_undone(life: Life, everything: Everything) -> None:
    """The refusal names it, with who, when and its id; undone newest first, all of it can be undone."""
    fact = await life.fact("a")
    for _ in range(2):
        life.clock.move(days=1)
        await feedback.confirm(life.resources, "fact", fact.ref)
    created, first, second = (event["id"] for event in life.history(fact))
    before = everything()
    for event, named in ((created, first), (first, second)):
        with pytest.raises(Conflict, match="it was changed later by the confirmation of 2026-03-0") as refused:
            await undo(life.resources, event)
        assert f"by main (event {named})" in refused.value.message
        assert "Undo the later changes first" in refused.value.recovery
    assert everything() == before
    for event in (second, first, created):
        await undo(life.resources, event)
    assert life.validity(fact) == ["retracted"]
    assert (await replay(life.resources)).equal


@pytest.mark.parametrize("kind", ["property", "occurrence", "rule"])
async def test_a_place_that_is_taken_is_not_taken_twice(life: Life, everything: Everything, kind: str) -> None:
    """A memory that stands in its place by now is named; without it the undo goes through."""

    async def store() -> Stored:
        if kind == "rule":
            return await life.rule("a")
        return await remember.fact(life.resources, tea(valid_at=life.clock() if kind == "occurrence" else None))

    old = await store()
    await forget.forget(life.resources, old.type, old.ref)
    new = await store()
    assert new.ref != old.ref
    before = everything()
    why = "has the same content" if kind == "rule" else "is now the current value"
    with pytest.raises(Conflict, match=f"because {new.type}:{new.ref} {why}"):
        await undo(life.resources, last(life, old)["id"])
    assert everything() == before
    await forget.forget(life.resources, new.type, new.ref)
    await undo(life.resources, last(life, old)["id"])
    assert life.validity(old, new) == ["active", "retracted"]


async def test_half_of_a_supersession_offers_the_whole(life: Life, everything: Everything) -> None:
    """The old fact alone has no place; the recovery names the group."""
    old = await remember.fact(life.resources, tea("black"))
    await remember.fact(life.resources, tea("green"))
    before = everything()
    with pytest.raises(Conflict, match="is now the current value") as refused:
        await undo(life.resources, last(life, old)["id"])
    assert str(last(life, old)["group_id"]) in refused.value.recovery
    assert everything() == before


async def test_a_group_is_not_offered_if_it_would_be_refused_too(life: Life) -> None:
    """The new fact was confirmed since, so that neither the old one alone nor both can be undone."""
    old = await remember.fact(life.resources, tea("black"))
    new = await remember.fact(life.resources, tea("green"))
    await feedback.confirm(life.resources, "fact", new.ref)
    group = str(last(life, old)["group_id"])
    with pytest.raises(Conflict, match="is now the current value") as refused:
        await undo(life.resources, last(life, old)["id"])
    assert group not in refused.value.recovery
    with pytest.raises(Conflict, match="it was changed later"):
        await undo(life.resources, group)


async def test_what_cannot_be_named_or_undone_is_refused(
    life: Life, agent: Callable[..., Caller], everything: Everything, rows: Callable[[str], list[Row]]
) -> None:
    """Nonsense, unknown ids, another tenant's ids, references, deletions, and agents."""
    fact, episode = await life.fact("a"), await life.episode("a")
    await life.refer([fact])
    life.clock.move(days=8)
    await sweep.sweep(life.resources)
    reference = next(event["id"] for event in rows("memory_events") if event["entity_type"] == "reference")
    event, deletion = last(life, fact)["id"], last(life, episode)
    stranger = Caller(Principal("another", "main", Role.ADMIN))
    before = everything()
    refusals: list[tuple[Any, Caller | None, type[Exception], str]] = [
        ("fact:k3f7", None, InvalidInput, "not the id of an event or a group"),
        ("", None, InvalidInput, "id"),
        (uuid.UUID(int=7), None, NotFound, "no event or group"),
        (event, stranger, NotFound, "no event or group"),
        (deletion["group_id"], stranger, NotFound, "no event or group"),
        (reference, None, InvalidInput, "A reference cannot be undone"),
        (deletion["id"], None, Conflict, f"memories cannot be restored: episode:{episode.ref}"),
        (deletion["group_id"], None, Conflict, "memories cannot be restored"),
        (event, agent("main"), PermissionDenied, "Only an administrator"),
    ]
    for identifier, caller, kind, said in refusals:
        with pytest.raises(kind, match=said):
            await undo(life.resources, identifier, caller)
    assert everything() == before


async def test_a_repeated_request_is_answered_as_the_first_time(life: Life, everything: Everything) -> None:
    """The same key gives the same report and changes nothing; for another request it is a conflict."""
    fact = await life.fact("a")
    event = last(life, fact)["id"]
    first = await undo(life.resources, event, idempotency_key="k1")
    before = everything()
    assert await undo(life.resources, event, idempotency_key="k1") == first
    with pytest.raises(Conflict, match="used before for another request"):
        await undo(life.resources, str(first.undo_id), idempotency_key="k1")
    assert everything() == before


async def test_two_undos_at_once_undo_once(life: Life) -> None:
    """One of them does it, the other is told that it is done."""
    fact = await life.fact("a")
    event = last(life, fact)["id"]
    results = await asyncio.gather(*(undo(life.resources, event) for _ in range(2)), return_exceptions=True)
    assert sorted(type(result).__name__ for result in results) == ["Conflict", "UndoReport"]
    assert life.events(fact) == ["created", "undone"]
