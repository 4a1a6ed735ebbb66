"""Forgetting: out of use at once, on the record, and nothing lost."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.operations.conftest import KINDS, store_tea

from memory_butler.errors import Conflict, NotFound
from memory_butler.models import BriefRequest, Caller, DerivedMemory, NewEpisode, NewFact, Question, Stored
from memory_butler.operations.briefing.brief import brief
from memory_butler.operations.history.undo import undo
from memory_butler.operations.retrieval import get, search
from memory_butler.operations.writing import forget, remember
from memory_butler.resources import Resources

Rows = Callable[[str], list[dict[str, Any]]]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_forgotten_memory_is_out_of_every_read(resources: Resources, kind: str, rows: Rows) -> None:
    """Search, recall and briefing are without it at once; by name it is shown as retracted, whole."""
    done = await store_tea(resources, kind)
    assert (await forget.forget(resources, kind, done.ref)).outcome == "retracted"
    question = Question(query="green tea", min_confidence=0.0)
    assert (await search.search(resources, question)).results == ()
    assert (await search.recall(resources, question)).results == ()
    assert "green" not in (await brief(resources, BriefRequest(trigger_prompt="green tea", butler="main"))).text
    seen = await get.get(resources, kind, done.ref)
    assert seen.memory.validity == "retracted"
    assert "green tea" in seen.memory.content
    assert len(rows(f"{kind}s")) == 1


@pytest.mark.parametrize("kind", KINDS)
async def test_forgetting_is_on_the_record(
    resources: Resources, kind: str, rows: Rows, agent: Callable[..., Caller]
) -> None:
    """One event with who, when and the state after; the reason is kept apart, by hash."""
    done = await store_tea(resources, kind)
    await forget.forget(resources, kind, done.ref, agent("main", request_id="r1"), reason="It was a joke.")
    event = max(rows("memory_events"), key=lambda event: event["seq"])
    assert (event["event_type"], event["actor"], event["request_id"]) == (f"{kind}.retracted", "main", "r1")
    assert event["payload"]["state"]["validity"] == "retracted"
    assert "joke" not in str(event["payload"])
    assert any("It was a joke." in text["body"] for text in rows("texts"))


@pytest.mark.parametrize("kind", KINDS)
async def test_forgetting_twice_is_harmless(resources: Resources, kind: str, rows: Rows) -> None:
    """The second time says so and writes nothing."""
    done = await store_tea(resources, kind)
    await forget.forget(resources, kind, done.ref)
    events = len(rows("memory_events"))
    assert (await forget.forget(resources, kind, str(done.id))).outcome == "already_retracted"
    assert len(rows("memory_events")) == events


async def test_what_was_superseded_is_out_of_use_already(resources: Resources) -> None:
    """A superseded fact cannot be forgotten: no such transition exists."""
    old = await store_tea(resources, "fact")
    await remember.fact(resources, NewFact(subject="u", predicate="tea", content="black tea"))
    with pytest.raises(Conflict, match="superseded"):
        await forget.forget(resources, "fact", old.ref)


async def test_nobody_forgets_what_they_cannot_see(
    resources: Resources, agent: Callable[..., Caller], rows: Rows
) -> None:
    """Another's scope, another's episode, another tenant's memory, an unknown one: not found, and left alone."""
    fact = await store_tea(resources, "fact", scope="finance")
    seen = await store_tea(resources, "episode")
    for kind, ref in (("fact", fact.ref), ("episode", seen.ref), ("rule", "zzzz")):
        with pytest.raises(NotFound):
            await forget.forget(resources, kind, ref, agent("health"))
    stranger = Caller(
        agent("main").principal.__class__("someone-else", "main", resources.local_caller().principal.role)
    )
    with pytest.raises(NotFound):
        await forget.forget(resources, "fact", str(fact.id), stranger)
    assert rows("facts")[0]["validity"] == rows("episodes")[0]["validity"] == "active"


async def test_the_place_of_a_forgotten_property_is_free(resources: Resources) -> None:
    """After forgetting, the property can be stored anew without superseding anything."""
    done = await store_tea(resources, "fact")
    await forget.forget(resources, "fact", done.ref)
    again = await remember.fact(resources, NewFact(subject="u", predicate="tea", content="black tea"))
    assert (again.outcome, again.superseded_ref) == ("created", None)


async def _learned(resources: Resources, subject: str, *sources: Stored) -> Stored:
    """A fact derived from each of some episodes."""
    given = NewFact(subject=subject, predicate="tea", content=f"{subject} likes green tea")
    done = [await remember.fact(resources, replace(given, source_episode=source.ref)) for source in sources]
    return done[-1]


async def test_forgetting_a_source_names_what_came_from_it_alone(resources: Resources) -> None:
    """A fact with a second source is not named, a withdrawn one neither, and nothing but the source is withdrawn."""
    source, other = [
        await remember.episode(resources, NewEpisode(content=content, butler="main")) for content in ("one", "two")
    ]
    alone, gone = await _learned(resources, "Anna", source), await _learned(resources, "Cleo", source)
    shared = await _learned(resources, "Ben", source, other)
    await forget.forget(resources, "fact", gone.ref)
    found = await forget.find_derived(resources, "episode", source.ref)
    done = await forget.forget(resources, "episode", source.ref)
    assert done.derived == found == (DerivedMemory(ref=f"fact:{alone.ref}", line="Anna · tea: Anna likes green tea"),)
    assert (done.outcome, done.withdrawn, done.group_id) == ("retracted", 0, None)
    states = [(await get.get(resources, "fact", fact.ref)).memory.validity for fact in (alone, shared)]
    assert states == ["active", "active"]


async def test_a_source_that_was_forgotten_before_is_no_other_source(resources: Resources) -> None:
    """The second of two forgotten sources takes along what came from both."""
    first, second = [
        await remember.episode(resources, NewEpisode(content=content, butler="main")) for content in ("one", "two")
    ]
    fact = await _learned(resources, "Anna", first, second)
    assert (await forget.forget(resources, "episode", first.ref, derived=True)).withdrawn == 0
    done = await forget.forget(resources, "episode", second.ref, derived=True)
    assert [one.ref for one in done.derived] == [f"fact:{fact.ref}"]


async def test_what_came_from_a_source_alone_goes_with_it_and_comes_back_with_it(resources: Resources) -> None:
    """One group: a repeat of the call changes nothing, an undo of the group restores everything."""
    source = await remember.episode(resources, NewEpisode(content="Anna likes green tea.", butler="main"))
    fact = await _learned(resources, "Anna", source)
    done = await forget.forget(resources, "episode", source.ref, derived=True, idempotency_key="once")
    assert (done.outcome, done.withdrawn, done.derived) == ("retracted", 1, (DerivedMemory(ref=f"fact:{fact.ref}"),))
    assert done.group_id
    assert await forget.forget(resources, "episode", source.ref, derived=True, idempotency_key="once") == done
    assert (await get.get(resources, "fact", fact.ref)).memory.validity == "retracted"
    assert (await undo(resources, done.group_id)).undone == 2
    for kind, ref in (("episode", source.ref), ("fact", fact.ref)):
        assert (await get.get(resources, kind, ref)).memory.validity == "active"


async def test_what_came_from_a_source_can_be_withdrawn_after_it(resources: Resources, rows: Rows) -> None:
    """The offer is accepted in a second call, whose answer and idempotency key hold no words."""
    source = await remember.episode(resources, NewEpisode(content="Anna likes green tea.", butler="main"))
    await _learned(resources, "Anna", source)
    assert (await forget.forget(resources, "episode", source.ref, idempotency_key="offer")).derived[0].line
    assert (await forget.forget(resources, "episode", source.ref, idempotency_key="offer")).derived[0].line is None
    assert "green" not in str(rows("idempotency_keys"))
    done = await forget.forget(resources, "episode", source.ref, derived=True)
    assert (done.outcome, done.withdrawn) == ("already_retracted", 1)
    assert {row["validity"] for row in rows("facts")} == {"retracted"}


async def test_a_butler_withdraws_nothing_of_another_scope(resources: Resources, agent: Callable[..., Caller]) -> None:
    """A fact that an admin derived into another butler's scope is neither named nor withdrawn."""
    source = await remember.episode(resources, NewEpisode(content="Anna likes green tea.", butler="health"))
    given = NewFact(subject="Anna", predicate="tea", content="green", scope="finance", source_episode=source.ref)
    fact = await remember.fact(resources, given)
    done = await forget.forget(resources, "episode", source.ref, agent("health"), derived=True)
    assert (done.derived, done.withdrawn) == ((), 0)
    assert (await get.get(resources, "fact", fact.ref)).memory.validity == "active"
