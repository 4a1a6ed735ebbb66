"""Replay: rebuild a tenant from its log alone, and see whether it is what the store holds."""

from dataclasses import dataclass

from memory_butler.butler import Butler
from memory_butler.errors import PermissionDenied
from memory_butler.models import Caller, Role
from memory_butler.store import replay as store
from memory_butler.store.replay import TableReport

EXAMPLES = 20
LONGEST_SECONDS = 1800


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a replay found: each table's rows live and rebuilt, and the owners of words that were removed."""

    tables: dict[str, TableReport]
    removed_texts: tuple[str, ...]

    @property
    def equal(self) -> bool:
        return not any(table.differences for table in self.tables.values())


async def replay(butler: Butler, caller: Caller | None = None) -> Report:
    """Rebuild the caller's tenant into an empty schema and compare row for row. Changes nothing; writers go on."""
    caller = caller or butler.local_caller()
    if caller.principal.role is not Role.ADMIN:
        raise PermissionDenied("Only an administrator may replay the log.")
    async with store.scratch_schema(butler.database):
        return await replay_into_scratch(butler, caller)


async def replay_into_scratch(butler: Butler, caller: Caller) -> Report:
    """The same into a scratch schema that is already there, which is left as empty as it was."""
    async with butler.database.rehearse(caller.principal.tenant, LONGEST_SECONDS) as session:
        await store.rebuild(session, butler.clock())
        tables = await store.compare(session, EXAMPLES)
        return Report(tables=tables, removed_texts=tuple(await store.removed_texts(session, EXAMPLES)))
