"""Forgetting: out of use at once, on the record, and nothing lost."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.operations.conftest import KINDS, store_tea

from memory_butler.errors import Conflict, NotFound
from memory_butler.models import BriefRequest, Caller, NewFact, Question
from memory_butler.operations.briefing.brief import brief
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
