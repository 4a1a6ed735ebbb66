"""The search index: passages, postings, and the one statement that searches both."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import AsyncCursor

from memory_butler.errors import InvalidInput
from memory_butler.models import Hit, MemoryType, Reach
from memory_butler.store import vector_index
from memory_butler.store.database import Database, Row, Session
from memory_butler.store.recordsets import recordset
from memory_butler.store.vectors import as_numbers, as_vector

Vector = Sequence[float]
_TYPES = {str(kind): kind for kind in MemoryType}


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """What a memory is found by: its words, the names it stands under or else answers to, its passages' vectors."""

    words: str
    names: Sequence[str]
    loose_names: Sequence[str]
    vectors: Sequence[Vector]
    embedding_version: int
    text_search: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A search as the database sees it: `names` are keys in the question that may be names, `guessed` those that look
    like it, `mentions` the names that were taken out of its words."""

    words: str
    names: Sequence[str] = ()
    guessed: Sequence[str] = ()
    mentions: str = ""
    embedding: Vector | None
    embedding_version: int
    types: Sequence[MemoryType]
    reach: Reach
    min_confidence: float
    text_search: str
    k1: float
    b: float
    candidates: int
    now: datetime
    permanences: Sequence[str] | None = None
    maturities: Sequence[str] | None = None
    time_from: datetime | None = None
    time_to: datetime | None = None
    # Of those who are named, and of these subjects, so many facts from this importance on are wanted, asked for or not.
    most_important: int = 0
    important_from: int | None = None
    askers: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The raw candidates, which policy ranks; how many of the nearest are hidden, and by what; which keys of the
    question are names to the tenant, which lead to memories though they may be words like any other, and which names
    it has never heard of; and how many memories it has."""

    hits: list[Hit]
    hidden: dict[str, int]
    names: frozenset[str] = frozenset()
    loose_names: frozenset[str] = frozenset()
    unheard: frozenset[str] = frozenset()
    memories: int = 0


Named = tuple[MemoryType, UUID, Indexed]


async def add(session: Session, entries: Sequence[Named]) -> None:
    """Have memories found, by their words, their names and their meaning."""
    for config in {indexed.text_search for _, _, indexed in entries}:
        memories = [_words(one) for one in entries if one[2].text_search == config]
        await session.send("search_index.add_postings", config=config, memories=recordset(memories))
    passages = [
        (kind, id, ordinal, indexed.embedding_version, vector)
        for kind, id, indexed in entries
        for ordinal, vector in enumerate(indexed.vectors)
    ]
    for version in {version for _, _, _, version, _ in passages}:
        own = [one for one in passages if one[3] == version]
        await session.send(
            "search_index.add_passages",
            types=[kind for kind, *_ in own],
            ids=[id for _, id, *_ in own],
            ordinals=[ordinal for _, _, ordinal, *_ in own],
            embedding_version=version,
            dimensions=len(own[0][-1]),
            vectors=as_numbers([vector for *_, vector in own]),
        )


def _words(entry: Named) -> Row:
    kind, id, indexed = entry
    names = [f"@{name}" for name in indexed.names] + [f"#{name}" for name in indexed.loose_names]
    return {"memory_type": kind, "id": id, "words": indexed.words, "names": names}


async def clear(session: Session, ids: Sequence[UUID]) -> None:
    await session.send("search_index.clear_postings", ids=list(ids))
    await session.send("search_index.clear_passages", ids=list(ids))


async def after(session: Session, memory_id: UUID, limit: int) -> list[Row]:
    return await session.all("search_index.after", after=memory_id, limit=limit)


async def require_text_search(session: Session, config: str) -> None:
    """A text search configuration that the database does not know would fail every search and every write."""
    if await session.one("search_index.find_text_search", config=config) is None:
        raise InvalidInput(
            f"The database has no text search configuration {config!r}.",
            recovery="Set retrieval.text_search to one it has, such as english, german or simple.",
        )


async def search(database: Database, tenant: str, probe: Probe, *, with_hidden: bool = False) -> Found:
    """Everything that comes into question, in one round trip."""
    async with vector_index.read(database, tenant, {**params(probe), "with_hidden": with_hidden}) as session:
        cursor = await ask(session, probe, with_hidden=with_hidden)
    return sorted_out(await cursor.fetchall())


async def ask(session: Session, probe: Probe, *, with_hidden: bool) -> AsyncCursor[tuple[Any, ...]]:
    return await session.send_for_tuples("search_index.search", with_hidden=with_hidden, **params(probe))


def sorted_out(rows: Sequence[tuple[Any, ...]]) -> Found:
    """The rows of the statement by what they are: candidates, hidden ones, and names."""
    found = [Hit._make((_TYPES[row[0]], *row[1:])) for row in rows if row[0] in _TYPES]
    hidden = Counter(hit.hidden_by for hit in found if hit.hidden_by)
    return Found(
        hits=[hit for hit in found if not hit.hidden_by],
        hidden={why: hidden[why] for why in ("scope", "confidence")},
        names=frozenset(row[2] for row in rows if row[0] == "name" and row[14] == "name"),
        loose_names=frozenset(row[2] for row in rows if row[0] == "name"),
        unheard=frozenset(row[2] for row in rows if row[0] == "unheard"),
        memories=next((row[12] for row in rows if row[0] == "tenant"), 0),
    )


def params(probe: Probe) -> dict[str, Any]:
    """The probe as the parameters of the statement."""
    return {
        "with_facts": MemoryType.FACT in probe.types,
        "with_rules": MemoryType.RULE in probe.types,
        "with_episodes": MemoryType.EPISODE in probe.types,
        "scopes": None if probe.reach.scopes is None else list(probe.reach.scopes),
        "butlers": None if probe.reach.butlers is None else list(probe.reach.butlers),
        "min_confidence": probe.min_confidence,
        "permanences": None if probe.permanences is None else list(probe.permanences),
        "maturities": None if probe.maturities is None else list(probe.maturities),
        "config": probe.text_search,
        "words": probe.words,
        "names": list(probe.names),
        "guessed": list(probe.guessed),
        "mentions": probe.mentions,
        "embedding": None if probe.embedding is None else as_vector(probe.embedding),
        "embedding_version": probe.embedding_version,
        "k1": probe.k1,
        "b": probe.b,
        "candidates": probe.candidates,
        "time_from": probe.time_from,
        "time_to": probe.time_to,
        "now": probe.now,
        "most_important": probe.most_important,
        "important_from": probe.important_from,
        "askers": list(probe.askers),
    }
