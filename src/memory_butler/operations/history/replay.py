"""Replay: rebuild a tenant from its log alone, and compare it with the store."""

from dataclasses import dataclass

from memory_butler.models import Caller
from memory_butler.resources import Resources
from memory_butler.store.history import replay as store
from memory_butler.store.history.replay import Progress, TableReport

EXAMPLES = 20
LONGEST_SECONDS = 1800


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Result of a replay: live and rebuilt rows of each table, and the owners of removed texts."""

    events: int
    tables: dict[str, TableReport]
    removed_texts: tuple[str, ...]

    @property
    def equal(self) -> bool:
        return not any(table.differences for table in self.tables.values())


def _unseen(stage: str, done: int, total: int) -> None:
    """Discard progress."""


async def replay(resources: Resources, caller: Caller | None = None, *, progress: Progress = _unseen) -> Report:
    """Rebuild the caller's tenant into a temporary schema and compare row by row, without blocking writers."""
    caller = resources.admin(caller, "replay the log")
    async with store.scratch_schema(resources.database):
        return await replay_into_scratch(resources, caller, progress=progress)


async def replay_into_scratch(resources: Resources, caller: Caller, *, progress: Progress = _unseen) -> Report:
    """The same into an existing temporary schema, which is empty again afterwards."""
    async with resources.database.rollback_only(caller.principal.tenant, LONGEST_SECONDS) as transaction:
        pieces = await store.survey(transaction)
        await store.rebuild(transaction, pieces, resources.clock(), progress)
        tables = await store.compare(transaction, pieces, EXAMPLES, progress)
        removed = await store.removed_texts(transaction, EXAMPLES)
    return Report(events=pieces.events, tables=tables, removed_texts=tuple(removed))
