"""Search: find memories by meaning and by words, ranked."""

import time
from dataclasses import replace

from memory_butler.errors import DeadlinePassed, OverloadRejected, TargetUnavailable
from memory_butler.metrics.retrieval import SEARCH, Returned, observe_answer
from memory_butler.models import Answer, Caller, MemoryType, Question, Ranked
from memory_butler.models.calls import CallKind
from memory_butler.models.explanation import Term
from memory_butler.operations.retrieval.expand import expanded
from memory_butler.operations.retrieval.ranked_candidates import RankedCandidates, rank_candidates, ranking_rules
from memory_butler.operations.system.call_log import AnsweredCall, log_call
from memory_butler.operations.writing.idempotency import audit_trail
from memory_butler.policy.memories.validation import validate_question
from memory_butler.policy.retrieval.diversity import diversified
from memory_butler.policy.retrieval.explain import terms_of
from memory_butler.resources import Resources, on_replica
from memory_butler.store.history import events
from memory_butler.store.retrieval import vector_index
from memory_butler.store.retrieval.search import SearchQuery

# A read does not wait for a long write of its tenant: then its results are not counted.
BUMP_LOCK_SECONDS = 0.25


async def search(
    resources: Resources, question: Question, caller: Caller | None = None, *, bump: bool = True
) -> Answer:
    """The best memories for a question. Results count as referenced, unless `bump` is off.

    With `as_of` it answers as it would have at that moment, and nothing counts as referenced.
    """
    began = time.perf_counter()
    caller = caller or resources.local_caller()
    question = validate_question(question)
    # Only the search itself: the count of references is a write.
    found = await on_replica(rank_candidates)(resources, caller, question)
    results = tuple(select_results(resources, question, found))
    answer = Answer(
        results=results,
        degraded=found.degraded,
        overview=found.is_overview and bool(results),
        reembedding=found.reembedding,
    )
    if bump and question.as_of is None:
        observe_answer(
            SEARCH, list(map(returned, results)), candidates=len(found.candidates.hits), degraded=bool(found.degraded)
        )
        resources.briefed.referenced(one.hit.id for one in results)
        answered = AnsweredCall(
            kind=CallKind.SEARCH,
            prompt=question.query,
            butler=question.butler,
            results=results,
            seconds=time.perf_counter() - began,
            degraded=found.degraded,
        )
        log_call(resources, caller, answered)
    counts = bump and question.as_of is None and bool(answer.results)
    answer = await _count_references(resources, caller, answer, found.query) if counts else answer
    return await expanded(resources, caller, question, answer) if question.expand else answer


async def _count_references(resources: Resources, caller: Caller, answer: Answer, query: SearchQuery) -> Answer:
    """Count the results as referenced. If counting fails, the answer is returned all the same.

    If the tenant has a vector index, the question's vector is stored too: the recall of the index is measured with it.
    """
    now = resources.clock()
    try:
        async with resources.database.write(
            caller.principal.tenant, now, relaxed=True, lock_seconds=BUMP_LOCK_SECONDS
        ) as transaction:
            await events.bump(
                transaction, audit_trail(resources, caller, now), [entry.hit.id for entry in answer.results], "search"
            )
            if query.embedding is not None and resources.database.indexed_tenants.includes(
                caller.principal.tenant, query.embedding_version
            ):
                await vector_index.keep_question(transaction, query.embedding, query.embedding_version, now)
    except (TargetUnavailable, DeadlinePassed, OverloadRejected) as problem:
        return replace(answer, degraded=(*answer.degraded, f"references were not counted: {problem.message}"))
    return answer


def returned(one: Ranked) -> Returned:
    """The measured properties of a result. A rule or episode counts as a subject of its own."""
    hit = one.hit
    return Returned(hit.id, hit.subject_label or str(hit.id), one.parts.relevance, one.parts.effective_confidence)


async def recall(
    resources: Resources, question: Question, caller: Caller | None = None, *, bump: bool = True
) -> Answer:
    """The facts and rules that matter most for a topic."""
    return await search(resources, replace(question, types=(MemoryType.FACT, MemoryType.RULE)), caller, bump=bump)


def score_terms(resources: Resources, ranked: Ranked) -> tuple[Term, ...]:
    """The weighted terms of a result's score."""
    return terms_of(ranked.parts, ranking_rules(resources.settings.retrieval))


def select_results(resources: Resources, question: Question, found: RankedCandidates) -> list[Ranked]:
    """The results to return: relevant candidates without duplicates, up to the limit."""
    return diversified(found.relevant, question.limit or resources.settings.retrieval.limit)
