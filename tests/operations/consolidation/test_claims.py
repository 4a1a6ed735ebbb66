"""Encrypted episodes and consolidation: nothing is distilled from a text that cannot be decrypted."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from pydantic import SecretStr

from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.models import Caller, ConsolidationStatus, Episode, NewEpisode, NewFact, Principal, Role, Stored
from memory_butler.models.unreadable import Because
from memory_butler.operations.consolidation import agent_distiller
from memory_butler.operations.consolidation.backlog import backlogs, locked_note
from memory_butler.operations.consolidation.consolidate import dry_run
from memory_butler.operations.consolidation.distiller_input import related_memories
from memory_butler.operations.consolidation.review import decide, runs
from memory_butler.operations.consolidation.run_now import consolidate_now
from memory_butler.operations.consolidation.shard_job import consolidate_shard
from memory_butler.operations.lifecycle.job_status import shard_of
from memory_butler.operations.retrieval.get import get
from memory_butler.operations.trust.encryption_keys import shred
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import EncryptionSettings
from memory_butler.store.encryption.master_keys import new_key
from memory_butler.store.encryption.vault import KeyUnavailable, may_read

DRINK = "User: My favorite drink is pineapplewort."


def keeper(resources: Resources, butler: str = "vault") -> Caller:
    return Caller(Principal(resources.settings.tenant, butler, Role.AGENT))


async def told(resources: Resources, content: str, butler: str = "vault") -> Stored:
    return await remember.episode(resources, NewEpisode(content=content, butler=butler), keeper(resources, butler))


async def state(resources: Resources, stored: Stored) -> Episode:
    memory = (await get(resources, "episode", stored.ref, bump=False)).memory
    assert isinstance(memory, Episode)
    return memory


@asynccontextmanager
async def with_key(resources: Resources, key: SecretStr | None, **settings: Any) -> AsyncIterator[Resources]:
    """The same store, opened with another master key, or none."""
    encryption = EncryptionSettings(key=key, policies=resources.settings.encryption.policies)
    changed = resources.settings.model_copy(update={"encryption": encryption, **settings})
    async with open_resources(changed, embedder=FakeEmbedder()) as opened:
        yield replace(opened, clock=resources.clock)


def facts(owner: psycopg.Connection[Any], tenant: str) -> int:
    [row] = owner.execute("SELECT count(*) FROM memory.facts WHERE tenant_id = %s", (tenant,)).fetchall()
    return int(row[0])


@pytest.mark.parametrize("key", [None, new_key], ids=["missing", "wrong"])
async def test_an_episode_waits_for_its_key(
    encrypted: Resources, owner: psycopg.Connection[Any], tenant: str, key: Any
) -> None:
    """Without its key it stays pending and is no part of the backlog; with the key it is distilled."""
    episode = await told(encrypted, DRINK)
    shard = shard_of(tenant, "vault")
    async with with_key(encrypted, key and SecretStr(key())) as locked:
        assert await backlogs(locked) == {}
        assert await consolidate_now(locked, only_butler="vault") == []
        assert await dry_run(locked, shard) is None
        figures = await consolidate_shard(locked, shard)
        assert figures["note"].startswith("1 encrypted episode waits for its key")
        assert await locked_note(locked, only_butler="main") is None
    waiting = await state(encrypted, episode)
    assert (waiting.consolidation_status, waiting.consolidation_attempts) == (ConsolidationStatus.PENDING, 0)
    assert facts(owner, tenant) == 0
    [report] = await consolidate_now(encrypted, only_butler="vault")
    assert report.episodes == (episode.ref,) and "pineapplewort" in repr(report.lines)
    assert facts(owner, tenant) > 0


async def test_locked_episodes_do_not_block_others(encrypted: Resources, clock: Any) -> None:
    """More locked episodes than a batch holds: the readable one behind them is distilled."""
    for number in range(3):
        await told(encrypted, f"User: My favorite drink is number {number}.")
        clock.move(minutes=1)
    consolidation = encrypted.settings.consolidation.model_copy(update={"most": 1})
    async with with_key(encrypted, None, consolidation=consolidation) as locked:
        assert locked.database.encryption
        locked.database.encryption.settings = EncryptionSettings()
        plain = await told(locked, "User: My favorite color is green.")
        [report] = await consolidate_now(locked, only_butler="vault")
        assert report.episodes == (plain.ref,)


async def test_a_destroyed_key_ends_the_waiting(encrypted: Resources, owner: psycopg.Connection[Any]) -> None:
    """An episode whose key was destroyed fails with that reason; an episode of the new key is distilled."""
    gone = await told(encrypted, DRINK)
    await shred(encrypted)
    new = await told(encrypted, "User: My favorite color is green.")
    [report] = await consolidate_now(encrypted, only_butler="vault")
    assert report.episodes == (new.ref,)
    failed = await state(encrypted, gone)
    assert failed.consolidation_status is ConsolidationStatus.FAILED
    query = "SELECT last_consolidation_error FROM memory.episodes WHERE id = %s"
    assert owner.execute(query, (gone.id,)).fetchone() == (
        f"The episode cannot be read: [encrypted: {Because.DESTROYED}]",
    )


async def test_a_fact_that_needs_a_key_is_retried(encrypted: Resources, clock: Any) -> None:
    """A plain episode that gives a fact of an encrypted class: without the key it is retried without end, and its
    neighbour in the batch is distilled."""
    await remember.fact(encrypted, NewFact(subject="Ben", predicate="allergies", content="milk"))
    episode = await told(encrypted, "User: I am allergic to peanuts.", "main")
    neighbour = await told(encrypted, "User: My favorite color is green.", "main")
    async with with_key(encrypted, None) as locked:
        for _ in range(7):
            reports = await consolidate_now(locked, only_butler="main")
            failed = [report for report in reports if report.state == "failed"]
            assert failed and all("no key is configured" in str(report.error) for report in failed)
            clock.move(hours=8)
    assert (await state(encrypted, neighbour)).consolidation_status is ConsolidationStatus.CONSOLIDATED
    assert (await state(encrypted, episode)).consolidation_status is ConsolidationStatus.PENDING
    [report] = await consolidate_now(encrypted, only_butler="main")
    assert report.state == "applied" and "peanuts" in repr(report.lines)


async def test_agents_without_the_right_get_no_encrypted_batch(encrypted: Resources) -> None:
    """An agent that distils gets no episode that its role may not read, and the episode stays pending."""
    episode = await told(encrypted, DRINK)
    consolidation = encrypted.settings.consolidation.model_copy(update={"distiller": "agent"})
    settings = encrypted.settings.model_copy(update={"consolidation": consolidation})
    agents = replace(encrypted, settings=settings)
    token = may_read.set(False)
    try:
        assert await agent_distiller.claim(agents, keeper(agents)) is None
    finally:
        may_read.reset(token)
    assert (await state(encrypted, episode)).consolidation_status is ConsolidationStatus.PENDING
    claimed = await agent_distiller.claim(agents, keeper(agents))
    assert claimed and DRINK in claimed.batch.texts.values()


async def test_related_memories_are_readable(encrypted: Resources) -> None:
    """The distiller sees no memory that cannot be decrypted."""
    await remember.fact(encrypted, NewFact(subject="Anna", predicate="allergies", content="nuts"))
    await remember.fact(encrypted, NewFact(subject="Anna", predicate="drink", content="tea"))
    caller = keeper(encrypted, "main")
    known = await related_memories(encrypted, caller, ["Anna allergies drink"])
    assert {one.content for one in known} == {"nuts", "tea"}
    async with with_key(encrypted, None) as locked:
        assert {one.content for one in await related_memories(locked, caller, ["Anna allergies drink"])} == {"tea"}


async def test_an_unreadable_proposal_is_not_approved(encrypted: Resources) -> None:
    """Without its key a proposal cannot be approved; nothing is stored from its placeholder."""
    await told(encrypted, DRINK)
    consolidation = encrypted.settings.consolidation.model_copy(update={"review": True})
    settings = encrypted.settings.model_copy(update={"consolidation": consolidation})
    [report] = await consolidate_now(replace(encrypted, settings=settings), only_butler="vault")
    assert report.state == "waiting"
    async with with_key(encrypted, None) as locked:
        with pytest.raises(KeyUnavailable, match="cannot be approved"):
            await decide(locked, str(report.run), rest="approved")
    assert [run.state for run in await runs(encrypted)] == ["waiting"]
    decided = await decide(encrypted, str(report.run), rest="approved")
    assert decided.run.state == "applied" and "pineapplewort" in repr(decided.lines)
