"""Re-embedding: memories with vectors of another embedding version get vectors of the current one, in bounded batches.

The state is in the rows: a memory has vectors of one version or of another. So a run can be stopped, killed and
repeated at any point, and searches find every memory at any time (question_vectors.py).

Of several program versions side by side, only the one whose embedding version was chosen last replaces vectors of the
others, so none flips back and forth. A version is chosen when it is new, when a user asks for it, or when those chosen
later have not been used for an hour.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from memory_butler.metrics import reembedding as metrics
from memory_butler.models import Caller, MemoryType
from memory_butler.operations.retrieval.indexing import index_stored
from memory_butler.policy.retrieval.passages import PASSAGE_POLICY_VERSION
from memory_butler.resources import Resources
from memory_butler.store.gate.database import Row
from memory_butler.store.retrieval import embedding_versions, search_index
from memory_butler.store.retrieval.search_index import Indexed

# Memories whose vectors are replaced in one transaction.
BATCH = 100
# Memories that are put in order at a time.
ORDERED = 20_000
ORDER_SECONDS = 120.0

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionShare:
    """A model and passage policy with the number of a tenant's memories that have vectors of it."""

    version: int
    model: str
    passage_policy: int
    memories: int
    is_current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingState:
    """The versions of a tenant's memories. `is_chosen`: the version of this program replaces the others."""

    model: str
    shares: tuple[VersionShare, ...]
    is_chosen: bool
    paused_at: datetime | None

    @property
    def memories(self) -> int:
        return sum(one.memories for one in self.shares)

    @property
    def earlier(self) -> int:
        return sum(one.memories for one in self.shares if not one.is_current)


async def embedding_state(resources: Resources, caller: Caller | None = None) -> EmbeddingState:
    """How far the re-embedding of a tenant is."""
    caller = resources.admin(caller, "see the state of the search index")
    current = resources.embedding_version
    async with resources.database.read(caller.principal.tenant) as transaction:
        rows = await transaction.all("embedding_versions.counts")
        standing = await embedding_versions.standing(transaction, current)
    shares = (
        VersionShare(
            version=row["version"],
            model=row["name"],
            passage_policy=row["passage_policy"],
            memories=row["memories"],
            is_current=row["version"] == current,
        )
        for row in rows
    )
    return EmbeddingState(
        model=resources.embedder.version.name,
        shares=tuple(shares),
        is_chosen=standing.is_chosen,
        paused_at=standing.paused_at,
    )


async def pause(resources: Resources, caller: Caller | None = None) -> EmbeddingState:
    """Stop re-embedding a tenant until `resume`; a running job stops after its batch."""
    caller = resources.admin(caller, "pause re-embedding")
    async with resources.database.unlocked_write(caller.principal.tenant) as transaction:
        await transaction.send("embedding_versions.pause", now=resources.clock())
    return await embedding_state(resources, caller)


async def resume(resources: Resources, caller: Caller | None = None) -> EmbeddingState:
    """Go on re-embedding a tenant."""
    caller = resources.admin(caller, "resume re-embedding")
    async with resources.database.unlocked_write(caller.principal.tenant) as transaction:
        await transaction.send("embedding_versions.resume")
    return await embedding_state(resources, caller)


async def note_use(resources: Resources, *, choose: bool = False) -> None:
    """Note that the embedding version of this program is in use; with `choose`, it replaces the others from now on."""
    async with resources.database.unlocked_write(resources.settings.tenant) as transaction:
        await embedding_versions.use(transaction, resources.embedding_version, resources.clock(), choose=choose)


async def reembed_now(
    resources: Resources, caller: Caller | None = None, *, progress: Progress = lambda done: None
) -> int:
    """Re-embed all of a tenant's memories with the model of this program, also if another version was chosen later;
    returns their number. A pause ends."""
    caller = resources.admin(caller, "re-embed memories")
    await note_use(resources, choose=True)
    await resume(resources, caller)
    return await reembed(resources, caller.principal.tenant, progress=progress)


async def reembed(
    resources: Resources,
    tenant: str,
    *,
    seconds: float | None = None,
    most: int | None = None,
    progress: Progress = lambda done: None,
) -> int:
    """Replace vectors of other versions, the newest and most used memories first, until all or `most` are replaced, the
    time is up, or it is paused. Returns the number of memories."""
    loop = asyncio.get_running_loop()
    until = None if seconds is None else loop.time() + seconds
    done = 0
    while (most is None or done < most) and await _is_due(resources, tenant):
        ordered = await _next(resources, tenant, ORDERED if most is None else min(most - done, ORDERED))
        before = done
        for start in range(0, len(ordered), BATCH):
            if (until is not None and loop.time() >= until) or not await _is_due(resources, tenant):
                return done
            done += await _replace(resources, tenant, ordered[start : start + BATCH])
            progress(done)
        if done == before:
            # The counts say that memories are left, and there are none.
            await _count_again(resources, tenant)
            return done
    return done


async def _is_due(resources: Resources, tenant: str) -> bool:
    async with resources.database.read(tenant) as transaction:
        standing = await embedding_versions.standing(transaction, resources.embedding_version)
    return standing.is_due


async def _next(resources: Resources, tenant: str, limit: int) -> list[UUID]:
    async with resources.database.read(tenant, deadline_seconds=ORDER_SECONDS) as transaction:
        return await transaction.column("embedding_versions.next", version=resources.embedding_version, limit=limit)


async def _replace(resources: Resources, tenant: str, ids: Sequence[UUID]) -> int:
    """Replace the vectors of some memories. One that was changed or deleted meanwhile is left to whoever did that."""
    wanted = {"version": resources.embedding_version, "ids": list(ids)}
    async with resources.database.read(tenant) as transaction:
        rows = await transaction.all("embedding_versions.texts", **wanted)
    entries = await index_stored(resources, tenant, rows)
    async with resources.database.write(tenant, resources.clock()) as transaction:
        now = {row["id"]: row for row in await transaction.all("embedding_versions.texts", **wanted)}
        same = [(row, entry) for row, entry in zip(rows, entries, strict=True) if now.get(row["id"]) == row]
        vectors = [_named(row, entry) for row, entry in same if row["passage_policy"] == PASSAGE_POLICY_VERSION]
        whole = [_named(row, entry) for row, entry in same if row["passage_policy"] != PASSAGE_POLICY_VERSION]
        if vectors:
            await search_index.replace_vectors(transaction, vectors)
        if whole:
            await search_index.clear(transaction, [id for _, id, _ in whole])
            await search_index.add(transaction, whole)
    metrics.REEMBEDDED.inc(len(same))
    return len(same)


def _named(row: Row, entry: Indexed) -> tuple[MemoryType, Any, Indexed]:
    return MemoryType(row["type"]), row["id"], entry


async def _count_again(resources: Resources, tenant: str) -> None:
    """Count a tenant's vectors, without those of memories that are gone."""
    async with resources.database.write(tenant, resources.clock(), deadline_seconds=ORDER_SECONDS) as transaction:
        await transaction.send("embedding_versions.drop_orphans", version=resources.embedding_version)
        await transaction.send("embedding_versions.forget_counts")
        await transaction.send("embedding_versions.count_again")
