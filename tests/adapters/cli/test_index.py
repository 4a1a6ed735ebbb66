"""`memory-butler index`: what it shows and what it does, for a person and for a program."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import numpy as np
import psycopg
import pytest
from tests.store.retrieval.crowd import Crowd, add_facts, add_passages, add_tenants, ids_of, open_store, own_database
from typer.testing import CliRunner, Result

from memory_butler.adapters.cli.app import app
from memory_butler.models import Caller, Principal, Question, Role
from memory_butler.operations.retrieval import search
from memory_butler.resources import Resources
from memory_butler.settings import Settings, VectorIndex
from memory_butler.store.embedded.server import EmbeddedPostgres
from memory_butler.store.gate.database import Database
from memory_butler.store.retrieval import embedding_versions

FACTS = 1_000


@pytest.fixture
async def store(server: EmbeddedPostgres, settings: Settings, template: str) -> AsyncIterator[Resources]:
    """A store of its own with one tenant, `acme`."""
    with own_database(server, template) as database:
        async with open_store(server, settings, database) as resources:
            crowd = Crowd.of(3, topics=20)
            ids = ids_of(FACTS, crowd.source)
            with psycopg.connect(server.dsn("postgres", database), autocommit=True) as owner:
                add_tenants(owner, {"acme": FACTS})
                add_passages(owner, np.full(FACTS, b"acme", "S4"), ids, crowd.draw(FACTS))
                add_facts(owner, "acme", ids)
            yield resources


@pytest.fixture
def used() -> dict[str, Resources]:
    """Other resources for the command, if a test puts them here."""
    return {}


@pytest.fixture
def run(store: Resources, used: dict[str, Resources], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """`memory-butler index …` on that store; settings of the index are read from the environment as ever."""

    @asynccontextmanager
    async def open_the_same(settings: Settings) -> AsyncIterator[Resources]:
        opened = used.get("resources", store)
        mine = opened.settings.model_copy(update={"vector_index": settings.vector_index})
        database = Database.from_settings(mine)
        try:
            await database.open()
            yield replace(opened, settings=mine, database=database)
        finally:
            await database.close()

    monkeypatch.setenv("MEMORY_BUTLER_HOME", str(store.settings.home))
    monkeypatch.setenv("MEMORY_BUTLER_VECTOR_INDEX__EXACT_BELOW", "500")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("memory_butler.resources.open_resources", open_the_same)
    monkeypatch.setattr("memory_butler.adapters.telemetry.logs.configure_logging", lambda settings: None)

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(app, ["index", *arguments], catch_exceptions=False)

    return run


async def _ask(store: Resources, *queries: str) -> None:
    caller = Caller(Principal("acme", "main", Role.ADMIN))
    for query in queries:
        assert (await search.search(store, Question(query=query, min_relevance=0), caller)).results


async def test_status_and_migrate_for_a_person(store: Resources, run: Callable[..., Result]) -> None:
    """What is due, what would be done, what was done, and then how good it is, with how many real questions."""
    before = (await asyncio.to_thread(run, "status")).stdout
    assert "Embedding: all 0 memories have vectors of fake-bag-of-words." in before
    assert "Posture: auto; exact below 500 passages" in before
    assert "exact → ivfflat" in before
    assert "2 steps to do" in before
    rehearsed = (await asyncio.to_thread(run, "migrate", "--dry-run")).stdout
    assert "Planned:" in rehearsed
    assert "build ivfflat (lists 32) for 1,000 fact passages of acme: there is none" in rehearsed
    assert (await asyncio.to_thread(run, "status")).stdout == before
    assert "Done:" in (await asyncio.to_thread(run, "migrate")).stdout
    after = (await asyncio.to_thread(run, "status", "--queries", "4")).stdout
    assert "All indexes match the settings." in after
    assert "recall@10 against exact search, measured with the questions that were asked last (live)" in after
    assert "0 of 4" in after
    await _ask(store, "the first question", "another")
    asked = (await asyncio.to_thread(run, "status", "--queries", "4")).stdout
    assert "live" in asked.splitlines()[2].split()
    assert "2 of 4" in asked
    assert "nothing to do" in (await asyncio.to_thread(run, "migrate")).stdout


async def test_status_and_migrate_for_a_program(
    store: Resources, run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line of JSON each: every figure of the table, and every step."""
    monkeypatch.setenv("MEMORY_BUTLER_VECTOR_INDEX__POSTURE", "hnsw")
    done = json.loads((await asyncio.to_thread(run, "migrate", "--json")).stdout)
    assert done["dry_run"] is False
    assert [(step["action"], step["tenant"], step["shape"]) for step in done["steps"]] == [
        ("build", "acme", "hnsw (ef_construction 128, m 24)"),
        ("in place", "acme", "hnsw (ef_construction 128, m 24)"),
    ]
    await _ask(store, "a question")
    found = json.loads((await asyncio.to_thread(run, "status", "--json", "--queries", "4")).stdout)
    assert (found["posture"], found["exact_below"], found["due"]) == ("hnsw", 500, [])
    assert found["tenants"] == {"acme": FACTS, "default": 0}
    (one,) = found["searched"]
    assert (one["tenant"], one["memory_type"], one["rows"], one["valid"]) == ("acme", "fact", FACTS, True)
    assert one["in_force"] == one["wanted"] == "hnsw (ef_construction 128, m 24)"
    assert one["bytes"] > 1_000_000
    assert (one["queries"], one["fell_back"], one["bloat"]) == (4, 0, 0.0) and one["recall"] >= 0.9
    assert one["live_queries"] == 1
    assert found["measured_with"].startswith("the questions that were asked last")


async def test_re_embedding_is_paused_resumed_and_done_by_hand(
    store: Resources, used: dict[str, Resources], run: Callable[..., Result]
) -> None:
    """Each command says how far it is."""
    newer = await embedding_versions.ensure(store.database, "acme", store.embedder.version, 1005, store.clock())
    acme = store.settings.model_copy(update={"tenant": "acme"})
    used["resources"] = replace(store, settings=acme, embedding_version=newer)
    paused = (await asyncio.to_thread(run, "pause")).stdout
    assert "Embedding: 0 of 1,000 memories (0 %) have vectors of fake-bag-of-words." in paused
    assert "1,000 have vectors of fake-bag-of-words (passage policy" in paused
    assert "Paused since 2026-03-01 09:00 UTC. Continue: memory-butler index resume" in paused
    resumed = json.loads((await asyncio.to_thread(run, "resume", "--json")).stdout)
    assert (resumed["memories"], resumed["earlier"], resumed["paused_at"]) == (FACTS, FACTS, None)
    done = json.loads((await asyncio.to_thread(run, "reembed", "--json")).stdout)
    assert (done["reembedded"], done["earlier"], done["replaces_others"]) == (FACTS, 0, True)
    assert "Embedding: all 1,000 memories" in (await asyncio.to_thread(run, "status", "--queries", "0")).stdout


def test_an_index_that_cannot_be_built_well_is_refused() -> None:
    """HNSW looks at twice as many passages as it links, at least."""
    with pytest.raises(ValueError, match="less than twice m"):
        VectorIndex.model_validate({"hnsw": {"m": 40, "ef_construction": 64}})
