"""Which memories are encrypted, how they are found, who reads them, and that their neighbours do not leak them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pydantic import SecretStr
from tests.support.leaks import traces

from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.errors import PermissionDenied
from memory_butler.models import (
    BriefRequest,
    Caller,
    Lineage,
    MemoryType,
    NewEpisode,
    NewFact,
    NewNote,
    NewRule,
    Principal,
    Question,
    Role,
)
from memory_butler.models.listings import Listing
from memory_butler.operations.briefing.brief import brief
from memory_butler.operations.browse import listings
from memory_butler.operations.consolidation.run_now import consolidate_now
from memory_butler.operations.history.replay import replay
from memory_butler.operations.history.undo import undo
from memory_butler.operations.retrieval.get import get
from memory_butler.operations.retrieval.indexing import reindex
from memory_butler.operations.retrieval.search import search
from memory_butler.operations.transfer.export import export
from memory_butler.operations.transfer.import_ import import_
from memory_butler.operations.trust.forget_about import forget_about
from memory_butler.operations.trust.protection import limit_reading
from memory_butler.operations.trust.purge import PurgeRequest, purge
from memory_butler.operations.writing import correct, forget, remember
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import EncryptionPolicy, EncryptionSettings
from memory_butler.store.encryption.master_keys import new_key
from memory_butler.store.encryption.vault import KeyUnavailable, may_read


def butler(resources: Resources, name: str) -> Caller:
    return Caller(Principal(resources.settings.tenant, name, Role.AGENT), Lineage(session_id="s1"))


async def found(resources: Resources, query: str, caller: Caller | None = None, **given: Any) -> list[str]:
    answer = await search(resources, Question(query=query, min_relevance=0, **given), caller)
    return [one.hit.content for one in answer.results]


async def test_a_health_fact_is_briefed(encrypted: Resources) -> None:
    """A briefing about a person has the decrypted fact: its subject and predicate lead to it."""
    await remember.fact(
        encrypted, NewFact(subject="Anna", predicate="allergies", content="severe nut allergy", importance=9)
    )
    text = (await brief(encrypted, BriefRequest(trigger_prompt="Cook dinner for Anna", butler="main"))).text
    assert "Anna · allergies: severe nut allergy" in text


@pytest.mark.parametrize("role", list(Role))
async def test_only_readers_see_the_text(encrypted: Resources, role: Role, monkeypatch: pytest.MonkeyPatch) -> None:
    """Roles that are not readers get the subject and the predicate, and the reason why there is no text."""
    await remember.fact(encrypted, NewFact(subject="Anna", predicate="allergies", content="nuts", importance=9))
    encryption = encrypted.database.encryption
    assert encryption
    monkeypatch.setattr(encryption, "settings", encryption.settings.model_copy(update={"readers": ("admin",)}))
    limit_reading(encrypted, Principal(encrypted.settings.tenant, "main", role))
    request = BriefRequest(trigger_prompt="Cook dinner for Anna", butler="main")
    try:
        text = (await brief(encrypted, request)).text
    finally:
        may_read.set(True)
    assert ("Anna · allergies: nuts" in text) == (role is Role.ADMIN)
    assert ("your role may not read encrypted text" in text) == (role is not Role.ADMIN)


async def test_keyed_words_find_a_text(encrypted: Resources, owner: psycopg.Connection[Any]) -> None:
    """With `words`, a question with a word of the text finds it, and the index holds no word of it."""
    hashed, hidden = butler(encrypted, "hashed"), butler(encrypted, "vault")
    await remember.rule(encrypted, NewRule(content="Bring the zebrafinch home.", scope="hashed"), hashed)
    await remember.rule(encrypted, NewRule(content="Bring the zebrafinch home.", scope="vault"), hidden)
    assert "Bring the zebrafinch home." in await found(encrypted, "Where is the zebrafinch?", hashed, mode="keyword")
    assert await found(encrypted, "Where is the zebrafinch?", hidden, mode="keyword") == []
    assert traces(owner, "zebrafinch") == []
    await reindex(encrypted)
    assert "Bring the zebrafinch home." in await found(encrypted, "Where is the zebrafinch?", hashed, mode="keyword")
    assert traces(owner, "zebrafinch") == []


async def test_vectors_are_a_choice(encrypted: Resources, owner: psycopg.Connection[Any]) -> None:
    """With `vectors`, the index is as usual, and only the text is encrypted."""
    caller = butler(encrypted, "meant")
    await remember.rule(encrypted, NewRule(content="Feed the quokkaxyz.", scope="meant"), caller)
    assert await found(encrypted, "quokkaxyz", caller) == ["Feed the quokkaxyz."]
    assert traces(owner, "quokkaxyz") == ["postings.lexeme"]


async def test_a_consolidation_of_an_encrypted_butler(encrypted: Resources, owner: psycopg.Connection[Any]) -> None:
    """Facts, notes and proposals that come from encrypted episodes hold no word in plain text but subject and tags."""
    caller = butler(encrypted, "vault")
    await remember.episode(
        encrypted, NewEpisode(content="User: My favorite drink is pineapplewort.", butler="vault"), caller
    )
    await remember.store(encrypted, NewNote(content="Pineapplewort is bitter.", tier="mid"), caller)
    await consolidate_now(encrypted, only_butler="vault")
    assert any("pineapplewort" in text.lower() for text in await found(encrypted, "favorite drink", caller))
    assert traces(owner, "pineapplewort") == []


async def test_the_past_lists_and_undo(encrypted: Resources, clock: Any) -> None:
    """Search in the past, listings and undo show the decrypted text."""
    await remember.fact(encrypted, NewFact(subject="Anna", predicate="allergies", content="nuts"))
    then = clock.now
    clock.move(hours=1)
    second = await remember.fact(encrypted, NewFact(subject="Anna", predicate="allergies", content="milk"))
    assert await found(encrypted, "Anna allergies", as_of=then) == ["nuts"]
    assert await found(encrypted, "Anna allergies") == ["milk"]
    page = await listings.memories(encrypted, Listing(type=MemoryType.FACT))
    assert "milk" in repr(page)
    gone = await forget.forget(encrypted, "fact", second.ref)
    details = await get(encrypted, "fact", gone.ref, bump=False)
    await undo(encrypted, str(details.events[-1].id))
    assert (await get(encrypted, "fact", second.ref)).memory.content == "milk"


async def test_erasure_finds_encrypted_texts(encrypted: Resources) -> None:
    """A purge and a forget by text match the decrypted content and reasons."""
    one = await remember.fact(encrypted, NewFact(subject="Anna", predicate="allergies", content="okapinuts"))
    two = await remember.fact(encrypted, NewFact(subject="Ben", predicate="allergies", content="llamamilk"))
    assert [entry.ref for entry in (await forget_about(encrypted, text="llamamilk")).touched] == [two.ref]
    done = await purge(encrypted, PurgeRequest(text="okapinuts"), dry_run=False)
    assert [entry.ref for entry in done.touched] == [one.ref]


@pytest.mark.parametrize("decrypt", [False, True])
async def test_exports_are_encrypted_unless_asked_otherwise(
    encrypted: Resources, tmp_path: Path, decrypt: bool
) -> None:
    """The file holds no word unless it was asked for; imported elsewhere, with new ids, it reads the same."""
    stored = await remember.fact(
        encrypted, NewFact(subject="Anna", predicate="allergies", content="yakbutter", metadata={"from": "yakbutter"})
    )
    file = tmp_path / "export.jsonl"
    await export(encrypted, file, decrypt=decrypt)
    assert (b"yakbutter" in file.read_bytes()) is decrypt
    settings = encrypted.settings.model_copy(update={"tenant": f"{encrypted.settings.tenant}-b"})
    other = replace(encrypted, settings=settings)
    await import_(other, file, ids_anew=True)
    memory = (await get(other, "fact", stored.ref)).memory
    assert (memory.content, memory.metadata) == ("yakbutter", {"from": "yakbutter"})
    assert memory.id != stored.id and (await replay(other)).equal


async def test_an_encrypted_export_needs_the_key(encrypted: Resources, resources: Resources, tmp_path: Path) -> None:
    """A store with another key imports nothing of it."""
    await remember.fact(encrypted, NewFact(subject="Anna", predicate="allergies", content="nuts"))
    file = tmp_path / "export.jsonl"
    await export(encrypted, file)
    encryption = EncryptionSettings(key=SecretStr(new_key()))
    tenant = f"{resources.settings.tenant}-c"
    settings = resources.settings.model_copy(update={"encryption": encryption, "tenant": tenant})
    async with open_resources(settings, embedder=FakeEmbedder()) as other:
        with pytest.raises(KeyUnavailable, match="cannot be decrypted"):
            await import_(other, file)


async def test_a_correction_needs_the_right_to_read(encrypted: Resources) -> None:
    """It keeps the metadata of the fact, so a caller that may not read it cannot correct it."""
    new = NewFact(subject="Anna", predicate="allergies", content="nuts", metadata={"by": "Ben"})
    stored = await remember.fact(encrypted, new)
    token = may_read.set(False)
    try:
        with pytest.raises(PermissionDenied, match="may not read"):
            await correct.correct(encrypted, stored.ref, "milk")
    finally:
        may_read.reset(token)
    fixed = await correct.correct(encrypted, stored.ref, "milk")
    memory = (await get(encrypted, "fact", fixed.ref)).memory
    assert (memory.content, memory.metadata) == ("milk", {"by": "Ben"})


@pytest.mark.parametrize("kind", list(MemoryType))
async def test_the_word_filter_does_not_match_ciphertext(
    encrypted: Resources, owner: psycopg.Connection[Any], kind: MemoryType
) -> None:
    """Letters of the stored form find nothing; the subject and the predicate of an encrypted fact still do."""
    caller = butler(encrypted, "vault")
    await remember.fact(encrypted, NewFact(subject="Anna", predicate="allergies", content="nuts"), caller)
    await remember.rule(encrypted, NewRule(content="Whisper."), caller)
    await remember.episode(encrypted, NewEpisode(content="We met.", butler="vault"), caller)
    query = f"SELECT content FROM memory.{kind}s WHERE tenant_id = %s"
    [(stored,)] = owner.execute(query, (encrypted.settings.tenant,)).fetchall()
    for needle in ("enc:v1", "v1:", stored[7:15], stored[20:24]):
        page = await listings.memories(encrypted, Listing(type=kind, contains=needle))
        assert not page.items, needle
    [item] = (await listings.memories(encrypted, Listing(type=MemoryType.FACT, words="anna allergies"))).items
    assert "nuts" in repr(item)


async def test_a_policy_for_whole_tenants(
    resources: Resources, owner: psycopg.Connection[Any], tenant: str, clock: Any
) -> None:
    """All memories of a covered tenant are encrypted, of any type and predicate; another tenant's are not."""
    policies = {"customers": EncryptionPolicy(tenants=(f"{tenant}-clinic-*",))}
    encryption = EncryptionSettings(key=SecretStr(new_key()), policies=policies)
    settings = resources.settings.model_copy(update={"encryption": encryption})
    async with open_resources(settings, embedder=FakeEmbedder(), clock=clock) as opened:
        for name, word in ((f"{tenant}-clinic-7", "okapiword"), (f"{tenant}-office", "zebuword")):
            other = replace(opened, settings=settings.model_copy(update={"tenant": name}))
            episode = await remember.episode(other, NewEpisode(content=f"We met the {word}.", butler="main"))
            fact = await remember.fact(other, NewFact(subject="Anna", predicate="drink", content=f"{word} tea"))
            rule = await remember.rule(other, NewRule(content=f"Feed the {word}."))
            texts = [(await get(other, one.type, one.ref)).memory.content for one in (episode, fact, rule)]
            assert texts == [f"We met the {word}.", f"{word} tea", f"Feed the {word}."]
            assert (await replay(other)).equal
            assert "Anna" in repr(await search(other, Question(query="Anna drink", min_relevance=0)))
        assert traces(owner, "okapiword") == []
        assert {"facts.content", "rules.content", "episodes.content"} <= set(traces(owner, "zebuword"))
