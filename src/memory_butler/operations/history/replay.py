"""Replay: rebuild a tenant from its log alone, and compare it with the store."""

from dataclasses import dataclass

from memory_butler.errors import IntegrityViolation
from memory_butler.models import Caller
from memory_butler.resources import Resources
from memory_butler.store.history import chain
from memory_butler.store.history import replay as store
from memory_butler.store.history.chain import ChainReport
from memory_butler.store.history.replay import Progress, TableReport

EXAMPLES = 20
LONGEST_SECONDS = 1800


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Result of a replay: live and rebuilt rows of each table, the owners of removed texts, and the hash chain."""

    events: int
    tables: dict[str, TableReport]
    removed_texts: tuple[str, ...]
    chain: ChainReport

    @property
    def equal(self) -> bool:
        return not any(table.differences for table in self.tables.values())

    @property
    def intact(self) -> bool:
        """True if the store matches its log and the hash chain of the log holds."""
        return self.equal and self.chain.broken is None


def _unseen(stage: str, done: int, total: int) -> None:
    """Discard progress."""


async def replay(resources: Resources, caller: Caller | None = None, *, progress: Progress = _unseen) -> Report:
    """Rebuild the caller's tenant into a temporary schema and compare row by row, without blocking writers."""
    caller = resources.admin(caller, "replay the log")
    async with store.scratch_schema(resources.database):
        return await replay_into_scratch(resources, caller, progress=progress)


async def replay_into_scratch(resources: Resources, caller: Caller, *, progress: Progress = _unseen) -> Report:
    """The same into an existing temporary schema, which is empty again afterwards."""
    tenant = caller.principal.tenant
    async with resources.database.rollback_only(tenant, LONGEST_SECONDS) as transaction:
        checked = await chain.check(transaction, await store.survey(transaction), progress)
    try:
        return await _rebuild(resources, tenant, checked, progress)
    except IntegrityViolation as problem:
        if checked.broken is None:
            raise
        raise IntegrityViolation(
            f"The log cannot be replayed, and its hash chain breaks at event {checked.broken.seq}"
            f" (id {checked.broken.event_id}): {checked.broken.problem}.",
            recovery="Restore a backup from before the change.",
        ) from problem


async def _rebuild(resources: Resources, tenant: str, checked: ChainReport, progress: Progress) -> Report:
    async with resources.database.rollback_only(tenant, LONGEST_SECONDS) as transaction:
        pieces = await store.survey(transaction)
        await store.rebuild(transaction, pieces, resources.clock(), progress)
        tables = await store.compare(transaction, pieces, EXAMPLES, progress)
        removed = await store.removed_texts(transaction, EXAMPLES)
    return Report(events=pieces.events, tables=tables, removed_texts=tuple(removed), chain=checked)
