"""Brief: build the block of memory an agent starts its session with. A pure read."""

from dataclasses import replace

from memory_butler.butler import Butler
from memory_butler.models import Briefing, BriefRequest, Caller, MemoryType, Mode, Question, Ranked
from memory_butler.operations.as_of import candidates
from memory_butler.operations.recall import probe_for, ranking_rules
from memory_butler.policy.admission import admit_brief, admit_lineage
from memory_butler.policy.briefing import Frame, compose
from memory_butler.policy.ranking import rank
from memory_butler.store.search_index import Probe

TOKENS_A_LINE = 75
FEWEST_CANDIDATES = 20


async def brief(butler: Butler, request: BriefRequest, caller: Caller | None = None) -> Briefing:
    """What matters now (or then) within the token budget; the same state, clock and request give the same bytes."""
    caller = caller or butler.local_caller()
    request = admit_brief(request)
    settings = butler.settings.briefing
    question = Question(
        query=request.trigger_prompt, butler=request.butler, types=tuple(MemoryType), as_of=request.as_of
    )
    budget = settings.token_budget if request.token_budget is None else request.token_budget
    probe, degraded = await probe_for(butler, caller, question)
    probe = replace(probe, candidates=candidates_for(probe, budget))
    found = await candidates(butler, caller, probe, request.as_of, with_hidden=True)
    ranked = rank(found.hits, Mode.HYBRID, ranking_rules(butler.settings.retrieval), probe.now)
    frame = Frame(
        token_budget=budget,
        quotas={
            MemoryType.FACT: settings.quotas.facts,
            MemoryType.RULE: settings.quotas.rules,
            MemoryType.EPISODE: settings.quotas.episodes,
        },
        count=butler.tokens.count,
        tokenizer=butler.tokens.name,
        degraded=(*degraded, *found.missing),
        hidden=found.hidden,
        request_id=admit_lineage(caller.lineage).request_id,
    )
    return compose([entry for entry in ranked if _bears_on(entry, settings.min_similarity, bool(degraded))], frame)


def candidates_for(probe: Probe, token_budget: int) -> int:
    """As many of each type and list as the budget has room for, at so many tokens for a line."""
    return min(probe.candidates, max(FEWEST_CANDIDATES, token_budget // TOKENS_A_LINE))


def _bears_on(entry: Ranked, min_similarity: float, words_only: bool) -> bool:
    """Near enough in meaning; a shared word makes up for half of the distance, and for all of it without a model."""
    by_words = entry.parts.keyword_rank is not None
    if words_only:
        return by_words
    return (entry.hit.similarity or 0.0) >= (min_similarity / 2 if by_words else min_similarity)
