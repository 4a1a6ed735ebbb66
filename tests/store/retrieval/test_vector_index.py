"""Vector indexes on a running store: built, replaced and dropped while others read, and whole again after a crash."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import numpy as np
import psycopg
import pytest
from tests.store.retrieval.crowd import (
    Crowd,
    Vectors,
    add_facts,
    add_passages,
    add_tenants,
    count_passages,
    ids_of,
    open_store,
    own_database,
    under,
)

from memory_butler.errors import OverloadRejected, PermissionDenied, TargetUnavailable
from memory_butler.models import Caller, NewFact, Principal, Role
from memory_butler.operations.lifecycle.cleanup import cleanup
from memory_butler.operations.lifecycle.job_status import shard_of
from memory_butler.operations.retrieval import vector_indexes as indexing
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources
from memory_butler.settings import Settings
from memory_butler.store.embedded.server import EmbeddedPostgres
from memory_butler.store.gate import indexed_tenants
from memory_butler.store.gate.ids import tenant_digest
from memory_butler.store.gate.vectors import as_vector
from memory_butler.store.retrieval import search, vector_index
from memory_butler.store.retrieval.vector_index import Place

FACTS = 1_500
# An IVFFlat index that looks into all of its lists misses nothing.
PLACE = Place("a", "fact", 1, 384, FACTS)
RULES: dict[str, Any] = {"exact_below": 500, "ivfflat": {"lists": 10, "probes": 10}}


@dataclass(frozen=True, slots=True)
class Store:
    """A tenant `a` with facts enough for an index, a tenant `b` with few."""

    resources: Resources
    owner: psycopg.Connection[Any]
    question: Vectors

    def params(self) -> dict[str, Any]:
        query = replace(indexing._query(self.resources, PLACE), embedding=self.question.tolist())
        return query.params()

    async def found(self, resources: Resources, tenant: str = "a") -> list[UUID]:
        """What a search is told by the index, in the way that a search asks; nothing without one."""
        async with vector_index.read(resources.database, tenant, self.params()) as transaction:
            cursor = await transaction.send("vector_index.listed")
        return [row["id"] for row in await cursor.fetchall()]

    async def nearest(self, tenant: str = "a") -> list[UUID]:
        async with self.resources.database.read(tenant) as transaction:
            return [one for one, _ in await vector_index.nearest(transaction, self.params())]

    def indexes(self) -> dict[str, bool]:
        """The stage and kind of each index that is there, and whether it is valid."""
        rows = self.owner.execute(
            "SELECT split_part(c.relname, '_', 2) || ' ' || a.amname, i.indisvalid FROM pg_index i"
            " JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam"
            " WHERE i.indrelid = 'memory.passages'::regclass AND a.amname <> 'btree'"
        ).fetchall()
        return dict(rows)


@pytest.fixture
async def store(server: EmbeddedPostgres, settings: Settings, template: str) -> AsyncIterator[Store]:
    with own_database(server, template) as database:
        async with open_store(server, settings, database) as resources:
            crowd = Crowd.of(9, topics=20)
            ids = ids_of(FACTS + 100, crowd.source)
            with psycopg.connect(server.dsn("postgres", database), autocommit=True) as owner:
                add_tenants(owner, {"a": FACTS, "b": 100})
                for tenant, part in (("a", slice(0, FACTS)), ("b", slice(FACTS, None))):
                    add_passages(owner, _names(tenant, len(ids[part])), ids[part], crowd.draw(len(ids[part])))
                    add_facts(owner, tenant, ids[part])
                yield Store(resources, owner, crowd.draw(1)[0])


def _names(tenant: str, count: int) -> Any:
    return np.full(count, tenant.encode(), f"S{len(tenant)}")


def nearly(found: Sequence[Any], nearest: Sequence[Any]) -> bool:
    """All but one at most: an HNSW graph is another one each time it is built."""
    return len(set(found[:10]) & set(nearest[:10])) >= 9


async def test_a_migration_brings_what_the_settings_ask_for(store: Store) -> None:
    """From nothing to IVFFlat, to HNSW, and back to exact; a second run has nothing to do, a rehearsal does nothing."""
    nearest = await store.nearest()
    assert store.indexes() == {}
    for posture, there in (("ivfflat", {"near ivfflat": True}), ("hnsw", {"near hnsw": True}), ("exact", {})):
        async with under(store.resources, posture=posture, **RULES) as resources:
            before = store.indexes()
            foreseen = await indexing.migrate(resources, dry_run=True)
            assert store.indexes() == before
            assert await indexing.migrate(resources) == foreseen != ()
            assert store.indexes() == there
            assert await indexing.migrate(resources) == ()
            found = await store.found(resources)
            assert nearly(found, nearest) if there else found == []
            assert await store.found(resources, "b") == []


async def test_automatic_posture_follows_the_rows(store: Store) -> None:
    """Whether an index is built, and which, depends on the two thresholds."""
    for hnsw_from, there in ((10_000, {"near ivfflat": True}), (1_000, {"near hnsw": True})):
        async with under(store.resources, posture="auto", hnsw_from=hnsw_from, **RULES) as resources:
            await indexing.migrate(resources)
            assert store.indexes() == there
    async with under(store.resources, exact_below=10_000) as resources:
        steps = await indexing.migrate(resources)
        assert [step.action for step in steps] == ["drop"]
        assert store.indexes() == {}


async def test_what_is_stored_later_is_found_by_index(store: Store) -> None:
    """An index is kept up to date by the writes themselves."""
    async with under(store.resources, posture="hnsw", **RULES) as resources:
        await indexing.migrate(resources)
        caller = Caller(Principal("a", "main", Role.ADMIN))
        new = NewFact(subject="tea", predicate="kind", content="green tea with jasmine")
        stored = await remember.fact(resources, new, caller)
        vector = await resources.embedder.embed_query("tea kind green tea with jasmine")
        params = {**store.params(), "embedding": as_vector(vector.tolist())}
        async with resources.database.read("a") as transaction:
            found = await vector_index.nearest_by_index(resources.database, transaction, params)
        assert found[0][0] == stored.id


async def test_a_build_that_was_killed_is_made_good(store: Store) -> None:
    """A backend killed in the middle leaves an invalid index, which nobody reads; the next run drops it and builds."""
    name = f"passages_next_fact_1_{tenant_digest('a')}"
    async with under(store.resources, posture="hnsw", **RULES) as resources:
        blocker = psycopg.connect(store.owner.info.dsn)
        blocker.execute("UPDATE memory.passages SET ordinal = ordinal WHERE tenant_id = 'b'")
        building = asyncio.create_task(indexing.migrate(resources))
        pid = await _builder(store.owner, "waiting for%")
        with pytest.raises(OverloadRejected):
            await indexing.migrate(resources)
        store.owner.execute("SELECT pg_terminate_backend(%s)", (pid,))
        with pytest.raises(TargetUnavailable):
            await building
        blocker.rollback()
        blocker.close()
        assert store.indexes() == {"next hnsw": False}
        assert await store.found(resources) == []
        due = (await indexing.status(resources)).due
        assert [(step.action, step.index, step.why) for step in due][:1] == [
            ("drop", name, "its build was interrupted")
        ]
        steps = await indexing.migrate(resources)
        assert [step.action for step in steps] == ["drop", "build", "in place"]
        assert store.indexes() == {"near hnsw": True}
        assert (await store.found(resources))[:10] == (await store.nearest())[:10]


async def test_a_migration_that_ended_between_two_steps_goes_on_from_there(store: Store) -> None:
    """A finished successor is put in place without building it again; a predecessor left behind is dropped."""
    async with under(store.resources, posture="hnsw", **RULES) as resources:
        await indexing.migrate(resources)
        near, following, past = (f"passages_{stage}_fact_1_{tenant_digest('a')}" for stage in ("near", "next", "past"))
        store.owner.execute(f"ALTER INDEX memory.{near} RENAME TO {following}")
        assert [step.action for step in await indexing.migrate(resources)] == ["in place"]
        store.owner.execute(
            f"CREATE INDEX {past} ON memory.passages USING ivfflat ((embedding::halfvec(384)) halfvec_ip_ops)"
            " WHERE tenant_id = 'a'"
        )
        assert [(step.action, step.index) for step in await indexing.migrate(resources)] == [("drop", past)]
        assert store.indexes() == {"near hnsw": True}
        assert [step.action for step in await indexing.migrate(resources, rebuild=True)] == [
            "build",
            "in place",
            "drop",
        ]
        assert store.indexes() == {"near hnsw": True}


async def test_an_index_of_a_tenant_that_is_gone_is_dropped(store: Store) -> None:
    """Nothing is kept for whom there is nothing."""
    async with under(store.resources, posture="hnsw", **RULES) as resources:
        await indexing.migrate(resources)
        store.owner.execute("DELETE FROM memory.passages WHERE tenant_id = 'a'")
        store.owner.execute("DELETE FROM memory.facts WHERE tenant_id = 'a'")
        store.owner.execute("DELETE FROM memory.tenants WHERE tenant_id = 'a'")
        (step,) = await indexing.migrate(resources)
        assert (step.action, step.tenant) == ("drop", None)
        assert store.indexes() == {}


async def test_the_posture_changes_while_reads_go_on(store: Store) -> None:
    """Every read during three migrations is answered, and rightly: by an index or, where there is none, exactly."""
    nearest = await store.nearest()
    seen = set()
    async with under(store.resources, posture="hnsw", **RULES) as reader:
        stop = asyncio.Event()

        async def read() -> int:
            count = 0
            while not stop.is_set():
                reader.database.indexed_tenants.clear()
                found = await store.found(reader)
                seen.add(bool(found))
                assert found == [] or nearly(found, nearest)
                count += 1
            return count

        reading = asyncio.create_task(read())
        for posture in ("ivfflat", "hnsw", "exact"):
            async with under(store.resources, posture=posture, **RULES) as resources:
                await indexing.migrate(resources)
                before = len(store.indexes())
                assert before == (posture != "exact")
        stop.set()
        assert await reading > 10
    assert seen == {True, False}


async def test_a_process_learns_of_an_index_that_others_built(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it knows is looked up again after a while, within a read; until then it reads as before."""
    async with under(store.resources, posture="hnsw", **RULES) as reader:
        assert await store.found(reader) == []
        async with under(store.resources, posture="hnsw", **RULES) as other:
            await indexing.migrate(other)
        assert await store.found(reader) == []
        monkeypatch.setattr(indexed_tenants, "REFRESH_SECONDS", 0.0)
        assert await store.found(reader) == []
        assert await store.found(reader) != []


async def test_a_list_that_filters_leave_short_is_no_list(store: Store) -> None:
    """Where the caller may see less than a full list, nothing is said by the index, and the search looks at all."""
    async with under(store.resources, posture="hnsw", **RULES) as resources:
        await indexing.migrate(resources)
        params = {**store.params(), "scopes": ["nobody's"]}
        async with resources.database.read("a") as transaction:
            assert await vector_index.nearest_by_index(resources.database, transaction, params) == []


async def test_what_is_hidden_is_listed_where_the_index_passed_it(store: Store) -> None:
    """A second list, regardless of visibility, is read only if the first one passed over a memory."""
    async with under(store.resources, posture="hnsw", **RULES) as resources:
        await indexing.migrate(resources)
        params = {**store.params(), "with_hidden": True, "scopes": ["global"]}

        async def listed() -> tuple[list[UUID], list[UUID]]:
            async with vector_index.read(resources.database, "a", params) as transaction:
                rows = await (await transaction.send("vector_index.listed")).fetchall()
            visible, ahead = ([row["id"] for row in rows if row["ahead"] is kind] for kind in (False, True))
            return visible, ahead

        visible, ahead = await listed()
        assert (len(visible), ahead) == (100, [])
        hidden = visible[3]
        # Past the guard of facts, whose scope never changes.
        store.owner.execute("SET session_replication_role = replica")
        store.owner.execute("UPDATE memory.facts SET scope = 'health' WHERE id = %s", (hidden,))
        visible, ahead = await listed()
        assert (len(visible), len(ahead)) == (100, 100)
        assert hidden in ahead
        assert hidden not in visible


async def test_a_search_finds_the_same_with_an_index_and_without(store: Store) -> None:
    """Both lists are one: what stands on it, in which order, and how near it is."""
    query = replace(indexing._query(store.resources, PLACE), embedding=store.question.tolist())
    async with under(store.resources, posture="ivfflat", **RULES) as resources:
        found = []
        for migrated in (False, True):
            if migrated:
                await indexing.migrate(resources)
            answer = await search.search(resources.database, "a", query)
            found.append(sorted((hit.semantic_score or 0, hit.id) for hit in answer.hits)[-50:])
        assert len(found[0]) == 50
        assert found[0] == found[1]


async def test_what_a_search_plans_with_is_as_it_was(store: Store) -> None:
    """The settings that serve the index alone are gone before the search is planned."""
    async with under(store.resources, posture="hnsw", **RULES) as resources:
        await indexing.migrate(resources)
        async with vector_index.read(resources.database, "a", store.params()) as transaction:
            shown = await transaction.run(
                "SELECT current_setting('plan_cache_mode') AS mode, current_setting('enable_sort') AS sorting", {}
            )
            assert await shown.fetchone() == {"mode": "force_generic_plan", "sorting": "on"}


async def test_status_measures_size_bloat_and_recall(store: Store) -> None:
    """A new index has no bloat; when half of the rows are gone, half of it is waste, and a rebuild makes that good."""
    async with under(store.resources, posture="hnsw", **RULES) as resources:
        assert [one.in_force for one in (await indexing.status(resources)).standings] == ["exact", "exact"]
        await indexing.migrate(resources)
        found = {one.tenant: one for one in (await indexing.status(resources, queries=6)).standings}
        assert found["a"].in_force == found["a"].wanted == "hnsw (ef_construction 128, m 24)"
        assert (found["a"].recall, found["a"].queries, found["a"].bloat) == (1.0, 6, 0.0)
        assert (found["b"].in_force, found["b"].recall, found["b"].bytes) == ("exact", None, None)
        store.owner.execute(
            "DELETE FROM memory.passages WHERE tenant_id = 'a' AND memory_id IN"
            " (SELECT memory_id FROM memory.passages WHERE tenant_id = 'a' ORDER BY memory_id LIMIT 750)"
        )
        count_passages(store.owner)
        halved = {one.tenant: one for one in (await indexing.status(resources, queries=0)).standings}["a"]
        assert halved.rows == 750
        assert halved.recall is None
        assert halved.bloat == pytest.approx(0.5, abs=0.01)
        await indexing.migrate(resources, rebuild=True)
        anew = {one.tenant: one for one in (await indexing.status(resources, queries=0)).standings}["a"]
        assert anew.bloat == pytest.approx(0.0, abs=1e-9)
        assert anew.bytes is not None
        assert halved.bytes is not None
        assert anew.bytes < halved.bytes


async def test_only_an_administrator_looks_after_indexes(store: Store) -> None:
    """They concern all tenants."""
    agent = Caller(Principal("a", "main", Role.AGENT))
    for refused in (indexing.status(store.resources, agent), indexing.migrate(store.resources, agent)):
        with pytest.raises(PermissionDenied):
            await refused


async def _builder(owner: psycopg.Connection[Any], phase: str) -> int:
    """The backend that builds an index, once it is in that phase."""
    for _ in range(2_000):
        with suppress(TypeError):
            (pid,) = owner.execute(
                "SELECT pid FROM pg_stat_progress_create_index WHERE datname = current_database() AND phase LIKE %s",
                (phase,),
            ).fetchone()  # type: ignore[misc]
            return int(pid)
        await asyncio.sleep(0.01)
    raise AssertionError("no index is being built")


async def test_a_tenant_that_has_grown_gets_its_index_by_itself(store: Store) -> None:
    """The daily cleanup builds it and searches use it; a small tenant is left alone, and the next run has no work."""
    async with under(store.resources, **RULES) as resources:
        for tenant in ("b", "a", "a"):
            await cleanup(resources, shard_of(tenant, "main"))
        assert store.indexes() == {"near ivfflat": True}
        assert nearly(await store.found(resources), await store.nearest())
        assert await indexing.switch_if_due(resources, "a") == {}
        # Half of the passages are gone: the index is kept; below half of the threshold it goes.
        store.owner.execute("UPDATE memory.embedding_counts SET memories = 100, passages = 100 WHERE tenant_id = 'a'")
        await store.found(resources)
        report = await cleanup(resources, shard_of("a", "main"))
        assert list(report["vector_indexes"].values()) == ["drop: 100 passages are searched exactly"]
        assert store.indexes() == {}


async def test_an_index_that_misses_too_much_is_not_used(store: Store) -> None:
    """It is measured before a search sees it, dropped, and the report says so; search stays exact."""
    async with under(store.resources, exact_below=500, min_recall=1.0, ivfflat={"lists": 300, "probes": 1}) as poor:
        report = await cleanup(poor, shard_of("a", "main"))
        (found,) = [words for words in report["vector_indexes"].values() if words.startswith("dropped")]
        assert re.fullmatch(r"dropped: its recall of 0\.\d+ is below 1", found)
        assert store.indexes() == {} and await store.found(poor) == []


@pytest.mark.parametrize("posture", ["exact", "ivfflat", "hnsw"])
async def test_a_posture_that_was_chosen_waits_for_the_command(store: Store, posture: str) -> None:
    async with under(store.resources, posture=posture, **RULES) as resources:
        assert await indexing.switch_if_due(resources, "a") == {} and store.indexes() == {}


async def test_while_another_migration_runs_nothing_is_switched(store: Store) -> None:
    async with under(store.resources, **RULES) as resources, vector_index.overseen(resources.database) as other:
        await other.take_turn()
        assert await indexing.switch_if_due(resources, "a") == {}
        await other.end_turn()
        assert await indexing.switch_if_due(resources, "a") != {}
