"""Rank the candidates for a question. Read-only: one embedding and one round trip to the database."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memory_butler.ai.reranking import rerank_if_possible
from memory_butler.english.text.names import removed_words
from memory_butler.english.text.normalize import normal_name
from memory_butler.errors import TargetUnavailable
from memory_butler.models import Caller, Hit, MemoryType, Mode, Question, Ranked, Tier
from memory_butler.operations.retrieval.candidate_source import check_as_of, fetch_candidates
from memory_butler.policy.access import visibility
from memory_butler.policy.briefing.composition import MAX_EXTRAS, ExtraMemories
from memory_butler.policy.lifecycle.tiers import MEMBERS
from memory_butler.policy.memories.text import indexed_text, searched_words
from memory_butler.policy.retrieval.question import ParsedQuestion, parse_question, without_stop_words
from memory_butler.policy.retrieval.ranking import Limit, RankingRules, fuse, rank
from memory_butler.policy.retrieval.relevance import ASKERS
from memory_butler.resources import Resources
from memory_butler.settings import Retrieval
from memory_butler.store.retrieval.search import Candidates, SearchQuery

ENGLISH = "english"
ASKER_KEYS = tuple(sorted(map(normal_name, ASKERS)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedCandidates:
    """The candidates, best first, with the parsed question and what the search had to do without (`degraded`)."""

    ranked: list[Ranked]
    # Candidates below the minimum relevance that a briefing includes anyway.
    anyway: list[Ranked]
    parsed: ParsedQuestion
    query: SearchQuery
    min_relevance: float
    candidates: Candidates
    second_look: list[float | None] | None
    hidden: dict[str, int]
    degraded: tuple[str, ...]

    @property
    def relevant(self) -> list[Ranked]:
        return [entry for entry in self.ranked if entry.parts.relevance >= self.min_relevance]


async def rank_candidates(
    resources: Resources,
    caller: Caller,
    question: Question,
    *,
    longest_list: int | None = None,
    with_hidden: bool = False,
    with_irrelevant: bool = False,
    important_from: int | None = None,
) -> RankedCandidates:
    """The ranked candidates; with `with_irrelevant` also those below the minimum relevance. With `important_from` also
    important facts about the subjects that the question names, for a briefing.

    Names are removed from the text that is compared, and only the store knows which words are names. They are
    predicted, the store returns the actual names with its answer, and a wrong prediction costs a second query.
    """
    check_as_of(resources, caller, question.as_of)
    tenant, mode = caller.principal.tenant, Mode(question.mode)
    now = question.as_of or resources.clock()
    parsed = parse_question(question.query, now)
    query = _within(_query(resources, caller, question, longest_list), parsed)
    askers = ASKER_KEYS if parsed.is_first_person else ()
    query = replace(query, most_important=MAX_EXTRAS, important_from=important_from, askers=askers)
    query = replace(query, with_hidden=with_hidden)
    reader = tenant, query.reach
    guess = resources.name_predictor.predict(reader, parsed)
    query, degraded = await _with_text(resources, query, parsed, mode, guess)
    candidates, notes = await fetch_candidates(resources, caller, query, question.as_of)
    names = candidates.names | candidates.known_names.intersection(parsed.likely_names)
    resources.name_predictor.learn(reader, parsed, names)
    if parsed.text_without(names) != parsed.text_without(guess):
        query, degraded = await _with_text(resources, query, parsed, mode, names)
        candidates, notes = await fetch_candidates(resources, caller, query, question.as_of)
    rules = ranking_rules(resources.settings.retrieval)
    has_only_unknown_names = bool(candidates.unknown_names) and not candidates.known_names
    parsed = replace(parsed, has_only_unknown_names=has_only_unknown_names, memory_count=candidates.memories)
    looked, missed = await _second_look(resources, parsed, candidates, mode, rules)
    min_relevance = _least(resources.settings.retrieval, question, query, parsed)
    extras = None
    if important_from is not None:
        names = candidates.names | candidates.known_names
        extras = ExtraMemories(names=names, is_first_person=parsed.is_first_person, important_from=important_from)
    limit = Limit(0.0 if with_irrelevant else min_relevance, extras.includes if extras else None)
    ranked = rank(candidates.hits, parsed, mode, rules, now, second_look=looked, limit=limit)
    return RankedCandidates(
        ranked=ranked,
        anyway=extras.select(ranked, min_relevance) if extras else [],
        parsed=parsed,
        query=query,
        min_relevance=min_relevance,
        candidates=candidates,
        second_look=looked,
        hidden=candidates.hidden,
        degraded=(*degraded, *notes, *missed),
    )


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
    is_for_everything = parsed.is_open_ended and bool(query.time_from or query.time_to)
    return retrieval.min_relevance if is_measured and not is_for_everything else 0.0


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
        candidates=min(retrieval.candidates, longest_list or retrieval.candidates),
        now=question.as_of or resources.clock(),
        permanences=members.permanences if members else None,
        maturities=members.maturities if members else None,
        time_from=question.time_from,
        time_to=question.time_to,
    )


async def _with_text(
    resources: Resources, query: SearchQuery, parsed: ParsedQuestion, mode: Mode, names: frozenset[str]
) -> tuple[SearchQuery, tuple[str, ...]]:
    """The query with what the question says, and what it has to do without."""
    text = parsed.text_without(names)
    words = without_stop_words(text) if query.text_search == ENGLISH else text
    vector, degraded = await _vector(resources, text, mode)
    by_words = mode is not Mode.SEMANTIC
    return (
        replace(
            query,
            words=searched_words(words) if by_words else "",
            mentions=searched_words(" ".join(removed_words(parsed.text, text))) if by_words else "",
            names=parsed.possible_names,
            guessed=parsed.possible_new_names,
            embedding=vector,
        ),
        degraded,
    )


async def _vector(resources: Resources, text: str, mode: Mode) -> tuple[Sequence[float] | None, tuple[str, ...]]:
    """The embedding of the question. Without the model a hybrid search continues with words alone and says so."""
    if mode is Mode.KEYWORD:
        return None, ()
    try:
        return (await resources.embedder.embed_query(text)).tolist(), ()
    except TargetUnavailable as problem:
        if mode is Mode.SEMANTIC:
            raise
        return None, (f"searched by words only: {problem.message}",)


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
        [_text(hits[at]) for _, _, at in order[: setting.candidates]],
        limit=setting.candidates,
        milliseconds=setting.milliseconds,
    )
    if scores is None:
        return None, degraded
    looked: list[float | None] = [None] * len(hits)
    for (_, _, at), score in zip(order, scores, strict=False):
        looked[at] = score
    return looked, ()


def _text(hit: Hit) -> str:
    return indexed_text(hit.type, hit.subject_label, hit.predicate_label, hit.content)
