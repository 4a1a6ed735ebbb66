"""Scripted distillers, and episodes for them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import psycopg

from memory_butler.ai.distillers import Distiller
from memory_butler.errors import MemoryButlerError
from memory_butler.models import Batch, DistillerResult, Episode, NewEpisode, Usage
from memory_butler.operations.retrieval import get
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources

Connection = psycopg.Connection[tuple[Any, ...]]

Answer = Callable[[Batch], object]


class Scripted:
    """Returns the given proposals, one per batch; the last one is repeated."""

    name = "scripted"
    can_read_ahead = False

    def __init__(self, *answers: Answer, wants_known: bool = False, usage: Usage = Usage()) -> None:  # noqa: B008
        self.answers = list(answers)
        self.wants_known = wants_known
        self.usage = usage
        self.batches: list[Batch] = []

    async def distil(self, batch: Batch) -> DistillerResult:
        self.batches.append(batch)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        said = answer(batch)
        if isinstance(said, MemoryButlerError):
            raise said
        return DistillerResult(proposal=said, usage=self.usage)

    async def close(self) -> None:
        """Has nothing to close."""


def proposal(**lists: Any) -> Answer:
    return lambda batch: {"version": 1, **lists}


def of_each(**item: Any) -> Answer:
    """Proposes one fact per episode, with the words of the episode."""

    def answer(batch: Batch) -> object:
        return {
            "version": 1,
            "facts": [
                {
                    "subject": "user",
                    "predicate": f"note:{episode.ref}",
                    "content": batch.texts[episode.id],
                    "evidence": [f"episode:{episode.ref}"],
                    **item,
                }
                for episode in batch.episodes
            ],
        }

    return answer


def with_distiller(resources: Resources, distiller: Distiller, **settings: Any) -> Resources:
    chosen = resources.settings.consolidation.model_copy(update=settings)
    return replace(
        resources, distiller=distiller, settings=resources.settings.model_copy(update={"consolidation": chosen})
    )


async def say(resources: Resources, *contents: str, **given: Any) -> list[str]:
    """Store episodes a second apart; returns their references."""
    refs = []
    for content in contents:
        stored = await remember.episode(resources, NewEpisode(content=content, butler="main", **given))
        refs.append(stored.ref)
        resources.clock.move(seconds=1)  # type: ignore[attr-defined]
    return refs


async def episode(resources: Resources, ref: str) -> Episode:
    portrait = await get.get(resources, "episode", ref)
    assert isinstance(portrait.memory, Episode)
    return portrait.memory


async def facts_of(resources: Resources, owner: Connection) -> list[tuple[Any, ...]]:
    return owner.execute(
        "SELECT subject, predicate, content, validity, scope FROM memory.facts WHERE tenant_id = %s"
        " ORDER BY created_at, id",
        (resources.settings.tenant,),
    ).fetchall()


def cites(ref: str, **item: Any) -> dict[str, Any]:
    return {"evidence": [f"episode:{ref}"], **item}
