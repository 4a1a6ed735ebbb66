"""What an operation answers."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from memory_butler.models.history import StoryLine
from memory_butler.models.memories import Event, Fact, Link, Memory
from memory_butler.models.vocabulary import MemoryType, Tier


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What a write did: `created`, `confirmed` (an equal one was already there), `superseded` (it replaced one) …"""

    type: MemoryType
    id: UUID
    ref: str
    outcome: str
    superseded_ref: str | None = None


class Hit(NamedTuple):
    """A candidate of a search: what ranking and showing a memory of any type needs, in the order of the statement."""

    type: MemoryType
    id: UUID
    ref: str
    semantic_score: float | None
    keyword_score: float | None
    similarity: float | None
    hidden_by: str | None
    scope: str
    butler: str
    subject_label: str | None
    predicate_label: str | None
    content: str
    importance: int | None
    tags: list[str]
    validity: str
    permanence: str | None
    maturity: str | None
    confidence: float
    decay_rate: float
    created_at: datetime
    last_confirmed_at: datetime | None
    last_referenced_at: datetime | None
    valid_at: datetime | None
    observed_at: datetime | None
    session_id: str | None
    harmful_reasons: list[str] | None


class ScoreParts(NamedTuple):
    score: float
    relevance: float
    importance: float
    recency: float
    effective_confidence: float
    semantic_rank: int | None
    keyword_rank: int | None
    semantic_score: float | None
    keyword_score: float | None


class Ranked(NamedTuple):
    hit: Hit
    parts: ScoreParts


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a search returned; `degraded` says what could not be used, for example a leg of the search."""

    results: tuple[Ranked, ...]
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Portrait:
    """One memory with everything that is known of it; `story` says why it is like this, `outlook` what comes next."""

    memory: Memory
    tier: Tier
    effective_confidence: float
    fades_at: datetime | None
    expires_at: datetime | None
    links: tuple[Link, ...]
    chain: tuple[Fact, ...]
    events: tuple[Event, ...]
    story: tuple[StoryLine, ...]
    outlook: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionReceipt:
    section: str
    quota_tokens: int
    used_tokens: int
    lines: int
    left_out: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    token_budget: int
    used_tokens: int
    tokenizer: str
    sections: tuple[SectionReceipt, ...]
    left_out: tuple[dict[str, str], ...]
    hidden: dict[str, int]
    degraded: tuple[str, ...]
    request_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    text: str
    receipt: Receipt
