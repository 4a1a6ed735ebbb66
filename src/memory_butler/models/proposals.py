"""What a distiller is given, and what it proposes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from memory_butler.models.memories import Episode
from memory_butler.models.vocabulary import MemoryType, Permanence

PROPOSAL_VERSION = 1


class ItemKind(StrEnum):
    FACT = "fact"
    UPDATE = "update"
    RULE = "rule"
    CONFIRMATION = "confirmation"


class Refusal(StrEnum):
    """Why an item of a proposal is not applied."""

    MALFORMED = "malformed"
    UNKNOWN_EVIDENCE = "unknown_evidence"
    UNKNOWN_TARGET = "unknown_target"
    TARGET_CHANGED = "target_changed"
    COMPOUND = "compound"
    UNGROUNDED = "ungrounded"
    HARMFUL_RULE = "harmful_rule"
    REPEATED = "repeated"
    CONFLICT = "conflict"
    NEWER_KNOWN = "newer_known"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A fact or rule that is known already and may bear on a batch."""

    type: MemoryType
    id: UUID
    ref: str
    content: str
    subject: str | None = None
    predicate: str | None = None
    valid_at: datetime | None = None
    is_warning: bool = False

    @property
    def handle(self) -> str:
        return f"{self.type}:{self.ref}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Episodes of one butler to distil, in their order, and what is known already. `texts` has their words less what
    the memory served itself."""

    butler: str
    episodes: tuple[Episode, ...]
    texts: Mapping[UUID, str]
    known: tuple[Known, ...]
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing that is proposed, with everything that was checked without the store."""

    kind: ItemKind
    evidence: tuple[UUID, ...]
    content: str = ""
    target_type: MemoryType | None = None
    target: UUID | None = None
    subject: str = ""
    predicate: str = ""
    permanence: Permanence = Permanence.STANDARD
    importance: int = 5
    tags: tuple[str, ...] = ()
    valid_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """An item that is not applied: which, why, in words that are safe to show, and as much of it as can be shown."""

    place: int
    kind: ItemKind
    reason: Refusal
    said: str
    shown: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A proposal after validation: the items to apply, each with its place, and those that were refused."""

    items: tuple[tuple[int, Item], ...]
    refused: tuple[Refused, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a proposal cost."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_microdollars: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Distilled:
    """A distiller's answer: the proposal as plain JSON values, not yet looked at, and what it cost."""

    proposal: object
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What became of one item: `outcome` is created, superseded, confirmed, refused, proposed, approved or rejected."""

    place: int
    kind: ItemKind
    outcome: str
    shown: Mapping[str, Any]
    reason: str | None = None
    said: str | None = None
    memory: str | None = None
    replaced: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """What one run did: `state` is applied, waiting, rejected or failed, or `rehearsed` where nothing was changed."""

    run: UUID
    butler: str
    distiller: str
    state: str
    episodes: tuple[str, ...]
    lines: tuple[Line, ...] = ()
    error: str | None = None
    usage: Usage = Usage()

    def count(self, outcome: str) -> int:
        return sum(line.outcome == outcome for line in self.lines)
