"""The judge: scores how well a candidate answers a question.

Each signal is a number around 0 to 1; their weighted sum is the judge's *vote*, by which candidates are ordered. The
weights were fitted to labelled questions (`python -m benchmarks.fit_relevance`), one set for every kind of memory and
question. The contribution of each signal is measured in docs/concepts/retrieval.md.
"""

import math
import re
from collections.abc import Collection, Sequence
from datetime import datetime
from operator import mul
from typing import NamedTuple

from memory_butler.english.text.names import speakers
from memory_butler.english.text.normalize import as_words
from memory_butler.english.time.question_times import TimeHint, closeness, with_anchor
from memory_butler.models import USER_SUBJECTS, Hit, MemoryType
from memory_butler.policy.retrieval.intent import Intent
from memory_butler.policy.retrieval.question import ParsedQuestion

MOST_ODDS = 50.0
# "Last week" and "before the move" are vaguer than "in May 2023", and people repeat them from memory.
VAGUE = 0.3
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
    exact_match: float
    """How few memories have a name, a number or an identifier of the question that it has: 1 if it is the only one."""
    reply_match: float
    """BM25 of the question's words in the episode just before it in its session, if that one asks a question."""
    turn_match: float
    """How much better than itself the turns around it in a dialogue match, by words and meaning."""
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
    similarity=5.55,
    bm25=1.5,
    term_coverage=2.12,
    name_match=1.59,
    # By hand: a rare name weighs like a rare word. The names of the labelled questions are common.
    exact_match=3.0,
    reply_match=0.57,
    turn_match=3.55,
    group_match=1.42,
    # By hand, from the table of weights in docs/concepts/retrieval.md.
    source_match=4.0,
    answer_type=0.85,
    session_start=1.19,
    time_match=4.37,
    # By hand: the labelled questions have no rules.
    preferred_type=1.0,
)
# Relevance is a logistic function of a candidate's vote and, a little, of the best: where that is poor, nothing fits.
SLOPE = 0.6
OFFSET = -8.95
OF_THE_BEST = 0.25
# Deducted from every candidate's vote if the store knows none of the names in the question.
UNKNOWN_NAMES_PENALTY = 4.0
# Share of it that is deducted if the question also has a term that few memories say.
PENALTY_WITH_RARE_TERM = 0.5
# Weights of the turns before and after a turn, the nearest first.
BEFORE = (1.0, 0.6)
AFTER = (0.3, 0.3)
# Rarity up to which a name is common: a third of 12 memories has it, or a tenth of 1000.
COMMON = 0.35
# Rarity from which a term says what a question is about: of 500 memories 6 have it.
RARE = 0.75
# Relevance in words, from the least probability on.
LEVELS = ((0.3, "strong"), (0.1, "likely"), (0.03, "possible"), (0.0, "weak"))
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
            exact,
            hit.context_word_score if hit.type is MemoryType.EPISODE else 0.0,
            turns,
            group_match,
            0.0 if hit.context_similarity is None else _source_match(hit, hit.context_similarity),
            1.0 if matches_answer and matches_answer(hit.content) else 0.0,
            1.0 if _opens_session(hit) and not speakers(hit.content) else 0.0,
            time,
            1.0 if hit.type is preferred_type else 0.0,
        )
        for hit, exact, turns, group_match, time in zip(
            hits,
            _exact_matches(hits, parsed),
            _turn_matches(hits),
            _group_matches(hits, match),
            _times(hits, parsed),
            strict=True,
        )
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
    from_best, penalty, exp = OF_THE_BEST * best, penalty_of(parsed), math.exp
    odds = [SLOPE * (own + from_best - penalty) + OFFSET + smallness for own in votes]
    return [1 / (1 + exp(-(MOST_ODDS if x > MOST_ODDS else -MOST_ODDS if x < -MOST_ODDS else x))) for x in odds]


def level_of(probability: float) -> str:
    """A relevance in words."""
    return next(level for least, level in LEVELS if probability >= least)


def penalty_of(parsed: ParsedQuestion) -> float:
    """Deduction from every vote for names that the store does not know."""
    share = PENALTY_WITH_RARE_TERM if parsed.has_rare_term else 1.0
    return UNKNOWN_NAMES_PENALTY * share * parsed.has_only_unknown_names


def _exact_matches(hits: Sequence[Hit], parsed: ParsedQuestion) -> list[float]:
    """Rarity of the rarest name, number or identifier that each has in common with the question."""
    rarities = [hit.name_rarity for hit in hits]
    for term in parsed.exact_terms:
        having = says(hits, term)
        rarity = rarity_of(len(having), parsed.memory_count)
        for at in having:
            rarities[at] = max(rarities[at], rarity)
    return [max(0.0, (rarity - COMMON) / (1 - COMMON)) for rarity in rarities]


def knows_rare_term(hits: Sequence[Hit], parsed: ParsedQuestion, unknown_names: Collection[str]) -> bool:
    """True if a few candidates say a number, an identifier or a name of the question: it is about something known."""
    names = [name for name in parsed.possible_new_names if name not in unknown_names]
    counts = [len(says(hits, as_words(term))) for term in (*parsed.exact_terms, *names)]
    return any(count and rarity_of(count, parsed.memory_count) >= RARE for count in counts)


def says(hits: Sequence[Hit], term: str) -> list[int]:
    """Positions of the candidates whose text contains a term, given in lower case, as a whole word."""
    whole = re.compile(rf"(?<!\w){re.escape(term)}(?!\w)")
    return [
        at
        for at, content in enumerate(hit.content.casefold() for hit in hits)
        if term in content and whole.search(content)
    ]


def rarity_of(having: int, memories: int) -> float:
    """BM25's weight of a term that so many memories have, in units of a term that only one has."""
    memories = max(memories, having, 1)
    return math.log1p((memories - having + 0.5) / (having + 0.5)) / math.log1p((memories - 0.5) / 1.5)


def _turn_matches(hits: Sequence[Hit]) -> list[float]:
    """How much better the turns around each turn of a dialogue match. People answer and ask back without repeating the
    words: the turns before and after, if they are candidates too, say what a turn is about."""
    # By number: UUIDs are hashed and compared in Python.
    episodes = {hit.id.int: place for place, hit in enumerate(hits) if hit.type is MemoryType.EPISODE}
    before = {
        place: earlier
        for place in episodes.values()
        if (context := hits[place].context_id) is not None
        and (earlier := episodes.get(context.int)) is not None
        and speakers(hits[place].content)
    }
    if not before:
        return [0.0] * len(hits)
    after = {earlier: place for place, earlier in before.items()}
    own = [_text_match(hit.similarity or 0.0, hit.word_score, hit.word_coverage) for hit in hits]
    found = [0.0] * len(hits)
    for steps, weights in ((before, BEFORE), (after, AFTER)):
        for place in steps:
            turn: int | None = place
            for weight in weights:
                turn = None if turn is None else steps.get(turn)
                if turn is not None:
                    found[place] += weight * max(0.0, own[turn] - own[place])
    return found


def _group_matches(hits: Sequence[Hit], match: Sequence[float]) -> list[float]:
    """The best match in the group of each candidate; without a group, its own."""
    best: dict[tuple[str, str], float] = {}
    groups = [_group(hit) for hit in hits]
    for group, own in zip(groups, match, strict=True):
        if group and own > best.get(group, 0.0):
            best[group] = own
    # The first part of a fact's group is empty.
    return [
        own if group is None else best.get(group, 0.0) if group[0] else (own + best.get(group, 0.0)) / 2
        for own, group in zip(match, groups, strict=True)
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
    return hit.type is MemoryType.FACT and (hit.subject_label or "").casefold() in USER_SUBJECTS


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
