"""What an operation answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from memory_butler.models.history import StoryLine
from memory_butler.models.memories import Event, Fact, Link, Memory
from memory_butler.models.neighbours import Neighbour
from memory_butler.models.vocabulary import MemoryType, Tier


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What a write did: `created`, `confirmed` (an equal one was already there), `superseded` (it replaced one) …"""

    type: MemoryType
    id: UUID
    ref: str
    outcome: str
    superseded_ref: str | None = None


class Hit(NamedTuple):
    """A candidate of a search: what ranking and showing a memory of any type needs, in the order of the statement."""

    type: MemoryType
    id: UUID
    ref: str
    semantic_score: float | None
    keyword_score: float | None
    similarity: float | None
    hidden_by: str | None
    scope: str
    butler: str
    subject_label: str | None
    predicate_label: str | None
    content: str
    importance: int | None
    tags: list[str]
    validity: str
    permanence: str | None
    maturity: str | None
    confidence: float
    decay_rate: float
    created_at: datetime
    last_confirmed_at: datetime | None
    last_referenced_at: datetime | None
    valid_at: datetime | None
    observed_at: datetime | None
    session_id: str | None
    harmful_reasons: list[str] | None
    # What it is judged by besides: how well its words are those asked for, whether it stands under a name asked about,
    # where it stands in its session, and how well the episode matches that it came from.
    said: float = 0.0
    covered: float = 0.0
    named: bool = False
    asked_before: float = 0.0
    opens: bool = False
    source_similarity: float | None = None
    source_said: float = 0.0
    source_covered: float = 0.0


class ScoreParts(NamedTuple):
    """What a score is made of. `fit` says how well it stands among the candidates, `relevance` how likely it bears on
    the question at all."""

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
    """A candidate with its score; `also` are the references of others that say the same and were left out."""

    hit: Hit
    parts: ScoreParts
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a search returned; `degraded` says what could not be used, for example a leg of the search.

    `neighbours` has an entry for every result, by its id, if they were asked for.
    """

    results: tuple[Ranked, ...]
    degraded: tuple[str, ...] = ()
    neighbours: Mapping[UUID, tuple[Neighbour, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Portrait:
    """One memory with everything that is known of it; `story` says why it is like this, `outlook` what comes next.

    `aliases` are the other names of a fact's subject, `hidden_links` how many links lead to what belongs to another
    butler.
    """

    memory: Memory
    tier: Tier
    effective_confidence: float
    fades_at: datetime | None
    expires_at: datetime | None
    links: tuple[Link, ...]
    chain: tuple[Fact, ...]
    events: tuple[Event, ...]
    story: tuple[StoryLine, ...]
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
class Receipt:
    token_budget: int
    used_tokens: int
    tokenizer: str
    sections: tuple[SectionReceipt, ...]
    left_out: tuple[dict[str, str], ...]
    hidden: dict[str, int]
    degraded: tuple[str, ...]
    request_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    text: str
    receipt: Receipt
