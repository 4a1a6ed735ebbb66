"""The search index: passages, postings, and the one statement that searches both."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from memory_butler.models import Hit, MemoryType, Reach
from memory_butler.store.database import Row, Session

Vector = Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """What a memory is found by: its words, and the vectors of its passages."""

    words: str
    vectors: Sequence[Vector]
    embedding_version: int
    text_search: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A search as the database sees it."""

    words: str
    embedding: Vector | None
    types: Sequence[MemoryType]
    reach: Reach
    min_confidence: float
    text_search: str
    k1: float
    b: float
    candidates: int
    now: datetime


async def add(session: Session, memory_id: UUID, indexed: Indexed) -> None:
    await session.send(
        "search_index.add_postings", memory_id=memory_id, config=indexed.text_search, words=indexed.words
    )
    for ordinal, vector in enumerate(indexed.vectors):
        await session.send(
            "search_index.add_passage",
            memory_id=memory_id,
            ordinal=ordinal,
            embedding_version=indexed.embedding_version,
            embedding=list(vector),
        )


async def clear(session: Session, ids: Sequence[UUID]) -> None:
    await session.send("search_index.clear_postings", ids=list(ids))
    await session.send("search_index.clear_passages", ids=list(ids))


async def after(session: Session, memory_id: UUID, limit: int) -> list[Row]:
    return await session.all("search_index.after", after=memory_id, limit=limit)


async def search(session: Session, probe: Probe) -> list[Hit]:
    """The raw candidates of both lists; ranking them is policy."""
    cursor = await session.send("search_index.search", **_params(probe))
    return [Hit(**{**row, "type": MemoryType(row["type"])}) for row in await cursor.fetchall()]


def _params(probe: Probe) -> dict[str, Any]:
    return {
        "with_facts": MemoryType.FACT in probe.types,
        "with_rules": MemoryType.RULE in probe.types,
        "with_episodes": MemoryType.EPISODE in probe.types,
        "scopes": None if probe.reach.scopes is None else list(probe.reach.scopes),
        "butlers": None if probe.reach.butlers is None else list(probe.reach.butlers),
        "min_confidence": probe.min_confidence,
        "config": probe.text_search,
        "words": probe.words,
        "embedding": None if probe.embedding is None else list(probe.embedding),
        "k1": probe.k1,
        "b": probe.b,
        "candidates": probe.candidates,
        "now": probe.now,
    }
