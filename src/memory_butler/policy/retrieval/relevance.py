"""The judge: how well a candidate answers a question, from everything that is known of the two.

Each signal is a number around 0 to 1; their weighted sum is the judge's *vote*, by which candidates are ordered. The
weights were fitted to labelled questions (`python -m benchmarks.fit_relevance`), one set for every kind of memory and
question. What each signal earns is shown in docs/concepts/retrieval.md.
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
# "Last week" and "before the move" are vaguer than "in May 2023", and people repeat them from what they were told.
VAGUE = 0.3
# Subjects that stand for whoever asks.
ASKERS = frozenset({"user", "the user", "me", "i", "myself", "self", "owner"})
_WORD = re.compile(r"\w+")
# Without a vector to compare with, every candidate is taken to be as near in meaning as candidates usually are.
USUAL_SIMILARITY = 0.28


class Signals(NamedTuple):
    """What the judge knows of one candidate."""

    similarity: float
    """Cosine of its best passage and the question without names."""
    said: float
    """BM25 of the question's words, in units of a word that only one memory has."""
    covered: float
    """Share of the question's words that it has, the rare ones counting more."""
    about: float
    """1 if it stands under a name the question asks about, or is the user's own and the question says "I" or "my"."""
    answers: float
    """How well the question just before it in its session matches the words of this one."""
    company: float
    """The best match, by words and meaning, in its company: an episode's session, or, for half, a fact's subject."""
    told: float
    """How much better than itself the episode that a fact came from matches, by words and meaning."""
    fits_kind: float
    """1 if the question asks when or how many and it says a time or a number."""
    opens: float
    """1 if it opens a session that is not a dialogue: that is where people say what it is about."""
    timely: float
    """How close it is to the time that the question speaks of."""
    preferred: float
    """1 if it is of the type that this kind of question wants."""


WEIGHTS = Signals(
    similarity=4.81,
    said=1.55,
    covered=1.34,
    about=1.87,
    answers=1.01,
    company=1.91,
    # By hand, from the table of weights in docs/concepts/retrieval.md.
    told=4.0,
    fits_kind=0.96,
    opens=1.32,
    timely=4.95,
    # By hand: nothing was labelled that could tell.
    preferred=1.0,
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
    """What is known of each candidate, seen beside the others."""
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
            company,
            0.0 if hit.context_similarity is None else _told(hit, hit.context_similarity),
            1.0 if matches_answer and matches_answer(hit.content) else 0.0,
            1.0 if _opens_session(hit) and not speakers(hit.content) else 0.0,
            time,
            1.0 if hit.type is preferred_type else 0.0,
        )
        for hit, company, time in zip(hits, _companies(hits, match), _times(hits, parsed), strict=True)
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


def _companies(hits: Sequence[Hit], match: Sequence[float]) -> list[float]:
    """The best match in the company of each; what has no company has its own."""
    best: dict[tuple[str, str], float] = {}
    companies = [_company(hit) for hit in hits]
    for company, own in zip(companies, match, strict=True):
        if company and own > best.get(company, 0.0):
            best[company] = own
    return [
        own if company is None else (own + best.get(company, 0.0)) / 2 if is_fact else best.get(company, 0.0)
        for own, company, is_fact in zip(match, companies, (hit.type is MemoryType.FACT for hit in hits), strict=True)
    ]


def _company(hit: Hit) -> tuple[str, str] | None:
    """An episode's session, or a fact's subject, which no butler's name can be taken for."""
    if hit.type is MemoryType.FACT:
        return "", (hit.subject_label or "").casefold()
    return (hit.butler, hit.session_id) if hit.type is MemoryType.EPISODE and hit.session_id else None


def _opens_session(hit: Hit) -> bool:
    return hit.type is MemoryType.EPISODE and hit.session_id is not None and not hit.has_context


def _told(hit: Hit, source_similarity: float) -> float:
    """A fact is a short form of what was said; where it came from often says it in the words of the question."""
    own = _telling(hit.similarity or 0.0, hit.word_score, hit.word_coverage)
    return max(0.0, _telling(source_similarity, hit.context_word_score, hit.context_word_coverage) - own)


def _telling(similarity: float, said: float, covered: float) -> float:
    """How well a text matches, by meaning and by words, in units of similarity."""
    return max(similarity, 0.0) + said / 3 + covered / 4


def is_about(hit: Hit, *, is_first_person: bool) -> bool:
    """True for a memory indexed under a name in the question, and for the user's own facts if it says "I" or "my"."""
    if hit.is_named or not is_first_person:
        return hit.is_named
    return hit.type is MemoryType.FACT and (hit.subject_label or "").casefold() in ASKERS


def _times(hits: Sequence[Hit], parsed: ParsedQuestion) -> list[float]:
    """How close each is to the time the question speaks of. What all of them share tells nothing."""
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
    """The time a question speaks of. An event ("before the move") is dated by the memory whose words name it best; to a
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
