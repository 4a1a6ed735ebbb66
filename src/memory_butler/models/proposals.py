"""Input and output of a distiller, and results of runs."""

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


class RefusalReason(StrEnum):
    """Reason why an item of a proposal is not applied."""

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
class KnownMemory:
    """A stored fact or rule that is related to a batch."""

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
    """Episodes of one butler to distil, in order, with related memories. `texts` are their contents without text that
    was recalled from memory."""

    butler: str
    episodes: tuple[Episode, ...]
    texts: Mapping[UUID, str]
    known: tuple[KnownMemory, ...]
    now: datetime
    tenant: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One validated item of a proposal."""

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
    # Of a note: the people and things that it names, besides its subject.
    mentions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedItem:
    """An item that is not applied: reason, message that is safe to show, and an excerpt."""

    place: int
    kind: ItemKind
    reason: RefusalReason
    said: str
    shown: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedProposal:
    """A proposal after validation: the accepted items with their positions, and the refused ones."""

    items: tuple[tuple[int, Item], ...]
    refused: tuple[RefusedItem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens and cost of a proposal."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_microdollars: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DistillerResult:
    """A distiller's proposal as unchecked JSON values, and its cost."""

    proposal: object
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemResult:
    """Result of one item: `outcome` is created, superseded, confirmed, refused, proposed, approved or rejected."""

    place: int
    kind: ItemKind
    outcome: str
    shown: Mapping[str, Any]
    reason: str | None = None
    said: str | None = None
    memory: str | None = None
    replaced: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EmptyEpisode:
    """An episode of which a run kept nothing, with its first words."""

    ref: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """Result of one run: `state` is applied, waiting, rejected or failed, or `rehearsed` for a dry run."""

    run: UUID
    butler: str
    distiller: str
    state: str
    episodes: tuple[str, ...]
    lines: tuple[ItemResult, ...] = ()
    error: str | None = None
    usage: Usage = Usage()
    nothing_kept: tuple[EmptyEpisode, ...] = ()

    def count(self, outcome: str) -> int:
        return sum(line.outcome == outcome for line in self.lines)
