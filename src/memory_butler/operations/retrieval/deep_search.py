"""The deep look of a search: a cross-encoder scores the best candidates, bounded in number and time."""

from collections.abc import Sequence

from memory_butler.ai.reranking import RerankFailed, RerankTooSlow, load, rerank
from memory_butler.models import Hit, Ranked
from memory_butler.policy.memories.text import indexed_text
from memory_butler.policy.retrieval.deep_look import deepened
from memory_butler.policy.retrieval.question import ParsedQuestion
from memory_butler.policy.retrieval.ranking import RankingRules
from memory_butler.resources import Resources

MAX_LOAD_SECONDS = 10.0


async def look_deeper(
    resources: Resources, parsed: ParsedQuestion, ranked: Sequence[Ranked], rules: RankingRules
) -> tuple[list[Ranked], tuple[str, ...]]:
    """The candidates after the deep look. If it fails, they stay as they are, and the note says why."""
    if resources.deep_look is None or not ranked:
        return list(ranked), ()
    setting = resources.settings.retrieval.deep
    chosen = sorted(ranked, key=lambda entry: (-entry.parts.relevance, entry.hit.id))[: setting.candidates]
    try:
        # Loading has its own limit: a command of the command line loads the model for its only search.
        await load(resources.deep_look, MAX_LOAD_SECONDS)
        scores = await rerank(
            resources.deep_look,
            parsed.text,
            [hit_text(entry.hit) for entry in chosen],
            limit=setting.candidates,
            milliseconds=setting.milliseconds,
        )
    except (RerankTooSlow, RerankFailed) as problem:
        return list(ranked), (f"no deep look: {problem.message}",)
    by_id = {entry.hit.id: score for entry, score in zip(chosen, scores, strict=True)}
    return deepened(ranked, by_id, parsed, rules), ()


def hit_text(hit: Hit) -> str:
    return indexed_text(hit.type, hit.subject_label, hit.predicate_label, hit.content)
