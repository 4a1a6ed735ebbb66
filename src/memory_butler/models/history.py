"""History of memories: events in words, undo, and the timeline."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from memory_butler.models.memories import Event
from memory_butler.models.requests import Lineage
from memory_butler.models.vocabulary import ConsolidationStatus, Maturity, Permanence, Validity
from memory_butler.models.wire.codec import ALWAYS, Wire


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryState:
    """The part of a memory's state that decides which transitions are allowed."""

    validity: Validity
    maturity: Maturity | None = None
    permanence: Permanence | None = None
    consolidation: Annotated[ConsolidationStatus | None, Wire(name="consolidation_status")] = None
    confidence: float = 1.0
    pinned: bool = False
    created_at: datetime
    last_confirmed_at: datetime | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoCandidate:
    """An event with the data that decides whether it can be undone.

    `before` is the state before the event (None if it created the memory), `current` the current state. `source_id` is
    the event that wrote the state before, or the event itself if it is the first.
    """

    seq: int
    id: UUID
    event_type: str
    entity_type: str
    entity_id: UUID
    occurred_at: datetime
    ref: str
    # Butler that the memory belongs to; empty for an alias.
    butler: str = ""
    application: dict[str, Any] | None = None
    undid: dict[str, Any] | None = None
    # Links that a caller wrote, or that an undo withdrew.
    links: list[dict[str, Any]] | None = None
    unlinked: list[dict[str, Any]] | None = None
    is_gone: bool = False
    is_undone: bool = False
    is_unchanged: bool | None = True
    source_id: UUID
    holder_id: UUID | None = None
    holder_ref: str | None = None
    is_confirmation: bool = False
    is_rewording: bool = False
    current: MemoryState | None
    before: MemoryState | None

    @property
    def name(self) -> str:
        return f"{self.entity_type}:{self.ref}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLine:
    """One event of a memory in words; `undone` if it was undone."""

    event: Event
    words: str
    undone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoneEvent:
    """An undone event with the new state of its memory; `remark` names what could not be restored exactly."""

    ref: str
    event_id: UUID
    what: str
    validity: str
    maturity: Annotated[str | None, ALWAYS] = None
    remark: Annotated[str | None, ALWAYS] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedEvent:
    """An event that was not undone, and the reason."""

    ref: str
    event_id: UUID
    what: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoReport:
    """Result of an undo or of its dry run. `undo_id` undoes the undo itself; long lists are truncated."""

    id: UUID
    kind: str
    undo_id: UUID | None
    dry_run: bool
    undone: int
    already_undone: int
    skipped: int
    taken_back: tuple[UndoneEvent, ...]
    left_alone: tuple[SkippedEvent, ...]
    remarks: dict[str, int]
    not_brought_back: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """One event of a tenant's log in words; `cursor` is the position right after it."""

    event: Event
    ref: str | None
    words: str
    lineage: Lineage
    cursor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Activities:
    """A page of the log; `cursor` is the position to continue from, `more` if there are further events already.

    `unsafe` means that later events exist that are not yet durable; they are returned shortly.
    """

    items: tuple[Activity, ...]
    cursor: str
    more: bool
    unsafe: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineFilter:
    """Filter of the timeline; an empty field does not filter.

    `actions` are the second parts of event types (`created`, `faded` …), `kinds` the entity types, `actor` a part of a
    name, `ref` a memory, `group` a group of events, `until` an exclusive upper bound.
    """

    actions: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    actor: str | None = None
    scope: str | None = None
    ref: str | None = None
    group: str | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineLine:
    """One event in words; `undone` if it was undone, `about` is the content of its memory."""

    activity: Activity
    undone: bool = False
    about: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEntry:
    """An event, or a group of events of which the last ones are listed.

    `undo_id` undoes all of it, where possible; `words` summarizes a large group; `butler` is set for sweeps.
    """

    place: int
    lines: tuple[TimelineLine, ...]
    together: int = 1
    words: str = ""
    butler: str | None = None
    undone: bool = False
    group_id: UUID | None = None
    undo_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Entries, newest first; `cursor` leads to older ones. It can be set although no entry was found so far."""

    entries: tuple[TimelineEntry, ...]
    cursor: str | None
