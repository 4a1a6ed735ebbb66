"""Build the briefing: the context block that an agent session starts with. A pure read."""

import time
from collections.abc import Sequence
from uuid import UUID

from memory_butler.errors import TargetUnavailable
from memory_butler.metrics.retrieval import CONTEXT, observe_answer
from memory_butler.models import Briefing, BriefRequest, Caller, MemoryType, Question, Ranked
from memory_butler.models.calls import CallKind
from memory_butler.operations.retrieval.ranked_candidates import RankedCandidates, rank_candidates
from memory_butler.operations.retrieval.search import returned
from memory_butler.operations.system.call_log import AnsweredCall, log_call
from memory_butler.policy.access import visibility
from memory_butler.policy.briefing import task_cues
from memory_butler.policy.briefing.claims import Claim
from memory_butler.policy.briefing.composition import BriefingFrame, compose
from memory_butler.policy.briefing.domains import Profile
from memory_butler.policy.briefing.evidence import evidence_of, usefulness
from memory_butler.policy.briefing.repetitions import without_repetitions
from memory_butler.policy.briefing.selection import Chosen, Rules, choose
from memory_butler.policy.briefing.task import Task
from memory_butler.policy.memories.sentence import fact_sentence
from memory_butler.policy.memories.validation import validate_brief, validate_lineage
from memory_butler.policy.retrieval.question import in_full
from memory_butler.resources import Resources, on_replica

# The same for every budget: a larger briefing holds everything that a smaller one holds.
CANDIDATES = 40


@on_replica
async def brief(resources: Resources, request: BriefRequest, caller: Caller | None = None) -> Briefing:
    """Returns the briefing within the token budget. The same state, clock and request give the same bytes."""
    began, caller = time.perf_counter(), caller or resources.local_caller()
    request = visibility.named(request, caller.principal)
    found, frame, own = await _find(resources, request, caller)
    briefing = compose_briefing(resources, found, frame, own)
    if request.as_of is None:
        told = _observe(resources, briefing, [*found.ranked, *own])
        answered = AnsweredCall(
            kind=CallKind.BRIEFING,
            prompt=request.trigger_prompt,
            butler=request.butler,
            results=told,
            seconds=time.perf_counter() - began,
            degraded=briefing.receipt.degraded,
            token_budget=briefing.receipt.token_budget,
            tokens=briefing.receipt.used_tokens,
        )
        log_call(resources, caller, answered)
    return briefing


@on_replica
async def brief_with_omitted(
    resources: Resources, request: BriefRequest, caller: Caller | None = None
) -> tuple[Briefing, dict[str, str]]:
    """Returns the briefing, and each memory that was left out as a sentence, by reference."""
    found, frame, own = await _find(resources, request, caller)
    briefing = compose_briefing(resources, found, frame, own)
    hits = {f"{one.hit.type}:{one.hit.ref}": one.hit for one in (*found.ranked, *own)}
    omitted = ((line["ref"], hits[line["ref"]]) for line in briefing.receipt.left_out)
    return briefing, {ref: fact_sentence(hit.subject_label, hit.predicate_label, hit.content) for ref, hit in omitted}


def _observe(resources: Resources, briefing: Briefing, candidates: Sequence[Ranked]) -> list[Ranked]:
    """Measure the quality of a briefing; returns its memories in the order of its lines."""
    by_ref = {f"{one.hit.type}:{one.hit.ref}": one for one in reversed(candidates)}
    told = [by_ref[line.ref] for line in briefing.receipt.lines]
    degraded = bool(briefing.receipt.degraded)
    observe_answer(CONTEXT, list(map(returned, told)), candidates=len(candidates), degraded=degraded)
    resources.briefed.add(one.hit.id for one in told)
    return told


async def _find(
    resources: Resources, request: BriefRequest, caller: Caller | None
) -> tuple[RankedCandidates, BriefingFrame, list[Ranked]]:
    caller = caller or resources.local_caller()
    request = validate_brief(visibility.named(request, caller.principal))
    found, frame = await find_candidates(resources, request, caller)
    own = await _own(resources, request, caller) if request.with_own else []
    return found, frame, own


async def find_candidates(
    resources: Resources, request: BriefRequest, caller: Caller
) -> tuple[RankedCandidates, BriefingFrame]:
    """Returns the candidates of a briefing, and the limits that it must fit into."""
    quotas, budget = resources.settings.briefing.quotas, request.token_budget
    question = Question(
        query=request.trigger_prompt,
        butler=request.butler,
        types=tuple(MemoryType),
        as_of=request.as_of,
        deep=request.deep,
    )
    found = await rank_candidates(
        resources,
        caller,
        question,
        longest_list=CANDIDATES,
        with_irrelevant=True,
        kind_of_work=lambda: _kind_of_work(resources, request.trigger_prompt),
    )
    frame = BriefingFrame(
        token_budget=resources.settings.token_budget_of(request.butler) if budget is None else budget,
        quotas={
            MemoryType.FACT: quotas.facts,
            MemoryType.RULE: quotas.rules,
            MemoryType.EPISODE: quotas.episodes,
        },
        count=resources.tokens.count,
        tokenizer=resources.tokens.name,
        degraded=found.degraded,
        reembedding=found.reembedding,
        hidden=found.hidden,
        request_id=validate_lineage(caller.lineage).request_id,
    )
    return found, frame


async def _kind_of_work(resources: Resources, prompt: str) -> Profile | None:
    """The domain profile of the task. Without the model a briefing goes by words alone; the search says so."""
    try:
        return await resources.domains.task_profile(in_full(prompt))
    except TargetUnavailable:
        return None


async def _own(resources: Resources, request: BriefRequest, caller: Caller) -> list[Ranked]:
    """Returns the butler's private memories, best first, relevant or not."""
    question = Question(
        query=request.trigger_prompt,
        butler=request.butler,
        scope=request.butler,
        types=tuple(MemoryType),
        min_relevance=0,
        as_of=request.as_of,
    )
    return (await rank_candidates(resources, caller, question, longest_list=CANDIDATES)).relevant


def task_of(resources: Resources, found: RankedCandidates) -> Task:
    candidates = found.candidates
    return Task(
        profile=resources.domains.unknown_task if found.kind_of_work is None else found.kind_of_work,
        domains=resources.domains.names,
        names=candidates.names | candidates.subject_names,
        user_names=candidates.user_names,
        is_first_person=found.parsed.is_first_person,
        is_for_household=task_cues.is_for_household(found.parsed.text),
        is_for_children=task_cues.is_for_children(found.parsed.text),
        needs_no_memory=task_cues.needs_no_memory(found.parsed.text),
    )


def usefulness_of(resources: Resources, found: RankedCandidates, memory_id: UUID) -> float | None:
    """Probability that the task needs a memory; None if it is no candidate."""
    hits = [entry.hit for entry in found.ranked]
    evidence = evidence_of(hits, found.candidates.profiles, task_of(resources, found))
    return next((usefulness(one) for hit, one in zip(hits, evidence, strict=True) if hit.id == memory_id), None)


def choose_lines(resources: Resources, found: RankedCandidates) -> list[Chosen]:
    """The candidates with a claim on the budget."""
    settings = resources.settings.briefing
    rules = Rules(
        min_usefulness=settings.min_usefulness,
        min_relevance=settings.min_relevance,
        vital_from=settings.vital_from,
        with_standing=settings.standing,
        with_related=settings.related,
        with_episodes=settings.episodes,
    )
    return choose(found.ranked, found.candidates.profiles, task_of(resources, found), rules)


def compose_briefing(
    resources: Resources, found: RankedCandidates, frame: BriefingFrame, own: list[Ranked] | None = None
) -> Briefing:
    """Compose the chosen memories and the butler's own; each memory and each statement once."""
    chosen = _with_own(choose_lines(resources, found), own or ())
    lines, repeated = without_repetitions(chosen, found.candidates.profiles, found.candidates.user_names)
    return compose(lines, frame, repeated)


def _with_own(chosen: Sequence[Chosen], own: Sequence[Ranked]) -> list[Chosen]:
    """Add the butler's own memories. Each has a standing claim at least, so usefulness decides among them."""
    known = {one.entry.hit.id: one for one in chosen}
    for entry in own:
        one = known.get(entry.hit.id, Chosen(entry, Claim.STANDING, 0.0))
        known[entry.hit.id] = one._replace(claim=min(one.claim, Claim.STANDING))
    return list(known.values())
