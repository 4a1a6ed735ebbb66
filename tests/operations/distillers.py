"""Distillers that say what a test wants said, and episodes for them to read."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import psycopg

from memory_butler.butler import Butler
from memory_butler.errors import MemoryButlerError
from memory_butler.models import Batch, Distilled, Episode, NewEpisode, Usage
from memory_butler.operations import look, remember

Connection = psycopg.Connection[tuple[Any, ...]]

Answer = Callable[[Batch], object]


class Scripted:
    """Answers with what it was given, batch after batch; the last answer is given again and again."""

    name = "scripted"
    can_read_ahead = False

    def __init__(self, *answers: Answer, wants_known: bool = False, usage: Usage = Usage()) -> None:  # noqa: B008
        self.answers = list(answers)
        self.wants_known = wants_known
        self.usage = usage
        self.batches: list[Batch] = []

    async def distil(self, batch: Batch) -> Distilled:
        self.batches.append(batch)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        said = answer(batch)
        if isinstance(said, MemoryButlerError):
            raise said
        return Distilled(proposal=said, usage=self.usage)

    async def close(self) -> None:
        """There is nothing to close."""


def proposal(**lists: Any) -> Answer:
    return lambda batch: {"version": 1, **lists}


def of_each(**item: Any) -> Answer:
    """One fact of every episode, told by its own words."""

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


def with_distiller(butler: Butler, distiller: Scripted, **settings: Any) -> Butler:
    chosen = butler.settings.consolidation.model_copy(update=settings)
    return replace(butler, distiller=distiller, settings=butler.settings.model_copy(update={"consolidation": chosen}))


async def say(butler: Butler, *contents: str, **given: Any) -> list[str]:
    """Store episodes a second apart; returns their references."""
    refs = []
    for content in contents:
        stored = await remember.episode(butler, NewEpisode(content=content, butler="main", **given))
        refs.append(stored.ref)
        butler.clock.move(seconds=1)  # type: ignore[attr-defined]
    return refs


async def episode(butler: Butler, ref: str) -> Episode:
    portrait = await look.look(butler, "episode", ref)
    assert isinstance(portrait.memory, Episode)
    return portrait.memory


async def facts_of(butler: Butler, owner: Connection) -> list[tuple[Any, ...]]:
    return owner.execute(
        "SELECT subject, predicate, content, validity, scope FROM memory.facts WHERE tenant_id = %s"
        " ORDER BY created_at, id",
        (butler.settings.tenant,),
    ).fetchall()


def cites(ref: str, **item: Any) -> dict[str, Any]:
    return {"evidence": [f"episode:{ref}"], **item}
