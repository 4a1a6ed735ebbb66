"""How a score is computed.

1. The two lists, by meaning and by words, are ranked on their raw scores.
2. They are fused by weighted reciprocal ranks (k = 60): a list a memory is not on contributes nothing.
3. *Relevance*, between 0 and 1, follows from the place in the fused order: the first has 1, and it falls towards 0,
   steeply at first. The fused values themselves will not do: neighbours differ by a percent, and importance would
   decide everything.
4. score = 0.4 relevance + 0.3 importance + 0.2 recency + 0.1 effective confidence, rounded before it orders anything.
5. Order: score, then newest, then id.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memory_butler.models import Hit, Maturity, MemoryType, Mode, Ranked, ScoreParts
from memory_butler.policy.confidence import anchor, effective_confidence
from memory_butler.policy.maturity import IMPORTANCE_OF_MATURITY

RRF_K = 60
# How steeply relevance falls with the place: the fifth of a hundred has 0.77, the tenth 0.58, the fiftieth 0.12.
PLACE_K = 15
TIE = 1e-12
DIGITS = 6
SECONDS_PER_DAY = 86400


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingRules:
    """The numbers of the ranking, as configured."""

    relevance: float
    importance: float
    recency: float
    confidence: float
    semantic_weight: float
    keyword_weight: float
    recency_half_life_days: float


def rank(hits: Sequence[Hit], mode: Mode, rules: RankingRules, now: datetime) -> list[Ranked]:
    """Every candidate with its score and the parts of it, best first."""
    nowhere: list[int | None] = [None] * len(hits)
    semantic = _places([hit.semantic_score for hit in hits]) if mode is not Mode.KEYWORD else nowhere
    keyword = _places([hit.keyword_score for hit in hits]) if mode is not Mode.SEMANTIC else nowhere
    relevance = _relevance(semantic, keyword, rules)
    ranked = [
        Ranked(hit, _parts(hit, (by_meaning, by_words), relevant, rules, now))
        for hit, by_meaning, by_words, relevant in zip(hits, semantic, keyword, relevance, strict=True)
        if by_meaning or by_words
    ]
    return sorted(ranked, key=lambda r: (-r.parts.score, -r.hit.created_at.timestamp(), r.hit.id))


def importance_of(hit: Hit) -> float:
    """Importance on a scale of 1; a rule's comes from its maturity."""
    if hit.type is MemoryType.RULE:
        return IMPORTANCE_OF_MATURITY[hit.maturity or Maturity.CANDIDATE] / 10
    return (hit.importance or 0) / 10


def recency_of(hit: Hit, half_life_days: float, now: datetime) -> float:
    """Halves every half-life since the memory was last referenced, or stored."""
    days = max(0.0, (now - (hit.last_referenced_at or hit.created_at)).total_seconds() / SECONDS_PER_DAY)
    return math.exp2(-days / half_life_days)


def confidence_of(hit: Hit, now: datetime) -> float:
    return effective_confidence(hit.confidence, hit.decay_rate, anchor(hit.created_at, hit.last_confirmed_at), now)


def _places(scores: Sequence[float | None]) -> list[int | None]:
    """The place of each in falling order, from 1; equals share one, and what has no score has no place."""
    places: list[int | None] = [None] * len(scores)
    above, shared = math.inf, 1
    falling = sorted(((score, at) for at, score in enumerate(scores) if score is not None), reverse=True)
    for place, (score, at) in enumerate(falling, start=1):
        if score < above - TIE:
            above, shared = score, place
        places[at] = shared
    return places


def _relevance(semantic: Sequence[int | None], keyword: Sequence[int | None], rules: RankingRules) -> list[float]:
    """Relevance by the place in the order of the fused reciprocal ranks."""
    fused = [
        (rules.semantic_weight / (RRF_K + by_meaning) if by_meaning else 0.0)
        + (rules.keyword_weight / (RRF_K + by_words) if by_words else 0.0)
        for by_meaning, by_words in zip(semantic, keyword, strict=True)
    ]
    places = _places([value or None for value in fused])
    last = 1 / (PLACE_K + len(fused) + 1)
    return [(1 / (PLACE_K + place) - last) / (1 / (PLACE_K + 1) - last) if place else 0.0 for place in places]


def _parts(
    hit: Hit, ranks: tuple[int | None, int | None], relevance: float, rules: RankingRules, now: datetime
) -> ScoreParts:
    importance = importance_of(hit)
    recency = recency_of(hit, rules.recency_half_life_days, now)
    confidence = confidence_of(hit, now)
    score = (
        rules.relevance * relevance
        + rules.importance * importance
        + rules.recency * recency
        + rules.confidence * confidence
    )
    return ScoreParts(
        score=round(score, DIGITS),
        relevance=round(relevance, DIGITS),
        importance=importance,
        recency=round(recency, DIGITS),
        effective_confidence=round(confidence, DIGITS),
        semantic_rank=ranks[0],
        keyword_rank=ranks[1],
        semantic_score=hit.semantic_score,
        keyword_score=hit.keyword_score,
    )
