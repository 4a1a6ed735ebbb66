"""Index: what a memory is found by, made when it is stored and again when the model or the cutting changes."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple
from uuid import UUID

from memory_butler.butler import Butler
from memory_butler.models import Caller, MemoryType
from memory_butler.policy.names import loose_names, standing_names
from memory_butler.policy.passages import cut_passages, passage_head
from memory_butler.policy.wording import indexed_text, indexed_words
from memory_butler.store import embedding_versions, search_index
from memory_butler.store.database import Row, Session
from memory_butler.store.search_index import Indexed

BATCH = 200


class Entry(NamedTuple):
    """A memory as far as it is indexed."""

    type: MemoryType
    content: str
    tags: Sequence[str]
    subject: str | None = None
    predicate: str | None = None


async def index_entry(
    butler: Butler,
    memory_type: MemoryType,
    content: str,
    tags: Sequence[str],
    *,
    subject: str | None = None,
    predicate: str | None = None,
) -> Indexed:
    """Embed a memory's passages; slow, so it happens before the transaction."""
    (entry,) = await index_entries(butler, [Entry(memory_type, content, tags, subject, predicate)])
    return entry


async def index_entries(butler: Butler, entries: Sequence[Entry]) -> list[Indexed]:
    """The same for many, whose passages are embedded together."""
    cut = [cut_passages(one.content, head=passage_head(one.subject, one.predicate, one.content)) for one in entries]
    texts = [passage for passages in cut for passage in passages]
    vectors: Iterator[Any] = iter(await butler.embedder.embed(texts) if texts else ())
    return [
        Indexed(
            words=indexed_words(indexed_text(one.type, one.subject, one.predicate, one.content), one.tags),
            names=standing_names(one.type, one.subject, one.content),
            loose_names=loose_names(one.type, one.subject, one.content),
            vectors=list(islice(vectors, len(passages))),
            embedding_version=butler.embedding_version,
            text_search=butler.settings.retrieval.text_search,
        )
        for one, passages in zip(entries, cut, strict=True)
    ]


async def reindex(
    butler: Butler, caller: Caller | None = None, *, progress: Callable[[int], None] = lambda done: None
) -> int:
    """Make the whole search index of a tenant anew, a bounded batch at a time; returns how many memories it covers."""
    tenant = (caller or butler.local_caller()).principal.tenant
    return await _walk(butler, tenant, search_index.after, progress)


async def catch_up(butler: Butler, tenant: str, *, progress: Callable[[int], None] = lambda done: None) -> int:
    """Make anew what another model or another way of cutting passages indexed, as after an upgrade, and index what was
    brought in from a file: it would not be found by meaning. It can be broken off anywhere and goes on where it
    stopped; returns how many memories it was."""

    async def outdated(session: Session, last: UUID, limit: int) -> list[Row]:
        return await embedding_versions.outdated(session, butler.embedding_version, last, limit)

    return await _walk(butler, tenant, outdated, progress)


async def _walk(
    butler: Butler,
    tenant: str,
    following: Callable[[Session, UUID, int], Awaitable[list[Row]]],
    progress: Callable[[int], None],
) -> int:
    last, done = UUID(int=0), 0
    while True:
        async with butler.database.read(tenant) as session:
            rows = await following(session, last, BATCH)
        if not rows:
            return done
        indexed = await index_entries(butler, [_entry(row) for row in rows])
        entries = {row["id"]: entry for row, entry in zip(rows, indexed, strict=True)}
        async with butler.database.write(tenant, butler.clock()) as session:
            there = await embedding_versions.present(session, list(entries))
            await search_index.clear(session, list(entries))
            named = [(MemoryType(row["type"]), row["id"], entries[row["id"]]) for row in rows if row["id"] in there]
            await search_index.add(session, named)
        last, done = rows[-1]["id"], done + len(rows)
        progress(done)


def _entry(row: Row) -> Entry:
    kind, about = MemoryType(row["type"]), (row["subject_label"], row["predicate_label"])
    return Entry(kind, row["content"], row["tags"], *about)
