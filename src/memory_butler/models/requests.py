"""Who asks, and for what."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from memory_butler.models.vocabulary import GLOBAL_SCOPE, Mode, Permanence, Role, Tier


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
    # The person or program behind it, as its token or identity provider calls it.
    name: str | None = None
    token_id: UUID | None = None
    # Where an operator comes from who works in another tenant.
    home: str | None = None
    # Until when what they showed is worth anything, if that stands in it. Another one makes nobody another caller.
    expires_at: datetime | None = field(default=None, compare=False)

    @property
    def actor(self) -> str:
        """Who is named with a change."""
        return self.name or self.butler


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
    """Something to remember, for callers who think in tiers rather than types. Without a butler it is the caller's."""

    content: str
    tier: str = Tier.EDEN
    butler: str | None = None
    importance: int = 5
    tags: tuple[str, ...] = ()
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A ranked read. `min_confidence`, `min_relevance` and `limit` fall back to the settings; `as_of` asks about
    another moment. `time_from` and `time_to` leave out what is from another time.

    With `expand`, each result comes with up to so many neighbours of each kind.
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
