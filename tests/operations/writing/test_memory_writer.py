"""Many memories in a few statements: each is stored as it would be by itself, and its events tell its own states."""

from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import pytest
from tests.operations.consolidation.test_consolidate import cites, say, with_distiller
from tests.support.distillers import Scripted, proposal

from memory_butler.models import Caller, NewEpisode, NewFact, NewRule, RunReport
from memory_butler.operations.consolidation import consolidate
from memory_butler.operations.history.replay import replay
from memory_butler.operations.lifecycle.job_status import shard_of
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources

Connection = psycopg.Connection[tuple[Any, ...]]
Distil = Callable[..., Awaitable[RunReport]]


@pytest.fixture
def shard(tenant: str) -> Caller:
    return shard_of(tenant, "main")


@pytest.fixture
def distil(resources: Resources, shard: Caller) -> Distil:
    async def run(**lists: Any) -> RunReport:
        [done] = await consolidate.consolidate(with_distiller(resources, Scripted(proposal(**lists))), shard)
        return done

    return run


def events_of(owner: Connection, tenant: str, kind: str) -> list[tuple[Any, ...]]:
    return owner.execute(
        "SELECT event_type, payload->'state'->>'validity' FROM memory.memory_events"
        " WHERE tenant_id = %s AND entity_type = %s ORDER BY seq",
        (tenant, kind),
    ).fetchall()


async def test_a_property_that_changes_twice_in_one_run_tells_every_state(
    resources: Resources, tenant: str, owner: Connection, distil: Distil
) -> None:
    """Created active, then superseded: an event shows what its own change left behind, not what came of it later."""
    first, second = await say(resources, "I live in Berlin.", "I moved to Lisbon.")
    done = await distil(
        facts=[
            cites(first, subject="user", predicate="lives_in", content="Berlin"),
            cites(second, subject="user", predicate="lives_in", content="Lisbon"),
        ]
    )
    assert [line.outcome for line in done.lines] == ["created", "superseded"]
    assert events_of(owner, tenant, "fact") == [
        ("fact.created", "active"), ("fact.superseded", "superseded"), ("fact.created", "active"),
    ]  # fmt: skip
    found = await replay(resources)
    assert found.equal, found


async def test_who_moves_away_and_back_lives_where_they_came_back_to(
    resources: Resources, tenant: str, owner: Connection, distil: Distil
) -> None:
    """A value that another part of the same proposal has superseded holds again when it is said again."""
    await remember.fact(resources, NewFact(subject="user", predicate="lives_in", content="Berlin"))
    away, back = await say(resources, "I moved to Lisbon.", "I moved back to Berlin.")
    done = await distil(
        facts=[
            cites(away, subject="user", predicate="lives_in", content="Lisbon"),
            cites(back, subject="user", predicate="lives_in", content="Berlin"),
        ]
    )
    assert [line.outcome for line in done.lines] == ["superseded", "superseded"]
    live = owner.execute(
        "SELECT content FROM memory.facts WHERE tenant_id = %s AND validity = 'active'", (tenant,)
    ).fetchall()
    assert live == [("Berlin",)]


async def test_what_a_run_says_twice_in_other_words_is_stored_once(
    resources: Resources, tenant: str, owner: Connection, distil: Distil
) -> None:
    """The second confirms the first, with evidence of its own."""
    one, two = await say(resources, "I like green tea.", "I really like the green tea.")
    done = await distil(
        facts=[
            cites(one, subject="user", predicate="likes:tea", content="green tea"),
            cites(two, subject="user", predicate="likes:green_tea", content="the green tea"),
        ]
    )
    assert [line.outcome for line in done.lines] == ["created", "confirmed"]
    links = owner.execute("SELECT count(*) FROM memory.memory_links WHERE tenant_id = %s", (tenant,)).fetchone()
    assert links == (2,)
    assert events_of(owner, tenant, "fact") == [("fact.created", "active"), ("fact.confirmed", "active")]


async def test_many_are_found_like_one(resources: Resources, tenant: str, owner: Connection, distil: Distil) -> None:
    """Postings, passages and the tenant's counts are those of facts that were stored one by one."""
    words = ["jazz music", "green tea", "long walks in the rain"]
    ref, *_ = await say(resources, f"I like {', '.join(words)}.")
    await distil(
        facts=[cites(ref, subject="user", predicate=f"likes:{word.split()[0]}", content=word) for word in words]
    )

    def index(only: str) -> list[tuple[Any, ...]]:
        return owner.execute(
            "SELECT f.content, p.lexeme, p.frequency, p.words, s.ordinal, s.embedding::text FROM memory.facts f"
            " JOIN memory.postings p ON (p.tenant_id, p.memory_id) = (f.tenant_id, f.id)"
            " JOIN memory.passages s ON (s.tenant_id, s.memory_id) = (f.tenant_id, f.id)"
            " WHERE f.tenant_id = %s ORDER BY 1, 2, 5",
            (only,),
        ).fetchall()

    other = f"{tenant}x"
    alone = shard_of(other, "main")
    await remember.episode(resources, NewEpisode(content=f"I like {', '.join(words)}.", butler="main"), alone)
    for word in words:
        new = NewFact(subject="user", predicate=f"likes:{word.split()[0]}", content=word, scope="main")
        await remember.fact(resources, new, alone)
    assert index(tenant) == index(other) != []
    counted = owner.execute(
        "SELECT DISTINCT documents, document_words FROM memory.tenants WHERE tenant_id = ANY(%s)", ([tenant, other],)
    ).fetchall()
    assert len(counted) == 1


async def test_words_that_another_butler_keeps_to_itself_are_not_taken_for_served_ones(
    resources: Resources, shard: Caller, tenant: str
) -> None:
    """What one butler cannot have been served is news to it; what it can have been is not extracted again."""
    rule = "Always run the tests before you commit."
    await remember.rule(resources, NewRule(content=rule, scope="other"), shard_of(tenant, "other"))
    await say(resources, rule)
    told = Scripted(proposal())
    await consolidate.consolidate(with_distiller(resources, told), shard)
    assert list(told.batches[-1].texts.values()) == [rule]
    await remember.rule(resources, NewRule(content=rule, scope="main"), shard)
    await say(resources, rule)
    await consolidate.consolidate(with_distiller(resources, told), shard)
    assert [text.strip() for text in told.batches[-1].texts.values()] == [""]
