"""Re-embedding replaces all vectors, in order and in parts, and whatever interrupts it, nothing is lost on the way."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.conftest import MovingClock
from tests.operations.conftest import Rows
from tests.operations.retrieval.conftest import OpenTiny
from tests.store.retrieval.crowd import NOW, open_store, own_database

import memory_butler
from memory_butler.errors import PermissionDenied
from memory_butler.metrics.reembedding import REEMBEDDED
from memory_butler.models import Caller, NewEpisode, NewFact, NewRule, Principal, Question, Role
from memory_butler.operations.lifecycle.cleanup import cleanup
from memory_butler.operations.lifecycle.job_status import shard_of
from memory_butler.operations.retrieval import indexing, reembedding, search
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources
from memory_butler.settings import Settings
from memory_butler.store.embedded.server import EmbeddedPostgres
from memory_butler.store.retrieval import embedding_versions, search_index

CHILD = """
import asyncio, json, os, signal, sys, threading
from memory_butler.operations.retrieval import reembedding
from memory_butler.resources import open_resources

given = json.loads(sys.argv[1])
reembedding.BATCH = 2

async def main():
    async with open_resources(**given["settings"]) as resources:
        threading.Timer(given["seconds"], os.kill, (os.getpid(), signal.SIGKILL)).start()
        await reembedding.reembed(resources, given["settings"]["tenant"])
        signal.pause()  # It is to die, also when it is done.

asyncio.run(main())
"""


async def know(resources: Resources, *contents: str) -> list[Any]:
    return [
        await remember.fact(resources, NewFact(subject="user", predicate=f"note:{one}", content=one))
        for one in contents
    ]


async def newer_than(resources: Resources, policy: int) -> Resources:
    """The same program with another way of cutting passages, which was chosen last."""
    tenant = resources.settings.tenant
    version = await embedding_versions.ensure(
        resources.database, tenant, resources.embedder.version, policy, resources.clock()
    )
    newer = replace(resources, embedding_version=version)
    await reembedding.note_use(newer, choose=True)
    return newer


async def found(resources: Resources, query: str) -> list[str]:
    answer = await search.search(resources, Question(query=query, mode="semantic"), bump=False)
    return [one.hit.content for one in answer.results]


async def test_the_newest_and_most_used_come_first(
    resources: Resources, clock: MovingClock, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A memory counts as a day newer for each time it was used, from when it was used last."""
    monkeypatch.setattr(reembedding, "BATCH", 1)
    for content in ("old", "used", "middle", "new"):
        await know(resources, content)
        clock.move(days=1)
    assert (await found(resources, "used"))[0] == "used"
    for _ in range(2):
        await search.search(resources, Question(query="used", mode="semantic", limit=1))
    newer, order = await newer_than(resources, 2001), []

    def note(done: int) -> None:
        order.append(done)

    async with resources.database.read(resources.settings.tenant) as transaction:
        ids = await transaction.column("embedding_versions.next", version=newer.embedding_version, limit=10)
    contents = {row["id"]: row["content"] for row in rows("facts")}
    assert [contents[one] for one in ids] == ["used", "new", "middle", "old"]
    before = REEMBEDDED._value.get()
    assert await reembedding.reembed(newer, resources.settings.tenant, progress=note) == 4
    assert order == [1, 2, 3, 4]
    assert REEMBEDDED._value.get() - before == 4


async def test_every_memory_is_found_at_every_moment(
    opened: OpenTiny, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, after each batch, and after; from 48 to 96 dimensions."""
    monkeypatch.setattr(reembedding, "BATCH", 2)
    words = ["tea", "coffee", "train at eight", "the morning", "drink", "what"]
    async with opened(48) as before:
        await know(before, *words[:4])
        await remember.rule(before, NewRule(content=words[4]))
        await remember.episode(before, NewEpisode(content=words[5], butler="main"))
    async with opened(96) as after:
        tenant, moments = after.settings.tenant, 0
        stopped: list[int] = []
        await reembedding.note_use(after, choose=True)
        reembed = asyncio.create_task(reembedding.reembed(after, tenant, progress=stopped.append))
        while not reembed.done():
            for word in words:
                assert word in await found(after, word)
            moments += 1
        assert (await reembed, stopped) == (6, [2, 4, 6])
        assert moments > 0
        for word in words:
            assert word in await found(after, word)
        (version,) = {row["embedding_version"] for row in rows("passages")}
        assert version == after.embedding_version
        state = await reembedding.embedding_state(after)
        assert (state.model, state.memories, state.earlier) == ("tiny-96", 6, 0)


async def test_a_pause_stops_it_after_a_batch(resources: Resources, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stays off until it is resumed, or asked for by hand; the state says since when."""
    monkeypatch.setattr(reembedding, "BATCH", 1)
    tenant = resources.settings.tenant
    await know(resources, "one", "two", "three")
    newer = await newer_than(resources, 2002)
    pausing: list[asyncio.Task[Any]] = []
    monkeypatch.setattr(reembedding, "index_stored", _and_pause(newer, pausing))
    assert await reembedding.reembed(newer, tenant) == 1
    state = await reembedding.embedding_state(newer)
    assert (state.memories, state.earlier, state.paused_at) == (3, 2, resources.clock())
    assert await reembedding.reembed(newer, tenant) == 0
    assert (await reembedding.resume(newer)).paused_at is None
    monkeypatch.setattr(reembedding, "index_stored", indexing.index_stored)
    await reembedding.pause(newer)
    assert await reembedding.reembed_now(newer) == 2
    assert (await reembedding.embedding_state(newer)).paused_at is None


def _and_pause(resources: Resources, pausing: list[Any]) -> Any:
    """Embed as usual, with somebody who pauses it meanwhile."""

    async def index(*given: Any) -> Any:
        await reembedding.pause(resources)
        return await indexing.index_stored(*given)

    return index


async def test_a_part_of_it_ends_with_its_time(resources: Resources, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any time it does nothing; the cleanup does what it has time for and says how much."""
    await know(resources, "one", "two")
    newer = await newer_than(resources, 2003)
    assert await reembedding.reembed(newer, resources.settings.tenant, seconds=0) == 0
    report = await cleanup(newer, shard_of(resources.settings.tenant, "main"))
    assert (report["reembedded"], report["reindexed"]) == (2, 0)


async def test_of_two_programs_one_replaces_vectors(resources: Resources) -> None:
    """The other one stores vectors of its own, which the first replaces; nothing goes back and forth."""
    tenant = resources.settings.tenant
    await know(resources, "one")
    newer = await newer_than(resources, 2004)
    assert await reembedding.reembed(resources, tenant) == 0
    assert await reembedding.reembed(newer, tenant) == 1
    assert await reembedding.reembed(resources, tenant) == 0
    state = await reembedding.embedding_state(resources)
    assert (state.earlier, state.is_chosen) == (1, False)
    await know(resources, "two")
    assert await reembedding.reembed(newer, tenant) == 1
    for one in (resources, newer):
        assert sorted(await found(one, "one two")) == ["one", "two"]
    assert await reembedding.reembed_now(resources) == 2
    assert await reembedding.reembed(newer, tenant) == 0


async def test_a_version_that_nobody_uses_any_more_gives_way(
    server: EmbeddedPostgres, settings: Settings, template: str
) -> None:
    """After an hour without a sign of a program with it; a sign of use counts for an hour."""
    with own_database(server, template) as database:
        async with open_store(server, settings, database) as resources:
            with psycopg.connect(server.dsn("postgres", database), autocommit=True) as owner:
                owner.execute(
                    "UPDATE memory.embedding_versions SET chosen_at = %(now)s, used_at = %(now)s", {"now": NOW}
                )
            await know(resources, "one")
            newer = await newer_than(resources, 2005)

            async def is_chosen(one: Resources, **later: float) -> bool:
                at = replace(one, clock=lambda: NOW + timedelta(**later))
                await reembedding.note_use(at)
                return (await reembedding.embedding_state(at)).is_chosen

            assert [await is_chosen(one, minutes=11) for one in (newer, resources)] == [True, False]
            assert not await is_chosen(resources, minutes=70)
            assert await is_chosen(resources, minutes=82)
            assert not await is_chosen(newer, minutes=95)


async def test_what_is_changed_or_deleted_meanwhile_is_left_alone(
    resources: Resources, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its vectors are those of its words, and nothing is indexed that is gone."""
    tenant = resources.settings.tenant
    stays, changes, goes = await know(resources, "stays", "changes", "goes")
    newer = await newer_than(resources, 2006)
    done: list[str] = []

    async def index(given: Resources, of: str, read: Any) -> Any:
        if not done:
            done.append("changed")
            async with resources.database.write(tenant, resources.clock()) as transaction:
                await transaction.run("UPDATE facts SET tags = ARRAY['new'] WHERE id = %(id)s", {"id": changes.id})
                await search_index.clear(transaction, [goes.id])
        return await indexing.index_stored(given, of, read)

    monkeypatch.setattr(reembedding, "index_stored", index)
    assert await reembedding.reembed(newer, tenant) == 2
    assert {row["memory_id"]: row["embedding_version"] for row in rows("passages")} == dict.fromkeys(
        (stays.id, changes.id), newer.embedding_version
    )


async def test_words_are_indexed_anew_if_the_way_of_cutting_has_changed(resources: Resources, rows: Rows) -> None:
    """An upgrade that cuts passages otherwise may also index other words; another model does not."""
    tenant = resources.settings.tenant
    cut_otherwise = await newer_than(resources, 2009)
    (stored,) = await know(cut_otherwise, "one")
    async with resources.database.write(tenant, resources.clock()) as transaction:
        await transaction.send("search_index.clear_postings", ids=[stored.id])
    await reembedding.note_use(resources, choose=True)
    assert await reembedding.reembed(resources, tenant) == 1
    assert {row["lexeme"] for row in rows("postings")} >= {"one", "#user"}


async def test_counts_that_are_wrong_are_made_right(resources: Resources, owner: Any, rows: Rows) -> None:
    """Vectors of memories that are gone are deleted; the job does not start over and over for nothing."""
    tenant = resources.settings.tenant
    (stored,) = await know(resources, "one")
    newer = await newer_than(resources, 2007)
    owner.execute("UPDATE memory.passages SET memory_id = gen_random_uuid() WHERE memory_id = %s", (stored.id,))
    assert await reembedding.reembed(newer, tenant) == 0
    assert (rows("passages"), rows("embedding_counts")) == ([], [])
    async with resources.database.read(tenant) as transaction:
        assert not (await embedding_versions.standing(transaction, newer.embedding_version)).is_due


async def test_only_an_administrator_steers_it(resources: Resources) -> None:
    agent = Caller(Principal(resources.settings.tenant, "main", Role.AGENT))
    for act in (reembedding.pause, reembedding.resume, reembedding.reembed_now, reembedding.embedding_state):
        with pytest.raises(PermissionDenied):
            await act(resources, agent)


async def test_killed_at_random_moments_it_gets_done(opened: OpenTiny, tmp_path: Path, rows: Rows) -> None:
    """After each SIGKILL every memory has the vectors of one version and is found; the next run goes on."""
    words = [f"{word} {number}" for word in ("tea", "coffee", "train", "drink") for number in range(10)]
    async with opened(48) as before:
        await know(before, *words)
        home, tenant = before.settings.home, before.settings.tenant
    chance = random.Random(tenant)
    model = tmp_path / "tiny-96"
    async with opened(96) as after:
        await reembedding.note_use(after, choose=True)
        for _ in range(2):
            given = {
                "seconds": chance.uniform(0.0, 0.3),
                "settings": {"home": str(home), "tenant": tenant, "embedding": {"model": str(model)}},
            }
            environment = os.environ | {"PYTHONPATH": str(Path(memory_butler.__file__).parents[1])}
            command = [sys.executable, "-c", CHILD, json.dumps(given)]
            child = await asyncio.to_thread(subprocess.run, command, env=environment, check=False)
            assert child.returncode == -signal.SIGKILL
            passages = rows("passages")
            versions = {(row["memory_id"], row["embedding_version"]) for row in passages}
            assert len(versions) == len(words) == len({row["memory_id"] for row in passages})
            for word in chance.sample(words, 5):
                assert (await found(after, word))[0] == word
        left = (await reembedding.embedding_state(after)).earlier
        assert await reembedding.reembed(after, tenant) == left
        assert (await reembedding.embedding_state(after)).earlier == 0
        assert {row["embedding_version"] for row in rows("passages")} == {after.embedding_version}
