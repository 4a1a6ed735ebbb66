"""The search: a pipeline of statements in one round trip, and the candidates that it returns."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from psycopg import AsyncCursor

from memory_butler.models import Hit, MemoryType, Reach
from memory_butler.store.gate.database import Database, Transaction
from memory_butler.store.gate.vectors import as_vector
from memory_butler.store.retrieval import vector_index


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """A question as the database gets it, with its filters.

    `names` are the keys in the question that may be names, `guessed` those that look like one, `mentions` the names
    that were removed from `words`. For a briefing, up to `most_important` facts of at least `important_from` about the
    named subjects and about `askers` are candidates too.
    """

    words: str
    names: Sequence[str] = ()
    guessed: Sequence[str] = ()
    mentions: str = ""
    embedding: Sequence[float] | None
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
    most_important: int = 0
    important_from: int | None = None
    askers: Sequence[str] = ()
    with_hidden: bool = False

    def params(self) -> dict[str, Any]:
        return {
            "with_facts": MemoryType.FACT in self.types,
            "with_rules": MemoryType.RULE in self.types,
            "with_episodes": MemoryType.EPISODE in self.types,
            "with_hidden": self.with_hidden,
            "scopes": _listed(self.reach.scopes),
            "butlers": _listed(self.reach.butlers),
            "min_confidence": self.min_confidence,
            "permanences": _listed(self.permanences),
            "maturities": _listed(self.maturities),
            "config": self.text_search,
            "words": self.words,
            "names": list(self.names),
            "guessed": list(self.guessed),
            "mentions": self.mentions,
            "embedding": None if self.embedding is None else as_vector(self.embedding),
            "embedding_version": self.embedding_version,
            "k1": self.k1,
            "b": self.b,
            "candidates": self.candidates,
            "time_from": self.time_from,
            "time_to": self.time_to,
            "now": self.now,
            "most_important": self.most_important,
            "important_from": self.important_from,
            "askers": list(self.askers),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The memories that policy ranks, and what the tenant knows of the names in the question.

    `names` are proper names to the tenant, `known_names` all keys that lead to memories, `unknown_names` look like
    names and lead to none. `hidden` counts the nearest memories that the caller may not see, by reason; `memories` is
    the number of the tenant's memories.
    """

    hits: list[Hit]
    hidden: dict[str, int]
    names: frozenset[str] = frozenset()
    known_names: frozenset[str] = frozenset()
    unknown_names: frozenset[str] = frozenset()
    memories: int = 0


class NamesRow(NamedTuple):
    known: str
    unknown: list[str]
    memories: int | None


class HiddenRow(NamedTuple):
    by_scope: int
    by_confidence: int


class ScoresRow(NamedTuple):
    """The scores of one candidate. Its context is a fact's source episode or the episode before an episode."""

    id: UUID
    semantic_score: float | None
    keyword_score: float | None
    similarity: float | None
    word_score: float
    word_coverage: float
    is_named: bool
    has_context: bool
    context_similarity: float | None
    context_word_score: float
    context_word_coverage: float


class FactRow(NamedTuple):
    id: UUID
    ref: str
    source_butler: str
    content: str
    tags: list[str]
    validity: str
    created_at: datetime
    last_referenced_at: datetime | None
    scope: str
    importance: int
    confidence: float
    decay_rate: float
    last_confirmed_at: datetime | None
    subject_label: str
    predicate_label: str
    permanence: str
    valid_at: datetime | None

    def hit(self, scores: ScoresRow) -> Hit:
        return Hit(MemoryType.FACT, *(scores + self[1:10] + (None, None) + self[10:]))


class RuleRow(NamedTuple):
    id: UUID
    ref: str
    source_butler: str
    content: str
    tags: list[str]
    validity: str
    created_at: datetime
    last_referenced_at: datetime | None
    scope: str
    confidence: float
    decay_rate: float
    last_confirmed_at: datetime | None
    maturity: str
    harmful_reasons: list[str]

    def hit(self, scores: ScoresRow) -> Hit:
        shared = scores + self[1:9] + (None, None, None) + self[9:12]
        return Hit(MemoryType.RULE, *shared, maturity=self.maturity, harmful_reasons=self.harmful_reasons)


class EpisodeRow(NamedTuple):
    id: UUID
    ref: str
    butler: str
    content: str
    tags: list[str]
    validity: str
    created_at: datetime
    last_referenced_at: datetime | None
    scope: str
    importance: int
    observed_at: datetime
    session_id: str | None

    def hit(self, scores: ScoresRow) -> Hit:
        return Hit(MemoryType.EPISODE, *(scores + self[1:]))


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The cursors of a search that was sent. Their rows have arrived when the transaction has ended."""

    names: AsyncCursor[NamesRow]
    hidden: AsyncCursor[HiddenRow] | None
    scores: AsyncCursor[ScoresRow]
    memories: list[AsyncCursor[FactRow] | AsyncCursor[RuleRow] | AsyncCursor[EpisodeRow]]

    async def candidates(self) -> Candidates:
        (names,) = await self.names.fetchall()
        known = json.loads(names.known)
        (hidden,) = await self.hidden.fetchall() if self.hidden else (HiddenRow(0, 0),)
        # By number: UUIDs are hashed and compared in Python.
        scores = {row.id.int: row for row in await self.scores.fetchall()}
        return Candidates(
            hits=[row.hit(scores[row.id.int]) for cursor in self.memories for row in await cursor.fetchall()],
            hidden={"scope": hidden.by_scope, "confidence": hidden.by_confidence},
            names=frozenset(name["asked"] for name in known if name["is_name"]),
            known_names=frozenset(name["asked"] for name in known),
            unknown_names=frozenset(names.unknown),
            memories=names.memories or 0,
        )


async def search(database: Database, tenant: str, query: SearchQuery) -> Candidates:
    """The candidates for a question, in one round trip."""
    params = query.params()
    async with vector_index.read(database, tenant, params) as transaction:
        pipeline = await send(transaction, params)
    return await pipeline.candidates()


async def send(transaction: Transaction, params: dict[str, Any]) -> Pipeline:
    """Send the statements of a search, each of which reads what the ones before it left in the transaction."""
    names = await transaction.send_for(NamesRow._make, "search.names", **params)
    with_vector = params["embedding"] is not None
    hidden = await transaction.send_for(HiddenRow._make, "search.by_meaning", **params) if with_vector else None
    scores = await transaction.send_for(ScoresRow._make, "search.candidates", **params)
    memories: list[Any] = []
    if params["with_facts"] or params["important_from"] is not None:
        memories.append(await transaction.send_for(FactRow._make, "search.facts", **params))
    if params["with_rules"]:
        memories.append(await transaction.send_for(RuleRow._make, "search.rules", **params))
    if params["with_episodes"]:
        memories.append(await transaction.send_for(EpisodeRow._make, "search.episodes", **params))
    return Pipeline(names, hidden, scores, memories)


def _listed(values: Sequence[str] | None) -> list[str] | None:
    return None if values is None else list(values)
