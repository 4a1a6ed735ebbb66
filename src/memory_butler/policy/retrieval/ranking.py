"""How an answer comes about.

1. *Two lists.* The database returns the best by meaning and the best by words. Each is ranked on its raw scores.
2. *Fusion.* They are fused by weighted reciprocal ranks (k = 60): a list a memory is not on contributes nothing.
3. *Second look.* The judge (relevance.py), or a cross-encoder in its place, weighs each candidate by everything that is
   known of it. Without a second look the fused order stands.
4. *Relevance.* How likely each bears on the question at all, between 0 and 1; what is below the limit is not returned.
5. *Fit.* How relevant it is compared with the best, which has 1. In an order without votes fit follows from the place
   and falls towards 0, steeply at first: fused values of neighbours differ by a percent, and importance would decide
   everything.
6. *Score* = 0.4 fit + 0.3 importance + 0.2 recency + 0.1 effective confidence, rounded before it orders anything.
7. *Order*: score, then newest, then id. At last what says the same collapses (diversity.py).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory_butler.languages.detection import Language
from memory_butler.models import Hit, Maturity, MemoryType, Mode, Ranked, ScoreParts
from memory_butler.policy.lifecycle.confidence import anchor, effective_confidence
from memory_butler.policy.lifecycle.maturity import IMPORTANCE_OF_MATURITY
from memory_butler.policy.retrieval import relevance as relevance_model
from memory_butler.policy.retrieval.calibration import UNCALIBRATED, Calibration
from memory_butler.policy.retrieval.question import ParsedQuestion
from memory_butler.policy.retrieval.small_stores import is_small, with_facts_by_meaning
from memory_butler.policy.retrieval.word_match import word_relevances

RRF_K = 60
# How steeply fit falls with the place: the fifth of a hundred has 0.77, the tenth 0.58, the fiftieth 0.12.
PLACE_K = 15
TIE = 1e-12
DIGITS = 6
TOLERANCE = 10**-DIGITS
SECONDS_PER_DAY = 86400


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingRules:
    """The numbers of the ranking, as configured."""

    fit: float
    importance: float
    recency: float
    confidence: float
    semantic_weight: float
    keyword_weight: float
    recency_half_life_days: float
    with_judge: bool = True
    # Facts of a small store by meaning. A briefing weighs relevance by its own fitted numbers, so not for one.
    with_small_stores: bool = True
    calibration: Calibration = UNCALIBRATED


@dataclass(frozen=True, slots=True, kw_only=True)
class Lists:
    """Where each candidate stands: on the list by meaning, on the one by words, and on both fused."""

    semantic: list[int | None]
    keyword: list[int | None]
    fused: list[int | None]


def fuse(hits: Sequence[Hit], mode: Mode, rules: RankingRules) -> Lists:
    """Stage one: the places on both lists, and on the fusion of the two."""
    nowhere: list[int | None] = [None] * len(hits)
    semantic = _places([hit.semantic_score for hit in hits]) if mode is not Mode.KEYWORD else nowhere
    keyword = _places([hit.keyword_score for hit in hits]) if mode is not Mode.SEMANTIC else nowhere
    fused = [
        (rules.semantic_weight / (RRF_K + by_meaning) if by_meaning else 0.0)
        + (rules.keyword_weight / (RRF_K + by_words) if by_words else 0.0)
        for by_meaning, by_words in zip(semantic, keyword, strict=True)
    ]
    return Lists(semantic=semantic, keyword=keyword, fused=_places([value or None for value in fused]))


def rank(
    hits: Sequence[Hit],
    parsed: ParsedQuestion,
    mode: Mode,
    rules: RankingRules,
    now: datetime,
    *,
    second_look: Sequence[float | None] | None = None,
    min_relevance: float = 0.0,
) -> list[Ranked]:
    """Every candidate within the limit with its score and the parts of it, best first. `second_look` has a
    cross-encoder's scores."""
    lists = fuse(hits, mode, rules)
    signals = relevance_model.signals_of(hits, parsed)
    votes = [relevance_model.vote(one) for one in signals]
    best = max((vote for vote, place in zip(votes, lists.fused, strict=True) if place), default=0.0)
    by_votes = second_look is None and rules.with_judge and mode is Mode.HYBRID
    places = lists.fused if second_look is None else _looked_again(lists.fused, second_look)
    likelihoods = relevance_model.relevances(votes, best, parsed)
    most = relevance_model.relevance(best, best, parsed)
    if by_votes and rules.with_small_stores and is_small(parsed):
        likelihoods = with_facts_by_meaning(likelihoods, hits, signals, parsed, rules.calibration.more)
        most = max(likelihoods, default=0.0) or 1.0
    by_words = word_relevances(hits, parsed, rules.calibration) if mode is not Mode.SEMANTIC else []
    if any(likely is not None for likely in by_words):
        likelihoods = _with_words(likelihoods, by_words, parsed)
        most = max(likelihoods) or 1.0
    ranked = []
    for at, (hit, place, likely) in enumerate(zip(hits, places, likelihoods, strict=True)):
        # Rounding takes longer than comparing: what is clearly below the limit is not rounded to find it so.
        is_unlikely = likely < min_relevance - TOLERANCE or round(likely, DIGITS) < min_relevance
        if place is None or is_unlikely:
            continue
        fit = likely / most if by_votes else _fit_of_place(place, len(hits))
        ranked.append(Ranked(hit, _parts(hit, (lists.semantic[at], lists.keyword[at]), (fit, likely), rules, now)))
    return behind_replacements(sorted(ranked, key=ranking_order))


def most_relevant(ranked: Sequence[Ranked]) -> float:
    """The best relevance, apart from evidence of what has changed since."""
    return max((one.parts.relevance for one in ranked if not one.hit.since_changed), default=0.0)


def behind_replacements(ranked: list[Ranked]) -> list[Ranked]:
    """The same order, but an episode whose fact was replaced comes directly behind the fact that replaced it, and a
    fact that a newer note corrects behind the note."""
    if not any(one.hit.since_changed for one in ranked):
        return ranked
    places = {one.hit.id: at for at, one in enumerate(ranked)}

    def place(at: int, one: Ranked) -> tuple[int, bool, int]:
        replacement = places.get(one.hit.replaced_by, -1) if one.hit.replaced_by else -1
        return (replacement, True, at) if replacement > at else (at, False, at)

    return [one for _, one in sorted(enumerate(ranked), key=lambda entry: place(*entry))]


def _with_words(by_vote: Sequence[float], by_words: Sequence[float | None], parsed: ParsedQuestion) -> list[float]:
    """The relevance of each candidate: by the judge, or by words if the judge does not know the language. Where the
    language of the question is uncertain, the higher of the two."""
    is_uncertain = parsed.language is Language.UNCERTAIN
    return [
        vote if words is None else max(vote, words) if is_uncertain else words
        for vote, words in zip(by_vote, by_words, strict=True)
    ]


def ranking_order(entry: Ranked) -> tuple[float, float, UUID]:
    return -entry.parts.score, -entry.hit.created_at.timestamp(), entry.hit.id


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
    scored = {at: score for at, score in enumerate(scores) if score is not None}
    for place, at in enumerate(sorted(scored, key=scored.__getitem__, reverse=True), start=1):
        score = scored[at]
        if score < above - TIE:
            above, shared = score, place
        places[at] = shared
    return places


def _fit_of_place(place: int, candidates: int) -> float:
    last = 1 / (PLACE_K + candidates + 1)
    return (1 / (PLACE_K + place) - last) / (1 / (PLACE_K + 1) - last)


def _looked_again(fused: Sequence[int | None], scores: Sequence[float | None]) -> list[int | None]:
    """The places by a cross-encoder's scores; what it did not look at stays behind what it did, in the fused order."""
    behind = min((score for score in scores if score is not None), default=0.0) - 1
    return _places(
        [
            None if place is None else (behind - place if score is None else score)
            for place, score in zip(fused, scores, strict=True)
        ]
    )


def _parts(
    hit: Hit,
    ranks: tuple[int | None, int | None],
    fit_and_relevance: tuple[float, float],
    rules: RankingRules,
    now: datetime,
) -> ScoreParts:
    fit, relevance = fit_and_relevance
    importance = importance_of(hit)
    recency = recency_of(hit, rules.recency_half_life_days, now)
    confidence = confidence_of(hit, now)
    score = rules.fit * fit + rules.importance * importance + rules.recency * recency + rules.confidence * confidence
    return ScoreParts(  # in the order of its fields
        round(score, DIGITS),
        round(fit, DIGITS),
        round(relevance, DIGITS),
        importance,
        round(recency, DIGITS),
        round(confidence, DIGITS),
        ranks[0],
        ranks[1],
        hit.semantic_score,
        hit.keyword_score,
    )
