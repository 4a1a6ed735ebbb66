"""Explain: why a question is or is not answered with one memory. A pure read; nothing counts as used."""

from collections.abc import Sequence
from dataclasses import replace

from memory_butler.butler import Butler
from memory_butler.errors import InvalidInput, NotFound
from memory_butler.models import BriefRequest, Caller, Memory, MemoryType, Mode, Question, Tier
from memory_butler.models.explanation import BriefingPart, Explanation
from memory_butler.operations.brief import gather, written
from memory_butler.operations.find import Findings, find, ranking_rules
from memory_butler.operations.look import require
from memory_butler.operations.recall import chosen
from memory_butler.policy.admission import admit_brief, admit_question, parse_handle
from memory_butler.policy.explaining import Case, briefed, explained
from memory_butler.policy.filters import Bounds
from memory_butler.store import matches


async def explain(
    butler: Butler, question: Question, handle: str, caller: Caller | None = None, *, token_budget: int | None = None
) -> Explanation:
    """Ask the question as a search would, and say what became of one memory on the way.

    With a token budget also what becomes of it in a briefing on the same words. What the caller may not see is not
    found; an administrator is told what hides it.
    """
    caller = caller or butler.local_caller()
    if question.as_of is not None:
        raise InvalidInput("What is explained is how a question is answered now.", recovery="Leave out as_of.")
    # A tier leaves out types, too; that is for the tier to explain.
    types = admit_question(replace(question, tier=None)).types
    question = admit_question(question)
    memory = await _named(butler, caller, handle)
    found = await find(butler, caller, question, with_irrelevant=True)
    told = explained(await _case(butler, caller, memory, question, found, types=types))
    if token_budget is None:
        return told
    return replace(told, briefing=await _briefing(butler, caller, memory, question, token_budget))


async def _briefing(
    butler: Butler, caller: Caller, memory: Memory, question: Question, token_budget: int
) -> BriefingPart:
    whose = question.butler or caller.principal.butler
    request = admit_brief(BriefRequest(trigger_prompt=question.query, butler=whose, token_budget=token_budget))
    found, frame = await gather(butler, request, caller, with_irrelevant=True)
    asked = Question(query=request.trigger_prompt, butler=request.butler)
    case = await _case(butler, caller, memory, asked, found, types=tuple(MemoryType))
    return briefed(case, written(found, frame))


async def _case(
    butler: Butler, caller: Caller, memory: Memory, question: Question, found: Findings, *, types: Sequence[str]
) -> Case:
    retrieval, probe = butler.settings.retrieval, found.probe
    match = await matches.one(butler.database, caller.principal.tenant, probe, memory.type, memory.id)
    return Case(
        memory=memory,
        match=match,
        bounds=Bounds(
            types=[MemoryType(kind) for kind in types],
            tier=Tier(question.tier) if question.tier else None,
            reach=probe.reach,
            min_confidence=probe.min_confidence,
            time_from=probe.time_from,
            time_to=probe.time_to,
            asked_at=probe.now,
        ),
        asking=found.asking,
        mode=Mode(question.mode),
        names=found.found.names | found.found.loose_names,
        unheard=found.found.unheard,
        words=probe.words,
        by_vector=probe.embedding is not None,
        longest_list=probe.candidates,
        hits=found.found.hits,
        second_look=found.second_look,
        ranked=found.ranked,
        answer=chosen(butler, question, found),
        rules=ranking_rules(retrieval),
        min_relevance=found.min_relevance,
        limit=question.limit or retrieval.limit,
        degraded=found.degraded,
    )


async def _named(butler: Butler, caller: Caller, handle: str) -> Memory:
    """The memory by its reference or id. A bare one names its type as well as a full one: no two memories share it."""
    wanted = [parse_handle(kind, handle) for kind in _kinds(handle)]
    async with butler.database.read(caller.principal.tenant) as session:
        for one in wanted:
            try:
                return await require(session, caller, one)
            except NotFound as problem:
                if one is wanted[-1] and (len(wanted) == 1 or problem.message != f"There is no {one}."):
                    raise
    raise NotFound(f"There is no memory {wanted[-1].ref or wanted[-1].id}.")


def _kinds(handle: str) -> list[str]:
    kind, colon, _ = handle.strip("[]() ").partition(":") if isinstance(handle, str) else ("", "", "")
    # Episodes last: of one that was deleted there is more to say than that it is not there.
    return [kind] if colon else [MemoryType.FACT, MemoryType.RULE, MemoryType.EPISODE]
