"""The deep look: a cross-encoder's scores change the relevance of the best candidates, within limits.

A cross-encoder reads the question and a memory together, so it knows a paraphrase better than the judge. But it is
blind to time: for "where do I live now?" it prefers "I used to live in Porto" to "I moved to Lisbon". So its score is
added to the judge's verdict and never replaces it, and it cannot undo what the store knows about time:

- An episode whose fact was replaced gets no better score than the fact that replaced it, and stays behind it.
- If the question is about the present, a memory that speaks of the past gains nothing.
- If the question is about the present, a memory does not overtake a newer one about the same subject.
"""

import math
import re
from collections.abc import Mapping, Sequence
from uuid import UUID

from memory_butler.models import Hit, MemoryType, Ranked
from memory_butler.policy.retrieval.question import ParsedQuestion
from memory_butler.policy.retrieval.ranking import DIGITS, RankingRules, behind_replacements, ranking_order

# Fitted to labelled questions: the log odds of both models, weighted.
OF_JUDGE = 1.0
OF_MODEL = 0.12
OFFSET = -0.07
# Keeps log odds finite.
LEAST = 1e-6
# The score of a memory that must not gain.
NEUTRAL_ODDS = -8.0
# From this score on a newer memory may be about what is asked.
PLAUSIBLE = 0.00005
_PAST_QUESTION = re.compile(
    r"\b(?:did|was|were|had|ago|used to|before|previous(?:ly)?|former(?:ly)?|past|earlier|last|first|when|once|history|"
    r"originally|years? old then|in (?:19|20)\d\d)\b",
    re.IGNORECASE,
)
_PAST_STATE = re.compile(
    r"\b(?:used to|no longer|not any ?more|any ?more|former(?:ly)?|previous(?:ly)?|back then|in the past|until (?:last|"
    r"19|20)\w*|at (?:the|that) time|ex-\w+|once (?:lived|worked|was|had))\b",
    re.IGNORECASE,
)


def is_about_present(parsed: ParsedQuestion) -> bool:
    """True unless the question has a time or speaks of the past."""
    return parsed.time_hint is None and not _PAST_QUESTION.search(parsed.text)


def deepened(
    ranked: Sequence[Ranked], scores: Mapping[UUID, float], parsed: ParsedQuestion, rules: RankingRules
) -> list[Ranked]:
    """The candidates with their relevance after the deep look, best first. `scores` has the cross-encoder's
    probabilities for some of them; the others count as poor as the poorest of those."""
    if not scores:
        return list(ranked)
    odds = {entry.hit.id: _log_odds(scores[entry.hit.id]) for entry in ranked if entry.hit.id in scores}
    poorest = min(odds.values(), default=NEUTRAL_ODDS)
    odds = _within_limits([entry.hit for entry in ranked], odds, scores, is_present=is_about_present(parsed))
    joint = {entry.hit.id: _joint(entry.parts.relevance, odds.get(entry.hit.id, poorest)) for entry in ranked}
    if is_about_present(parsed):
        joint = _never_before_newer(ranked, joint, scores)
    best = max(joint.values(), default=0.0) or 1.0
    again = [_with_relevance(entry, joint[entry.hit.id], best, rules) for entry in ranked]
    return behind_replacements(sorted(again, key=ranking_order))


def _within_limits(
    hits: Sequence[Hit], odds: Mapping[UUID, float], scores: Mapping[UUID, float], *, is_present: bool
) -> dict[UUID, float]:
    limited = dict(odds)
    for hit in hits:
        if hit.id not in scores:
            continue
        if is_present and _PAST_STATE.search(hit.content):
            limited[hit.id] = min(limited[hit.id], NEUTRAL_ODDS)
        if hit.since_changed:
            replacement = odds.get(hit.replaced_by, NEUTRAL_ODDS) if hit.replaced_by else NEUTRAL_ODDS
            limited[hit.id] = min(limited[hit.id], replacement)
    return limited


def _never_before_newer(
    ranked: Sequence[Ranked], joint: Mapping[UUID, float], scores: Mapping[UUID, float]
) -> dict[UUID, float]:
    """Hold each memory behind the newer ones that the judge found better, if they may be about the same."""
    held: dict[UUID, float] = dict(joint)
    newest_first = sorted(ranked, key=lambda entry: (_moment(entry.hit), entry.hit.id), reverse=True)
    for at, older in enumerate(newest_first):
        for newer in newest_first[:at]:
            if (
                _moment(newer.hit) > _moment(older.hit)
                and newer.parts.relevance >= older.parts.relevance
                and scores.get(newer.hit.id, 0.0) >= PLAUSIBLE
                and _has_same_subject(newer.hit, older.hit)
            ):
                held[older.hit.id] = min(held[older.hit.id], held[newer.hit.id])
    return held


def _moment(hit: Hit) -> float:
    return (hit.valid_at or hit.observed_at or hit.created_at).timestamp()


def _has_same_subject(one: Hit, other: Hit) -> bool:
    if one.type is MemoryType.FACT and other.type is MemoryType.FACT:
        return (one.subject_label or "").casefold() == (other.subject_label or "").casefold()
    return MemoryType.RULE not in (one.type, other.type)


def _joint(relevance: float, odds: float) -> float:
    return 1 / (1 + math.exp(-(OF_JUDGE * _log_odds(relevance) + OF_MODEL * odds + OFFSET)))


def _log_odds(probability: float) -> float:
    bounded = min(1 - LEAST, max(LEAST, probability))
    return math.log(bounded / (1 - bounded))


def _with_relevance(entry: Ranked, relevance: float, best: float, rules: RankingRules) -> Ranked:
    fit = relevance / best
    parts = entry.parts._replace(
        relevance=round(relevance, DIGITS),
        fit=round(fit, DIGITS),
        score=round(entry.parts.score + rules.fit * (fit - entry.parts.fit), DIGITS),
    )
    return entry._replace(parts=parts)
