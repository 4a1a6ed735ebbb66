"""The search: a pipeline of statements in one round trip, and the candidates that it returns."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import numpy.typing as npt
from psycopg import AsyncCursor

from memory_butler.english.text.names import unheard
from memory_butler.models import USER_KEYS, Hit, MemoryType, Reach
from memory_butler.store.gate.database import Database, Transaction
from memory_butler.store.gate.vectors import as_vector, from_vectors
from memory_butler.store.retrieval import vector_index

# Confidence, decay rate and last confirmation of an episode.
NO_DECAY = (1.0, 0.0, None)
# Limits of what a briefing adds: facts of one subject, candidates from which it looks one step further, and episodes.
IMPORTANT_FACTS = 12
SOURCES = 5
RECENT_EPISODES = 5


class EarlierVector(NamedTuple):
    """The question as another embedding version has it, for memories that only have vectors of that version. Scaled and
    shifted, its cosines compare with those of the current version."""

    version: int
    embedding: Sequence[float]
    scale: float = 1.0
    shift: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """A question as the database gets it, with its filters.

    `names` are the keys in the question that may be names, `guessed` those that look like one, `spelled` words that may
    be misspelt names, `mentions` the names that were removed from `words`, `grams` the n-grams of a question in another
    language than English. `earlier` are its vectors for memories of other embedding versions. `for_briefing` adds
    candidates that a briefing needs; `kind_of_work` is the domain profile of the task.
    """

    words: str
    names: Sequence[str] = ()
    guessed: Sequence[str] = ()
    spelled: Sequence[str] = ()
    mentions: str = ""
    grams: Sequence[str] = ()
    embedding: Sequence[float] | None
    embedding_version: int
    earlier: Sequence[EarlierVector] = ()
    types: Sequence[MemoryType]
    reach: Reach
    min_confidence: float
    text_search: str
    k1: float
    b: float
    scan_limit: int
    candidates: int
    now: datetime
    permanences: Sequence[str] | None = None
    maturities: Sequence[str] | None = None
    tags: Sequence[str] | None = None
    time_from: datetime | None = None
    time_to: datetime | None = None
    with_hidden: bool = False
    for_briefing: bool = False
    kind_of_work: Sequence[float] | None = None
    profile_versions: Sequence[int] = ()

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
            "tags": _listed(self.tags),
            "config": self.text_search,
            "words": self.words,
            "names": list(self.names),
            "guessed": list(self.guessed),
            "spelled": list(self.spelled),
            "mentions": self.mentions,
            "grams": list(self.grams),
            "embedding": None if self.embedding is None else as_vector(self.embedding),
            "embedding_version": self.embedding_version,
            "dimensions": 0 if self.embedding is None else len(self.embedding),
            "earlier": json.dumps([one._asdict() for one in self.earlier]),
            "earlier_vectors": [_vector_params(one) for one in self.earlier],
            "k1": self.k1,
            "b": self.b,
            "scan_limit": self.scan_limit,
            "candidates": self.candidates,
            "time_from": self.time_from,
            "time_to": self.time_to,
            "now": self.now,
            "for_briefing": self.for_briefing,
            "kind_of_work": None if self.kind_of_work is None else as_vector(self.kind_of_work),
            "profile_versions": list(self.profile_versions),
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
    tenant's memories, and `versions` that of those with vectors of each embedding version. `profiles` holds domain
    profiles, for a briefing.
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
    versions: Mapping[int, int] = field(default_factory=dict)
    profiles: Mapping[UUID, npt.NDArray[np.float64]] = field(default_factory=dict)


class NamesRow(NamedTuple):
    known: str
    unknown: list[str]
    similar_names: list[str]
    user_names: list[str]
    memories: int | None
    versions: str


class HiddenRow(NamedTuple):
    by_scope: int
    by_confidence: int


# Rows as the statements return them: the columns of `candidates` and `more`, and of `facts`, `rules` and `episodes`.
# They come in the order of a hit's fields, and a hit takes them by place: by name would take three times as long.
Values = tuple[Any, ...]


def _fact(row: Values, scores: Values) -> Hit:
    own = (*row[1:10], None, None, *row[10:17], None, None, row[17], row[19], row[20])
    return Hit._make((MemoryType.FACT, *scores[:12], *own, *scores[12:], row[18]))


def _rule(row: Values, scores: Values) -> Hit:
    own = (*row[1:9], None, None, None, *row[9:12], None, None, None, None, *row[12:15], row[16], row[17])
    return Hit._make((MemoryType.RULE, *scores[:12], *own, *scores[12:], row[15]))


def _episode(row: Values, scores: Values) -> Hit:
    own = (*row[1:12], *NO_DECAY, None, None, None, None, None, None, *row[12:15])
    return Hit._make((MemoryType.EPISODE, *scores[:12], *own, *scores[12:], row[15]))


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The cursors of a search that was sent. Their rows have arrived when the transaction has ended."""

    guessed: frozenset[str]
    spelled: frozenset[str]
    names: AsyncCursor[NamesRow]
    hidden: AsyncCursor[HiddenRow] | None
    scores: list[AsyncCursor[Values]]
    memories: Sequence[tuple[Callable[[Values, Values], Hit], AsyncCursor[Values]]]
    profiles: AsyncCursor[Values] | None

    async def candidates(self) -> Candidates:
        (names,) = await self.names.fetchall()
        known = json.loads(names.known)
        known_names = frozenset(name["asked"] for name in known)
        (hidden,) = await self.hidden.fetchall() if self.hidden else (HiddenRow(0, 0),)
        # By number: UUIDs are hashed and compared in Python.
        scores = {row[0].int: row for cursor in self.scores for row in await cursor.fetchall()}
        profiles = await self.profiles.fetchall() if self.profiles else []
        return Candidates(
            hits=[hit(row, scores[row[0].int]) for hit, cursor in self.memories for row in await cursor.fetchall()],
            hidden={"scope": hidden.by_scope, "confidence": hidden.by_confidence},
            names=frozenset(name["asked"] for name in known if name["is_name"]),
            known_names=known_names,
            subject_names=frozenset(name["lexeme"][1:] for name in known if name["lexeme"][0] == "@"),
            unknown_names=unheard(self.guessed.intersection(names.unknown), known_names),
            unknown_words=unheard(self.spelled.intersection(names.unknown), known_names),
            similar_names=frozenset(names.similar_names),
            user_names=frozenset(names.user_names),
            memories=names.memories or 0,
            versions={int(version): count for version, count in json.loads(names.versions).items()},
            profiles=dict(zip((row[0] for row in profiles), from_vectors([row[1] for row in profiles]), strict=True)),
        )


async def search(database: Database, tenant: str, query: SearchQuery) -> Candidates:
    """The candidates for a question, in one round trip."""
    params = query.params()
    async with vector_index.read(database, tenant, params) as transaction:
        pipeline = await send(transaction, params, by_index=vector_index.is_asked(database, tenant, params))
    return await pipeline.candidates()


async def send(transaction: Transaction, params: dict[str, Any], *, by_index: bool = False) -> Pipeline:
    """Send the statements of a search, each of which reads what the ones before it left in the transaction.

    Most searches need no other lists, vectors or memories than the `usual` form of a statement reads.
    """
    needs_full = by_index or params["earlier_vectors"] or params["with_hidden"] or params["for_briefing"]
    form = "full" if needs_full else "usual"
    names = await transaction.send_for(NamesRow._make, "search.names", **params)
    with_vector = params["embedding"] is not None
    hidden = await transaction.send_for(HiddenRow._make, f"search.by_meaning:{form}", **params) if with_vector else None
    scores = [await transaction.send_for(tuple, f"search.candidates:{form}", **params)]
    if params["for_briefing"]:
        scores.append(await transaction.send_for(tuple, "search.more", **params))
    memories = [
        (make_hit, await transaction.send_for(tuple, query, **params))
        for make_hit, query, wanted in (
            (_fact, "search.facts", "with_facts"),
            (_rule, "search.rules", "with_rules"),
            (_episode, "search.episodes", "with_episodes"),
        )
        if params[wanted]
    ]
    profiles = await transaction.send_for(tuple, "search.profiles", **params) if params["for_briefing"] else None
    guessed, spelled = frozenset(params["guessed"]), frozenset(params["spelled"])
    return Pipeline(guessed, spelled, names, hidden, scores, memories, profiles)


def _vector_params(one: EarlierVector) -> dict[str, Any]:
    """The parameters in which a search of an index of this version differs."""
    vector = as_vector(one.embedding)
    own = {"embedding": vector, "embedding_version": one.version, "dimensions": len(one.embedding)}
    return {**own, "scale": one.scale, "shift": one.shift}


def _listed(values: Sequence[str] | None) -> list[str] | None:
    return None if values is None else list(values)
