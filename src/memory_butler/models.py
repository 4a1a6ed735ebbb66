"""The nouns and the requests: frozen values, no I/O, no behaviour beyond reading their own fields."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import UUID


class MemoryType(StrEnum):
    EPISODE = "episode"
    FACT = "fact"
    RULE = "rule"


class Validity(StrEnum):
    ACTIVE = "active"
    FADING = "fading"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    RETRACTED = "retracted"


LIVE = frozenset({Validity.ACTIVE, Validity.FADING})


class Maturity(StrEnum):
    CANDIDATE = "candidate"
    ESTABLISHED = "established"
    PROVEN = "proven"
    ANTI_PATTERN = "anti_pattern"


class Permanence(StrEnum):
    PERMANENT = "permanent"
    STABLE = "stable"
    STANDARD = "standard"
    VOLATILE = "volatile"
    EPHEMERAL = "ephemeral"


class ConsolidationStatus(StrEnum):
    PENDING = "pending"
    CONSOLIDATED = "consolidated"
    FAILED = "failed"
    DEAD_LETTER = "dead_letter"


class Tier(StrEnum):
    EDEN = "eden"
    MID = "mid"
    LONG = "long"


class Relation(StrEnum):
    DERIVED_FROM = "derived_from"
    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    SUPERSEDES = "supersedes"
    RELATED_TO = "related_to"


class Outcome(StrEnum):
    HELPFUL = "helpful"
    HARMFUL = "harmful"


class Mode(StrEnum):
    SEMANTIC = "semantic"
    KEYWORD = "keyword"
    HYBRID = "hybrid"


class Role(StrEnum):
    AGENT = "agent"
    ADMIN = "admin"


GLOBAL_SCOPE = "global"
EVERY_SCOPE = "*"


@dataclass(frozen=True, slots=True)
class Lineage:
    """Which request of the caller a change or a read belongs to."""

    request_id: str | None = None
    subrequest_id: str | None = None
    segment_id: str | None = None
    session_id: str | None = None


@dataclass(frozen=True, slots=True)
class Principal:
    """Who is calling. Comes from the door (authentication or the local default), never from an argument."""

    tenant: str
    butler: str
    role: Role = Role.AGENT


@dataclass(frozen=True, slots=True)
class Caller:
    principal: Principal
    lineage: Lineage = Lineage()


@dataclass(frozen=True, slots=True)
class Reach:
    """What a read may see: these scopes of facts and rules, these butlers' episodes. None means all of the tenant's."""

    scopes: tuple[str, ...] | None
    butlers: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEpisode:
    content: str
    butler: str
    session_id: str | None = None
    importance: int = 5
    observed_at: datetime | None = None
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFact:
    subject: str
    predicate: str
    content: str
    importance: int = 5
    permanence: str = Permanence.STANDARD
    scope: str = GLOBAL_SCOPE
    tags: tuple[str, ...] = ()
    valid_at: datetime | None = None
    source_episode: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRule:
    content: str
    scope: str = GLOBAL_SCOPE
    tags: tuple[str, ...] = ()
    source_episode: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A ranked read. `min_confidence` and `limit` fall back to the settings."""

    query: str
    types: tuple[str, ...] = ()
    scope: str | None = None
    butler: str | None = None
    mode: str = Mode.HYBRID
    limit: int | None = None
    min_confidence: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefRequest:
    trigger_prompt: str
    butler: str
    token_budget: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    id: UUID
    tenant_id: str
    ref: str
    butler: str
    session_id: str | None
    content: str
    importance: int
    tags: list[str]
    validity: Validity
    consolidation_status: ConsolidationStatus
    consolidated: bool
    consolidation_attempts: int
    last_consolidation_error: str | None
    next_consolidation_retry_at: datetime | None
    observed_at: datetime
    created_at: datetime
    expires_at: datetime
    last_referenced_at: datetime | None
    reference_count: int
    metadata: dict[str, Any]
    request_id: str | None

    type = MemoryType.EPISODE


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    id: UUID
    tenant_id: str
    ref: str
    subject: str
    subject_label: str
    predicate: str
    predicate_label: str
    content: str
    scope: str
    importance: int
    tags: list[str]
    validity: Validity
    confidence: float
    decay_rate: float
    permanence: Permanence
    valid_at: datetime | None
    source_butler: str
    source_episode_id: UUID | None
    supersedes_id: UUID | None
    created_at: datetime
    last_confirmed_at: datetime | None
    last_referenced_at: datetime | None
    reference_count: int
    metadata: dict[str, Any]
    request_id: str | None

    type = MemoryType.FACT


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    id: UUID
    tenant_id: str
    ref: str
    content: str
    scope: str
    tags: list[str]
    validity: Validity
    maturity: Maturity
    confidence: float
    decay_rate: float
    effectiveness_score: float | None
    applied_count: int
    success_count: int
    harmful_count: int
    harmful_reasons: list[str]
    source_butler: str
    source_episode_id: UUID | None
    created_at: datetime
    last_applied_at: datetime | None
    last_evaluated_at: datetime | None
    last_confirmed_at: datetime | None
    last_referenced_at: datetime | None
    reference_count: int
    metadata: dict[str, Any]
    request_id: str | None

    type = MemoryType.RULE


Memory = Episode | Fact | Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    source_type: MemoryType
    source_id: UUID
    target_type: MemoryType
    target_id: UUID
    relation: Relation
    created_at: datetime
    availability: str = "available"
    other_ref: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    seq: int
    id: UUID
    event_type: str
    entity_type: str
    entity_id: UUID | None
    occurred_at: datetime
    actor: str
    request_id: str | None
    group_id: UUID | None
    payload: dict[str, Any]


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
    """One memory with everything that is known of it."""

    memory: Memory
    tier: Tier
    effective_confidence: float
    fades_at: datetime | None
    expires_at: datetime | None
    links: tuple[Link, ...]
    chain: tuple[Fact, ...]
    events: tuple[Event, ...]


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
