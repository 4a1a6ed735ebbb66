"""Callers and their requests."""

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from memory_butler.models.vocabulary import Mode, Role


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
    """The caller. `client` is the program that an agent calls from; calls without one are not logged. The events of all
    writes join `group_id`, so that several calls can be undone as one."""

    principal: Principal
    lineage: Lineage = Lineage()
    client: str | None = None
    group_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Reach:
    """Visible scopes of facts and rules, and butlers of episodes. None means all of the tenant."""

    scopes: tuple[str, ...] | None
    butlers: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A search request. `min_confidence`, `min_relevance` and `limit` default to the settings. `as_of` searches a past
    state; `time_from` and `time_to` filter by time, `tags` are those that a memory must have.

    `expand` is the maximum number of neighbours of each kind per result. `deep` adds a cross-encoder's look at the best
    candidates.
    """

    query: str
    types: tuple[str, ...] = ()
    tier: str | None = None
    tags: tuple[str, ...] = ()
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
    deep: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefRequest:
    """A request for a briefing. The default butler is the caller's."""

    trigger_prompt: str
    butler: str = ""
    token_budget: int | None = None
    as_of: datetime | None = None
    with_own: bool = False
    deep: bool = False
