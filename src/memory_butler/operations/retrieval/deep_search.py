"""The deep look of a search: a cross-encoder scores the best candidates, bounded in number and time."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from memory_butler.ai.reranking import RerankFailed, RerankTooSlow, load, rerank
from memory_butler.models import Hit, Ranked
from memory_butler.policy.memories.text import indexed_text
from memory_butler.policy.retrieval.deep_look import deepened
from memory_butler.policy.retrieval.question import ParsedQuestion
from memory_butler.policy.retrieval.ranking import RankingRules
from memory_butler.resources import Resources

MAX_LOAD_SECONDS = 30.0


class DeepLook(NamedTuple):
    """The candidates after the deep look, the scores that the cross-encoder gave, and why there are none."""

    ranked: list[Ranked]
    scores: dict[UUID, float]
    notes: tuple[str, ...]


async def look_deeper(
    resources: Resources, parsed: ParsedQuestion, ranked: Sequence[Ranked], rules: RankingRules
) -> DeepLook:
    """The candidates after the deep look. If it fails, they stay as they are, and the note says why.

    The time limit covers loading the model, too. Loading goes on after it, so a later search finds the model loaded.
    """
    if resources.deep_look is None or not ranked:
        return DeepLook(list(ranked), {}, ())
    setting = resources.settings.retrieval.deep
    chosen = sorted(ranked, key=lambda entry: (-entry.parts.relevance, entry.hit.id))[: setting.candidates]
    now = asyncio.get_running_loop().time
    end = now() + setting.milliseconds / 1000
    try:
        await load(resources.deep_look, setting.milliseconds / 1000)
        scores = await rerank(
            resources.deep_look,
            parsed.text,
            [hit_text(entry.hit) for entry in chosen],
            limit=setting.candidates,
            milliseconds=max(0.0, 1000 * (end - now())),
        )
    except (RerankTooSlow, RerankFailed) as problem:
        return DeepLook(list(ranked), {}, (f"no deep look: {problem.message}",))
    by_id = {entry.hit.id: score for entry, score in zip(chosen, scores, strict=True)}
    return DeepLook(deepened(ranked, by_id, parsed, rules), by_id, ())


async def load_ahead(resources: Resources) -> None:
    """Load the model of the deep look before a search, for a process that makes only one: a command of the command
    line. If it cannot be loaded, the search says so."""
    if resources.deep_look is None:
        return
    try:
        await load(resources.deep_look, MAX_LOAD_SECONDS)
    except (RerankTooSlow, RerankFailed):
        return


def hit_text(hit: Hit) -> str:
    return indexed_text(hit.type, hit.subject_label, hit.predicate_label, hit.content)
