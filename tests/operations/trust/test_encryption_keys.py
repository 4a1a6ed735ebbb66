"""Rotation and destruction of keys: nothing is lost, nothing stays readable that should not be."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.support.leaks import files_with, traces

from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.errors import PermissionDenied
from memory_butler.models import Caller, NewEpisode, NewFact, NewRule, Outcome, Principal, Question, Role, Stored
from memory_butler.operations.consolidation.run_now import consolidate_now
from memory_butler.operations.history.activity import activity
from memory_butler.operations.history.replay import replay
from memory_butler.operations.history.undo import undo
from memory_butler.operations.retrieval.get import get
from memory_butler.operations.retrieval.search import search
from memory_butler.operations.trust.encryption_keys import key_status, rotate, shred
from memory_butler.operations.writing import feedback, forget, remember
from memory_butler.operations.writing.idempotency import Fingerprint
from memory_butler.resources import Resources, open_resources
from memory_butler.store.embedded.backup_log import note_backup
from memory_butler.store.embedded.server import EmbeddedPostgres
from memory_butler.store.encryption.master_keys import new_key
from memory_butler.store.encryption.vault import KeyUnavailable

CANARY = "rotacanary"
KILLED = """
import asyncio, os, signal, sys
from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.operations.trust.encryption_keys import rotate
from memory_butler.resources import open_resources
from memory_butler.store.encryption import sealing

def die(stage, done, total):
    if done >= 10:
        os.kill(os.getpid(), signal.SIGKILL)

async def main():
    sealing.PAGE = 5
    async with open_resources(home=sys.argv[1], encryption={"key": sys.argv[2]}, embedder=FakeEmbedder()) as resources:
        await rotate(resources, progress=die)

asyncio.run(main())
"""


async def allergy(resources: Resources, subject: str, content: str) -> Stored:
    return await remember.fact(resources, NewFact(subject=subject, predicate="allergies", content=content))


async def contents(resources: Resources, stored: list[Stored]) -> list[str]:
    return [(await get(resources, one.type, one.ref)).memory.content for one in stored]


def keys_used(owner: psycopg.Connection[Any], tenant: str) -> set[str]:
    """The ids of the keys of all ciphertexts of a tenant, in rows and in the texts of events."""
    query = """SELECT DISTINCT (regexp_matches(w, 'enc:v1:([0-9a-f]{8})', 'g'))[1] FROM (
        SELECT content AS w FROM memory.facts WHERE tenant_id = %(tenant)s
        UNION ALL SELECT content || harmful_reasons::text FROM memory.rules WHERE tenant_id = %(tenant)s
        UNION ALL SELECT reason FROM memory.rule_applications WHERE tenant_id = %(tenant)s
        UNION ALL SELECT content FROM memory.episodes WHERE tenant_id = %(tenant)s
        UNION ALL SELECT body FROM memory.texts WHERE tenant_id = %(tenant)s) t"""
    return {row[0] for row in owner.execute(query, {"tenant": tenant})}


async def test_a_rotation_encrypts_everything_anew(
    encrypted: Resources, owner: psycopg.Connection[Any], tenant: str
) -> None:
    """Rows, events and reasons are under the new key; texts, replay and undo are as before; the old key is gone."""
    caller = Caller(Principal(tenant, "vault", Role.AGENT))
    stored = [await allergy(encrypted, f"Anna {n}", f"nuts {n}") for n in range(3)]
    stored.append(await remember.rule(encrypted, NewRule(content="Whisper."), caller))
    await feedback.mark(encrypted, stored[-1].ref, Outcome.HARMFUL, caller, reason="too quiet")
    before, old = await contents(encrypted, stored), keys_used(owner, tenant)
    gone = await forget.forget(encrypted, "fact", stored[0].ref, reason="private")
    done = await rotate(encrypted)
    assert (done.anew, done.encrypted, done.unreadable) == (4, 0, 0)
    new = keys_used(owner, tenant)
    assert len(old) == len(new) == 1 and old != new
    assert await contents(encrypted, stored) == before
    details = await get(encrypted, "rule", stored[-1].ref, bump=False)
    assert details.memory.harmful_reasons == ["too quiet"]
    assert (await replay(encrypted)).equal
    event = (await get(encrypted, "fact", gone.ref, bump=False)).events[-1]
    await undo(encrypted, str(event.id))
    assert await contents(encrypted, stored) == before and (await replay(encrypted)).equal
    states = {state for _, state in (await key_status(encrypted)).keys}
    assert any(state.startswith("destroyed") for state in states)


async def test_hashes_from_before_encryption_are_keyed(new_home: Callable[[], Path]) -> None:
    """A plain hash of a request or of a distilled item would let anybody test guesses of its text. A retry gets the
    first answer all the same, and what was distilled is known."""
    home, new = new_home(), NewFact(subject="Anna", predicate="allergies", content="nuts", idempotency_key="k1")
    seen = NewEpisode(content="I live in Porto.", butler="main")
    async with open_resources(home=home, embedder=FakeEmbedder()) as resources:
        first = await remember.fact(resources, new)
        await remember.episode(resources, seen)
        await consolidate_now(resources)
        before = _hashes(home)
    async with open_resources(home=home, encryption={"key": new_key()}, embedder=FakeEmbedder()) as resources:
        await allergy(resources, "Bea", "milk")
        after = _hashes(home)
        assert await remember.fact(resources, new) == first
    assert Fingerprint("fact", new).digest in before
    assert len(before) == len(after) >= 2
    assert not before & after


def _hashes(home: Path) -> set[bytes]:
    with psycopg.connect(EmbeddedPostgres(home).dsn("postgres", "memory")) as owner:
        query = "SELECT request_hash FROM memory.idempotency_keys UNION ALL SELECT key FROM memory.distilled_keys"
        return {bytes(row[0]) for row in owner.execute(query)}


async def test_a_rotation_encrypts_what_was_plain(new_home: Callable[[], Path]) -> None:
    """A store from before encryption: afterwards no file holds the words, and replay, search and reading work."""
    home = new_home()
    async with open_resources(home=home, embedder=FakeEmbedder()) as resources:
        stored = [await allergy(resources, f"Anna {n}", f"{CANARY} {n}") for n in range(3)]
        stored.append(await remember.episode(resources, NewEpisode(content="We met.", butler="main")))
        plain = await contents(resources, stored)
        with pytest.raises(KeyUnavailable, match="No master key"):
            await rotate(resources)
    assert files_with(home, CANARY)
    async with open_resources(home=home, encryption={"key": new_key()}, embedder=FakeEmbedder()) as resources:
        done = await rotate(resources)
        assert (done.encrypted, done.anew, done.residue) == (3, 0, "clean")
        assert await contents(resources, stored) == plain and (await replay(resources)).equal
        found = await search(resources, Question(query="Anna allergies", min_relevance=0))
        assert {hit.hit.ref for hit in found.results} >= {one.ref for one in stored[:3]}
        assert (await allergy(resources, "Anna 1", f"{CANARY} 1")).outcome == "confirmed"
    EmbeddedPostgres(home).stop()
    assert files_with(home, CANARY) == []


async def test_a_killed_rotation_continues(new_home: Callable[[], Path]) -> None:
    """Killed after the second page, both keys are needed and kept; the next call ends it and loses nothing."""
    home, key = new_home(), new_key()
    async with open_resources(home=home, encryption={"key": key}, embedder=FakeEmbedder()) as resources:
        stored = [await allergy(resources, f"Anna {n}", f"nuts {n}") for n in range(23)]
        before = await contents(resources, stored)
    command = [sys.executable, "-c", KILLED, str(home), key]
    done = await asyncio.to_thread(subprocess.run, command, check=False, timeout=120)
    assert done.returncode == -9
    async with open_resources(home=home, encryption={"key": key}, embedder=FakeEmbedder()) as resources:
        states = [state for key, state in (await key_status(resources)).keys if key.purpose == "data"]
        assert sorted(states) == ["in use", "retired, until all texts are encrypted anew"]
        assert await contents(resources, stored) == before
        ended = await rotate(resources)
        assert ended.continued and 0 < ended.anew < 23
        assert await contents(resources, stored) == before and (await replay(resources)).equal
    EmbeddedPostgres(home).stop()


async def test_another_master_key(new_home: Callable[[], Path]) -> None:
    """With the new key first and the old one after it, a rotation moves everything; then the old one is not needed."""
    home, old, new = new_home(), new_key(), new_key()
    async with open_resources(home=home, encryption={"key": old}, embedder=FakeEmbedder()) as resources:
        stored = [await allergy(resources, "Anna", "nuts")]
    async with open_resources(home=home, encryption={"key": f"{new},{old}"}, embedder=FakeEmbedder()) as resources:
        assert await contents(resources, stored) == ["nuts"]
        await rotate(resources)
    async with open_resources(home=home, encryption={"key": new}, embedder=FakeEmbedder()) as resources:
        assert await contents(resources, stored) == ["nuts"]
    EmbeddedPostgres(home).stop()


async def test_a_shredded_tenant_is_unreadable(
    encrypted: Resources, owner: psycopg.Connection[Any], tenant: str
) -> None:
    """Its texts cannot be read by anybody, also not from events; other memories and new ones can."""
    word = f"pistachio{tenant}"
    sick = await allergy(encrypted, "Anna", word)
    tea = await remember.fact(encrypted, NewFact(subject="Anna", predicate="drink", content="tea"))
    reader = Caller(Principal(tenant, "main", Role.AGENT))
    with pytest.raises(PermissionDenied):
        await shred(encrypted, reader)
    done = await shred(encrypted)
    assert (len(done.keys), done.unreadable, done.plain) == (2, 1, 1)
    assert owner.execute(
        "SELECT count(*) FROM memory.tenant_keys WHERE tenant_id = %s AND wrapped IS NOT NULL", (tenant,)
    ).fetchone() == (0,)
    assert await contents(encrypted, [sick, tea]) == ["[encrypted: its key was destroyed]", "tea"]
    assert (await replay(encrypted)).equal
    assert await contents(encrypted, [await allergy(encrypted, "Ben", "milk")]) == ["milk"]
    assert await contents(encrypted, [sick]) == ["[encrypted: its key was destroyed]"]
    assert traces(owner, word) == []


async def test_changes_of_keys_are_in_the_log(
    encrypted: Resources, owner: psycopg.Connection[Any], tenant: str
) -> None:
    """A rotation and a destruction leave an event with counts, without words and without keys."""
    await allergy(encrypted, "Anna", "nuts")
    await rotate(encrypted)
    keys = [key.id for key, _ in (await key_status(encrypted)).keys]
    await shred(encrypted)
    await shred(encrypted)
    rows = owner.execute(
        "SELECT event_type, actor, payload FROM memory.memory_events WHERE tenant_id = %s AND entity_type = 'access'"
        " ORDER BY seq",
        (tenant,),
    ).fetchall()
    assert rows == [
        ("keys.rotated", "main", {"encrypted": 0, "anew": 1, "unreadable": 0, "continued": False}),
        ("keys.destroyed", "main", {"keys": 2, "encrypted": 1, "plain": 0}),
    ]
    assert not any(key in repr(rows) for key in keys)
    told = [one.words for one in (await activity(encrypted, since="start")).items]
    assert any("rotated the encryption keys" in text for text in told)
    assert any("destroyed the encryption keys" in text for text in told)
    assert (await replay(encrypted)).equal


async def test_a_destruction_names_backups(new_home: Callable[[], Path], tmp_path: Path) -> None:
    """Backups that still exist hold the keys, encrypted with the master key; deleted ones are not named."""
    home = new_home()
    async with open_resources(home=home, encryption={"key": new_key()}, embedder=FakeEmbedder()) as resources:
        await allergy(resources, "Anna", "nuts")
        kept, deleted = tmp_path / "kept.tar.gz", tmp_path / "deleted.tar.gz"
        for path in (kept, deleted):
            path.touch()
            note_backup(home, path, resources.clock())
        deleted.unlink()
        done = await shred(resources)
        assert [backup["path"] for backup in done.backups] == [str(kept)]
    EmbeddedPostgres(home).stop()
