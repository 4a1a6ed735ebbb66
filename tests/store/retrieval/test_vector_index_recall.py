"""Recall at 200,000 rows: what an index finds of one tenant among many is what looking at everything finds."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
import psycopg
import pytest
from tests.store.retrieval.crowd import (
    NOW,
    Crowd,
    Vectors,
    add_alike,
    add_facts,
    add_tenants,
    ids_of,
    open_store,
    own_database,
    under,
)

from memory_butler.models import MemoryType, Reach
from memory_butler.operations.retrieval import vector_indexes as indexing
from memory_butler.resources import Resources
from memory_butler.settings import Settings
from memory_butler.store.embedded.server import EmbeddedPostgres
from memory_butler.store.gate.ids import tenant_digest
from memory_butler.store.gate.queries import load_queries
from memory_butler.store.retrieval import vector_index
from memory_butler.store.retrieval.search import SearchQuery

ROWS = 200_000
LARGE, SMALL, OTHERS = 10_000, 1_000, 189
ASKED = 60
PRIVATE = 50
DIFFERENT, BURST = 10_000, 100


@dataclass(frozen=True, slots=True)
class Town:
    """A store of many tenants: `large-00` has a twentieth of all rows, the others a few each."""

    resources: Resources
    database: str
    ids: list[UUID]
    vectors: Vectors
    questions: Vectors

    def nearest(self, question: Vectors, visible: slice, count: int = 10) -> set[UUID]:
        """The truth, by arithmetic."""
        near = self.vectors[visible] @ question
        return {self.ids[visible][place] for place in np.argsort(-near)[:count]}

    def params(self, question: Vectors, scopes: tuple[str, ...] | None) -> dict[str, Any]:
        query = SearchQuery(
            words="",
            embedding=question.tolist(),
            embedding_version=self.resources.embedding_version,
            types=[MemoryType.FACT],
            reach=Reach(scopes=scopes, butlers=None),
            min_confidence=0.2,
            text_search="english",
            k1=0.9,
            b=0.4,
            scan_limit=30_000,
            candidates=100,
            now=NOW,
        )
        return query.params()


@pytest.fixture(scope="module")
async def town(server: EmbeddedPostgres, settings: Settings, template: str) -> AsyncIterator[Town]:
    with own_database(server, template) as database:
        async with open_store(server, settings, database) as resources:
            crowd = Crowd.of(4)
            sizes = {"large-00": LARGE, "small-00": SMALL} | {f"other{number:03d}": SMALL for number in range(OTHERS)}
            tenants = np.repeat(np.array(list(sizes), "S8"), list(sizes.values()))
            # What the other tenants hold is much alike; the two that are asked have vectors of their own.
            drawn = crowd.draw(LARGE + SMALL + DIFFERENT)
            place = np.arange(ROWS)
            which = np.where(place < LARGE, place, LARGE + place % (SMALL + DIFFERENT))
            ids = ids_of(ROWS, crowd.source)
            # The rows of a tenant came in over the years, in bursts, between those of the others.
            order = np.concatenate(crowd.source.permutation(np.arange(ROWS).reshape(-1, BURST)))
            with psycopg.connect(server.dsn("postgres", database), autocommit=True) as connection:
                add_tenants(connection, sizes)
                add_alike(connection, tenants[order], ids[order], drawn, which[order])
                add_facts(connection, "large-00", ids[:LARGE], private=PRIVATE)
                connection.execute("VACUUM memory.passages")
            own = [UUID(bytes=bytes(one)) for one in ids[:LARGE]]
            yield Town(resources, database, own, drawn[:LARGE], crowd.draw(ASKED))


def row_count(server: EmbeddedPostgres, town: Town) -> int:
    with psycopg.connect(server.dsn("postgres", town.database)) as connection:
        row = connection.execute("SELECT count(*) FROM memory.passages").fetchone()
    assert row
    return int(row[0])


def plan_of(
    server: EmbeddedPostgres,
    town: Town,
    params: dict[str, Any],
    query: str = "vector_index.near",
    *,
    prepared: bool = True,
) -> str:
    """How the database goes about it for this very tenant, as the program's role, under row-level security."""
    queries = load_queries(town.resources.database.names)
    with psycopg.connect(server.dsn("memory_app", town.database)) as connection:
        connection.execute("SELECT set_config('memory_butler.tenant', 'large-00', true)")
        named = {**params, **vector_index.own_vector(params), "tenant": "large-00", "with_hidden": False}
        more = {"ef_search": 200, "probes": None, "scan_share": 0.05, "stage": "near"}
        if prepared:
            connection.execute(queries["vector_index.prepare"], {**named, **more})
        rows = connection.execute(b"EXPLAIN " + queries[query], {**named, **more}).fetchall()
    return "\n".join(row[0] for row in rows)


# The lists of an IVFFlat index are clusters from random starting points: its recall differs from build to build.
LEAST_RECALL = {"ivfflat": 0.95, "hnsw": 0.98}


@pytest.mark.parametrize("posture", LEAST_RECALL)
async def test_an_index_finds_what_is_there(server: EmbeddedPostgres, town: Town, posture: str) -> None:
    """Of the ten nearest facts of a tenant with a twentieth of 200,000 rows nearly all are found, by either kind."""
    assert row_count(server, town) == ROWS
    async with under(town.resources, posture=posture, exact_below=5_000) as resources:
        steps = await indexing.migrate(resources)
        assert [(step.tenant, step.action) for step in steps][:2] == [("large-00", "build"), ("large-00", "in place")]
        found = 0
        for question in town.questions:
            async with resources.database.read("large-00") as transaction:
                near = await vector_index.nearest_by_index(resources.database, transaction, town.params(question, None))
            assert len(near) == 100
            assert [score for _, score in near] == sorted((score for _, score in near), reverse=True)
            found += len({one for one, _ in near[:10]} & town.nearest(question, slice(None)))
        assert found / (10 * ASKED) >= LEAST_RECALL[posture]
        name = f"passages_near_fact_1_{tenant_digest('large-00')}"
        assert f"using {name}" in plan_of(server, town, town.params(town.questions[0], None))
        (measured,) = [one for one in (await indexing.status(resources, queries=ASKED)).standings if one.valid]
        assert measured.in_force.startswith(posture)
        assert measured.recall is not None
        assert measured.recall >= LEAST_RECALL[posture]
        assert measured.queries == ASKED


async def test_a_filter_that_hides_nearly_all_loses_nothing(town: Town) -> None:
    """A butler that may see one fact in fifty gets its own nearest: by index if that gave a full list, else exactly."""
    async with under(town.resources, posture="hnsw", exact_below=5_000) as resources:
        await indexing.migrate(resources)
        visible = slice(PRIVATE - 1, None, PRIVATE)
        found = by_index = 0
        for question in town.questions[:10]:
            params = town.params(question, ("health",))
            async with resources.database.read("large-00") as transaction:
                near = await vector_index.nearest_by_index(resources.database, transaction, params)
            by_index += bool(near)
            if not near:
                async with resources.database.read("large-00") as transaction:
                    near = await vector_index.nearest(transaction, params)
            found += len({one for one, _ in near[:10]} & town.nearest(question, visible))
        assert found / 100 >= 0.98
        params = town.params(town.questions[0], ("global",))
        async with resources.database.read("large-00") as transaction:
            assert len(await vector_index.nearest_by_index(resources.database, transaction, params)) == 100


async def test_a_small_tenant_beside_large_ones_is_searched_exactly(town: Town) -> None:
    """A tenant with less than the threshold gets no index, and none of another tenant's is read for it."""
    async with under(town.resources, posture="hnsw", exact_below=5_000) as resources:
        await indexing.migrate(resources)
        async with resources.database.read("small-00") as transaction:
            params = town.params(town.questions[0], None)
            assert await vector_index.nearest_by_index(resources.database, transaction, params) == []


async def test_the_search_itself_never_walks_an_index(server: EmbeddedPostgres, town: Town) -> None:
    """What it looks at by itself is exact, also by a plan for one tenant, as a look at the past may get one."""
    async with under(town.resources, posture="hnsw", exact_below=5_000) as resources:
        await indexing.migrate(resources)
        for form in ("usual", "full"):
            params = town.params(town.questions[0], None)
            assert "passages_near" not in plan_of(server, town, params, f"search.by_meaning:{form}", prepared=False)
