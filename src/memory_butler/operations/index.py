"""Index: what a memory is found by, made when it is stored and again when the model or the cutting changes."""

from collections.abc import Callable, Sequence
from uuid import UUID

from memory_butler.butler import Butler
from memory_butler.models import Caller, MemoryType
from memory_butler.policy.passages import cut_passages
from memory_butler.policy.wording import indexed_text, indexed_words, spoken
from memory_butler.store import search_index
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
    head = f"{spoken(subject or '')} {spoken(predicate or '')}:" if memory_type is MemoryType.FACT else ""
    vectors = await butler.embedder.embed(cut_passages(content, head=head))
    return Indexed(
        words=indexed_words(indexed_text(memory_type, subject, predicate, content), tags),
        vectors=[vector.tolist() for vector in vectors],
        embedding_version=butler.embedding_version,
        text_search=butler.settings.retrieval.text_search,
    )


async def reindex(
    butler: Butler, caller: Caller | None = None, *, progress: Callable[[int], None] = lambda done: None
) -> int:
    """Make the whole search index of a tenant anew, a bounded batch at a time; returns how many memories it covers."""
    tenant = (caller or butler.local_caller()).principal.tenant
    last, done = UUID(int=0), 0
    while True:
        async with butler.database.read(tenant) as session:
            rows = await search_index.after(session, last, BATCH)
        if not rows:
            return done
        entries = [
            await index_entry(
                butler,
                MemoryType(row["type"]),
                row["content"],
                row["tags"],
                subject=row["subject_label"],
                predicate=row["predicate_label"],
            )
            for row in rows
        ]
        async with butler.database.write(tenant, butler.clock()) as session:
            await search_index.clear(session, [row["id"] for row in rows])
            for row, entry in zip(rows, entries, strict=True):
                await search_index.add(session, MemoryType(row["type"]), row["id"], entry)
        last, done = rows[-1]["id"], done + len(rows)
        progress(done)
