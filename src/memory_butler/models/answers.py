"""Results of operations."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from memory_butler.models.history import HistoryLine
from memory_butler.models.memories import Event, Fact, Link, Memory
from memory_butler.models.neighbours import Neighbour
from memory_butler.models.vocabulary import MemoryType, Origin, Tier
from memory_butler.models.wire.codec import Reference, Wire

SubjectName = Annotated[str | None, Wire(name="subject")]
PredicateName = Annotated[str | None, Wire(name="predicate")]


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedMemory:
    """A fact or rule in use that came from one memory alone. `line` shows it, cut; absent once it is withdrawn."""

    ref: str
    line: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """Result of a write. `outcome` is `created`, `confirmed` (an equal one existed), `superseded` (replaced one),
    `quarantined` (not used until a person approves it, because of `quarantine_reason`) …

    `redacted` counts the secrets that were replaced by markers, by kind. After forgetting, `derived` are the facts and
    rules that came from the memory alone, up to 200; `withdrawn` is the number of them that were withdrawn with it, and
    `group_id` undoes all of it.
    """

    type: MemoryType
    id: UUID
    ref: Reference
    outcome: str
    superseded_ref: Annotated[str | None, Wire(name="supersedes", prefix="fact")] = None
    redacted: dict[str, int] | None = None
    quarantine_reason: str | None = None
    derived: tuple[DerivedMemory, ...] = ()
    withdrawn: int = 0
    group_id: UUID | None = None

    def __str__(self) -> str:
        return f"{self.outcome} {self.type}:{self.ref}"


class Hit(NamedTuple):
    """A candidate of a search: a memory of any type with the scores that it is ranked by.

    `word_score` counts the words of the question, `mention_score` those of the names in it.
    Its context is an episode that belongs to it: the source of a fact, or the one before an episode in its session.
    The word scores of the latter count if it asks a question.
    """

    type: MemoryType
    id: UUID
    semantic_score: float | None
    keyword_score: float | None
    similarity: float | None
    word_score: float
    word_coverage: float
    is_named: bool
    has_context: bool
    context_similarity: float | None
    context_word_score: float
    context_word_coverage: float
    mention_score: float
    ref: str
    butler: str
    content: str
    tags: list[str]
    validity: str
    created_at: datetime
    last_referenced_at: datetime | None
    scope: str
    # Facts and episodes.
    importance: int | None = None
    # Episodes.
    observed_at: datetime | None = None
    session_id: str | None = None
    # Facts and rules.
    confidence: float = 1.0
    decay_rate: float = 0.0
    last_confirmed_at: datetime | None = None
    # Facts.
    subject_label: str | None = None
    predicate_label: str | None = None
    permanence: str | None = None
    valid_at: datetime | None = None
    # Rules.
    maturity: str | None = None
    harmful_reasons: list[str] | None = None
    pinned: bool = False
    # Episodes: a fact that came from it has been replaced. Facts and rules: a newer note or rule corrects it.
    since_changed: bool = False
    replaced_by: UUID | None = None
    # How few memories have the rarest name of the question that it has: 1 if it is the only one.
    name_rarity: float = 0.0
    context_id: UUID | None = None
    origin: str = Origin.AGENT


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundMemory:
    """A memory in search results. `warning` is set for rules that became anti-patterns, `since_changed` for episodes
    whose fact has been replaced and for facts and rules that a newer note or rule corrects, `unverified` for memories
    from a less trusted source than the user and agents."""

    ref: Reference
    type: MemoryType
    id: UUID
    content: str
    subject_label: SubjectName = None
    predicate_label: PredicateName = None
    validity: str
    maturity: str | None = None
    permanence: str | None = None
    tier: Tier
    scope: str | None = None
    butler: str
    session_id: str | None = None
    tags: tuple[str, ...] = ()
    created_at: datetime
    observed_at: datetime | None = None
    valid_at: datetime | None = None
    last_confirmed_at: datetime | None = None
    last_referenced_at: datetime | None = None
    warning: str | None = None
    since_changed: bool = False
    origin: str = Origin.AGENT
    unverified: str | None = None


class ScoreParts(NamedTuple):
    """Components of a score. `fit` compares a memory with the other candidates; `relevance` is the probability that it
    answers the question."""

    score: float
    fit: float
    relevance: float
    importance: float
    recency: float
    effective_confidence: float
    semantic_rank: int | None
    keyword_rank: int | None
    semantic_score: float | None
    keyword_score: float | None


class Ranked(NamedTuple):
    """A candidate with its score; `also` are the references of duplicates that were left out."""

    hit: Hit
    parts: ScoreParts
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reembedding:
    """State of a tenant's memories after a change of the embedding model: the number of those with vectors, how many of
    them still have vectors of an earlier model, and how many of these only words can find, because that model is not
    available."""

    memories: int
    earlier: int
    by_words_only: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Search results. `degraded` names the parts of the search that failed.

    `reembedding` is set while memories have vectors of an earlier model. `overview`: a broad question was answered with
    the best of a class or a time.
    `neighbours` has an entry for each result id if the caller asked for neighbours.
    """

    results: tuple[Ranked, ...]
    degraded: tuple[str, ...] = ()
    overview: bool = False
    reembedding: Reembedding | None = None
    neighbours: Mapping[UUID, tuple[Neighbour, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDetails:
    """One memory with its links, history and future. `story` holds its events in words, `outlook` the next change.

    `aliases` are the other names of a fact's subject; `hidden_links` counts links to memories of other butlers.
    """

    memory: Memory
    tier: Tier
    effective_confidence: float
    fades_at: datetime | None
    expires_at: datetime | None
    links: tuple[Link, ...]
    chain: tuple[Fact, ...]
    events: tuple[Event, ...]
    story: tuple[HistoryLine, ...]
    outlook: str
    aliases: tuple[str, ...] = ()
    hidden_links: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionReceipt:
    section: str
    quota_tokens: int
    used_tokens: int
    lines: int
    left_out: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefingLine:
    """A line of a briefing: its claim (vital, relevant, standing, related or recent), and the probability that the task
    needs it."""

    ref: str
    claim: str
    usefulness: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    token_budget: int
    used_tokens: int
    tokenizer: str
    sections: tuple[SectionReceipt, ...]
    lines: tuple[BriefingLine, ...] = ()
    left_out: tuple[dict[str, str], ...]
    hidden: dict[str, int]
    degraded: tuple[str, ...]
    request_id: str | None
    reembedding: Reembedding | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    text: Annotated[str, Wire(name="context")]
    receipt: Receipt

    def __str__(self) -> str:
        return self.text
