"""The judge: scores how well a candidate answers a question.

Each signal is a number around 0 to 1; their weighted sum is the judge's *vote*, by which candidates are ordered. The
weights were fitted to labelled questions (`python -m benchmarks.fit_relevance`), one set for every kind of memory and
question. The contribution of each signal is measured in docs/concepts/retrieval.md.
"""

import math
import re
from collections.abc import Sequence
from datetime import datetime
from operator import mul
from typing import NamedTuple

from memory_butler.english.text.names import speakers
from memory_butler.english.time.question_times import TimeHint, closeness, with_anchor
from memory_butler.models import Hit, MemoryType
from memory_butler.policy.retrieval.intent import Intent
from memory_butler.policy.retrieval.question import ParsedQuestion

MOST_ODDS = 50.0
# "Last week" and "before the move" are vaguer than "in May 2023", and people repeat them from memory.
VAGUE = 0.3
# Subjects that stand for the user.
ASKERS = frozenset({"user", "the user", "me", "i", "myself", "self", "owner"})
_WORD = re.compile(r"\w+")
# Without a vector to compare with, every candidate is taken to be as near in meaning as candidates usually are.
USUAL_SIMILARITY = 0.28


class Signals(NamedTuple):
    """Input of the judge for one candidate."""

    similarity: float
    """Cosine of its best passage and the question without names."""
    bm25: float
    """BM25 of the question's words, in units of a word that only one memory has."""
    term_coverage: float
    """Share of the question's words that it contains, weighted by rarity."""
    name_match: float
    """1 if it is indexed under a name in the question, or is the user's own and the question says "I" or "my"."""
    reply_match: float
    """BM25 of the question's words in the episode just before it in its session, if that one asks a question."""
    group_match: float
    """Best match, by words and meaning, in its group: an episode's session, or, at half weight, a fact's subject."""
    source_match: float
    """How much better than the fact itself its source episode matches, by words and meaning."""
    answer_type: float
    """1 if the question asks when or how many and it contains a time or a number."""
    session_start: float
    """1 if it is the first episode of a session that is not a dialogue: there people state the topic."""
    time_match: float
    """Closeness to the time in the question."""
    preferred_type: float
    """1 if it is of the type that this kind of question prefers."""


WEIGHTS = Signals(
    similarity=4.81,
    bm25=1.55,
    term_coverage=1.34,
    name_match=1.87,
    reply_match=1.01,
    group_match=1.91,
    # By hand, from the table of weights in docs/concepts/retrieval.md.
    source_match=4.0,
    answer_type=0.96,
    session_start=1.32,
    time_match=4.95,
    # By hand: the labelled questions have no rules.
    preferred_type=1.0,
)
# Relevance is a logistic function of a candidate's vote and, a little, of the best: where that is poor, nothing fits.
SLOPE = 0.6
OFFSET = -9.27
OF_THE_BEST = 0.25
# Deducted from every candidate's vote if the store knows none of the names in the question.
UNKNOWN_NAMES_PENALTY = 4.0
# In a small store each memory is the likelier to be the one that is meant.
SMALL_STORE = 500
PER_MEMORY = 0.45


def signals_of(hits: Sequence[Hit], parsed: ParsedQuestion) -> list[Signals]:
    """The signals of each candidate; some of them compare it with the others."""
    nearest = max((hit.similarity or 0.0 for hit in hits), default=0.0) or 1.0
    wordiest = max((hit.word_score for hit in hits), default=0.0) or 1.0
    match = [max(hit.similarity or 0.0, 0.0) / nearest + hit.word_score / wordiest for hit in hits]
    is_first_person = parsed.is_first_person
    matches_answer, preferred_type = parsed.kind.matches_answer, parsed.kind.preferred_type
    return [
        # By place and not by name, which takes twice as long; in the order of the fields.
        Signals(
            USUAL_SIMILARITY if hit.similarity is None else hit.similarity,
            hit.word_score,
            hit.word_coverage,
            1.0 if is_about(hit, is_first_person=is_first_person) else 0.0,
            hit.context_word_score if hit.type is MemoryType.EPISODE else 0.0,
            group_match,
            0.0 if hit.context_similarity is None else _source_match(hit, hit.context_similarity),
            1.0 if matches_answer and matches_answer(hit.content) else 0.0,
            1.0 if _opens_session(hit) and not speakers(hit.content) else 0.0,
            time,
            1.0 if hit.type is preferred_type else 0.0,
        )
        for hit, group_match, time in zip(hits, _group_matches(hits, match), _times(hits, parsed), strict=True)
    ]


def vote(signals: Signals) -> float:
    """The judge's verdict on one candidate; only its order and its distance to others mean anything."""
    return float(sum(map(mul, WEIGHTS, signals)))


def relevance(own: float, best: float, parsed: ParsedQuestion) -> float:
    """Probability that a candidate answers the question, from its vote, the best vote and the size of the store. A
    question with only unknown names needs much better matches."""
    return relevances([own], best, parsed)[0]


def relevances(votes: Sequence[float], best: float, parsed: ParsedQuestion) -> list[float]:
    """The relevance of each candidate; what is the same for all of them is worked out once."""
    smallness = PER_MEMORY * math.log(SMALL_STORE / min(max(parsed.memory_count, 1), SMALL_STORE))
    from_best, penalty, exp = OF_THE_BEST * best, UNKNOWN_NAMES_PENALTY * parsed.has_only_unknown_names, math.exp
    odds = [SLOPE * (own + from_best - penalty) + OFFSET + smallness for own in votes]
    return [1 / (1 + exp(-(MOST_ODDS if x > MOST_ODDS else -MOST_ODDS if x < -MOST_ODDS else x))) for x in odds]


def _group_matches(hits: Sequence[Hit], match: Sequence[float]) -> list[float]:
    """The best match in the group of each candidate; without a group, its own."""
    best: dict[tuple[str, str], float] = {}
    groups = [_group(hit) for hit in hits]
    for group, own in zip(groups, match, strict=True):
        if group and own > best.get(group, 0.0):
            best[group] = own
    return [
        own if group is None else (own + best.get(group, 0.0)) / 2 if is_fact else best.get(group, 0.0)
        for own, group, is_fact in zip(match, groups, (hit.type is MemoryType.FACT for hit in hits), strict=True)
    ]


def _group(hit: Hit) -> tuple[str, str] | None:
    """An episode's session, or a fact's subject. The empty first part keeps a subject apart from a butler's name."""
    if hit.type is MemoryType.FACT:
        return "", (hit.subject_label or "").casefold()
    return (hit.butler, hit.session_id) if hit.type is MemoryType.EPISODE and hit.session_id else None


def _opens_session(hit: Hit) -> bool:
    return hit.type is MemoryType.EPISODE and hit.session_id is not None and not hit.has_context


def _source_match(hit: Hit, source_similarity: float) -> float:
    """A fact is a short form of its source episode, which often contains the words of the question."""
    own = _text_match(hit.similarity or 0.0, hit.word_score, hit.word_coverage)
    return max(0.0, _text_match(source_similarity, hit.context_word_score, hit.context_word_coverage) - own)


def _text_match(similarity: float, bm25: float, term_coverage: float) -> float:
    """Match by meaning and by words, in units of similarity."""
    return max(similarity, 0.0) + bm25 / 3 + term_coverage / 4


def is_about(hit: Hit, *, is_first_person: bool) -> bool:
    """True for a memory indexed under a name in the question, and for the user's own facts if it says "I" or "my"."""
    if hit.is_named or not is_first_person:
        return hit.is_named
    return hit.type is MemoryType.FACT and (hit.subject_label or "").casefold() in ASKERS


def _times(hits: Sequence[Hit], parsed: ParsedQuestion) -> list[float]:
    """Closeness of each to the time in the question, less the closeness that all of them share."""
    when = _when(hits, parsed)
    if when is None:
        return [0.0] * len(hits)
    moments = [hit.valid_at if when.ahead else _moment(hit) for hit in hits]
    close = [closeness(when, moment) if moment else 0.0 for moment in moments]
    share, least = VAGUE if when.relative or when.anchor else 1.0, min(close, default=0.0)
    return [share * (one - least) for one in close]


def _moment(hit: Hit) -> datetime:
    return hit.valid_at or hit.observed_at or hit.created_at


def _when(hits: Sequence[Hit], parsed: ParsedQuestion) -> TimeHint | None:
    """The time in a question. An event ("before the move") is dated by the memory whose words name it best; to a
    question about how things are done ("before deploying") it is no time at all."""
    hint = parsed.time_hint
    if hint is None or hint.anchor is None:
        return hint
    wanted = set(_WORD.findall(hint.anchor.casefold()))
    named = [hit for hit in hits if wanted <= set(_WORD.findall(hit.content.casefold()))]
    if not named or parsed.kind.intent is Intent.PROCEDURE:
        return None
    anchor = max(named, key=lambda hit: (hit.similarity or 0.0, hit.id))
    return with_anchor(hint, _moment(anchor))
