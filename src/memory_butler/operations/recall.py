"""Recall: find memories by meaning and by words, ranked."""

from dataclasses import replace

from memory_butler.butler import Butler
from memory_butler.errors import DeadlinePassed, OverloadRejected, TargetUnavailable
from memory_butler.models import Answer, Caller, MemoryType, Question, Ranked
from memory_butler.models.explanation import Term
from memory_butler.operations.expand import expanded
from memory_butler.operations.find import Findings, find, ranking_rules
from memory_butler.operations.once import trail
from memory_butler.policy.admission import admit_question
from memory_butler.policy.diversity import diversified
from memory_butler.policy.explaining import terms_of
from memory_butler.store import events, vector_index
from memory_butler.store.search_index import Probe


async def search(butler: Butler, question: Question, caller: Caller | None = None, *, bump: bool = True) -> Answer:
    """The best memories for a question. What comes back counts as referenced, unless `bump` is off.

    Asked as of another moment, it answers as it would have then, and nothing counts as referenced.
    """
    caller = caller or butler.local_caller()
    question = admit_question(question)
    found = await find(butler, caller, question)
    kept = Answer(results=tuple(chosen(butler, question, found)), degraded=found.degraded)
    counts = bump and question.as_of is None and bool(kept.results)
    kept = await _counted(butler, caller, kept, found.probe) if counts else kept
    return await expanded(butler, caller, question, kept) if question.expand else kept


async def _counted(butler: Butler, caller: Caller, answer: Answer, probe: Probe) -> Answer:
    """Count what is returned as referenced. An answer that was found is given even if it cannot be counted.

    Where the tenant has a vector index, the question's vector is kept, too: such an index is measured with them.
    """
    now = butler.clock()
    try:
        async with butler.database.write(caller.principal.tenant, now, relaxed=True) as session:
            await events.bump(session, trail(butler, caller, now), [entry.hit.id for entry in answer.results], "search")
            if probe.embedding is not None and vector_index.is_known(butler.database, caller.principal.tenant):
                await vector_index.keep_question(session, probe.embedding, probe.embedding_version, now)
    except (TargetUnavailable, DeadlinePassed, OverloadRejected) as problem:
        return replace(answer, degraded=(*answer.degraded, f"references were not counted: {problem.message}"))
    return answer


async def recall(butler: Butler, question: Question, caller: Caller | None = None, *, bump: bool = True) -> Answer:
    """The facts and rules that matter most for a topic."""
    return await search(butler, replace(question, types=(MemoryType.FACT, MemoryType.RULE)), caller, bump=bump)


def weighed(butler: Butler, ranked: Ranked) -> tuple[Term, ...]:
    """What the score of a result is the sum of, with the weights it was computed with."""
    return terms_of(ranked.parts, ranking_rules(butler.settings.retrieval))


def chosen(butler: Butler, question: Question, found: Findings) -> list[Ranked]:
    """What is returned of everything that was found: what is relevant enough, each thing once, the best of it."""
    return diversified(found.relevant, question.limit or butler.settings.retrieval.limit)
