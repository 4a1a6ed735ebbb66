"""Brief: build the block of memory an agent starts its session with. A pure read."""

from memory_butler.butler import Butler
from memory_butler.models import Briefing, BriefRequest, Caller, MemoryType, Question
from memory_butler.operations.find import Findings, find
from memory_butler.policy.admission import admit_brief, admit_lineage
from memory_butler.policy.briefing import Frame, compose
from memory_butler.policy.diversity import diversified

TOKENS_A_LINE = 75
FEWEST_CANDIDATES = 20


async def brief(butler: Butler, request: BriefRequest, caller: Caller | None = None) -> Briefing:
    """What matters now (or then) within the token budget; the same state, clock and request give the same bytes."""
    found, frame = await gather(butler, admit_brief(request), caller or butler.local_caller())
    return written(found, frame)


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
        butler, caller, question, longest_list=longest, with_hidden=True, with_irrelevant=with_irrelevant
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


def written(found: Findings, frame: Frame) -> Briefing:
    """The briefing itself: what is relevant enough, each thing once."""
    relevant = found.relevant
    return compose(diversified(relevant, len(relevant)), frame)


def candidates_for(longest: int, token_budget: int) -> int:
    """As many of each type and list as the budget has room for, at so many tokens for a line."""
    return min(longest, max(FEWEST_CANDIDATES, token_budget // TOKENS_A_LINE))
