"""Filters and pages of lists."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Generic, TypeVar
from uuid import UUID

from memory_butler.models.memories import Link, Memory
from memory_butler.models.vocabulary import MemoryType, Tier
from memory_butler.models.wire.codec import HIDDEN, INLINE

Entry = TypeVar("Entry")


class Sort(StrEnum):
    CREATED = "created"
    OBSERVED = "observed"
    IMPORTANCE = "importance"
    CONFIDENCE = "confidence"
    LAST_REFERENCED = "last_referenced"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Filters and order of a list of memories of one type, or of all types that have the filters. An empty field does
    not filter.

    `contains` must occur literally, `words` must all occur in any order; both ignore case. `learned_by` is the butler
    that stored a fact or rule. `unused` lists memories that were never referenced, `ids` only these memories.
    `quarantined` also lists memories that wait for a person's decision.
    """

    type: MemoryType | None
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
    pinned: bool | None = None
    unused: bool = False
    ids: tuple[UUID, ...] = ()
    sort: Sort = Sort.CREATED
    descending: bool = True
    quarantined: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[Entry]):
    """One page of a list. `total` is the number of entries in the whole list, counted for the first page;
    `total_at_least` replaces it for very long lists. `start` is the number of entries before this page, and `back` the
    cursor of the previous page in lists that can be read both ways."""

    items: tuple[Entry, ...]
    cursor: str | None
    total: int | None = None
    total_at_least: int | None = None
    start: Annotated[int, HIDDEN] = 0
    back: Annotated[str | None, HIDDEN] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedMemory:
    """A memory with its current tier and effective confidence."""

    memory: Annotated[Memory, INLINE]
    tier: Tier
    effective_confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkPage:
    """A page of a memory's links; `hidden` counts those to memories of another butler."""

    memory: UUID
    page: Page[Link]
    hidden: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ButlerSummary:
    """Counts of one butler's memories. Of its episodes, `waiting` are pending, `deciding` are in a proposal that awaits
    review, and `stuck` are dead letters."""

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
