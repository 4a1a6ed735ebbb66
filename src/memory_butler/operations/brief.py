"""Brief: build the block of memory an agent starts its session with. A pure read."""

from collections.abc import Sequence

from memory_butler.butler import Butler
from memory_butler.models import Briefing, BriefRequest, Caller, MemoryType, Question, Ranked
from memory_butler.operations.find import Findings, find
from memory_butler.policy.admission import admit_brief, admit_lineage
from memory_butler.policy.briefing import MOST_ANYWAY, Frame, compose
from memory_butler.policy.diversity import diversified

TOKENS_A_LINE = 75
FEWEST_CANDIDATES = 20


async def brief(butler: Butler, request: BriefRequest, caller: Caller | None = None) -> Briefing:
    """What matters now (or then) within the token budget; the same state, clock and request give the same bytes."""
    return written(*await _found(butler, request, caller))


async def brief_and_words(
    butler: Butler, request: BriefRequest, caller: Caller | None = None
) -> tuple[Briefing, dict[str, str]]:
    """The same with what each memory says that was left out, by its reference."""
    found, frame, own = await _found(butler, request, caller)
    briefing = written(found, frame, own)
    says = {f"{one.hit.type}:{one.hit.ref}": one.hit.content for one in (*found.ranked, *own)}
    left = (line["ref"] for line in briefing.receipt.left_out)
    return briefing, {ref: says[ref] for ref in left}


async def _found(butler: Butler, request: BriefRequest, caller: Caller | None) -> tuple[Findings, Frame, list[Ranked]]:
    request, caller = admit_brief(request), caller or butler.local_caller()
    found, frame = await gather(butler, request, caller)
    own = await _own(butler, request, caller, frame) if request.with_own else []
    return found, frame, own


async def gather(
    butler: Butler, request: BriefRequest, caller: Caller, *, with_irrelevant: bool = False
) -> tuple[Findings, Frame]:
    """What a briefing could say, and what it must fit into."""
    settings = butler.settings.briefing
    question = Question(
        query=request.trigger_prompt, butler=request.butler, types=tuple(MemoryType), as_of=request.as_of
    )
    budget = settings.token_budget if request.token_budget is None else request.token_budget
    longest = candidates_for(butler.settings.retrieval.candidates, budget)
    found = await find(
        butler,
        caller,
        question,
        longest_list=longest,
        with_hidden=True,
        with_irrelevant=with_irrelevant,
        important_from=settings.important_from,
    )
    frame = Frame(
        token_budget=budget,
        quotas={
            MemoryType.FACT: settings.quotas.facts,
            MemoryType.RULE: settings.quotas.rules,
            MemoryType.EPISODE: settings.quotas.episodes,
        },
        count=butler.tokens.count,
        tokenizer=butler.tokens.name,
        degraded=found.degraded,
        hidden=found.hidden,
        request_id=admit_lineage(caller.lineage).request_id,
    )
    return found, frame


async def _own(butler: Butler, request: BriefRequest, caller: Caller, frame: Frame) -> list[Ranked]:
    """What belongs to this butler alone, best first, whether or not the prompt asks for it."""
    question = Question(
        query=request.trigger_prompt,
        butler=request.butler,
        scope=request.butler,
        types=tuple(MemoryType),
        min_relevance=0,
        as_of=request.as_of,
    )
    longest = candidates_for(butler.settings.retrieval.candidates, frame.token_budget)
    return (await find(butler, caller, question, longest_list=longest)).relevant


def written(found: Findings, frame: Frame, own: Sequence[Ranked] = ()) -> Briefing:
    """The briefing itself: what is relevant, then the butler's own, then what is told anyway; each thing once."""
    known = {entry.hit.id for entry in found.relevant}
    chosen = [*found.relevant, *(entry for entry in own if entry.hit.id not in known)]
    known.update(entry.hit.id for entry in own)
    extra = [entry for entry in found.anyway if entry.hit.id not in known]
    told = diversified([*chosen, *extra], len(chosen) + len(extra))
    ids = {entry.hit.id for entry in extra}
    anyway = [entry for entry in told if entry.hit.id in ids]
    return compose([entry for entry in told if entry.hit.id not in ids], frame, anyway[:MOST_ANYWAY])


def candidates_for(longest: int, token_budget: int) -> int:
    """As many of each type and list as the budget has room for, at so many tokens for a line."""
    return min(longest, max(FEWEST_CANDIDATES, token_budget // TOKENS_A_LINE))
