"""Encryption of stored texts: nothing of them is readable in the database, and only the right key shows them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pydantic import SecretStr
from tests.support.leaks import files_with, traces

from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.errors import IntegrityViolation, TargetUnavailable
from memory_butler.models import (
    Caller,
    Lineage,
    NewEpisode,
    NewFact,
    NewRule,
    Outcome,
    Principal,
    Question,
    Role,
    Stored,
)
from memory_butler.models.unreadable import Because, Unreadable
from memory_butler.operations.history.replay import replay
from memory_butler.operations.retrieval.get import get
from memory_butler.operations.retrieval.search import search
from memory_butler.operations.writing import correct, feedback, forget, remember
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import EncryptionSettings
from memory_butler.store.embedded.server import EmbeddedPostgres
from memory_butler.store.encryption.master_keys import new_key
from memory_butler.store.encryption.vault import KeyUnavailable

CANARY = "xylocanary"


async def health(resources: Resources, content: str, **given: Any) -> Stored:
    new = NewFact(subject="Anna", predicate="health condition", content=content, **given)
    return await remember.fact(resources, new)


def keeper(resources: Resources, butler: str = "vault") -> Caller:
    return Caller(Principal(resources.settings.tenant, butler, Role.AGENT), Lineage(session_id="s1"))


async def content_of(resources: Resources, stored: Stored, caller: Caller | None = None) -> str:
    return (await get(resources, stored.type, stored.ref, caller)).memory.content


async def _write_everything(resources: Resources, word: str) -> None:
    """Write the word through every kind of memory and every place of free text."""
    first = await health(resources, f"{word} one", metadata={"from": word}, idempotency_key="k1")
    await health(resources, f"{word} two")
    fixed = await correct.correct(resources, (await health(resources, f"{word} three")).ref, f"{word} four",
                                  reason=f"because of {word}")  # fmt: skip
    await forget.forget(resources, "fact", fixed.ref, reason=f"{word} is private")
    caller = keeper(resources)
    rule = await remember.rule(resources, NewRule(content=f"Never mention {word}.", metadata={"a": word}), caller)
    for _ in range(2):
        await feedback.mark(resources, rule.ref, Outcome.HARMFUL, caller, reason=f"{word} was hurt")
    await remember.episode(
        resources, NewEpisode(content=f"{word} said so.", butler="vault", metadata={"b": word}, idempotency_key="k2"),
        caller)  # fmt: skip
    await remember.fact(resources, NewFact(subject="Ben", predicate="drink", content=f"{word} tea"), caller)
    assert (await search(resources, Question(query="Anna's health condition", min_relevance=0))).results
    assert (await get(resources, "fact", first.ref)).memory.metadata == {"from": word}


async def test_no_column_holds_an_encrypted_text(encrypted: Resources, owner: psycopg.Connection[Any]) -> None:
    """Not the rows, the events, the search index, the responses to idempotency keys or the reasons."""
    word = f"{CANARY}{encrypted.settings.tenant}"
    await _write_everything(encrypted, word)
    assert traces(owner, word) == []
    assert traces(owner, CANARY) == []
    await remember.fact(encrypted, NewFact(subject="Cleo", predicate="drink", content=f"{word} tea"))
    assert {"facts.content", "texts.body", "postings.lexeme"} <= set(traces(owner, word))


async def test_no_file_of_a_stopped_store_holds_an_encrypted_text(new_home: Callable[[], Path]) -> None:
    """Not the data files, the write-ahead log, the planner's statistics or the log of the server."""
    home = new_home()
    policies = {"all": {"butlers": ["vault"]}}
    encryption = {"key": new_key(), "policies": policies}
    async with open_resources(home=home, encryption=encryption, embedder=FakeEmbedder()) as resources:
        await _write_everything(resources, CANARY)
    EmbeddedPostgres(home).stop()
    assert files_with(home, CANARY) == []


async def test_the_log_rebuilds_encrypted_memories(encrypted: Resources) -> None:
    """A replay gives the same rows, and the hash chain holds."""
    await _write_everything(encrypted, CANARY)
    report = await replay(encrypted)
    assert report.equal, report


@pytest.mark.parametrize("target", ["row", "tenant"])
async def test_a_moved_ciphertext_fails_closed(
    encrypted: Resources, owner: psycopg.Connection[Any], tenant: str, target: str
) -> None:
    """Put into another row, or another tenant, it is an integrity error there; other memories stay readable."""
    one = await health(encrypted, "celiac")
    other = encrypted
    if target == "tenant":
        other = replace(encrypted, settings=encrypted.settings.model_copy(update={"tenant": f"{tenant}-b"}))
    new = NewFact(subject="Ben", predicate="allergies", content="nuts")
    two = await remember.fact(other, new)
    three = await remember.fact(other, NewFact(subject="Ben", predicate="drink", content="tea"))
    owner.execute("SET session_replication_role = replica")
    owner.execute(
        "UPDATE memory.facts SET content = (SELECT content FROM memory.facts WHERE id = %s) WHERE id = %s",
        (one.id, two.id),
    )
    with pytest.raises(IntegrityViolation, match="moved there from another row"):
        await get(other, "fact", two.ref)
    assert await content_of(other, three) == "tea" and await content_of(encrypted, one) == "celiac"
    found = [hit.hit.content for hit in (await search(other, Question(query="Ben allergies", min_relevance=0))).results]
    assert Unreadable(Because.DAMAGED) in found and found.count("celiac") == (target == "row")


async def test_a_program_from_before_encryption_fails_closed(new_home: Callable[[], Path]) -> None:
    """It knows no keys: it would show ciphertext, and store plain text."""
    home = new_home()
    async with open_resources(home=home, embedder=FakeEmbedder()) as before:
        tea = await remember.fact(before, NewFact(subject="Anna", predicate="drink", content="tea"))
        async with open_resources(home=home, embedder=FakeEmbedder(), encryption={"key": new_key()}) as after:
            await health(after, "celiac")
        with pytest.raises(TargetUnavailable, match="Encryption was switched on"):
            await get(before, "fact", tea.ref)
        with pytest.raises(TargetUnavailable, match="Encryption was switched on"):
            await remember.fact(before, NewFact(subject="Anna", predicate="allergies", content="latex"))
    EmbeddedPostgres(home).stop()


async def test_a_missing_or_wrong_key(encrypted: Resources, tenant: str) -> None:
    """Encrypted memories say why they cannot be read, others are readable, and writes of that class are refused."""
    sick = await health(encrypted, "celiac")
    plain = await remember.fact(encrypted, NewFact(subject="Anna", predicate="drink", content="tea"))
    for encryption, reason in (
        (EncryptionSettings(), Because.NO_KEY),
        (EncryptionSettings(key=SecretStr(new_key())), Because.WRONG_KEY),
        (EncryptionSettings(key_file=Path("/nowhere/key")), Because.NO_KEY),
    ):
        settings = encrypted.settings.model_copy(update={"encryption": encryption})
        async with open_resources(settings, embedder=FakeEmbedder(), clock=encrypted.clock) as other:
            assert await content_of(other, sick) == f"[encrypted: {reason}]"
            assert await content_of(other, plain) == "tea"
            found = {
                hit.hit.ref: hit.hit.content
                for hit in (await search(other, Question(query="Anna", min_relevance=0))).results
            }
            assert found.get(plain.ref) == "tea"
            with pytest.raises(KeyUnavailable, match=str(reason)):
                await health(other, "gluten ataxia")
            await remember.fact(other, NewFact(subject="Ben", predicate="drink", content=f"{reason} tea"))
    assert await content_of(encrypted, sick) == "celiac"


async def test_a_tenant_without_keys_needs_none(resources: Resources, encrypted: Resources, tenant: str) -> None:
    """If no key is configured, a tenant without encrypted memories stores everything in plain text."""
    await health(encrypted, "celiac")
    settings = resources.settings.model_copy(update={"tenant": f"{tenant}-plain"})
    async with open_resources(settings, embedder=FakeEmbedder(), clock=encrypted.clock) as other:
        assert other.database.encryption
        assert await content_of(other, await health(other, "nothing serious")) == "nothing serious"


async def test_restating_and_repeating(encrypted: Resources) -> None:
    """The same fact again is confirmed, also an event and a rule; a repeated key gets its first answer."""
    one = await health(encrypted, "celiac", idempotency_key="a")
    assert (await health(encrypted, "celiac")).outcome == "confirmed"
    assert await health(encrypted, "celiac", idempotency_key="a") == one
    at = encrypted.clock()
    event = await health(encrypted, "had a fever", valid_at=at)
    assert (await health(encrypted, "had a fever", valid_at=at)).id == event.id
    caller = keeper(encrypted)
    rule = await remember.rule(encrypted, NewRule(content="Whisper."), caller)
    assert (await remember.rule(encrypted, NewRule(content="Whisper."), caller)).id == rule.id
