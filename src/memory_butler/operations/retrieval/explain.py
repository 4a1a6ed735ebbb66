"""Explain: why a question is or is not answered with one memory. A pure read; nothing counts as used."""

from collections.abc import Sequence
from dataclasses import replace

from memory_butler.errors import InvalidInput
from memory_butler.models import BriefRequest, Caller, Memory, MemoryType, Mode, Question, Tier
from memory_butler.models.explanation import BriefingPart, Explanation
from memory_butler.operations.briefing.brief import compose_briefing, find_candidates, usefulness_of
from memory_butler.operations.retrieval.named_memory import parse_handles, require_one_of
from memory_butler.operations.retrieval.ranked_candidates import RankedCandidates, rank_candidates, ranking_rules
from memory_butler.operations.retrieval.search import select_results
from memory_butler.policy.memories.validation import validate_brief, validate_question
from memory_butler.policy.retrieval.explain import Case, briefed, explained
from memory_butler.policy.retrieval.filters import Bounds
from memory_butler.resources import Resources, on_replica
from memory_butler.store.retrieval import matches


@on_replica
async def explain(
    resources: Resources,
    question: Question,
    handle: str,
    caller: Caller | None = None,
    *,
    token_budget: int | None = None,
) -> Explanation:
    """Ask the question as a search would, and say what became of one memory on the way.

    With a token budget also what becomes of it in a briefing on the same words. What the caller may not see is not
    found; an administrator is told what hides it.
    """
    caller = caller or resources.local_caller()
    if question.as_of is not None:
        raise InvalidInput("Only a current answer can be explained, not one of the past.", recovery="Leave out as_of.")
    # A tier leaves out types, too; that is for the tier to explain.
    types = validate_question(replace(question, tier=None)).types
    question = validate_question(question)
    wanted = parse_handles(None, handle)
    async with resources.database.read(caller.principal.tenant) as transaction:
        memory = await require_one_of(transaction, caller, wanted)
    found = await rank_candidates(resources, caller, question, with_irrelevant=True)
    explanation = explained(await _case(resources, caller, memory, question, found, types=types))
    if token_budget is None:
        return explanation
    return replace(explanation, briefing=await _briefing(resources, caller, memory, question, token_budget))


async def _briefing(
    resources: Resources, caller: Caller, memory: Memory, question: Question, token_budget: int
) -> BriefingPart:
    whose = question.butler or caller.principal.butler
    request = validate_brief(
        BriefRequest(trigger_prompt=question.query, butler=whose, token_budget=token_budget, deep=question.deep)
    )
    found, frame = await find_candidates(resources, request, caller)
    asked = Question(query=request.trigger_prompt, butler=request.butler)
    case = await _case(resources, caller, memory, asked, found, types=tuple(MemoryType))
    return briefed(case, compose_briefing(resources, found, frame), usefulness_of(resources, found, memory.id))


async def _case(
    resources: Resources,
    caller: Caller,
    memory: Memory,
    question: Question,
    found: RankedCandidates,
    *,
    types: Sequence[str],
) -> Case:
    retrieval, query = resources.settings.retrieval, found.query
    match = await matches.one(resources.database, caller.principal.tenant, query, memory.type, memory.id)
    return Case(
        memory=memory,
        match=match,
        bounds=Bounds(
            types=[MemoryType(kind) for kind in types],
            tier=Tier(question.tier) if question.tier else None,
            tags=question.tags,
            reach=query.reach,
            min_confidence=query.min_confidence,
            time_from=query.time_from,
            time_to=query.time_to,
            asked_at=query.now,
        ),
        parsed=found.parsed,
        mode=Mode(question.mode),
        names=found.candidates.names | found.candidates.known_names,
        unknown_names=found.candidates.unknown_names,
        words=query.words,
        by_vector=query.embedding is not None,
        longest_list=query.candidates,
        hits=found.candidates.hits,
        second_look=found.second_look,
        deep_scores=found.deep_scores,
        ranked=found.ranked,
        answer=select_results(resources, question, found),
        rules=ranking_rules(retrieval),
        min_relevance=found.min_relevance,
        limit=question.limit or retrieval.limit,
        degraded=found.degraded,
    )
