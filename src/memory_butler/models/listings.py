"""What a person wants to see a list of, and a page of it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Generic, TypeVar
from uuid import UUID

from memory_butler.models.memories import Link, Memory
from memory_butler.models.vocabulary import MemoryType, Tier

Entry = TypeVar("Entry")


class Sort(StrEnum):
    CREATED = "created"
    OBSERVED = "observed"
    IMPORTANCE = "importance"
    CONFIDENCE = "confidence"
    LAST_REFERENCED = "last_referenced"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Which memories of one type to list, and in which order. What is left out does not narrow it down.

    `contains` is found as it stands, of `words` all must be there, in any order; both whatever their case.
    `learned_by` is the butler that a fact or a rule was stored by.
    """

    type: MemoryType
    scope: str | None = None
    butler: str | None = None
    learned_by: str | None = None
    subject: str | None = None
    predicate: str | None = None
    validity: tuple[str, ...] = ()
    permanence: tuple[str, ...] = ()
    maturity: tuple[str, ...] = ()
    tier: Tier | None = None
    tags: tuple[str, ...] = ()
    importance_min: int | None = None
    importance_max: int | None = None
    time_from: datetime | None = None
    time_to: datetime | None = None
    contains: str | None = None
    words: str | None = None
    sort: Sort = Sort.CREATED
    descending: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[Entry]):
    """A part of a list. `total` is how many there are in all, as counted for the first page; of very many only that
    there are at least so many. `start` is how many come before, and `back` leads there, where a list can be gone
    through both ways."""

    items: tuple[Entry, ...]
    cursor: str | None
    total: int | None = None
    total_at_least: int | None = None
    start: int = 0
    back: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A memory as it stands now."""

    memory: Memory
    tier: Tier
    effective_confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """A page of a memory's links; `hidden` is how many more lead to what belongs to another butler."""

    memory: UUID
    page: Page[Link]
    hidden: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ButlerStanding:
    """How much one butler remembers, and how its episodes stand: those that wait to be distilled, those whose proposals
    await a decision, and those that were given up."""

    butler: str
    known_since: datetime
    facts: int
    fading: int
    rules: int
    warnings: int
    episodes: int
    waiting: int
    deciding: int
    stuck: int
    last_at: datetime | None
