"""Why a memory was or was not returned, step by step."""

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from memory_butler.models.vocabulary import MemoryType


class Fate(StrEnum):
    """What became of a memory on the way from the store to the answer."""

    RETURNED = "returned"
    FILTERED = "filtered"
    NOT_LISTED = "not_listed"
    IRRELEVANT = "irrelevant"
    REPEATED = "repeated"
    SHARE = "share"
    LIMIT = "limit"
    QUOTA = "quota"
    BUDGET = "budget"


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """How one memory matches a question, whether or not a search would list it."""

    passages: int
    similarity: float | None
    keyword_score: float | None
    words: tuple[str, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How the question was understood. `names` are known to the store and taken out of what is compared."""

    compared: str
    words: str
    intent: str
    names: tuple[str, ...]
    unheard: tuple[str, ...]
    time: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One filter, and whether the memory passes it."""

    name: str
    passed: bool
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The place on one of the two lists, with the raw score; without a place, `why` says what kept it off.

    `listed` are all on the list, `last_score` is that of the last of the same type.
    """

    rank: int | None
    score: float | None
    listed: int
    last_score: float | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One summand: what it is, its value, what that is multiplied by, and what comes of it."""

    name: str
    value: float
    weight: float
    contribution: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondLook:
    """Stage two: `method` is judge, cross_encoder or off. The judge's vote decides on relevance in any case."""

    method: str
    fused_place: int
    place: int
    candidates: int
    vote: float
    signals: tuple[Term, ...]
    cross_encoder_score: float | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    relevance: float
    min_relevance: float
    passed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Variety:
    """What the answer's variety did: `repeats` says the same and is better, `also` say the same and are not as good."""

    repeats: str | None
    also: tuple[str, ...]
    waited: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoring:
    """The score with its terms, and the place it gives among all candidates."""

    score: float
    terms: tuple[Term, ...]
    place: int
    candidates: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefingPart:
    """Whether it is in a briefing of this budget, and if not what kept it out."""

    included: bool
    fate: Fate
    verdict: str
    section: str
    token_budget: int
    used_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a question was or was not answered with a memory. What it did not get to is None.

    `place` is its place in the answer, or the one it would have if more were asked for.
    """

    type: MemoryType
    id: UUID
    ref: str
    returned: bool
    fate: Fate
    verdict: str
    place: int | None
    limit: int
    reading: Reading
    matched_words: tuple[str, ...]
    matched_names: tuple[str, ...]
    by_meaning: Listing
    by_words: Listing
    filters: tuple[Check, ...]
    second_look: SecondLook | None = None
    gate: Gate | None = None
    scoring: Scoring | None = None
    variety: Variety | None = None
    briefing: BriefingPart | None = None
    degraded: tuple[str, ...] = ()
