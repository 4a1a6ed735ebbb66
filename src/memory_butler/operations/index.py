"""Index: what a memory is found by, made when it is stored and again when the model or the cutting changes."""

from collections.abc import Awaitable, Callable, Sequence
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
    vectors = await butler.embedder.embed(cut_passages(content, head=passage_head(subject, predicate)))
    return Indexed(
        words=indexed_words(indexed_text(memory_type, subject, predicate, content), tags),
        names=standing_names(memory_type, subject, content),
        loose_names=loose_names(memory_type, subject, content),
        vectors=[vector.tolist() for vector in vectors],
        embedding_version=butler.embedding_version,
        text_search=butler.settings.retrieval.text_search,
    )


async def reindex(
    butler: Butler, caller: Caller | None = None, *, progress: Callable[[int], None] = lambda done: None
) -> int:
    """Make the whole search index of a tenant anew, a bounded batch at a time; returns how many memories it covers."""
    tenant = (caller or butler.local_caller()).principal.tenant
    return await _walk(butler, tenant, search_index.after, progress)


async def catch_up(butler: Butler, tenant: str) -> int:
    """Make anew what another model or another way of cutting passages indexed, as after an upgrade: it would not be
    found by meaning. It can be broken off anywhere and goes on where it stopped; returns how many memories it was."""

    async def outdated(session: Session, last: UUID, limit: int) -> list[Row]:
        return await embedding_versions.outdated(session, butler.embedding_version, last, limit)

    return await _walk(butler, tenant, outdated, lambda done: None)


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
        entries = {row["id"]: await _entry(butler, row) for row in rows}
        async with butler.database.write(tenant, butler.clock()) as session:
            there = await embedding_versions.present(session, list(entries))
            await search_index.clear(session, list(entries))
            for row in rows:
                if row["id"] in there:
                    await search_index.add(session, MemoryType(row["type"]), row["id"], entries[row["id"]])
        last, done = rows[-1]["id"], done + len(rows)
        progress(done)


async def _entry(butler: Butler, row: Row) -> Indexed:
    return await index_entry(
        butler,
        MemoryType(row["type"]),
        row["content"],
        row["tags"],
        subject=row["subject_label"],
        predicate=row["predicate_label"],
    )
