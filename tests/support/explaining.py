"""Shared by the tests of explanations: store memories, search, and explain."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from memory_butler.models import Caller, NewEpisode, NewFact, Question, Stored
from memory_butler.models.explanation import Explanation
from memory_butler.operations.retrieval import explain, search
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources

LONG_AGO = datetime(2020, 5, 5, tzinfo=UTC)


def configured(resources: Resources, **retrieval: Any) -> Resources:
    """Returns the resources with other retrieval settings."""
    changed = resources.settings.retrieval.model_copy(update=retrieval)
    return replace(resources, settings=resources.settings.model_copy(update={"retrieval": changed}))


async def know(resources: Resources, content: str, **given: Any) -> Stored:
    """Stores a fact with a unique predicate, so that it supersedes no other."""
    return await remember.fact(
        resources, NewFact(**{"subject": "tea", "predicate": f"p:{content}"[:200], "content": content, **given})
    )


async def why(of: Resources, stored: Stored, query: str = "green tea", **given: Any) -> Explanation:
    caller, budget = given.pop("caller", None), given.pop("token_budget", None)
    name = f"{stored.type}:{stored.ref}"
    return await explain.explain(of, Question(query=query, **given), name, caller, token_budget=budget)


async def returned(of: Resources, query: str = "green tea", caller: Caller | None = None, **given: Any) -> list[str]:
    answer = await search.search(of, Question(query=query, **given), caller, bump=False)
    return [entry.hit.ref for entry in answer.results]


async def serve_tea(resources: Resources) -> Stored:
    """Stores an episode of the butler kitchen."""
    return await remember.episode(resources, NewEpisode(content="green tea was served", butler="kitchen"))
