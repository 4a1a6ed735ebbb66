"""Build the briefing: the context block that an agent session starts with. A pure read."""

from collections.abc import Sequence

from memory_butler.models import Briefing, BriefRequest, Caller, MemoryType, Question, Ranked
from memory_butler.operations.retrieval.ranked_candidates import RankedCandidates, rank_candidates
from memory_butler.policy.briefing.composition import MAX_EXTRAS, BriefingFrame, compose
from memory_butler.policy.memories.validation import validate_brief, validate_lineage
from memory_butler.policy.retrieval.diversity import diversified
from memory_butler.resources import Resources

TOKENS_PER_LINE = 75
MIN_CANDIDATES = 20


async def brief(resources: Resources, request: BriefRequest, caller: Caller | None = None) -> Briefing:
    """Returns the briefing within the token budget. The same state, clock and request give the same bytes."""
    return compose_briefing(*await _find(resources, request, caller))


async def brief_with_omitted(
    resources: Resources, request: BriefRequest, caller: Caller | None = None
) -> tuple[Briefing, dict[str, str]]:
    """Returns the briefing and the content of each memory that was left out, by reference."""
    found, frame, own = await _find(resources, request, caller)
    briefing = compose_briefing(found, frame, own)
    contents = {f"{one.hit.type}:{one.hit.ref}": one.hit.content for one in (*found.ranked, *own)}
    omitted = (line["ref"] for line in briefing.receipt.left_out)
    return briefing, {ref: contents[ref] for ref in omitted}


async def _find(
    resources: Resources, request: BriefRequest, caller: Caller | None
) -> tuple[RankedCandidates, BriefingFrame, list[Ranked]]:
    request, caller = validate_brief(request), caller or resources.local_caller()
    found, frame = await find_candidates(resources, request, caller)
    own = await _own(resources, request, caller, frame) if request.with_own else []
    return found, frame, own


async def find_candidates(
    resources: Resources, request: BriefRequest, caller: Caller, *, with_irrelevant: bool = False
) -> tuple[RankedCandidates, BriefingFrame]:
    """Returns the candidates of a briefing, and the limits that it must fit into."""
    settings = resources.settings.briefing
    question = Question(
        query=request.trigger_prompt, butler=request.butler, types=tuple(MemoryType), as_of=request.as_of
    )
    budget = settings.token_budget if request.token_budget is None else request.token_budget
    longest = max_candidates(resources.settings.retrieval.candidates, budget)
    found = await rank_candidates(
        resources,
        caller,
        question,
        longest_list=longest,
        with_hidden=True,
        with_irrelevant=with_irrelevant,
        important_from=settings.important_from,
    )
    frame = BriefingFrame(
        token_budget=budget,
        quotas={
            MemoryType.FACT: settings.quotas.facts,
            MemoryType.RULE: settings.quotas.rules,
            MemoryType.EPISODE: settings.quotas.episodes,
        },
        count=resources.tokens.count,
        tokenizer=resources.tokens.name,
        degraded=found.degraded,
        hidden=found.hidden,
        request_id=validate_lineage(caller.lineage).request_id,
    )
    return found, frame


async def _own(resources: Resources, request: BriefRequest, caller: Caller, frame: BriefingFrame) -> list[Ranked]:
    """Returns the butler's private memories, best first, relevant or not."""
    question = Question(
        query=request.trigger_prompt,
        butler=request.butler,
        scope=request.butler,
        types=tuple(MemoryType),
        min_relevance=0,
        as_of=request.as_of,
    )
    longest = max_candidates(resources.settings.retrieval.candidates, frame.token_budget)
    return (await rank_candidates(resources, caller, question, longest_list=longest)).relevant


def compose_briefing(found: RankedCandidates, frame: BriefingFrame, own: Sequence[Ranked] = ()) -> Briefing:
    """Compose relevant memories, then the butler's own, then extras; each memory once."""
    known = {entry.hit.id for entry in found.relevant}
    chosen = [*found.relevant, *(entry for entry in own if entry.hit.id not in known)]
    known.update(entry.hit.id for entry in own)
    extra = [entry for entry in found.anyway if entry.hit.id not in known]
    entries = diversified([*chosen, *extra], len(chosen) + len(extra))
    extra_ids = {entry.hit.id for entry in extra}
    extras = [entry for entry in entries if entry.hit.id in extra_ids]
    return compose([entry for entry in entries if entry.hit.id not in extra_ids], frame, extras[:MAX_EXTRAS])


def max_candidates(longest: int, token_budget: int) -> int:
    """Candidates per type and list: as many lines as fit the budget, at TOKENS_PER_LINE each."""
    return min(longest, max(MIN_CANDIDATES, token_budget // TOKENS_PER_LINE))
