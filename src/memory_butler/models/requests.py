"""Callers and their requests."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from memory_butler.models.vocabulary import GLOBAL_SCOPE, Mode, Permanence, Role, Tier


@dataclass(frozen=True, slots=True)
class Lineage:
    """The caller's request and agent session that a change or read belongs to."""

    request_id: str | None = None
    subrequest_id: str | None = None
    segment_id: str | None = None
    session_id: str | None = None


@dataclass(frozen=True, slots=True)
class Principal:
    """The authenticated identity of a caller. Set by the adapter, never from an argument of the call."""

    tenant: str
    butler: str
    role: Role = Role.AGENT
    # The person or program, as named by its token or identity provider.
    name: str | None = None
    token_id: UUID | None = None
    # The own tenant of an operator who works in another tenant.
    home: str | None = None
    # Expiry of the credential, if it states one. Not part of the identity.
    expires_at: datetime | None = field(default=None, compare=False)

    @property
    def actor(self) -> str:
        """The name recorded with a change."""
        return self.name or self.butler


@dataclass(frozen=True, slots=True)
class Caller:
    principal: Principal
    lineage: Lineage = Lineage()


@dataclass(frozen=True, slots=True)
class Reach:
    """Visible scopes of facts and rules, and butlers of episodes. None means all of the tenant."""

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
    aliases: tuple[str, ...] = ()
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
class NewNote:
    """A note for a tier, for callers that use tiers instead of types. The default butler is the caller's."""

    content: str
    tier: str = Tier.EDEN
    butler: str | None = None
    importance: int = 5
    tags: tuple[str, ...] = ()
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A search request. `min_confidence`, `min_relevance` and `limit` default to the settings. `as_of` searches a past
    state; `time_from` and `time_to` filter by time.

    `expand` is the maximum number of neighbours of each kind per result.
    """

    query: str
    types: tuple[str, ...] = ()
    tier: str | None = None
    scope: str | None = None
    butler: str | None = None
    mode: str = Mode.HYBRID
    limit: int | None = None
    min_confidence: float | None = None
    min_relevance: float | None = None
    time_from: datetime | None = None
    time_to: datetime | None = None
    as_of: datetime | None = None
    expand: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefRequest:
    trigger_prompt: str
    butler: str
    token_budget: int | None = None
    as_of: datetime | None = None
    with_own: bool = False
