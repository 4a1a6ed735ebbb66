"""Replay: the log alone gives the store again, and says so where it cannot."""

import uuid
from collections.abc import Callable
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import sql

from memory_butler.butler import Butler
from memory_butler.errors import OverloadRejected, PermissionDenied
from memory_butler.models import Caller, NewEpisode, NewFact, NewRule, Outcome, Question
from memory_butler.operations import index, judge, recall, remember
from memory_butler.operations.replay import replay
from memory_butler.store.replay import Difference, scratch_schema

Connection = psycopg.Connection[Any]


async def _live(butler: Butler, clock: Any) -> dict[str, str]:
    """A short life with everything in it; returns references by name."""
    episode = await remember.episode(butler, NewEpisode(content="We talked", butler="main", metadata={"n": 1}))
    fact = NewFact(subject="user", predicate="color", content="blue", source_episode=episode.ref)
    await remember.fact(butler, fact)
    clock.move(hours=1)
    await remember.fact(butler, fact)  # the same link again, an hour later: nothing new
    green = await remember.fact(butler, NewFact(subject="user", predicate="color", content="green"))
    rule = await remember.rule(butler, NewRule(content="Ask first", tags=("a", "b")))
    await judge.mark(butler, rule.ref, Outcome.HARMFUL, reason="it was late")
    await recall.search(butler, Question(query="green"))
    clock.move(hours=-2)
    await recall.search(butler, Question(query="green"))
    return {"episode": episode.ref, "fact": green.ref, "rule": rule.ref}


async def test_a_store_is_rebuilt_row_for_row(butler: Butler, clock: Any, owner: Connection) -> None:
    """Every table comes out equal, and the scratch schema is gone afterwards."""
    await _live(butler, clock)
    report = await replay(butler)
    assert report.equal, report
    assert report.removed_texts == ()
    counts = {name: (table.live, table.rebuilt) for name, table in report.tables.items()}
    assert counts == {
        "episodes": (1, 1),
        "episode_tombstones": (0, 0),
        "facts": (2, 2),
        "rules": (1, 1),
        "rule_applications": (1, 1),
        "memory_links": (2, 2),
        "aliases": (0, 0),
    }
    assert owner.execute("SELECT to_regnamespace('memory_replay')").fetchone() == (None,)


@pytest.mark.parametrize(
    ("tampering", "columns"),
    [
        ("importance = 9", ("importance",)),
        ("tags = '{x}'", ("tags",)),
        ("reference_count = 7, last_referenced_at = now()", ("last_referenced_at", "reference_count")),
    ],
)
async def test_a_change_without_an_event_is_found(
    butler: Butler, clock: Any, owner: Connection, tampering: LiteralString, columns: tuple[str, ...]
) -> None:
    """A row that was changed behind the log's back is named, with the columns that differ and no word of it."""
    known = await _live(butler, clock)
    change = sql.SQL("UPDATE memory.facts SET {} WHERE tenant_id = %s AND ref = %s").format(sql.SQL(tampering))
    owner.execute(change, (butler.settings.tenant, known["fact"]))
    report = await replay(butler)
    assert not report.equal
    assert {name: found.differences for name, found in report.tables.items() if found.differences} == {"facts": 1}
    [example] = report.tables["facts"].examples
    assert (example.kind, example.columns) == ("different", columns)


async def test_a_lost_row_is_found(butler: Butler, clock: Any, owner: Connection) -> None:
    """A memory that vanished without a tombstone exists only in the rebuilt store."""
    await _live(butler, clock)
    gone = owner.execute(
        "DELETE FROM memory.episodes WHERE tenant_id = %s RETURNING id::text", (butler.settings.tenant,)
    ).fetchone()
    assert gone
    report = await replay(butler)
    assert report.tables["episodes"].examples == (Difference(key=str(gone[0]), kind="only rebuilt"),)


async def test_a_removed_text_is_said_to_be_removed(butler: Butler, clock: Any, owner: Connection) -> None:
    """Words that are no longer kept are not guessed: their memory is named, and what stands on it is left out too."""
    await _live(butler, clock)
    first = owner.execute(
        "DELETE FROM memory.texts t USING memory.facts f WHERE f.tenant_id = %s AND f.supersedes_id IS NULL"
        " AND t.tenant_id = f.tenant_id AND t.memory_id = f.id RETURNING f.id::text",
        (butler.settings.tenant,),
    ).fetchone()
    owner.execute(
        "DELETE FROM memory.texts WHERE tenant_id = %s AND body LIKE '{\"reason\"%%'", (butler.settings.tenant,)
    )
    assert first
    report = await replay(butler)
    fact, reason = report.removed_texts
    assert fact == f"fact {first[0]}"
    assert reason.startswith("reason of ")
    assert (report.tables["facts"].live, report.tables["facts"].rebuilt) == (2, 0)
    assert {found.kind for found in report.tables["facts"].examples} == {"only live"}
    assert report.tables["rule_applications"].examples[0].columns == ("reason",)
    assert report.tables["rules"].differences == 0


async def test_a_deleted_episode_comes_back_as_its_tombstone(butler: Butler, clock: Any, owner: Connection) -> None:
    """An episode whose last event holds a tombstone is not rebuilt; its tombstone and the links to it are."""
    await _live(butler, clock)
    tenant = butler.settings.tenant
    with owner.transaction():
        owner.execute(
            "INSERT INTO memory.episode_tombstones SELECT tenant_id, id, ref, butler, observed_at, created_at, now(),"
            " 'expired' FROM memory.episodes WHERE tenant_id = %s",
            (tenant,),
        )
        owner.execute(
            "INSERT INTO memory.memory_events (tenant_id, id, seq, event_type, entity_type, entity_id, occurred_at,"
            " actor, payload_version, payload) SELECT t.tenant_id, %s, last_seq + 1, 'episode.deleted', 'episode',"
            " g.episode_id, now(), 'sweep', 1, jsonb_build_object('tombstone', to_jsonb(g))"
            " FROM memory.tenants t JOIN memory.episode_tombstones g USING (tenant_id) WHERE tenant_id = %s",
            (uuid.uuid4(), tenant),
        )
        owner.execute("DELETE FROM memory.episodes WHERE tenant_id = %s", (tenant,))
        owner.execute("DELETE FROM memory.texts WHERE tenant_id = %s AND body LIKE '%%We talked%%'", (tenant,))
    report = await replay(butler)
    assert report.equal, report
    assert report.removed_texts == ()
    assert report.tables["episodes"].rebuilt == 0
    assert report.tables["episode_tombstones"].rebuilt == 1
    assert report.tables["memory_links"].rebuilt == 2


async def test_a_replay_is_for_administrators_and_one_at_a_time(butler: Butler, agent: Callable[..., Caller]) -> None:
    """An agent may not, and a second replay is turned away instead of disturbing the first."""
    with pytest.raises(PermissionDenied):
        await replay(butler, agent())
    async with scratch_schema(butler.database):
        with pytest.raises(OverloadRejected):
            await replay(butler)


async def test_derived_data_comes_out_the_same(
    butler: Butler, real_butler: Butler, clock: Any, owner: Connection
) -> None:
    """Reindexing gives the same postings, and vectors that agree to 1e-5 in every component."""

    def derived() -> tuple[list[Any], list[Any]]:
        tenant = (real_butler.settings.tenant,)
        postings = owner.execute(
            "SELECT memory_id, lexeme, frequency FROM memory.postings WHERE tenant_id = %s ORDER BY 1, 2", tenant
        ).fetchall()
        passages = owner.execute(
            "SELECT memory_id, ordinal, embedding_version, embedding::real[] FROM memory.passages"
            " WHERE tenant_id = %s ORDER BY 1, 2",
            tenant,
        ).fetchall()
        return postings, passages

    await _live(real_butler, clock)
    long = " ".join(f"On day {n} we walked to the harbour and counted {n} ships." for n in range(40))
    await remember.episode(real_butler, NewEpisode(content=long, butler="main", tags=("harbour",)))
    postings, passages = derived()
    assert await index.reindex(real_butler) == 5
    again_postings, again_passages = derived()
    assert again_postings == postings != []
    assert [row[:3] for row in again_passages] == [row[:3] for row in passages]
    assert len(passages) > 5
    for before, after in zip(passages, again_passages, strict=True):
        assert after[3] == pytest.approx(before[3], abs=1e-5)
