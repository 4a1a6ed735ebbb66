"""Why a memory was or was not returned: the way from the question to the answer, with what each step made of it.

Nothing is computed anew here. Places, votes, relevance and scores are those of the search; this puts them beside each
other and finds the first step that kept the memory out.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from memory_butler.english.text.normalize import as_words
from memory_butler.english.time.question_times import TimeHint
from memory_butler.models import Briefing, Hit, Memory, Mode, Ranked, ScoreParts
from memory_butler.models.explanation import (
    BriefingPart,
    Check,
    DiversityStep,
    Explanation,
    Fate,
    Listing,
    Match,
    QuestionReading,
    RelevanceGate,
    RerankStep,
    Scoring,
    Term,
)
from memory_butler.policy.briefing.claims import CLAIM_WORDS, Claim
from memory_butler.policy.memories.text import ordinal, subject_and_predicate
from memory_butler.policy.retrieval import relevance as relevance_model
from memory_butler.policy.retrieval.diversity import diversified
from memory_butler.policy.retrieval.filters import Bounds, apart, checks_of
from memory_butler.policy.retrieval.question import ParsedQuestion
from memory_butler.policy.retrieval.ranking import RankingRules, fuse
from memory_butler.policy.retrieval.word_match import word_relevances

DIGITS = 6
_WORD = re.compile(r"[\w'’-]{0,80}\w")
CLOSE = 1e-6
# Explanations have always reported these signals under shorter names; clients may read them.
REPORTED_NAMES = {
    "bm25": "said",
    "term_coverage": "covered",
    "name_match": "about",
    "reply_match": "answers",
    "group_match": "company",
    "source_match": "told",
    "answer_type": "fits_kind",
    "session_start": "opens",
    "time_match": "timely",
    "preferred_type": "preferred",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A memory, a question, and everything that the search for it came by on its way to the answer."""

    memory: Memory
    match: Match
    bounds: Bounds
    parsed: ParsedQuestion
    mode: Mode
    names: Collection[str]
    unknown_names: Collection[str]
    words: str
    by_vector: bool
    longest_list: int
    hits: Sequence[Hit]
    second_look: Sequence[float | None] | None
    ranked: Sequence[Ranked]
    answer: Sequence[Ranked]
    rules: RankingRules
    min_relevance: float
    limit: int
    degraded: tuple[str, ...] = ()
    deep_scores: Mapping[UUID, float] = field(default_factory=dict)


class _Leg(NamedTuple):
    """One of the two lists: everybody's places and scores, and of the memory its own score or what rules it out."""

    places: Sequence[int | None]
    scores: Sequence[float | None]
    own: float | None
    off: str


class _End(NamedTuple):
    """Where the way ended, and why, as the end of a sentence."""

    fate: Fate
    why: str
    place: int | None = None


def explained(case: Case) -> Explanation:
    """The whole way of one memory."""
    checks = tuple(checks_of(case.memory, case.bounds))
    lists = by_meaning, by_words = _lists(case, checks)
    entry = next((one for one in case.ranked if one.hit.id == case.memory.id), None)
    end = _end_of(case, entry, checks, lists)
    returned = end.fate is Fate.RETURNED
    return Explanation(
        type=case.memory.type,
        id=case.memory.id,
        ref=case.memory.ref,
        returned=returned,
        fate=end.fate,
        verdict=f"Returned, {end.why}." if returned else f"Not returned: {end.why}.",
        place=end.place,
        limit=case.limit,
        reading=_reading(case),
        matched_words=case.match.words,
        matched_names=tuple(as_words(name) for name in case.match.names),
        by_meaning=by_meaning,
        by_words=by_words,
        filters=checks,
        second_look=_second_look(case, entry) if entry else None,
        gate=_gate(case, entry) if entry else None,
        scoring=_scoring(case, entry) if entry else None,
        variety=_variety(case, entry) if entry and _gate(case, entry).passed else None,
        degraded=case.degraded,
    )


def briefed(case: Case, briefing: Briefing, usefulness: float | None) -> BriefingPart:
    """The fate of the memory in a briefing; the case is the briefing's search."""
    memory, receipt = case.memory, briefing.receipt
    name = f"{memory.type}:{memory.ref}"
    reason = next((line["reason"] for line in receipt.left_out if line["ref"] == name), None)
    line = next((line for line in receipt.lines if line.ref == name), None)
    size = f"a briefing of {receipt.token_budget} tokens"
    end = _End(Fate.RETURNED, CLAIM_WORDS[Claim[line.claim.upper()]] if line else "")
    if reason == "budget":
        end = _End(Fate.BUDGET, "there was no room left in the budget")
    elif reason:
        end = _End(Fate.REPEATED, f"it {reason}")
    elif line is None and usefulness is not None:
        end = _End(Fate.IRRELEVANT, f"the probability that the task needs it is {usefulness:.2f}, which is too low")
    elif line is None:
        checks = tuple(checks_of(memory, case.bounds))
        end = _end_of(case, None, checks, _lists(case, checks))
    return BriefingPart(
        included=line is not None,
        fate=end.fate,
        verdict=f"In {size}: it is {end.why}." if line else f"Not in {size}: {end.why}.",
        claim=line.claim if line else None,
        usefulness=usefulness,
        section=f"{memory.type}s",
        token_budget=receipt.token_budget,
        used_tokens=receipt.used_tokens,
    )


def _end_of(case: Case, entry: Ranked | None, checks: Sequence[Check], lists: tuple[Listing, Listing]) -> _End:
    """The first step that kept it out, or its place in the answer. What the search found has the last word."""
    if entry is None:
        hiding = next((check for check in checks if not check.passed), None)
        return _End(Fate.FILTERED, hiding.why) if hiding else _End(Fate.NOT_LISTED, _off_both_lists(lists))
    gate = _gate(case, entry)
    if not gate.passed:
        relevance = apart(gate.relevance, gate.min_relevance)
        return _End(Fate.IRRELEVANT, f"its relevance {relevance} is below {gate.min_relevance:g}")
    ids = [one.hit.id for one in case.answer]
    if entry.hit.id in ids:
        place = ids.index(entry.hit.id) + 1
        return _End(Fate.RETURNED, f"{ordinal(place)} of {len(ids)}", place)
    variety, place = _variety(case, entry), _place_of_its_own(case, entry)
    if variety.repeats:
        return _End(Fate.REPEATED, f"it says the same as {variety.repeats}, which ranks higher")
    if variety.waited:
        cluster = subject_and_predicate(entry.hit.subject_label, entry.hit.predicate_label)
        why = f"other facts on '{cluster}' took the share of an answer of {case.limit} that one property may take"
        return _End(Fate.SHARE, why, place)
    return _End(Fate.LIMIT, f"it is {ordinal(place)}, and {case.limit} at most are returned", place)


def _off_both_lists(lists: tuple[Listing, Listing]) -> str:
    if any(listing.rank for listing in lists):
        return "the only list it is on has the weight 0"
    by_meaning, by_words = lists
    return f"by meaning, {by_meaning.why}; by words, {by_words.why}"


# --- how the question was read --------------------------------------------------------------------


def _reading(case: Case) -> QuestionReading:
    return QuestionReading(
        compared=case.parsed.text_without(case.names),
        words=" ".join(_WORD.findall(case.words)),
        intent=case.parsed.kind.intent,
        names=tuple(as_words(name) for name in sorted(case.names)),
        unheard=tuple(as_words(name) for name in sorted(case.unknown_names)),
        time=_when(case.parsed.time_hint) if case.parsed.time_hint else None,
    )


def _when(hint: TimeHint) -> str:
    if hint.anchor is not None:
        return f"{hint.direction} “{hint.anchor}”"
    spans = []
    for window in hint.windows:
        since = f"from {window.start:%Y-%m-%d %H:%M}" if window.start else ""
        until = f"to {window.end:%Y-%m-%d %H:%M}" if window.end else ""
        spans.append(f"{since} {until}".strip())
    return " or ".join(spans)


# --- stage one ------------------------------------------------------------------------------------


def _lists(case: Case, checks: Sequence[Check]) -> tuple[Listing, Listing]:
    """How it stands on the list by meaning and on the one by words."""
    places = fuse(case.hits, case.mode, case.rules)
    unread = ""
    if case.mode is Mode.KEYWORD:
        unread = f"the mode {case.mode} compares no meanings"
    elif not case.by_vector:
        unread = "the search had to do without meanings"
    elif not case.match.passages:
        unread = "it has no vector that a question can be compared with here"
    unsaid = ""
    if case.mode is Mode.SEMANTIC:
        unsaid = f"the mode {case.mode} looks for no words"
    elif case.match.keyword_score is None:
        unsaid = "it has none of the words that are looked for"
    by_meaning = _Leg(places.semantic, [hit.semantic_score for hit in case.hits], case.match.similarity, unread)
    by_words = _Leg(places.keyword, [hit.keyword_score for hit in case.hits], case.match.keyword_score, unsaid)
    return _listing(case, checks, by_meaning), _listing(case, checks, by_words)


def _listing(case: Case, checks: Sequence[Check], leg: _Leg) -> Listing:
    mine = next((at for at, hit in enumerate(case.hits) if hit.id == case.memory.id), None)
    rank = None if mine is None else leg.places[mine]
    score = leg.own if mine is None or rank is None else leg.scores[mine]
    listed = [at for at, place in enumerate(leg.places) if place]
    peers = [leg.scores[at] or 0.0 for at in listed if case.hits[at].type is case.memory.type]
    last = min(peers, default=None)
    if rank:
        why = f"it is {ordinal(rank)} of {len(listed)}"
    elif leg.off or score is None:
        why = leg.off
    elif not all(check.passed for check in checks):
        why = "a filter hides it"
    elif last is None or len(peers) < case.longest_list or score > last + CLOSE:
        why = f"its {score:.3f} would do, but the index passed over it"
    else:
        why = f"its {score:.3f} is not among the best {len(peers)} of its type, the last of which has {last:.3f}"
    return Listing(rank=rank, score=score, listed=len(listed), last_score=last, why=why)


# --- stage two, relevance and score ---------------------------------------------------------------


def _second_look(case: Case, entry: Ranked) -> RerankStep:
    at = next(at for at, hit in enumerate(case.hits) if hit.id == entry.hit.id)
    signals = relevance_model.signals_of(case.hits, case.parsed)[at]
    fused = fuse(case.hits, case.mode, case.rules).fused[at]
    assert fused
    looked = case.second_look[at] if case.second_look is not None else case.deep_scores.get(entry.hit.id)
    is_by_words = word_relevances(case.hits, case.parsed)[at] is not None
    method, why = _method(case, looked, is_by_words=is_by_words)
    return RerankStep(
        method=method,
        fused_place=fused,
        # Fit falls with the place and with nothing else, so it tells the place.
        place=1 + sum(other.parts.fit > entry.parts.fit for other in case.ranked),
        candidates=len(case.ranked),
        vote=round(relevance_model.vote(signals), DIGITS),
        signals=tuple(
            _term(REPORTED_NAMES.get(name, name), value, weight)
            for name, value, weight in zip(signals._fields, signals, relevance_model.WEIGHTS, strict=True)
        ),
        cross_encoder_score=looked,
        why=why,
    )


def _method(case: Case, looked: float | None, *, is_by_words: bool) -> tuple[str, str]:
    """The reranking method and the reason for it."""
    if case.second_look is not None:
        count = sum(score is not None for score in case.second_look)
        behind = f"it is not among the best {count} of both lists, and stays behind those"
        return "cross_encoder", f"a cross-encoder looked at the best {count}" if looked is not None else behind
    if case.mode is not Mode.HYBRID:
        return "off", f"the mode {case.mode} keeps the order of its list"
    if case.deep_scores:
        count = len(case.deep_scores)
        behind = f"it is not among the best {count} that the cross-encoder looked at, and counts as poor as the poorest"
        return "deep", (
            f"a cross-encoder looked at the best {count}, and its score changes the relevance"
            if looked is not None
            else behind
        )
    if case.rules.with_judge and is_by_words:
        return "words", "the question or the memory is not in English, so the words they share decide"
    if case.rules.with_judge:
        return "judge", "the judge's vote orders the candidates"
    failure = next((reason for reason in case.degraded if reason.startswith("not reranked")), None)
    return "off", failure or "it is switched off, so the order of both lists together stands"


def _gate(case: Case, entry: Ranked) -> RelevanceGate:
    own, least = entry.parts.relevance, case.min_relevance
    return RelevanceGate(relevance=own, min_relevance=least, passed=own >= least)


def terms_of(parts: ScoreParts, rules: RankingRules) -> tuple[Term, ...]:
    """The summands of a score."""
    return (
        _term("fit", parts.fit, rules.fit),
        _term("importance", parts.importance, rules.importance),
        _term("recency", parts.recency, rules.recency),
        _term("confidence", parts.effective_confidence, rules.confidence),
    )


def _scoring(case: Case, entry: Ranked) -> Scoring:
    return Scoring(
        score=entry.parts.score,
        terms=terms_of(entry.parts, case.rules),
        place=case.ranked.index(entry) + 1,
        candidates=len(case.ranked),
    )


def _term(name: str, value: float, weight: float) -> Term:
    contribution = round(value * weight, DIGITS) + 0.0  # and never minus nothing
    return Term(name=name, value=round(value, DIGITS), weight=weight, contribution=contribution)


# --- variety --------------------------------------------------------------------------------------


def _variety(case: Case, entry: Ranked) -> DiversityStep:
    """Its better and worse duplicates, and whether a lower-ranked memory came before it."""
    name = _name(entry)
    kept = {_name(one): one for one in (*_all_kept(case), *case.answer)}
    repeats = next((other for other, one in kept.items() if name in one.also), None)
    places = {one.hit.id: place for place, one in enumerate(case.ranked)}
    ahead = case.answer
    if name in (names := [_name(one) for one in case.answer]):
        ahead = case.answer[: names.index(name)]
    overtaken = any(places[one.hit.id] > places[entry.hit.id] for one in ahead)
    return DiversityStep(
        repeats=repeats,
        also=kept[name].also if name in kept else (),
        waited=repeats is None and overtaken,
    )


def _place_of_its_own(case: Case, entry: Ranked) -> int:
    """Its place among what is relevant and no repetition."""
    kept = {one.hit.id for one in _all_kept(case)}
    order = [one.hit.id for one in case.ranked if one.hit.id in kept or one.hit.id == entry.hit.id]
    return order.index(entry.hit.id) + 1


def _all_kept(case: Case) -> list[Ranked]:
    """The results of a search without a limit."""
    relevant = [one for one in case.ranked if one.parts.relevance >= case.min_relevance]
    return diversified(relevant, max(1, len(relevant)))


def _name(entry: Ranked) -> str:
    return f"{entry.hit.type}:{entry.hit.ref}"
