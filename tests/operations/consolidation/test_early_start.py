"""An important episode queues its own consolidation, in the transaction that stores it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from memory_butler.models import NewEpisode
from memory_butler.operations.consolidation import early_start
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources

Rows = Callable[..., list[dict[str, Any]]]
QUEUED = "SELECT task_name, lock, queueing_lock, args, status::text FROM procrastinate_jobs"


async def store(resources: Resources, importance: int, content: str = "Ana fell.") -> None:
    await remember.episode(resources, NewEpisode(content=content, butler="home", importance=importance))


async def test_an_important_episode_queues_one_consolidation(alone: Resources, own_rows: Rows) -> None:
    """Two of them as well as one; a usual one none. The arguments are names."""
    await store(alone, 8)
    assert own_rows(QUEUED) == []
    for content in ("Ana fell.", "Ben fell."):
        await store(alone, 9, content)
    tenant = alone.settings.tenant
    assert own_rows(QUEUED) == [
        {
            "task_name": "consolidation",
            "lock": f"{tenant}/home",
            "queueing_lock": f"consolidation/{tenant}/home",
            "args": {"tenant": tenant, "butler": "home"},
            "status": "todo",
        }
    ]


async def test_nothing_is_queued_without_a_distiller_of_its_own(alone: Resources, own_rows: Rows) -> None:
    """Agents distil, or nobody does."""
    await store(replace(alone, distiller=None), 10)
    assert own_rows(QUEUED) == []


async def test_what_is_important_is_a_setting(alone: Resources, own_rows: Rows) -> None:
    given = alone.settings.consolidation.model_copy(update={"early_importance": 11})
    await store(replace(alone, settings=alone.settings.model_copy(update={"consolidation": given})), 10)
    assert own_rows(QUEUED) == []


async def test_an_episode_that_is_not_stored_queues_nothing(
    alone: Resources, own_rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The queue is written in the same transaction."""
    ask = early_start.ask

    async def ask_and_fail(*given: Any) -> None:
        await ask(*given)
        raise RuntimeError("the lights went out")

    monkeypatch.setattr(early_start, "ask", ask_and_fail)
    with pytest.raises(RuntimeError):
        await store(alone, 9)
    assert own_rows(QUEUED) == [] and own_rows("SELECT * FROM memory.episodes") == []
