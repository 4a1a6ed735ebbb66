"""Explanation of a search: each step that led to a memory being returned or not."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from memory_butler.models.vocabulary import MemoryType
from memory_butler.models.wire.codec import ALWAYS, Reference


class Fate(StrEnum):
    """The step at which a memory left the search, or `returned`."""

    RETURNED = "returned"
    FILTERED = "filtered"
    NOT_LISTED = "not_listed"
    IRRELEVANT = "irrelevant"
    REPEATED = "repeated"
    SHARE = "share"
    LIMIT = "limit"
    BUDGET = "budget"


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Match of one memory with a question, whether or not a search lists it."""

    passages: int
    similarity: float | None
    keyword_score: float | None
    words: tuple[str, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionReading:
    """The parsed question. `names` are known to the store and removed from the embedded text."""

    compared: str
    words: str
    intent: str
    names: tuple[str, ...]
    unheard: tuple[str, ...]
    time: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Result of one filter for the memory."""

    name: str
    passed: bool
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Rank and raw score in the semantic or keyword list; without a rank, `why` gives the reason.

    `listed` is the length of the list, `last_score` the score of its last entry of the same type.
    """

    rank: int | None
    score: float | None
    listed: int
    last_score: float | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One term of a weighted sum."""

    name: str
    value: float
    weight: float
    contribution: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankStep:
    """Reranking: `method` is judge, words, deep, cross_encoder or off. The relevance model's `vote` counts unless the
    method is words: for a question or a memory that is not in English. With deep, the cross-encoder counts as well."""

    method: str
    fused_place: int
    place: int
    candidates: int
    vote: float
    signals: tuple[Term, ...]
    cross_encoder_score: float | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RelevanceGate:
    relevance: float
    min_relevance: float
    passed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DiversityStep:
    """Effect of diversification: `repeats` is a better duplicate of this memory, `also` are worse duplicates."""

    repeats: str | None
    also: tuple[str, ...]
    waited: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoring:
    """The score with its terms, and the resulting rank among all candidates."""

    score: float
    terms: tuple[Term, ...]
    place: int
    candidates: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefingPart:
    """Result for a briefing with this budget: included with a claim (vital, relevant, standing, related or recent), or
    the reason why not. `usefulness` is the probability that the task needs it."""

    included: bool
    fate: Fate
    verdict: str
    claim: str | None
    usefulness: float | None
    section: str
    token_budget: int
    used_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Explanation of one memory for one question. Steps that it did not reach are None.

    `place` is its position in the results, or the one it would have with a larger limit.
    """

    type: MemoryType
    id: UUID
    ref: Reference
    returned: bool
    fate: Fate
    verdict: str
    place: int | None = None
    limit: int
    reading: QuestionReading
    matched_words: tuple[str, ...]
    matched_names: tuple[str, ...]
    by_meaning: Listing
    by_words: Listing
    filters: tuple[Check, ...]
    second_look: RerankStep | None = None
    gate: RelevanceGate | None = None
    scoring: Scoring | None = None
    variety: DiversityStep | None = None
    briefing: BriefingPart | None = None
    degraded: Annotated[tuple[str, ...], ALWAYS] = ()
