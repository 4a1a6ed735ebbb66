"""The search index: entries of new memories, and of stored ones that have none."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import NamedTuple
from uuid import UUID

import numpy as np

from memory_butler.english.text.names import indexed_names, name_key, secondary_names
from memory_butler.languages.detection import Language, language_of
from memory_butler.languages.grams import indexed_grams
from memory_butler.languages.speech.mentions import mentions
from memory_butler.models import Caller, Episode, Fact, Memory, MemoryType
from memory_butler.models.unreadable import Unreadable
from memory_butler.operations.trust.protection import Owner, ensure_keys, keyed_words, owner_of, search_of
from memory_butler.policy.briefing.domains import DomainPhrases, Vectors
from memory_butler.policy.memories.text import NOTES_TAG, indexed_text, indexed_words, is_note
from memory_butler.policy.retrieval.passages import cut_passages, passage_head
from memory_butler.resources import Resources
from memory_butler.settings import Searchable
from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.memories import memories
from memory_butler.store.retrieval import embedding_versions, search_index
from memory_butler.store.retrieval.search_index import Indexed

BATCH = 200
# Texts that are indexed in the place of encrypted ones. A fact is found by its subject and predicate.
HIDDEN = {MemoryType.FACT: "", MemoryType.RULE: "encrypted rule", MemoryType.EPISODE: "encrypted episode"}


class Entry(NamedTuple):
    """The indexed fields of a memory."""

    type: MemoryType
    content: str
    tags: Sequence[str]
    subject: str | None = None
    predicate: str | None = None
    # Decides whether the memory is encrypted.
    owner: Owner | None = None


async def index_entry(
    resources: Resources,
    memory_type: MemoryType,
    content: str,
    tags: Sequence[str],
    *,
    owner: Owner,
    subject: str | None = None,
    predicate: str | None = None,
) -> Indexed:
    """Embed a memory's passages; slow, so it happens before the transaction."""
    (entry,) = await index_entries(resources, [Entry(memory_type, content, tags, subject, predicate, owner)])
    return entry


async def index_entries(resources: Resources, entries: Sequence[Entry]) -> list[Indexed]:
    """The same for many, whose passages are embedded together. Of an encrypted memory, only what its policy allows is
    indexed."""
    if resources.database.encryption:
        return await _index_protected(resources, entries)
    return await _index(resources, entries)


async def _index_protected(resources: Resources, entries: Sequence[Entry]) -> list[Indexed]:
    found = [search_of(resources, one.owner, one.predicate) if one.owner else None for one in entries]
    tenants = [one.owner.tenant for one, search in zip(entries, found, strict=True) if one.owner and search]
    if tenants:
        await ensure_keys(resources, tenants)
    return await _index_decided(resources, list(zip(entries, found, strict=True)))


async def _index_decided(resources: Resources, entries: Sequence[tuple[Entry, Searchable | None]]) -> list[Indexed]:
    """Index memories, each with how it can be found if it is encrypted."""
    shown = [one if search in (None, "vectors") else one._replace(content=HIDDEN[one.type]) for one, search in entries]
    indexed = await _index(resources, shown)
    found = []
    for one, (entry, search) in zip(indexed, entries, strict=True):
        words = one.words
        if search == "words" and entry.owner:
            [keyed] = await keyed_words(resources, entry.owner.tenant, [entry.content])
            words = f"{words} {keyed}"
        found.append(one if search is None else replace(one, words=words, search=search))
    return found


async def _index(resources: Resources, entries: Sequence[Entry]) -> list[Indexed]:
    return await index_embedded(resources, entries, await embed_entries(resources, entries))


async def embed_entries(resources: Resources, entries: Sequence[Entry]) -> list[Vectors]:
    """The vectors of the passages of each entry, embedded together."""
    cut = [cut_passages(one.content, head=passage_head(one.subject, one.predicate, one.content)) for one in entries]
    texts = [passage for passages in cut for passage in passages]
    embedded = await resources.embedder.embed(texts) if texts else np.empty((0, 0), np.float32)
    ends = list(accumulate(map(len, cut), initial=0))
    return [embedded[start:end] for start, end in pairwise(ends)]


async def index_embedded(resources: Resources, entries: Sequence[Entry], vectors: Sequence[Vectors]) -> list[Indexed]:
    """The index entries of memories whose passages are embedded."""
    domains = await resources.domains.phrases() if entries else None
    return [_indexed(resources, domains, one, own) for one, own in zip(entries, vectors, strict=True) if domains]


def _indexed(resources: Resources, domains: DomainPhrases, one: Entry, vectors: Vectors) -> Indexed:
    text = indexed_text(one.type, one.subject, one.predicate, one.content)
    # A distilled note is found under each person and thing that it names.
    is_distilled_note = is_note(one.predicate) and NOTES_TAG in one.tags
    named = map(name_key, mentions(one.content)) if is_distilled_note else ()
    return Indexed(
        words=indexed_words(text, one.tags),
        names=list(dict.fromkeys([*indexed_names(one.type, one.subject, one.content), *named])),
        secondary_names=secondary_names(one.type, one.subject, one.content),
        grams=() if language_of(one.content) is Language.ENGLISH else indexed_grams(text),
        vectors=list(vectors),
        profile=domains.memory_profile(vectors, text, one.tags).tolist(),
        profile_version=resources.domains.version,
        embedding_version=resources.embedding_version,
        text_search=resources.settings.retrieval.text_search,
    )


async def reindex(
    resources: Resources, caller: Caller | None = None, *, progress: Callable[[int], None] = lambda done: None
) -> int:
    """Rebuild the search index of a tenant in batches; returns the number of memories."""
    tenant = (caller or resources.local_caller()).principal.tenant
    return await _walk(resources, tenant, search_index.after, progress)


async def catch_up(resources: Resources, tenant: str, *, progress: Callable[[int], None] = lambda done: None) -> int:
    """Index memories that have no index entry, because they were imported or encrypted anew, and renew profiles of
    other domains. An interrupted run continues where it stopped; returns the number of memories."""

    async def outdated(transaction: Transaction, last: UUID, limit: int) -> list[Row]:
        versions = resources.embedding_version, resources.domains.version
        return await embedding_versions.outdated(transaction, *versions, last, limit)

    return await _walk(resources, tenant, outdated, progress)


async def index_again(resources: Resources, tenant: str, changed: Sequence[tuple[MemoryType, UUID]]) -> None:
    """Replace the index entries of memories whose words have changed."""
    for first in range(0, len(changed), BATCH):
        some = changed[first : first + BATCH]
        async with resources.database.read(tenant) as transaction:
            found = [await memories.get(transaction, kind, id, None) for kind, id in some]
        there = [memory for memory in found if memory]
        indexed = await index_entries(resources, [_stored_entry(tenant, memory) for memory in there])
        entries = [(memory.type, memory.id, one) for memory, one in zip(there, indexed, strict=True)]
        async with resources.database.write(tenant, resources.clock()) as transaction:
            await search_index.replace(transaction, entries)


def _stored_entry(tenant: str, memory: Memory) -> Entry:
    if isinstance(memory, Fact):
        owner = owner_of(tenant, memory.source_butler, memory.scope)
        about = memory.subject_label, memory.predicate_label
        return Entry(memory.type, memory.content, memory.tags, *about, owner)
    place = (memory.butler,) if isinstance(memory, Episode) else (memory.source_butler, memory.scope)
    return Entry(memory.type, memory.content, memory.tags, owner=owner_of(tenant, *place))


async def _walk(
    resources: Resources,
    tenant: str,
    following: Callable[[Transaction, UUID, int], Awaitable[list[Row]]],
    progress: Callable[[int], None],
) -> int:
    last, done = UUID(int=0), 0
    while True:
        async with resources.database.read(tenant) as transaction:
            rows = await following(transaction, last, BATCH)
        if not rows:
            return done
        indexed = await index_stored(resources, tenant, rows)
        entries = {row["id"]: entry for row, entry in zip(rows, indexed, strict=True)}
        async with resources.database.write(tenant, resources.clock()) as transaction:
            there = await embedding_versions.present(transaction, list(entries))
            await search_index.clear(transaction, list(entries))
            named = [(MemoryType(row["type"]), row["id"], entries[row["id"]]) for row in rows if row["id"] in there]
            await search_index.add(transaction, named)
        last, done = rows[-1]["id"], done + len(rows)
        progress(done)


async def index_stored(resources: Resources, tenant: str, rows: Sequence[Row]) -> list[Indexed]:
    """The index entries of stored memories."""
    return await _index_decided(resources, [_entry(resources, tenant, row) for row in rows])


def _entry(resources: Resources, tenant: str, row: Row) -> tuple[Entry, Searchable | None]:
    """A stored memory. An encrypted one stays encrypted, and unfindable if its text cannot be read."""
    kind, about = MemoryType(row["type"]), (row["subject_label"], row["predicate_label"])
    search: Searchable | None = None
    owner = owner_of(tenant, *row["butlers"])
    if row["is_sealed"]:
        is_readable = not isinstance(row["content"], Unreadable)
        search = (search_of(resources, owner, row["predicate_label"]) if is_readable else None) or "none"
    return Entry(kind, row["content"], row["tags"], *about, owner), search
