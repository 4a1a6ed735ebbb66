"""Fixtures: a tenant with every kind of record, an empty one, and their rows."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row

from memory_butler.models import NewEpisode, NewFact, NewRule, Outcome, Question
from memory_butler.operations.history import undo
from memory_butler.operations.lifecycle import sweep
from memory_butler.operations.retrieval import search
from memory_butler.operations.writing import correct, feedback, forget, pin, remember
from memory_butler.resources import Resources

Connection = psycopg.Connection[Any]
KEPT = ("episodes", "episode_tombstones", "facts", "rules", "rule_applications", "memory_links", "aliases",
        "butlers", "distilled_keys")  # fmt: skip
PAST = ("texts", "memory_events", "memory_references")
DERIVED = ("passages", "postings")


@pytest.fixture
def tables(owner: Connection) -> Callable[..., dict[str, list[str]]]:
    """Every row of a tenant as text, without the tenant; of its log everything but the looks of others."""

    def read(tenant: str, *names: str) -> dict[str, list[str]]:
        found = {}
        for name in names or (*KEPT, *PAST, *DERIVED):
            query = sql.SQL("SELECT to_jsonb(t) - 'tenant_id' AS row FROM memory.{} t WHERE tenant_id = %s").format(
                sql.Identifier(name)
            )
            with owner.cursor(row_factory=dict_row) as cursor:
                rows = [row["row"] for row in cursor.execute(query, [tenant])]
            for row in rows:
                for part in ("state", "tombstone"):
                    row.get("payload", {}).get(part, {}).pop("tenant_id", None)
            found[name] = sorted(json.dumps(row, sort_keys=True) for row in rows if row.get("entity_type") != "access")
        return found

    return read


async def _live(resources: Resources, clock: Any) -> None:
    """A life with everything in it that a file can hold."""
    gone = await remember.episode(resources, NewEpisode(content="We met Annie", butler="main", session_id="s1"))
    await remember.fact(
        resources,
        NewFact(subject="Anna", predicate="color", content="blue", source_episode=gone.ref, aliases=("Annie",)),
    )
    clock.move(days=8)
    await sweep.sweep(resources)
    episode = await remember.episode(
        resources,
        NewEpisode(content="We talked “über” 日本", butler="health", metadata={"n": 1.5, "deep": {"x": [None]}}),
    )
    fact = NewFact(subject="user", predicate="color", content="blue", source_episode=episode.ref)
    old = await remember.fact(resources, fact)
    clock.move(hours=-1)  # the newer fact has the lower id
    green = await remember.fact(resources, NewFact(subject="user", predicate="color", content="green"))
    clock.move(hours=2)
    await correct.correct(resources, green.ref, "dark green", reason="seen by daylight")
    rule = await remember.rule(resources, NewRule(content="Ask first", tags=("a", "b")))
    await pin.pin(resources, "rule", rule.ref)
    await feedback.mark(resources, rule.ref, Outcome.HARMFUL, reason="it was late")
    await feedback.mark(resources, rule.ref, Outcome.HELPFUL)
    tea = await remember.fact(resources, NewFact(subject="user", predicate="tea", content="black"))
    await forget.forget(resources, "fact", tea.ref, reason="no more")
    await search.search(resources, Question(query="green", min_relevance=0))
    assert old.ref != green.ref


async def _undo_last_mark(resources: Resources, owner: Connection) -> None:
    marked = owner.execute(
        "SELECT id FROM memory.memory_events WHERE tenant_id = %s AND event_type = 'rule.helpful'",
        [resources.settings.tenant],
    ).fetchone()
    assert marked
    await undo.undo(resources, str(marked[0]))


@pytest.fixture
async def source(resources: Resources, clock: Any, owner: Connection) -> Resources:
    await _live(resources, clock)
    await _undo_last_mark(resources, owner)
    return resources


@pytest.fixture
def other(resources: Resources) -> Resources:
    """The same butler at home in a tenant that does not exist yet."""
    tenant = f"t{uuid4().hex[:16]}"
    return replace(resources, settings=resources.settings.model_copy(update={"tenant": tenant}))
