"""Episodes, facts and rules, as requested and as stored; links and events.

A request has a `source`: where its content comes from (an `Origin`), None if the caller does not say. With a
`quarantine_reason` it is stored, but not used until a person approves it.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from memory_butler.models.vocabulary import (
    GLOBAL_SCOPE,
    ConsolidationStatus,
    Maturity,
    MemoryType,
    Origin,
    Permanence,
    Relation,
    Tier,
    Validity,
)
from memory_butler.models.wire.codec import HIDDEN, Reference


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEpisode:
    """An observation from an agent session. The default butler is the caller's."""

    content: str
    butler: str = ""
    session_id: str | None = None
    importance: int = 5
    observed_at: datetime | None = None
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    idempotency_key: str | None = None
    source: str | None = None
    quarantine_reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    id: UUID
    tenant_id: Annotated[str, HIDDEN]
    ref: Reference
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
    pinned: bool
    origin: Origin = Origin.AGENT
    quarantine_reason: str | None = None

    type = MemoryType.EPISODE


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
    aliases: tuple[str, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    idempotency_key: str | None = None
    source: str | None = None
    quarantine_reason: str | None = None
    # References of other memories by relation: {"supports": ("fact:k3f7",)}.
    links: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    id: UUID
    tenant_id: Annotated[str, HIDDEN]
    ref: Reference
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
    pinned: bool
    origin: Origin = Origin.AGENT
    quarantine_reason: str | None = None

    type = MemoryType.FACT


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRule:
    content: str
    scope: str = GLOBAL_SCOPE
    tags: tuple[str, ...] = ()
    source_episode: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    idempotency_key: str | None = None
    source: str | None = None
    quarantine_reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    id: UUID
    tenant_id: Annotated[str, HIDDEN]
    ref: Reference
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
    pinned: bool
    judged_from: datetime | None
    origin: Origin = Origin.AGENT
    quarantine_reason: str | None = None

    type = MemoryType.RULE


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryChanges:
    """Fields of a memory to change; None leaves a field as it is."""

    importance: int | None = None
    permanence: str | None = None
    tags: tuple[str, ...] | None = None
    scope: str | None = None
    content: str | None = None
    subject: str | None = None
    predicate: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewNote:
    """A note for a tier, for callers that use tiers instead of types. The default butler is the caller's."""

    content: str
    tier: str = Tier.EDEN
    butler: str | None = None
    importance: int = 5
    tags: tuple[str, ...] = ()
    idempotency_key: str | None = None
    source: str | None = None
    by_hand: bool = False


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
    undoes: UUID | None
    payload: dict[str, Any]
