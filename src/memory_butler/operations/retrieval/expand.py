"""Expand: what stands around the results of a search, for a caller who asks for it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from memory_butler.errors import DeadlinePassed, OverloadRejected, TargetUnavailable
from memory_butler.models import Answer, Caller, Question, Ranked
from memory_butler.models.neighbours import Neighbour
from memory_butler.policy.access import visibility
from memory_butler.resources import Resources, on_replica
from memory_butler.store.retrieval import neighbours
from memory_butler.store.retrieval.neighbours import Around

Neighbours = Mapping[UUID, tuple[Neighbour, ...]]


async def expanded(resources: Resources, caller: Caller, question: Question, answer: Answer) -> Answer:
    """An answer with the neighbours of its results. One that was found is given even if they cannot be read."""
    try:
        return replace(answer, neighbours=await neighbours_of(resources, caller, question, answer.results))
    except (TargetUnavailable, DeadlinePassed, OverloadRejected) as problem:
        return replace(answer, degraded=(*answer.degraded, f"neighbours were not read: {problem.message}"))


@on_replica
async def neighbours_of(
    resources: Resources, caller: Caller, question: Question, results: Sequence[Ranked]
) -> Neighbours:
    """The neighbours of each result that the caller may see, in one round trip; a pure read.

    Types and tier say what is searched for; what stands beside it may be of another kind.
    """
    if not (question.expand and results):
        return {}
    asked = Around(
        ids=[entry.hit.id for entry in results],
        expand=question.expand,
        reach=visibility.readable(caller.principal, question.scope, question.butler),
        min_confidence=resources.settings.min_confidence_of(question.min_confidence),
        now=resources.clock(),
    )
    found = await neighbours.around(resources.database, caller.principal.tenant, asked)
    return _without_repetition(dict(zip(asked.ids, found, strict=True)))


def _without_repetition(found: Neighbours) -> Neighbours:
    """Removes the content of neighbours that are results themselves or were listed with an earlier result."""
    shown = set(found)
    once: dict[UUID, tuple[Neighbour, ...]] = {}
    for result, beside in found.items():
        once[result] = tuple(entry._replace(content=None) if entry.id in shown else entry for entry in beside)
        shown.update(entry.id for entry in beside)
    return once
