"""The call log: briefings and searches that agents asked for."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from memory_butler.models.vocabulary import MemoryType


class CallKind(StrEnum):
    BRIEFING = "briefing"
    SEARCH = "search"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedCall:
    """One answered call: the prompt without secrets, and the references of the memories that were returned.

    `tokens` is the length of a briefing; a search has none.
    """

    id: UUID
    asked_at: datetime
    kind: CallKind
    butler: str
    client: str
    prompt: str
    memory_ids: tuple[UUID, ...]
    refs: tuple[str, ...]
    milliseconds: float
    session_id: str | None = None
    token_budget: int | None = None
    tokens: int | None = None
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFilter:
    """Filters of the call log. An empty field does not filter; `answered` is about calls that returned memories."""

    kind: CallKind | None = None
    butler: str | None = None
    client: str | None = None
    answered: bool | None = None
    contains: str | None = None
    time_from: datetime | None = None
    time_to: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDay:
    """The calls of one day. `p50_ms` and `p95_ms` are percentiles of their duration."""

    day: datetime
    briefings: int
    searches: int
    answered: int
    tokens: int
    p50_ms: float
    p95_ms: float

    @property
    def calls(self) -> int:
        return self.briefings + self.searches


@dataclass(frozen=True, slots=True, kw_only=True)
class CallingProgram:
    """A program that called for a butler, and how often."""

    client: str
    butler: str
    calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnedMemory:
    """A memory that a call returned, as it is now."""

    type: MemoryType
    id: UUID
    ref: str
    subject_label: str | None
    predicate_label: str | None
    content: str
    validity: str
