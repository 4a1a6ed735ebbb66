"""The search: a pipeline of statements in one round trip, and the candidates that it returns."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from psycopg import AsyncCursor

from memory_butler.english.text.names import unheard
from memory_butler.models import USER_KEYS, Hit, MemoryType, Reach
from memory_butler.store.gate.database import Database, Transaction
from memory_butler.store.gate.vectors import as_vector
from memory_butler.store.retrieval import vector_index

# Limits of what a briefing adds: facts of one subject, candidates from which it looks one step further, and episodes.
IMPORTANT_FACTS = 12
SOURCES = 5
RECENT_EPISODES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """A question as the database gets it, with its filters.

    `names` are the keys in the question that may be names, `guessed` those that look like one, `spelled` words that may
    be misspelt names, `mentions` the names that were removed from `words`, `grams` the n-grams of a question in another
    language than English. `for_briefing` adds candidates that a briefing needs; `kind_of_work` is the domain profile of
    the task.
    """

    words: str
    names: Sequence[str] = ()
    guessed: Sequence[str] = ()
    spelled: Sequence[str] = ()
    mentions: str = ""
    grams: Sequence[str] = ()
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
    with_hidden: bool = False
    for_briefing: bool = False
    kind_of_work: Sequence[float] | None = None
    profile_version: int = 0

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
            "spelled": list(self.spelled),
            "mentions": self.mentions,
            "grams": list(self.grams),
            "embedding": None if self.embedding is None else as_vector(self.embedding),
            "embedding_version": self.embedding_version,
            "k1": self.k1,
            "b": self.b,
            "candidates": self.candidates,
            "time_from": self.time_from,
            "time_to": self.time_to,
            "now": self.now,
            "for_briefing": self.for_briefing,
            "kind_of_work": None if self.kind_of_work is None else as_vector(self.kind_of_work),
            "profile_version": self.profile_version,
            "user_keys": list(USER_KEYS),
            "important_facts": IMPORTANT_FACTS,
            "sources": SOURCES,
            "recent_episodes": RECENT_EPISODES,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The memories that policy ranks, and what the tenant knows of the names in the question.

    `names` are proper names to the tenant, `known_names` all keys that lead to memories, `subject_names` all names of
    the subjects that they lead to, `unknown_names` look like names and lead to none, `unknown_words` may be
    misspelt names, `similar_names` begin like them. `user_names` are the user's.
    `hidden` counts the nearest memories that the caller may not see, by reason; `memories` is the number of the
    tenant's memories. `profiles` holds domain profiles, for a briefing.
    """

    hits: list[Hit]
    hidden: dict[str, int]
    names: frozenset[str] = frozenset()
    known_names: frozenset[str] = frozenset()
    subject_names: frozenset[str] = frozenset()
    unknown_names: frozenset[str] = frozenset()
    unknown_words: frozenset[str] = frozenset()
    similar_names: frozenset[str] = frozenset()
    user_names: frozenset[str] = frozenset()
    memories: int = 0
    profiles: Mapping[UUID, Sequence[float]] = field(default_factory=dict)


class NamesRow(NamedTuple):
    known: str
    unknown: list[str]
    similar_names: list[str]
    user_names: list[str]
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
    mention_score: float
    name_rarity: float
    context_id: UUID | None

    @property
    def shared(self) -> tuple[Any, ...]:
        """The values that a hit takes by position, in the order of its fields."""
        return tuple(self[:12])

    @property
    def named(self) -> dict[str, Any]:
        return {"name_rarity": self.name_rarity, "context_id": self.context_id}


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
    pinned: bool
    origin: str

    def hit(self, scores: ScoresRow) -> Hit:
        own = {"pinned": self.pinned, "origin": self.origin, **scores.named}
        return Hit(MemoryType.FACT, *(scores.shared + self[1:10] + (None, None) + self[10:17]), **own)


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
    pinned: bool
    origin: str

    def hit(self, scores: ScoresRow) -> Hit:
        shared = scores.shared + self[1:9] + (None, None, None) + self[9:12]
        own = {
            "maturity": self.maturity,
            "harmful_reasons": self.harmful_reasons,
            "pinned": self.pinned,
            "origin": self.origin,
            **scores.named,
        }
        return Hit(MemoryType.RULE, *shared, **own)


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
    pinned: bool
    since_changed: bool
    replaced_by: UUID | None
    origin: str

    def hit(self, scores: ScoresRow) -> Hit:
        own = {"pinned": self.pinned, "since_changed": self.since_changed, "replaced_by": self.replaced_by}
        return Hit(MemoryType.EPISODE, *(scores.shared + self[1:12]), **{**own, "origin": self.origin, **scores.named})


class ProfileRow(NamedTuple):
    id: UUID
    profile: list[float]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The cursors of a search that was sent. Their rows have arrived when the transaction has ended."""

    guessed: frozenset[str]
    spelled: frozenset[str]
    names: AsyncCursor[NamesRow]
    hidden: AsyncCursor[HiddenRow] | None
    scores: list[AsyncCursor[ScoresRow]]
    profiles: AsyncCursor[ProfileRow] | None
    memories: list[AsyncCursor[FactRow] | AsyncCursor[RuleRow] | AsyncCursor[EpisodeRow]]

    async def candidates(self) -> Candidates:
        (names,) = await self.names.fetchall()
        known = json.loads(names.known)
        known_names = frozenset(name["asked"] for name in known)
        (hidden,) = await self.hidden.fetchall() if self.hidden else (HiddenRow(0, 0),)
        # By number: UUIDs are hashed and compared in Python.
        scores = {row.id.int: row for cursor in self.scores for row in await cursor.fetchall()}
        return Candidates(
            hits=[row.hit(scores[row.id.int]) for cursor in self.memories for row in await cursor.fetchall()],
            hidden={"scope": hidden.by_scope, "confidence": hidden.by_confidence},
            names=frozenset(name["asked"] for name in known if name["is_name"]),
            known_names=known_names,
            subject_names=frozenset(name["lexeme"][1:] for name in known if name["lexeme"][0] == "@"),
            unknown_names=unheard(self.guessed.intersection(names.unknown), known_names),
            unknown_words=unheard(self.spelled.intersection(names.unknown), known_names),
            similar_names=frozenset(names.similar_names),
            user_names=frozenset(names.user_names),
            memories=names.memories or 0,
            profiles={row.id: row.profile for row in await self.profiles.fetchall()} if self.profiles else {},
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
    scores = [await transaction.send_for(ScoresRow._make, "search.candidates", **params)]
    if params["for_briefing"]:
        scores.append(await transaction.send_for(ScoresRow._make, "search.more", **params))
    memories: list[Any] = []
    if params["with_facts"]:
        memories.append(await transaction.send_for(FactRow._make, "search.facts", **params))
    if params["with_rules"]:
        memories.append(await transaction.send_for(RuleRow._make, "search.rules", **params))
    if params["with_episodes"]:
        memories.append(await transaction.send_for(EpisodeRow._make, "search.episodes", **params))
    profiles = None
    if params["for_briefing"]:
        profiles = await transaction.send_for(ProfileRow._make, "search.profiles", **params)
    guessed, spelled = frozenset(params["guessed"]), frozenset(params["spelled"])
    return Pipeline(guessed, spelled, names, hidden, scores, profiles, memories)


def _listed(values: Sequence[str] | None) -> list[str] | None:
    return None if values is None else list(values)
