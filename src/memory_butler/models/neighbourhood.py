"""What a memory or a subject is joined to, as a map: spots, and ties between them."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from memory_butler.models.memories import Link


class SpotKind(StrEnum):
    SUBJECT = "subject"
    FACT = "fact"
    RULE = "rule"
    EPISODE = "episode"


class TieKind(StrEnum):
    """Beside the relations that memories are linked by: what a fact is about, and which turn came after which."""

    ABOUT = "about"
    FOLLOWS = "follows"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """A subject, or a memory with the beginning of what it says. Of an episode that is gone only its name is left.

    `subject` is the one form of the name that a subject is found by, `subject_label` how it is written.
    """

    kind: SpotKind
    id: UUID | None = None
    ref: str | None = None
    content: str | None = None
    subject: str | None = None
    subject_label: str | None = None
    predicate_label: str | None = None
    validity: str | None = None
    at: datetime | None = None

    @property
    def key(self) -> str:
        """Names it on the map and in an address."""
        return f"{self.kind}:{self.subject if self.kind is SpotKind.SUBJECT else self.ref or self.id}"

    @property
    def is_gone(self) -> bool:
        return self.kind is not SpotKind.SUBJECT and self.validity is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tie:
    """Between two spots, by their keys. `relation` is one of a link or of `TieKind`."""

    source: str
    target: str
    relation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """A link of a memory, with what stands at its other end."""

    link: Link
    other: Spot


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """The links of a memory that somebody may see; `hidden` is how many more lead to what belongs to another butler."""

    memory: UUID
    joined: tuple[Joined, ...]
    hidden: int
    more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbourhood:
    """`spots` begin with the one in the middle, nearer ones before others. `more` says that not all found room."""

    spots: tuple[Spot, ...]
    ties: tuple[Tie, ...]
    more: bool = False
    hidden: int = 0

    @property
    def center(self) -> Spot:
        return self.spots[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Something that facts are about, and how many of them are in use."""

    subject: str
    label: str
    facts: int
    latest_at: datetime
