"""What a remote store answers, where the core's own types would hold more than it tells.

The names are those of the core, so that the same lines read an answer from here and from there:
`answer.results[0].hit.content`, `seen.memory.content`, `done.outcome`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from memory_butler.errors import MemoryButlerError
from memory_butler.models import Briefing, Kinship, Lineage, Memory, MemoryType, ScoreParts, Stored, Tier


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A memory among the results of a search. `warning` is what a rule has become that did harm."""

    type: MemoryType
    id: UUID
    ref: str
    content: str
    validity: str
    tier: Tier
    butler: str
    created_at: datetime
    scope: str | None = None
    subject_label: str | None = None
    predicate_label: str | None = None
    tags: tuple[str, ...] = ()
    maturity: str | None = None
    permanence: str | None = None
    session_id: str | None = None
    observed_at: datetime | None = None
    valid_at: datetime | None = None
    last_confirmed_at: datetime | None = None
    last_referenced_at: datetime | None = None
    warning: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One result with its score; `also` are the references of others that say the same and were left out."""

    hit: Shown
    parts: ScoreParts
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A neighbour of a result. Without content it is named only: the answer holds it at another place."""

    type: MemoryType
    relation: Kinship
    ref: str
    content: str | None = None
    subject_label: str | None = None
    predicate_label: str | None = None
    created_at: datetime | None = None
    observed_at: datetime | None = None
    valid_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """What a search returned; `degraded` says what could not be used. Neighbours, if asked for, by a result's id."""

    results: tuple[Result, ...]
    degraded: tuple[str, ...] = ()
    neighbours: Mapping[UUID, tuple[Beside, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenLink:
    """A link from (`out`) or to (`in`) a memory; the other end is named, unless it is gone."""

    direction: str
    relation: str
    id: UUID
    availability: str
    created_at: datetime
    ref: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenFact:
    """A fact of a chain of facts that took each other's place."""

    ref: str
    content: str
    validity: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenEvent:
    """One event of a memory in words; `undone` says that it no longer counts."""

    seq: int
    id: UUID
    event: str
    words: str
    at: datetime
    actor: str
    request_id: str | None = None
    group_id: UUID | None = None
    undoes: UUID | None = None
    undone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One memory with everything that is known of it. A server does not say which tenant it is in."""

    memory: Memory
    tier: Tier
    effective_confidence: float
    outlook: str
    fades_at: datetime | None = None
    expires_at: datetime | None = None
    links: tuple[SeenLink, ...] = ()
    chain: tuple[SeenFact, ...] = ()
    events: tuple[SeenEvent, ...] = ()
    aliases: tuple[str, ...] = ()
    hidden_links: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Concerned:
    """A memory that is about somebody, and where it says so. The line is shown beforehand only."""

    ref: str
    why: str
    line: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """What would be forgotten, or what was, and under which group that can be undone. Of very many the first."""

    dry_run: bool
    count: int
    touched: tuple[Concerned, ...]
    group_id: UUID | None = None
    names: tuple[str, ...] = ()
    aliases: int = 0
    mentions: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """What became of one episode of a batch: it was stored, had been stored before, or has a problem."""

    stored: Stored | None = None
    repeated: bool = False
    problem: MemoryButlerError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefed:
    """What became of one request of a batch: a briefing, or a problem."""

    briefing: Briefing | None = None
    problem: MemoryButlerError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """One event of a store in words; `cursor` is the place right after it, where a stream goes on."""

    id: UUID
    event: str
    words: str
    at: datetime
    actor: str
    lineage: Lineage
    cursor: str | None
    ref: str | None = None
    group_id: UUID | None = None
    undoes: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Happenings:
    """A part of the log; `cursor` says where to go on, and `more` whether there is something already."""

    items: tuple[Happened, ...]
    cursor: str
    more: bool


Shape = dict[str, Any]
