"""Answers about memories whose JSON differs from the result of the operation. The client returns these types."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, TypedDict
from uuid import UUID

from memory_butler.models.answers import (
    Briefing,
    FoundMemory,
    PredicateName,
    Reembedding,
    ScoreParts,
    Stored,
    SubjectName,
)
from memory_butler.models.history import UndoReport
from memory_butler.models.identity import Token
from memory_butler.models.listings import ListedMemory, Page
from memory_butler.models.memories import Episode, Fact, Rule
from memory_butler.models.neighbours import NeighbourRelation
from memory_butler.models.requests import Lineage
from memory_butler.models.vocabulary import MemoryType, Tier
from memory_butler.models.wire.codec import HIDDEN, INLINE, FactReference, Reference, Wire


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbourMemory:
    """A neighbour of a search result. Without content it is one of the other results."""

    ref: Reference
    type: MemoryType
    relation: NeighbourRelation
    content: str | None = None
    subject_label: SubjectName = None
    predicate_label: PredicateName = None
    created_at: datetime | None = None
    observed_at: datetime | None = None
    valid_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """One result with its score. `relevance_level` is its relevance in words: strong, likely, possible or weak. `also`
    are the references of duplicates that were left out. `when` is the day of the event or of storing, `confidence` the
    effective confidence; an episode has none."""

    hit: Annotated[FoundMemory, INLINE]
    when: str = ""
    confidence: float | None = None
    relevance: float
    relevance_level: str = ""
    score: float
    also: tuple[str, ...] = ()
    parts: ScoreParts
    neighbours: tuple[NeighbourMemory, ...] | None = None

    @property
    def ref(self) -> str:
        """The reference with its type, which all methods accept."""
        return f"{self.hit.type}:{self.hit.ref}"

    def __str__(self) -> str:
        hit = self.hit
        return f"{_about(hit.subject_label, hit.predicate_label)}{hit.warning or hit.content} [{self.ref}]"


def _about(subject: str | None, predicate: str | None) -> str:
    """Subject and property of a fact in words: "Ana · allergic to: ". Nothing for rules, episodes and notes."""
    if not subject or not predicate or predicate.startswith("note:"):
        return ""
    return f"{subject} · {predicate.partition(':')[0].replace('_', ' ')}: "


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResults:
    """Answer of a search. `degraded` names the parts of the search that failed. `overview`: the question was broad, and
    the results are the best of a class or a time. `reembedding` is set while some memories have vectors of an earlier
    model."""

    results: tuple[SearchResult, ...]
    count: int
    degraded: tuple[str, ...] = ()
    overview: bool = False
    reembedding: Reembedding | None = None

    def __iter__(self) -> Iterator[SearchResult]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __str__(self) -> str:
        return "\n".join(map(str, self.results)) or "Nothing found."

    @property
    def neighbours(self) -> Mapping[UUID, tuple[NeighbourMemory, ...]]:
        """Neighbours by result id; empty unless the caller asked for them."""
        return {one.hit.id: one.neighbours for one in self.results if one.neighbours is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkLine:
    """A link from (`out`) or to (`in`) a memory. `ref` is null if the memory at the other end was deleted."""

    direction: Literal["in", "out"]
    relation: str
    ref: str | None
    id: UUID
    availability: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainFact:
    """A fact of a supersession chain."""

    ref: FactReference
    content: str
    validity: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLine:
    """One event of a memory in words. `undone` events no longer count."""

    seq: int
    id: UUID
    event: str
    words: str
    at: datetime
    actor: str
    request_id: str | None = None
    group_id: UUID | None = None
    undoes: UUID | None = None
    undone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleWithWarning(Rule):
    """A rule; `warning` is set if it became an anti-pattern."""

    warning: str | None = None


StoredMemory = Fact | RuleWithWarning | Episode


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryListItem(ListedMemory):
    memory: Annotated[StoredMemory, INLINE]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDetail:
    """One memory with its links, supersession chain and history."""

    memory: StoredMemory
    aliases: tuple[str, ...] = ()
    tier: Tier
    effective_confidence: float
    fades_at: datetime | None
    expires_at: datetime | None
    outlook: str
    links: tuple[LinkLine, ...]
    hidden_links: int = 0
    chain: tuple[ChainFact, ...]
    events: tuple[EventLine, ...]

    def __str__(self) -> str:
        memory = self.memory
        about = _about(getattr(memory, "subject_label", None), getattr(memory, "predicate_label", None))
        lines = [f"{about}{memory.content} [{memory.type}:{memory.ref}] {memory.validity}", self.outlook]
        lines += [f"{link.direction} {link.relation}: {link.ref or 'a deleted memory'}" for link in self.links]
        return "\n".join([*lines, *(f"{event.at:%Y-%m-%d} {event.words}" for event in self.events)])


@dataclass(frozen=True, slots=True, kw_only=True)
class LinksAnswer(Page[LinkLine]):
    """One page of links. `hidden_links` counts the links to memories of other butlers."""

    hidden_links: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantinedMemory:
    """A memory that waits for a person's decision: `why` is the reason in words, `contests` the more trusted fact that
    it contradicts."""

    ref: str
    type: MemoryType
    content: str
    subject: str | None
    predicate: str | None
    origin: str
    reason: str
    why: str
    created_at: datetime
    contests: str | None
    contested_content: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineAnswer:
    """The oldest quarantined memories, and the number of all of them."""

    items: tuple[QuarantinedMemory, ...]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TouchedMemory:
    """A memory that matches a forget request. `line` is shown in a dry run only."""

    ref: str
    why: str
    line: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarText:
    """A near spelling of the identifier in memories that do not match. `refs` holds the first 5 of them."""

    spelling: str
    why: str
    count: int
    refs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetAnswer:
    """Memories that a forget request matches. `touched` holds the first 200 of them; `group_id` undoes all; `similar`
    lists near spellings, which stay."""

    dry_run: bool
    count: int
    touched: tuple[TouchedMemory, ...]
    group_id: UUID | None = None
    names: tuple[str, ...] = ()
    aliases: int = 0
    mentions: int | None = None
    similar: tuple[SimilarText, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeAnswer:
    """Memories that a purge matches. `touched` holds the first 200 of them; `receipt` is set once they are erased."""

    dry_run: bool
    count: int
    touched: tuple[TouchedMemory, ...]
    derived: int = 0
    aliases: int = 0
    names: tuple[str, ...] = ()
    kept_sources: tuple[str, ...] = ()
    elsewhere: int = 0
    mentions: int | None = None
    similar: tuple[SimilarText, ...] = ()
    receipt: UUID | None = None
    counts: dict[str, int] | None = None
    residue: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoAnswer(UndoReport):
    """`not_brought_back` holds the first 200 deleted episodes; the count covers all."""

    not_brought_back_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityEvent:
    """One event of a store in words. `cursor` is the position right after it; only streams carry it."""

    event: str
    ref: str | None = None
    words: str
    at: datetime
    actor: str
    id: UUID
    group_id: UUID | None = None
    undoes: UUID | None = None
    lineage: Annotated[Lineage, INLINE]
    cursor: Annotated[str | None, HIDDEN] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityPage:
    """A page of the log. `cursor` continues it; `more` says that more events exist already."""

    items: Annotated[tuple[ActivityEvent, ...], Wire(name="events")]
    cursor: str
    more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFailure:
    """An item of a batch that failed; the other items are not affected."""

    outcome: Literal["failed"]
    error: str
    message: str
    retryable: bool
    recovery: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltBriefing:
    outcome: Literal["built"]
    briefing: Annotated[Briefing, INLINE]


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestAnswer:
    """Outcomes of a batch of episodes, in the order of the request, and their number by outcome."""

    results: tuple[ItemFailure | Stored, ...]
    stored: int = 0
    repeated: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefingsAnswer:
    """Outcomes of a batch of briefings, in the order of the request, and their number by outcome."""

    results: tuple[ItemFailure | BuiltBriefing, ...]
    built: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedToken(Token):
    """A new API token with its secret, which is shown only once."""

    token: str


class TierStats(TypedDict):
    count: int
    capacity: int
    oldest: str | None
    references: int


class BacklogStats(TypedDict):
    pending_episodes: int
    first_in_line: int
    oldest_created_at: str | None
    oldest_age_hours: float | None


class RuleStats(TypedDict):
    rules_applied: int
    helpful_marks: int
    harmful_marks: int
    mean_effectiveness: float | None


class ExpiringEpisode(TypedDict):
    ref: str
    expires_at: str
    words: str


class ExpiringStats(TypedDict):
    episodes: int
    next: list[ExpiringEpisode]


class _StatsOfOneStore(TypedDict, total=False):
    # Important episodes that expire soon and of which nothing was kept. Earlier servers do not send it.
    expiring_unkept: ExpiringStats
    # Only without `scope`: the 20 fullest butlers.
    tiers_by_butler: dict[str, dict[str, TierStats]]


class Stats(_StatsOfOneStore):
    """Answer of memory_stats."""

    scope: str
    memories: dict[str, dict[str, int]]
    rules_by_maturity: dict[str, int]
    episodes_by_consolidation: dict[str, int]
    tiers: dict[str, TierStats]
    fact_confidence: dict[str, int]
    backlog: BacklogStats
    consolidation: dict[str, Any]
    rule_effectiveness: RuleStats
    jobs: dict[str, dict[str, Any]]
    events: int
    embedding_model: str
