"""What the tests of explanations share: how memories are stored, asked for and asked about."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from memory_butler.butler import Butler
from memory_butler.models import Caller, NewEpisode, NewFact, Question, Stored
from memory_butler.models.explanation import Explanation
from memory_butler.operations import explain, recall, remember

LONG_AGO = datetime(2020, 5, 5, tzinfo=UTC)


def configured(butler: Butler, **retrieval: Any) -> Butler:
    """The same butler with other settings for retrieval."""
    changed = butler.settings.retrieval.model_copy(update=retrieval)
    return replace(butler, settings=butler.settings.model_copy(update={"retrieval": changed}))


async def know(butler: Butler, content: str, **given: Any) -> Stored:
    """A fact whose predicate is its own, so that it stands beside all others."""
    return await remember.fact(
        butler, NewFact(**{"subject": "tea", "predicate": f"p:{content}"[:200], "content": content, **given})
    )


async def why(of: Butler, stored: Stored, query: str = "green tea", **given: Any) -> Explanation:
    caller, budget = given.pop("caller", None), given.pop("token_budget", None)
    name = f"{stored.type}:{stored.ref}"
    return await explain.explain(of, Question(query=query, **given), name, caller, token_budget=budget)


async def returned(of: Butler, query: str = "green tea", caller: Caller | None = None, **given: Any) -> list[str]:
    answer = await recall.search(of, Question(query=query, **given), caller, bump=False)
    return [entry.hit.ref for entry in answer.results]


async def serve_tea(butler: Butler) -> Stored:
    """An episode of the kitchen's."""
    return await remember.episode(butler, NewEpisode(content="green tea was served", butler="kitchen"))
