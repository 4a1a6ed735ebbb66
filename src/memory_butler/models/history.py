"""What a memory's past tells, and what taking back a part of it did."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from memory_butler.models.memories import Event
from memory_butler.models.requests import Lineage
from memory_butler.models.vocabulary import ConsolidationStatus, Maturity, Validity


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """As much of a memory's state as decides where it may go from there."""

    validity: Validity
    maturity: Maturity | None = None
    consolidation: ConsolidationStatus | None = None
    confidence: float = 1.0
    decay_rate: float = 0.0
    pinned: bool = False
    created_at: datetime
    last_confirmed_at: datetime | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """An event with everything that decides whether it can be undone.

    `before` is how it found its memory, which is nothing if it made it, and `stands` how the memory stands now.
    `source_id` is the event that left it as it was before, or the event itself if that was the first.
    """

    seq: int
    id: UUID
    event_type: str
    entity_type: str
    entity_id: UUID
    occurred_at: datetime
    ref: str
    application: dict[str, Any] | None = None
    undid: dict[str, Any] | None = None
    is_gone: bool = False
    is_undone: bool = False
    is_unchanged: bool | None = True
    source_id: UUID
    holder_id: UUID | None = None
    holder_ref: str | None = None
    is_confirmation: bool = False
    is_rewording: bool = False
    stands: Standing | None
    before: Standing | None

    @property
    def name(self) -> str:
        return f"{self.entity_type}:{self.ref}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryLine:
    """One event of a memory in words; `undone` says that it no longer counts."""

    event: Event
    words: str
    undone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenBack:
    """One event that was undone, and how its memory stands since; `remark` says what could not be as it was."""

    ref: str
    event_id: UUID
    what: str
    validity: str
    maturity: str | None = None
    remark: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftAlone:
    """One event that was not undone, and why."""

    ref: str
    event_id: UUID
    what: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoReport:
    """What an undo did, or would do. `undo_id` takes the undo itself back; of long lists the first are shown."""

    id: UUID
    kind: str
    undo_id: UUID | None
    dry_run: bool
    undone: int
    already_undone: int
    skipped: int
    taken_back: tuple[TakenBack, ...]
    left_alone: tuple[LeftAlone, ...]
    remarks: dict[str, int]
    not_brought_back: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """One event of a tenant's log in words; `cursor` is the place right after it."""

    event: Event
    ref: str | None
    words: str
    lineage: Lineage
    cursor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Activities:
    """A part of the log; `cursor` says where to go on, and `more` whether there is something already.

    `unsafe` says that something has been written which a crash could still undo; it is told of in a moment.
    """

    items: tuple[Activity, ...]
    cursor: str
    more: bool
    unsafe: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineFilter:
    """Which part of what happened to tell; what is left out does not narrow it down.

    `actions` are the second halves of event types (`created`, `faded` …), `kinds` what they are about, `actor` a part
    of a name, `ref` a memory, `group` what was changed together, `until` the moment from which nothing is told.
    """

    actions: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    actor: str | None = None
    scope: str | None = None
    ref: str | None = None
    group: str | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One event in words; `undone` says that it no longer counts, `about` is what its memory says."""

    activity: Activity
    undone: bool = False
    about: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What happened at one time: an event, or several that belong together, of which the last are told one by one.

    `undo_id` takes all of it back, where that can be; `words` sums up what is too much to be told; `butler` is the one
    whose memories upkeep looked after.
    """

    place: int
    lines: tuple[Told, ...]
    together: int = 1
    words: str = ""
    butler: str | None = None
    undone: bool = False
    group_id: UUID | None = None
    undo_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Entries, the newest first; `cursor` leads to what was before them, where there may be something, even if
    nothing was found so far."""

    entries: tuple[Entry, ...]
    cursor: str | None
