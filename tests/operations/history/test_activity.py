"""What happened in a tenant, as those who may see it can follow it."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.conftest import MovingClock

from memory_butler.adapters.wire.answers import activity_event
from memory_butler.errors import InvalidInput, PermissionDenied
from memory_butler.models import (
    Activities,
    Caller,
    Lineage,
    MemoryType,
    NewEpisode,
    NewFact,
    NewRule,
    Outcome,
    Principal,
    Question,
    Role,
)
from memory_butler.models.wire.codec import encode
from memory_butler.operations.access.cross_tenant_audit import audit_access
from memory_butler.operations.history import activity
from memory_butler.operations.lifecycle import sweep
from memory_butler.operations.retrieval import get, search
from memory_butler.operations.writing import feedback, forget, remember
from memory_butler.policy.history.activity import encode_cursor
from memory_butler.resources import Resources
from memory_butler.store.history import activity as log

Connection = psycopg.Connection[tuple[Any, ...]]


def told(found: Activities) -> list[str]:
    return [item.event.event_type for item in found.items]


async def whole(resources: Resources, caller: Caller | None = None, scope: str | None = None) -> Activities:
    return await activity.activity(resources, caller, since="start", scope=scope, limit=activity.MOST)


async def live(resources: Resources, clock: MovingClock) -> None:
    """A little of everything: two butlers, private and global, a read, a deleted episode."""
    for name in ("health", "coder"):
        scoped: dict[str, Any] = {"predicate": "likes", "scope": name}
        await remember.episode(resources, NewEpisode(content=f"SECRET-{name} slept badly", butler=name))
        await remember.fact(resources, NewFact(subject=name, content=f"SECRET-{name} tea", **scoped))
        await remember.fact(resources, NewFact(subject=name, content=f"SECRET-{name} coffee", **scoped))
        await remember.rule(resources, NewRule(content=f"SECRET-{name} rest on Sundays", scope=name))
    await remember.fact(resources, NewFact(subject="Anna", predicate="tea", content="green", aliases=("Annie",)))
    await search.search(resources, Question(query="green tea Anna", min_relevance=0))
    clock.move(days=30)
    await sweep.sweep(resources)
    clock.move(minutes=1)


async def test_events_come_in_words_with_where_they_belong(resources: Resources) -> None:
    """What it was, of which memory, by whom, for which request; the words are those that memory_get tells."""
    caller = Caller(
        Principal(resources.settings.tenant, "main", Role.ADMIN, name="Ada"),
        Lineage(request_id="r1", subrequest_id="s1", segment_id="g1", session_id="day"),
    )
    rule = await remember.rule(resources, NewRule(content="Rest on Sundays"), caller)
    await feedback.mark(resources, rule.ref, Outcome.HARMFUL, caller, reason="It rained.")
    await forget.forget(resources, MemoryType.RULE, rule.ref, caller, reason="Not worth it")
    found = await whole(resources, caller)
    assert told(found) == ["rule.created", "rule.harmful", "rule.retracted"]
    assert {item.ref for item in found.items} == {f"rule:{rule.ref}"}
    assert {item.event.actor for item in found.items} == {"Ada"}
    assert {item.lineage for item in found.items} == {caller.lineage}
    seen = await get.get(resources, MemoryType.RULE, rule.ref, caller, bump=False)
    assert [item.words for item in found.items] == [line.words for line in seen.story]
    assert "It rained" in found.items[1].words and "Not worth it" in found.items[2].words
    assert not found.more


async def test_a_superseded_fact_names_its_successor(resources: Resources) -> None:
    """Both ends of the change are told, in the order of the log."""
    old = await remember.fact(resources, NewFact(subject="Anna", predicate="tea", content="green"))
    new = await remember.fact(resources, NewFact(subject="Anna", predicate="tea", content="black"))
    found = await whole(resources)
    assert [(item.ref, item.words) for item in found.items] == [
        (f"fact:{old.ref}", "Stored by main."),
        (f"fact:{old.ref}", f"Superseded by fact:{new.ref}."),
        (f"fact:{new.ref}", "Stored by main."),
    ]


async def test_whoever_comes_again_hears_what_is_new_and_nothing_twice(resources: Resources) -> None:
    """The cursor of each answer leads to the next event, also when there was none yet."""
    start = await activity.activity(resources)
    assert start.items == () and not start.more
    heard: list[str] = []
    cursor = start.cursor
    for number in range(4):
        for _ in range(number):
            await remember.episode(resources, NewEpisode(content=f"day {number}", butler="main"))
        found = await activity.activity(resources, since=cursor)
        assert len(found.items) == number
        heard += [str(item.event.id) for item in found.items]
        cursor = found.cursor
    assert heard == [str(item.event.id) for item in (await whole(resources)).items]
    newest = await activity.activity(resources, limit=2)
    assert [str(item.event.id) for item in newest.items] == heard[-2:]
    assert (newest.cursor, newest.more) == (cursor, False)


async def test_nobody_hears_of_what_they_may_not_see(
    resources: Resources, clock: MovingClock, agent: Callable[..., Caller], tenant: str
) -> None:
    """An agent and a reader hear of global memories and their own butler's, deleted episodes too; of names, reads and
    visits, and of everything private, only those who govern hear."""
    await live(resources, clock)
    operator = Caller(Principal(tenant, "op", Role.OPERATOR, name="Olga", home="elsewhere"))
    await audit_access(resources, operator, "memory_search")
    every = await whole(resources, scope="*")
    assert {"alias.created", "memory.referenced", "operator.visited", "episode.deleted"} <= set(told(every))
    reader = Caller(Principal(tenant, "health", Role.READER))
    for caller in (agent("health"), reader):
        found = await whole(resources, caller)
        owners = {
            item.event.payload["state"].get("scope") or item.event.payload["state"]["butler"] for item in found.items
        }
        assert owners == {"health", "global"}
        assert {item.event.entity_type for item in found.items} == {"fact", "rule", "episode"}
        assert "episode.deleted" in told(found)
        expected = [
            item.event.id
            for item in every.items
            if (item.event.payload.get("state", {}).get("scope") or item.event.payload.get("state", {}).get("butler"))
            in ("health", "global")
        ]
        assert [item.event.id for item in found.items] == expected
    said = str([encode(activity_event(item)) for item in every.items])
    assert "SECRET" not in said and "green" not in said
    words = {item.event.event_type: item.words for item in every.items}
    assert words["operator.visited"] == "Olga of the tenant elsewhere used memory_search here."
    assert words["memory.referenced"].startswith("main read ") and words["memory.referenced"].endswith("(search).")
    assert words["alias.created"] == "Alias: stored by main."


async def test_a_scope_narrows_it_down(resources: Resources, clock: MovingClock, agent: Callable[..., Caller]) -> None:
    """One scope alone, with the episodes of the butler of that name; another butler's is refused."""
    await live(resources, clock)
    assert {item.event.entity_type for item in (await whole(resources, scope="global")).items} == {"fact"}
    for caller in (resources.local_caller(), agent("coder")):
        found = await whole(resources, caller, scope="coder")
        states = [item.event.payload["state"] for item in found.items]
        assert {state.get("scope") or state["butler"] for state in states} == {"coder"}
        assert {"episode.created", "fact.superseded", "rule.created"} <= set(told(found))
    for scope in ("health", "*"):
        with pytest.raises(PermissionDenied):
            await whole(resources, agent("coder"), scope=scope)


async def test_an_administrator_hears_every_butlers_episodes(resources: Resources, clock: MovingClock) -> None:
    """Without a scope it is what a search would read: every butler's episodes, no other butler's facts."""
    await live(resources, clock)
    states = [item.event.payload.get("state", {}) for item in (await whole(resources)).items]
    assert {state["butler"] for state in states if "butler" in state} == {"health", "coder"}
    assert {state["scope"] for state in states if "scope" in state} == {"global"}


BAD_CURSORS = ["", "x", "a1-1", "a2-1-000000000000", "a1-1-000000000000", "a1--1-000000000000", "start!", "a1-1-é"]


@pytest.mark.parametrize("cursor", [*BAD_CURSORS, "another tenant's", "behind the end"])
async def test_a_cursor_that_is_none_is_refused(resources: Resources, tenant: str, cursor: str) -> None:
    """Made up, of another tenant, or of a log that was longer: an error that says what to pass instead."""
    await remember.episode(resources, NewEpisode(content="day", butler="main"))
    given = {"another tenant's": encode_cursor(f"{tenant}x", 1), "behind the end": encode_cursor(tenant, 2)}
    with pytest.raises(InvalidInput, match="since") as refused:
        await activity.activity(resources, since=given.get(cursor, cursor))
    assert "'start'" in refused.value.recovery


async def test_what_a_crash_could_still_undo_is_not_told_yet(resources: Resources, clock: MovingClock) -> None:
    """A read is counted without waiting for the disk: as the last thing in the log it is told of a moment later, as
    soon as something durable stands behind it or after two seconds."""
    await remember.fact(resources, NewFact(subject="Anna", predicate="tea", content="green"))
    ask = Question(query="green tea", min_relevance=0)
    await search.search(resources, ask)
    fresh = await whole(resources)
    assert (told(fresh), fresh.more, fresh.unsafe) == (["fact.created"], False, True)
    await remember.episode(resources, NewEpisode(content="day", butler="main"))
    assert told(await activity.activity(resources, since=fresh.cursor)) == ["memory.referenced", "episode.created"]
    await search.search(resources, ask)
    assert told(await activity.activity(resources, limit=1)) == ["episode.created"]
    clock.move(seconds=2)
    later = await activity.activity(resources, limit=1)
    assert (told(later), later.unsafe) == (["memory.referenced"], False)


async def test_an_agent_gets_past_what_it_may_not_see(
    resources: Resources, agent: Callable[..., Caller], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long stretch of other butlers' events is looked through in pieces; each answer says that there is more."""
    monkeypatch.setattr(log, "PIECE", 4)
    for number in range(10):
        await remember.episode(resources, NewEpisode(content=f"day {number}", butler="coder"))
    mine = await remember.episode(resources, NewEpisode(content="mine", butler="health"))
    cursor, answers = "start", []
    while not answers or answers[-1].more:
        answers.append(await activity.activity(resources, agent("health"), since=cursor))
        cursor = answers[-1].cursor
    assert [len(answer.items) for answer in answers] == [0, 0, 1]
    assert answers[-1].items[0].ref == f"episode:{mine.ref}"


@pytest.fixture
async def busy(resources: Resources, clock: MovingClock) -> Resources:
    await live(resources, clock)
    return resources


@given(
    limits=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    piece=st.integers(1, 12),
    who=st.sampled_from([("main", Role.ADMIN, "*"), ("main", Role.ADMIN, None), ("coder", Role.AGENT, None),
                         ("health", Role.READER, "health")]),
)  # fmt: skip
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_pages_of_any_size_give_the_same_list(
    busy: Resources, limits: list[int], piece: int, who: tuple[str, Role, str | None]
) -> None:
    """However the log is cut, by the reader or by how much is looked through at once: nothing is lost or doubled."""
    name, role, scope = who
    caller = Caller(Principal(busy.settings.tenant, name, role))
    expected = await whole(busy, caller, scope)
    found, cursor, more, turn = [], "start", True, 0
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(log, "PIECE", piece)
        while more:
            page = await activity.activity(busy, caller, since=cursor, scope=scope, limit=limits[turn % len(limits)])
            found += page.items
            cursor, more, turn = page.cursor, page.more, turn + 1
    assert found == list(expected.items)
    assert found and cursor == expected.cursor


@pytest.mark.parametrize("limit", [0, 501])
async def test_a_page_has_its_bounds(resources: Resources, limit: int) -> None:
    """One event at least, five hundred at most."""
    with pytest.raises(InvalidInput, match="limit"):
        await activity.activity(resources, limit=limit)


async def test_the_order_of_the_log_is_the_order_of_commits(
    resources: Resources, tenant: str, owner: Connection
) -> None:
    """Everything that numbers an event holds the tenant's row until it commits: no number becomes visible before a
    lower one."""
    await remember.episode(resources, NewEpisode(content="day", butler="main"))
    async with resources.database.write(tenant, resources.clock()) as transaction:
        await transaction.one("database.lock_tenant", now=resources.clock(), refs=0)
        with pytest.raises(psycopg.errors.LockNotAvailable), owner.transaction():
            query = "SELECT last_seq FROM memory.tenants WHERE tenant_id = %s FOR NO KEY UPDATE NOWAIT"
            owner.execute(query, (tenant,))
    clocks = replace(resources, clock=lambda: resources.clock() - timedelta(hours=1))
    await remember.episode(clocks, NewEpisode(content="by a clock that is late", butler="main"))
    found = await whole(resources)
    assert [item.event.seq for item in found.items] == [1, 2]
    assert found.items[0].event.occurred_at > found.items[1].event.occurred_at
