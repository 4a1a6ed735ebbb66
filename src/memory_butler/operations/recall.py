"""Recall: find memories by meaning and by words, ranked."""

from collections.abc import Sequence
from dataclasses import replace

from memory_butler.butler import Butler
from memory_butler.errors import DeadlinePassed, OverloadRejected, TargetUnavailable
from memory_butler.models import Answer, Caller, MemoryType, Mode, Question, Tier
from memory_butler.operations.as_of import candidates, check_moment
from memory_butler.operations.once import trail
from memory_butler.policy import reach
from memory_butler.policy.admission import admit_question
from memory_butler.policy.ranking import RankingRules, rank
from memory_butler.policy.tiers import MEMBERS
from memory_butler.policy.wording import searched_words
from memory_butler.settings import Retrieval
from memory_butler.store import events
from memory_butler.store.search_index import Probe

HEAD_CHARACTERS = 2_000
TAIL_CHARACTERS = 2_000


async def search(butler: Butler, question: Question, caller: Caller | None = None, *, bump: bool = True) -> Answer:
    """The best memories for a question. What comes back counts as referenced, unless `bump` is off.

    Asked as of another moment, it answers as it would have then, and nothing counts as referenced.
    """
    caller = caller or butler.local_caller()
    question = admit_question(question)
    answer = await find(butler, caller, question)
    kept = replace(answer, results=answer.results[: question.limit or butler.settings.retrieval.limit])
    counts = bump and question.as_of is None and bool(kept.results)
    return await _counted(butler, caller, kept) if counts else kept


async def _counted(butler: Butler, caller: Caller, answer: Answer) -> Answer:
    """Count what is returned as referenced. An answer that was found is given even if it cannot be counted."""
    now = butler.clock()
    try:
        async with butler.database.write(caller.principal.tenant, now, relaxed=True) as session:
            await events.bump(session, trail(butler, caller, now), [entry.hit.id for entry in answer.results], "search")
    except (TargetUnavailable, DeadlinePassed, OverloadRejected) as problem:
        return replace(answer, degraded=(*answer.degraded, f"references were not counted: {problem.message}"))
    return answer


async def recall(butler: Butler, question: Question, caller: Caller | None = None, *, bump: bool = True) -> Answer:
    """The facts and rules that matter most for a topic."""
    return await search(butler, replace(question, types=(MemoryType.FACT, MemoryType.RULE)), caller, bump=bump)


async def find(butler: Butler, caller: Caller, question: Question) -> Answer:
    """Everything that comes into question, ranked; a pure read. One embedding, one round trip to the database."""
    probe, degraded = await probe_for(butler, caller, question)
    found = await candidates(butler, caller, probe, question.as_of)
    ranked = rank(found.hits, Mode(question.mode), ranking_rules(butler.settings.retrieval), probe.now)
    return Answer(results=tuple(ranked), degraded=(*degraded, *found.missing))


async def probe_for(butler: Butler, caller: Caller, question: Question) -> tuple[Probe, tuple[str, ...]]:
    """The question as the database sees it, and what it had to do without."""
    check_moment(butler, caller, question.as_of)
    retrieval = butler.settings.retrieval
    mode = Mode(question.mode)
    reached = reach.readable(caller.principal, question.scope, question.butler)
    members = MEMBERS[Tier(question.tier)] if question.tier else None
    words = essence(question.query)
    vector, degraded = await _vector(butler, words, mode)
    probe = Probe(
        words=searched_words(words) if mode is not Mode.SEMANTIC else "",
        embedding=vector,
        embedding_version=butler.embedding_version,
        types=[MemoryType(kind) for kind in question.types],
        reach=reached,
        min_confidence=retrieval.min_confidence if question.min_confidence is None else question.min_confidence,
        text_search=retrieval.text_search,
        k1=retrieval.bm25_k1,
        b=retrieval.bm25_b,
        candidates=retrieval.candidates,
        now=question.as_of or butler.clock(),
        permanences=members.permanences if members else None,
        maturities=members.maturities if members else None,
    )
    return probe, degraded


def essence(prompt: str) -> str:
    """The part of a long prompt that is searched with: how it begins and how it ends."""
    if len(prompt) <= HEAD_CHARACTERS + TAIL_CHARACTERS:
        return prompt
    return f"{prompt[:HEAD_CHARACTERS]} {prompt[-TAIL_CHARACTERS:]}"


def ranking_rules(retrieval: Retrieval) -> RankingRules:
    weights = retrieval.weights
    return RankingRules(
        relevance=weights.relevance,
        importance=weights.importance,
        recency=weights.recency,
        confidence=weights.confidence,
        semantic_weight=retrieval.semantic_weight,
        keyword_weight=retrieval.keyword_weight,
        recency_half_life_days=retrieval.recency_half_life_days,
    )


async def _vector(butler: Butler, words: str, mode: Mode) -> tuple[Sequence[float] | None, tuple[str, ...]]:
    """The query's vector; without the model a hybrid search goes on by words alone and says so."""
    if mode is Mode.KEYWORD:
        return None, ()
    try:
        return (await butler.embedder.embed_query(words)).tolist(), ()
    except TargetUnavailable as problem:
        if mode is Mode.SEMANTIC:
            raise
        return None, (f"searched by words only: {problem.message}",)
