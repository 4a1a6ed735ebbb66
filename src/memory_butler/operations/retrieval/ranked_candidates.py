"""Rank the candidates for a question. Read-only: one embedding and one round trip to the database."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from memory_butler.ai.reranking import rerank_if_possible
from memory_butler.english.text.names import removed_words
from memory_butler.languages.detection import Language
from memory_butler.languages.grams import asked_grams
from memory_butler.models import USER_KEYS, Caller, MemoryType, Mode, Question, Ranked, Tier
from memory_butler.models.answers import Reembedding
from memory_butler.operations.retrieval.candidate_source import check_as_of, fetch_candidates
from memory_butler.operations.retrieval.deep_search import hit_text, look_deeper
from memory_butler.operations.retrieval.question_vectors import lacks_vectors, profile_versions, state_of, with_vectors
from memory_butler.operations.trust.protection import asked_words
from memory_butler.policy.access import visibility
from memory_butler.policy.briefing.domains import Profile
from memory_butler.policy.briefing.selection import kinds_to_find
from memory_butler.policy.briefing.task_cues import is_for_household
from memory_butler.policy.lifecycle.tiers import MEMBERS
from memory_butler.policy.memories.text import searched_words
from memory_butler.policy.retrieval.overview import HINTS, Overview
from memory_butler.policy.retrieval.overview_members import best_of, related_names, subjects_of
from memory_butler.policy.retrieval.question import (
    ParsedQuestion,
    in_full,
    parse_question,
    without_function_words,
    without_stop_words,
)
from memory_butler.policy.retrieval.ranking import RankingRules, fuse, most_relevant, rank
from memory_butler.policy.retrieval.relevance import knows_rare_term
from memory_butler.policy.retrieval.spelling import corrected, corrections, words_to_check
from memory_butler.resources import Resources
from memory_butler.settings import Retrieval
from memory_butler.store.gate.positions import stale_note
from memory_butler.store.retrieval.search import Candidates, SearchQuery

ENGLISH = "english"


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedCandidates:
    """The candidates, best first, with the parsed question and what the search had to do without (`degraded`)."""

    ranked: list[Ranked]
    parsed: ParsedQuestion
    query: SearchQuery
    min_relevance: float
    candidates: Candidates
    second_look: list[float | None] | None
    hidden: dict[str, int]
    degraded: tuple[str, ...]
    kind_of_work: Profile | None = None
    # Scores of the deep look.
    deep_scores: Mapping[UUID, float] = field(default_factory=dict)
    # Set while memories are embedded with an earlier version.
    reembedding: Reembedding | None = None
    # The results are the best of a class or a time that a broad question asks for.
    is_overview: bool = False

    @property
    def relevant(self) -> list[Ranked]:
        return [entry for entry in self.ranked if entry.parts.relevance >= self.min_relevance]


async def rank_candidates(
    resources: Resources,
    caller: Caller,
    question: Question,
    *,
    longest_list: int | None = None,
    with_irrelevant: bool = False,
    kind_of_work: Callable[[], Awaitable[Profile | None]] | None = None,
) -> RankedCandidates:
    """The ranked candidates; with `with_irrelevant` also those below the minimum relevance. `kind_of_work`, which gets
    the domain profile of the task, adds the candidates that a briefing needs.

    A misspelt name costs a second query.
    """
    check_as_of(resources, caller, question.as_of)
    question = replace(question, query=in_full(question.query))
    mode, for_briefing = Mode(question.mode), kind_of_work is not None
    now = question.as_of or resources.clock()
    parsed = parse_question(question.query, now)
    if for_briefing or mode is not Mode.HYBRID or question.min_relevance is not None:
        parsed = replace(parsed, overview=None)
    query = _within(_query(resources, caller, question, longest_list), parsed)
    profile = None
    if kind_of_work is not None:
        # Embedded at the same time: the search takes the vector from the cache.
        profile, _ = await asyncio.gather(kind_of_work(), _embed_ahead(resources, caller, question, query, parsed))
        kind = None if profile is None else _kinds_to_find(resources, profile, parsed)
        versions = await profile_versions(resources, caller.principal.tenant)
        query = replace(query, for_briefing=True, with_hidden=True, kind_of_work=kind, profile_versions=versions)
    found = await _fetch(resources, caller, question, query, parsed)
    found = await _fetch_corrected(resources, caller, question, found) or found
    query, candidates = found.query, await _with_members(resources, caller, question, found)
    calibration = resources.embedder.version.calibration
    if calibration.is_needed:
        candidates = replace(candidates, hits=calibration.hits(candidates.hits))
    reembedding, not_compared = await state_of(resources, caller.principal.tenant, query, candidates.versions)
    rules = replace(
        ranking_rules(resources.settings.retrieval), calibration=calibration, with_small_stores=not for_briefing
    )
    parsed = _with_knowledge(found.parsed, candidates)
    looked, missed = await _second_look(resources, parsed, candidates, mode, rules)
    min_relevance = _least(resources.settings.retrieval, question, query, parsed)
    is_deep = question.deep and mode is Mode.HYBRID
    least = 0.0 if with_irrelevant or parsed.overview or is_deep else min_relevance
    ranked = rank(candidates.hits, parsed, mode, rules, now, second_look=looked, min_relevance=least)
    deep_scores: Mapping[UUID, float] = {}
    if is_deep:
        ranked, deep_scores, not_deep = await look_deeper(resources, parsed, ranked, rules)
        missed = (*missed, *not_deep)
    overview = best_of(parsed.overview, ranked, now, candidates.user_names) if parsed.overview else []
    if overview:
        ranked, min_relevance = overview, 0.0
    elif question.min_relevance is None and min_relevance and not for_briefing:
        min_relevance = max(min_relevance, resources.settings.retrieval.min_share * most_relevant(ranked))
    return RankedCandidates(
        ranked=ranked,
        parsed=parsed,
        query=query,
        min_relevance=min_relevance,
        candidates=candidates,
        second_look=looked,
        is_overview=bool(overview) or _is_for_everything(parsed, query),
        hidden=candidates.hidden,
        degraded=(*found.degraded, *not_compared, *missed, *stale_note()),
        reembedding=reembedding,
        kind_of_work=profile,
        deep_scores=deep_scores,
    )


def _kinds_to_find(resources: Resources, profile: Profile, parsed: ParsedQuestion) -> list[float]:
    household = is_for_household(parsed.text)
    return list(kinds_to_find(profile, resources.domains.names, is_for_household=household).tolist())


async def _embed_ahead(
    resources: Resources, caller: Caller, question: Question, query: SearchQuery, parsed: ParsedQuestion
) -> None:
    """Embed the text that the search will compare, unless it is the whole task, which is embedded for its kind."""
    guess = resources.name_predictor.predict((caller.principal.tenant, query.reach), parsed)
    text = parsed.text_without(guess).strip()
    if text != question.query:
        await with_vectors(resources, query, text, Mode.HYBRID, tenant=caller.principal.tenant)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fetched:
    parsed: ParsedQuestion
    query: SearchQuery
    candidates: Candidates
    degraded: tuple[str, ...]


async def _fetch(
    resources: Resources, caller: Caller, question: Question, query: SearchQuery, parsed: ParsedQuestion
) -> _Fetched:
    """The candidates for a question.

    Names are removed from the text that is compared, and only the store knows which words are names. They are
    predicted, the store returns the actual names with its answer, and a wrong prediction costs a second query. So are
    the embedding versions of the tenant's memories.
    """
    tenant, mode = caller.principal.tenant, Mode(question.mode)
    reader = tenant, query.reach
    guess = resources.name_predictor.predict(reader, parsed)
    query, degraded = await _with_text(resources, query, parsed, mode, guess, tenant=tenant)
    candidates, notes = await fetch_candidates(resources, caller, query, question.as_of)
    names = candidates.names | candidates.known_names.intersection(parsed.likely_names)
    resources.name_predictor.learn(reader, parsed, names)
    lacking = await lacks_vectors(resources, tenant, query, candidates.versions)
    if lacking or parsed.text_without(names) != parsed.text_without(guess):
        if lacking and query.for_briefing:
            query = replace(query, profile_versions=await profile_versions(resources, tenant))
        query, degraded = await _with_text(resources, query, parsed, mode, names, tenant=tenant)
        candidates, notes = await fetch_candidates(resources, caller, query, question.as_of)
    return _Fetched(parsed=parsed, query=query, candidates=candidates, degraded=(*degraded, *notes))


async def _fetch_corrected(
    resources: Resources, caller: Caller, question: Question, found: _Fetched
) -> _Fetched | None:
    """The candidates for the question with its misspelt names corrected; None if it has none. A correction counts only
    if it leads to a memory that the caller may see."""
    spelling = corrections(sorted(found.candidates.unknown_words), found.candidates.similar_names)
    if not spelling:
        return None
    parsed = parse_question(corrected(question.query, spelling), found.query.now)
    parsed = replace(parsed, overview=found.parsed.overview)
    again = await _fetch(resources, caller, question, found.query, parsed)
    right = {part for name in again.candidates.known_names for part in name.split("_")}
    return again if right.intersection(spelling.values()) else None


async def _with_members(resources: Resources, caller: Caller, question: Question, found: _Fetched) -> Candidates:
    """The candidates; for a broad question also those of its class that have none of its words: memories with a time in
    the future for plans, and all facts about the people of a class."""
    kind, candidates = found.parsed.overview, found.candidates
    if kind is None or found.query.time_from:
        return candidates
    if kind is Overview.PLANS:
        query = replace(found.query, time_from=found.query.now)
    elif subjects := subjects_of(kind, candidates.hits, candidates.user_names):
        query = replace(found.query, names=sorted(subjects))
    else:
        return candidates
    more, _ = await fetch_candidates(resources, caller, query, question.as_of)
    present = {hit.id for hit in candidates.hits}
    return replace(candidates, hits=[*candidates.hits, *(hit for hit in more.hits if hit.id not in present)])


def _with_knowledge(parsed: ParsedQuestion, candidates: Candidates) -> ParsedQuestion:
    """The question with what the store knows: the number of memories, and whether all its names are unknown."""
    parsed = replace(parsed, memory_count=candidates.memories)
    if not candidates.unknown_names or candidates.known_names:
        return parsed
    has_rare_term = knows_rare_term(candidates.hits, parsed, candidates.unknown_names)
    return replace(parsed, has_only_unknown_names=True, has_rare_term=has_rare_term)


def _within(query: SearchQuery, parsed: ParsedQuestion) -> SearchQuery:
    """Restrict an open-ended question to the time it names, unless the caller restricts it."""
    windows = parsed.time_hint.windows if parsed.time_hint else ()
    if not parsed.is_open_ended or not windows or query.time_from or query.time_to:
        return query
    starts = [window.start for window in windows]
    ends = [window.end for window in windows]
    return replace(
        query,
        time_from=min((start for start in starts if start), default=None) if all(starts) else None,
        time_to=max((end for end in ends if end), default=None) if all(ends) else None,
    )


def _least(retrieval: Retrieval, question: Question, query: SearchQuery, parsed: ParsedQuestion) -> float:
    """How relevant a memory must be. Relevance is measured for both lists together: with one of them alone, only a
    limit that the caller sets counts. To a question for everything of a time, everything of it is relevant."""
    if question.min_relevance is not None:
        return question.min_relevance
    is_measured = query.embedding is not None and Mode(question.mode) is Mode.HYBRID
    return retrieval.min_relevance if is_measured and not _is_for_everything(parsed, query) else 0.0


def _is_for_everything(parsed: ParsedQuestion, query: SearchQuery) -> bool:
    return parsed.is_open_ended and bool(query.time_from or query.time_to)


def ranking_rules(retrieval: Retrieval) -> RankingRules:
    weights = retrieval.weights
    return RankingRules(
        fit=weights.fit,
        importance=weights.importance,
        recency=weights.recency,
        confidence=weights.confidence,
        semantic_weight=retrieval.semantic_weight,
        keyword_weight=retrieval.keyword_weight,
        recency_half_life_days=retrieval.recency_half_life_days,
        with_judge=retrieval.rerank.method == "judge",
    )


def _query(resources: Resources, caller: Caller, question: Question, longest_list: int | None) -> SearchQuery:
    """The query with its filters, still without text."""
    retrieval = resources.settings.retrieval
    members = MEMBERS[Tier(question.tier)] if question.tier else None
    return SearchQuery(
        words="",
        embedding=None,
        embedding_version=resources.embedding_version,
        types=[MemoryType(kind) for kind in question.types],
        reach=visibility.readable(caller.principal, question.scope, question.butler),
        min_confidence=resources.settings.min_confidence_of(question.min_confidence),
        text_search=retrieval.text_search,
        k1=retrieval.bm25_k1,
        b=retrieval.bm25_b,
        scan_limit=retrieval.scan_limit,
        candidates=min(retrieval.candidates, longest_list or retrieval.candidates),
        now=question.as_of or resources.clock(),
        permanences=members.permanences if members else None,
        maturities=members.maturities if members else None,
        tags=question.tags or None,
        time_from=question.time_from,
        time_to=question.time_to,
    )


async def _with_text(
    resources: Resources,
    query: SearchQuery,
    parsed: ParsedQuestion,
    mode: Mode,
    names: frozenset[str],
    *,
    tenant: str,
) -> tuple[SearchQuery, tuple[str, ...]]:
    """The query with what the question says, and what it has to do without."""
    text = parsed.text_without(names)
    is_other = parsed.language is Language.OTHER
    words = without_stop_words(text) if query.text_search == ENGLISH else text
    words = without_function_words(text) if is_other else words
    hint = HINTS[parsed.overview] if parsed.overview else ""
    query, degraded = await with_vectors(resources, query, f"{text} {hint}".strip(), mode, tenant=tenant)
    by_words = mode is not Mode.SEMANTIC
    keyed = await asked_words(resources, tenant, text) if by_words else ""
    return (
        replace(
            query,
            words=f"{searched_words(words)} {keyed}".strip() if by_words else "",
            mentions=searched_words(" ".join(removed_words(parsed.text, text))) if by_words else "",
            grams=asked_grams(parsed.text) if by_words and is_other else (),
            names=(*parsed.possible_names, *_names_of(parsed.overview)),
            guessed=parsed.possible_new_names,
            spelled=words_to_check(parsed.text),
        ),
        degraded,
    )


def _names_of(kind: Overview | None) -> Sequence[str]:
    """Names under which the class of a broad question is stored."""
    if kind is None:
        return ()
    return tuple(USER_KEYS) if kind is Overview.USER else related_names(kind)


async def _second_look(
    resources: Resources, parsed: ParsedQuestion, candidates: Candidates, mode: Mode, rules: RankingRules
) -> tuple[list[float | None] | None, tuple[str, ...]]:
    """Scores of the cross-encoder, if one is configured, for the best candidates in fused order."""
    if resources.reranker is None or mode is not Mode.HYBRID:
        return None, ()
    hits, places = candidates.hits, fuse(candidates.hits, mode, rules).fused
    order = sorted((place, str(hits[at].id), at) for at, place in enumerate(places) if place is not None)
    setting = resources.settings.retrieval.rerank
    scores, degraded = await rerank_if_possible(
        resources.reranker,
        parsed.text,
        [hit_text(hits[at]) for _, _, at in order[: setting.candidates]],
        limit=setting.candidates,
        milliseconds=setting.milliseconds,
    )
    if scores is None:
        return None, degraded
    looked: list[float | None] = [None] * len(hits)
    for (_, _, at), score in zip(order, scores, strict=False):
        looked[at] = score
    return looked, ()
