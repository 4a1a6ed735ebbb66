"""Replay: rebuild a tenant from its log alone, and see whether it is what the store holds."""

from dataclasses import dataclass

from memory_butler.butler import Butler
from memory_butler.errors import PermissionDenied
from memory_butler.models import Caller
from memory_butler.store import replay as store
from memory_butler.store.replay import Progress, TableReport

EXAMPLES = 20
LONGEST_SECONDS = 1800


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a replay found: each table's rows live and rebuilt, and the owners of words that were removed."""

    events: int
    tables: dict[str, TableReport]
    removed_texts: tuple[str, ...]

    @property
    def equal(self) -> bool:
        return not any(table.differences for table in self.tables.values())


def _unseen(stage: str, done: int, total: int) -> None:
    """Progress that nobody watches."""


async def replay(butler: Butler, caller: Caller | None = None, *, progress: Progress = _unseen) -> Report:
    """Rebuild the caller's tenant into an empty schema and compare row for row. Changes nothing; writers go on."""
    caller = caller or butler.local_caller()
    if not caller.principal.role.governs:
        raise PermissionDenied(
            "Only an administrator may replay the log.", recovery="Ask the person who looks after this store."
        )
    async with store.scratch_schema(butler.database):
        return await replay_into_scratch(butler, caller, progress=progress)


async def replay_into_scratch(butler: Butler, caller: Caller, *, progress: Progress = _unseen) -> Report:
    """The same into a scratch schema that is already there, which is left as empty as it was."""
    async with butler.database.rehearse(caller.principal.tenant, LONGEST_SECONDS) as session:
        pieces = await store.survey(session)
        await store.rebuild(session, pieces, butler.clock(), progress)
        tables = await store.compare(session, pieces, EXAMPLES, progress)
        removed = await store.removed_texts(session, EXAMPLES)
    return Report(events=pieces.events, tables=tables, removed_texts=tuple(removed))
