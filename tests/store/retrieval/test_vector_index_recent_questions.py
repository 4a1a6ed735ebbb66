"""Live questions: what is asked of a tenant with a vector index is answered by it, and is what it is measured with."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import psycopg
import pytest
from tests.store.retrieval.crowd import NOW, open_store, own_database, under

from memory_butler.models import Caller, NewFact, Principal, Question, Role
from memory_butler.operations.retrieval import search
from memory_butler.operations.retrieval import vector_indexes as indexing
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources
from memory_butler.settings import Settings
from memory_butler.store.embedded.server import EmbeddedPostgres
from memory_butler.store.gate.vectors import as_vector
from memory_butler.store.retrieval import vector_index
from memory_butler.store.retrieval.vector_index import Place

ANIMALS = ("otter", "heron", "badger", "lynx", "marten", "stork", "weasel", "ibis", "falcon", "newt", "toad", "raven")
PLACES = ("harbour", "orchard", "quarry", "meadow", "tunnel", "lighthouse", "vineyard", "canal", "moor", "glacier")
CALLER = Caller(Principal("a", "main", Role.ADMIN))
RULES: dict[str, Any] = {"exact_below": 100, "ivfflat": {"lists": 4, "probes": 4}}
ASKED = [f"{animal} {place}" for animal, place in zip(ANIMALS, PLACES, strict=False)]


def _at(resources: Resources, now: datetime) -> Resources:
    return replace(resources, clock=lambda: now)


@dataclass(frozen=True, slots=True)
class Zoo:
    """A tenant `a` with enough facts for a full list, and one fact for every question."""

    resources: Resources
    owner: psycopg.Connection[Any]

    async def ask(self, resources: Resources, query: str, **more: Any) -> list[tuple[str, float]]:
        bump = more.pop("bump", True)
        answer = await search.search(
            resources, Question(query=query, **{"min_relevance": 0, **more}), CALLER, bump=bump
        )
        assert not answer.degraded
        return [(entry.hit.content, entry.parts.relevance) for entry in answer.results]

    async def scans(self) -> int:
        """How often the index was read, once every backend of the program has ended and said so."""
        for _ in range(2_000):
            busy = self.owner.execute(
                "SELECT FROM pg_stat_activity WHERE datname = current_database() AND usename = 'memory_app'"
                " AND pid <> ALL(%s)",
                (self._pids(),),
            )
            if not busy.fetchall():
                break
            await asyncio.sleep(0.01)
        else:
            raise AssertionError("a backend did not end")
        row = self.owner.execute(
            "SELECT sum(idx_scan)::int FROM pg_stat_user_indexes WHERE indexrelname LIKE 'passages_near_fact_%'"
        ).fetchone()
        assert row
        return int(row[0])

    def _pids(self) -> list[int]:
        """The backends of the butler that stays open; it asks nothing."""
        pool = self.resources.database._pool
        assert pool
        return [connection.info.backend_pid for connection in pool._pool]

    def kept(self) -> int:
        row = self.owner.execute("SELECT count(*) FROM memory.recent_questions").fetchone()
        assert row
        return int(row[0])


@pytest.fixture(scope="module")
async def animals(server: EmbeddedPostgres, settings: Settings, template: str) -> AsyncIterator[str]:
    """The name of a database with what every test begins with."""
    with own_database(server, template) as database:
        async with open_store(server, settings, database) as resources:
            for animal in ANIMALS:
                for place in PLACES:
                    new = NewFact(subject=f"{animal} of the {place}", predicate="seen", content=f"{animal} at {place}")
                    await remember.fact(resources, new, CALLER)
        yield database


@pytest.fixture
async def zoo(server: EmbeddedPostgres, settings: Settings, animals: str) -> AsyncIterator[Zoo]:
    with own_database(server, animals) as database:
        async with open_store(server, settings, database, seed=2) as resources:
            with psycopg.connect(server.dsn("postgres", database), autocommit=True) as owner:
                yield Zoo(resources, owner)


async def _questions(resources: Resources, count: int) -> list[Any]:
    """What an index would be measured with: whose each question is, and its vector."""
    return await indexing._questions(resources, Place("a", "fact", 1, 384, 120), count)


@pytest.mark.parametrize("posture", ["ivfflat", "hnsw"])
async def test_a_search_reads_the_index_and_answers_as_it_would_without(zoo: Zoo, posture: str) -> None:
    """The database counts a scan of the index for every search; set to exact, it counts none; the answers are one."""
    async with under(zoo.resources, posture=posture, **RULES) as resources:
        exactly = [await zoo.ask(resources, query, bump=False) for query in ASKED]
        await indexing.migrate(resources)
    assert await zoo.scans() == 0
    async with under(zoo.resources, posture="exact") as resources:
        assert [await zoo.ask(resources, query, bump=False) for query in ASKED] == exactly
    assert await zoo.scans() == 0
    async with under(zoo.resources, posture=posture, **RULES) as resources:
        assert [await zoo.ask(resources, query, bump=False) for query in ASKED] == exactly
    assert await zoo.scans() >= len(ASKED)
    assert [found[0][0] for found in exactly] == [query.replace(" ", " at ") for query in ASKED]


async def test_an_index_is_measured_with_what_was_asked(zoo: Zoo) -> None:
    """The latest question comes first, one asked twice is kept once, and stored passages fill up the number."""
    async with under(zoo.resources, posture="ivfflat", **RULES) as resources:
        await indexing.migrate(resources)
        (before,) = [one for one in (await indexing.status(resources, queries=5)).standings if one.tenant == "a"]
        assert (before.live_queries, before.queries) == (0, 5)
        for number, query in enumerate(("otter harbour", "raven moor", "newt canal", "otter harbour")):
            await zoo.ask(_at(resources, NOW + timedelta(minutes=number)), query)
        vectors = [await resources.embedder.embed_query(text) for text in ("otter harbour", "newt canal")]
        asked = [as_vector(vector.tolist()) for vector in vectors]
        questions = await _questions(resources, 5)
        assert [vector for _, vector in questions[:2]] == asked
        assert [own is None for own, _ in questions] == [True, True, True, False, False]
        assert len(await _questions(resources, 2)) == 2
        (after,) = [one for one in (await indexing.status(resources, queries=5)).standings if one.tenant == "a"]
        assert (after.live_queries, after.queries, after.recall, after.fell_back) == (3, 5, 1.0, 0)


async def test_the_index_is_asked_the_question_itself(zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its very vector comes first; where the index has no list for it, that counts as a question that fell back."""
    async with under(zoo.resources, posture="hnsw", **RULES) as resources:
        await indexing.migrate(resources)
        await zoo.ask(resources, "otter harbour")
        seen = []

        async def spied(database: Any, session: Any, params: Any, stage: str) -> list[Any]:
            seen.append(params["embedding"])
            return []

        monkeypatch.setattr(vector_index, "nearest_by_index", spied)
        (found,) = [one for one in (await indexing.status(resources, queries=2)).standings if one.tenant == "a"]
        assert seen[0] == as_vector((await resources.embedder.embed_query("otter harbour")).tolist())
        assert (found.live_queries, found.queries, found.fell_back, found.recall) == (1, 2, 2, None)


async def test_so_many_questions_are_kept_and_no_more(zoo: Zoo) -> None:
    """After a thousand questions there are 64, the last one among them, and each vector has its own place."""
    vectors = np.random.default_rng(5).standard_normal((1_000, 384)).astype(np.float32)
    version = zoo.resources.embedding_version
    async with zoo.resources.database.write("a", NOW) as transaction:
        for number, vector in enumerate(vectors):
            later = NOW + timedelta(seconds=number)
            await vector_index.keep_question(transaction, vector.tolist(), version, later)
    assert zoo.kept() == vector_index.QUESTION_SLOTS == 64
    async with zoo.resources.database.read("a") as transaction:
        kept = await vector_index.recent_questions(transaction, version, 1_000)
        assert len(set(kept)) == 64
        assert kept[0] == as_vector(vectors[-1].tolist())
        assert await vector_index.recent_questions(transaction, version, 3) == kept[:3]
        assert await vector_index.recent_questions(transaction, version + 1, 3) == []
    async with zoo.resources.database.read("b") as transaction:
        assert await vector_index.recent_questions(transaction, version, 3) == []


async def test_only_what_concerns_an_index_is_kept(zoo: Zoo) -> None:
    """Nothing without an index, by words alone, for another moment, in a read that counts nothing; then a real one."""
    async with under(zoo.resources, posture="hnsw", **RULES) as resources:
        await zoo.ask(resources, "otter harbour")
        assert zoo.kept() == 0
        await indexing.migrate(resources)
        for more in ({"mode": "keyword"}, {"bump": False}, {"as_of": NOW}):
            await zoo.ask(resources, "otter harbour", **more)
        async with under(zoo.resources, posture="exact") as unaware:
            await zoo.ask(unaware, "otter harbour")
        assert zoo.kept() == 0
        assert await zoo.ask(resources, "otter harbour", mode="semantic")
        assert zoo.kept() == 1


async def test_questions_go_with_the_index(zoo: Zoo) -> None:
    """They stay while an index is replaced by another, and are gone when the last is dropped."""
    async with under(zoo.resources, posture="ivfflat", **RULES) as resources:
        await indexing.migrate(resources)
        await zoo.ask(resources, "otter harbour")
    async with under(zoo.resources, posture="hnsw", **RULES) as resources:
        assert [step.action for step in await indexing.migrate(resources)] == ["build", "in place", "drop"]
        assert zoo.kept() == 1
    async with under(zoo.resources, posture="exact") as resources:
        assert [step.action for step in await indexing.migrate(resources)] == ["drop"]
        assert zoo.kept() == 0
