"""The graph around a memory or a subject: nodes and edges."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from memory_butler.models.memories import Link


class NodeKind(StrEnum):
    SUBJECT = "subject"
    FACT = "fact"
    RULE = "rule"
    EPISODE = "episode"


class EdgeKind(StrEnum):
    """Edges besides links: a fact and its subject, and consecutive turns of an agent session."""

    ABOUT = "about"
    FOLLOWS = "follows"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A subject, or a memory with the start of its content. A deleted episode has only its id.

    `subject` is the normal form of the name, `subject_label` the name as written.
    """

    kind: NodeKind
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
        """Unique key in the graph, also used in URLs."""
        return f"{self.kind}:{self.subject if self.kind is NodeKind.SUBJECT else self.ref or self.id}"

    @property
    def is_gone(self) -> bool:
        return self.kind is not NodeKind.SUBJECT and self.validity is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """Connects two nodes by their keys. `relation` is the relation of a link, or an `EdgeKind`."""

    source: str
    target: str
    relation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedNode:
    """A link of a memory with the node at its other end."""

    link: Link
    other: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLinks:
    """The visible links of a memory; `hidden` counts those to memories of another butler."""

    memory: UUID
    joined: tuple[LinkedNode, ...]
    hidden: int
    more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryGraph:
    """`nodes` start with the center, nearer ones first. `more` means that the limit left some out."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    more: bool = False
    hidden: int = 0

    @property
    def center(self) -> Node:
        return self.nodes[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A subject with the number of live facts about it."""

    subject: str
    label: str
    facts: int
    latest_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MapMemory:
    """A fact or rule on the map. `scope` is the place of a rule; a fact stands with its subject."""

    kind: NodeKind
    id: UUID
    ref: str
    content: str
    created_at: datetime
    importance: int
    scope: str
    subject: str | None = None
    predicate: str | None = None
    predicate_label: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MapRelation:
    """A fact that relates two subjects of the map."""

    source: str
    target: str
    label: str
    ref: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryMap:
    """The whole store within limits: the largest subjects with their most important facts, and the rules.

    `total_subjects` and `total_memories` count what is in use, shown or not.
    """

    subjects: tuple[Subject, ...]
    memories: tuple[MapMemory, ...]
    relations: tuple[MapRelation, ...]
    total_subjects: int
    total_memories: int
