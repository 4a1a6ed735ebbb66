"""The recovery drill: lose a store on purpose, restore it from its continuous backup, and compare.

The store is a scratch one, written to by the operations that an agent's calls use. Its server and the receiver of its
log are killed together and its data folder is deleted, as if the machine were lost. Nothing else is touched.
"""

import asyncio
import os
import shutil
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.errors import MemoryButlerError, NotFound, TargetUnavailable
from memory_butler.models import Caller, NewEpisode, NewFact, Principal, Role
from memory_butler.operations.retrieval.get import get
from memory_butler.operations.transfer.backup import restore
from memory_butler.operations.transfer.export_file import Progress
from memory_butler.operations.transfer.restore_check import CheckedTenant, check_tenants
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import Settings, load_settings
from memory_butler.store.archive.archiver import Archiver, Rules
from memory_butler.store.archive.layout import Archive
from memory_butler.store.archive.source import Source
from memory_butler.store.embedded.server import EmbeddedPostgres
from memory_butler.store.embedded.upgrade import APP, DATABASE, OWNER
from memory_butler.store.gate.database import Database
from memory_butler.store.history import replay as store_replay
from memory_butler.store.lifecycle import job_runs

TENANTS: Final = ("drill-a", "drill-b", "drill-c")
WRITERS: Final = 3
LEAST_WRITES: Final = 30
_BUTLER: Final = "drill"
_LAST_WORDS_SECONDS: Final = 30.0
_PATIENCE_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class Write:
    """A write that was acknowledged."""

    tenant: str
    ref: str
    at: float
    moment: datetime


@dataclass
class _Ledger:
    writes: list[Write] = field(default_factory=list)
    is_over: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DrillReport:
    """Result of a drill. `rpo_seconds`: age of the oldest lost write when the store was lost; `rto_seconds`: from the
    loss to the first answer of the restored store."""

    acknowledged: int
    lost: int
    rpo_seconds: float
    rto_seconds: float
    halfway_wrong: int
    tenants: list[CheckedTenant]

    @property
    def passed(self) -> bool:
        return not self.halfway_wrong and all(one.problem is None for one in self.tenants)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveReport:
    """Result of a trial restore of an archive. `lacking`: for each tenant the events of the live store that the archive
    does not have; None if the live store does not run."""

    archive: str
    last_commit: datetime | None
    rto_seconds: float
    lacking: dict[str, int] | None
    tenants: list[CheckedTenant]

    @property
    def passed(self) -> bool:
        return all(one.problem is None for one in self.tenants)


async def try_archive(settings: Settings, archive: Path, folder: Path, progress: Progress) -> ArchiveReport:
    """Restore an archive into an empty folder and verify it; the live store is only read."""
    scratch = settings.model_copy(update={"home": folder / "home"})
    store = EmbeddedPostgres(scratch.home)
    began = time.monotonic()
    restored = await asyncio.to_thread(restore, scratch, archive, progress=progress)
    rto = time.monotonic() - began
    try:
        async with open_resources(scratch, embedder=FakeEmbedder()) as resources:
            checked = await check_tenants(resources, progress)
    finally:
        await asyncio.to_thread(store.stop)
    live = await _live_events(settings)
    have = {one.tenant: one.events for one in checked}
    return ArchiveReport(
        archive=str(archive),
        last_commit=restored.recovered.last_commit if restored.recovered else None,
        rto_seconds=rto,
        lacking=None if live is None else {name: max(0, count - have.get(name, 0)) for name, count in live.items()},
        tenants=checked,
    )


async def _live_events(settings: Settings) -> dict[str, int] | None:
    """The number of events of each tenant in the live store, if it runs."""
    if not EmbeddedPostgres(settings.home).is_running():
        return None
    database, found = Database.from_settings(settings), {}
    await database.open(upgrade=False)
    try:
        async with database.read("") as transaction:
            names = await job_runs.tenants(transaction)
        for tenant in names:
            async with database.read(tenant) as transaction:
                found[tenant] = (await store_replay.survey(transaction)).events
    finally:
        await database.close()
    return found


async def drill(folder: Path, seconds: float, progress: Progress) -> DrillReport:
    """Run the drill in an empty folder; the caller deletes it."""
    settings = load_settings(home=folder / "home", database_url=None, owner_url=None)
    archive = Archive.create(folder / "archive")
    store = EmbeddedPostgres(settings.home)
    await asyncio.to_thread(store.ensure_running)
    archiver = Archiver(archive, Source.of(settings), Rules(settings.backup.base_every, settings.backup.keep))
    try:
        ledger, lost_at = await _write_until_lost(settings, store, archiver, seconds, progress)
        await asyncio.to_thread(restore, settings, archive.folder, progress=progress)
        async with open_resources(settings, embedder=FakeEmbedder()) as resources:
            missing = await _missing(resources, ledger.writes[:1])
            rto = time.monotonic() - lost_at
            missing = await _missing(resources, ledger.writes)
            checked = await check_tenants(resources, progress)
        wrong = await _halfway(settings, archive, ledger.writes, progress)
    finally:
        archiver.close()
        await asyncio.to_thread(store.stop)
    return DrillReport(
        acknowledged=len(ledger.writes),
        lost=len(missing),
        # An answer may reach its writer a moment after the server's end.
        rpo_seconds=max((max(0.0, lost_at - write.at) for write in missing), default=0.0),
        rto_seconds=rto,
        halfway_wrong=wrong,
        tenants=checked,
    )


async def _write_until_lost(
    settings: Settings, store: EmbeddedPostgres, archiver: Archiver, seconds: float, progress: Progress
) -> tuple[_Ledger, float]:
    """Write under load with the archive running, then lose the store; returns the ledger and the time of the loss."""
    ledger = _Ledger()
    # Reached by its address: a program that knows the home folder would start a lost store anew.
    urls = {
        "database_url": SecretStr(store.dsn(APP, DATABASE)),
        "owner_url": SecretStr(store.dsn(OWNER, DATABASE)),
    }
    async with open_resources(settings.model_copy(update=urls), embedder=FakeEmbedder()) as resources:
        await asyncio.to_thread(archiver.step, progress)
        began = time.monotonic()
        writers = [asyncio.create_task(_write(resources, ledger, number)) for number in range(WRITERS)]
        try:
            while (spent := time.monotonic() - began) < seconds or len(ledger.writes) < LEAST_WRITES:
                if spent > seconds + _PATIENCE_SECONDS:
                    raise TargetUnavailable(f"Only {len(ledger.writes)} writes were stored in {spent:.0f} seconds.")
                progress("Writing", round(spent), round(seconds))
                await asyncio.sleep(_POLL_SECONDS)
            lost_at = _lose(store, archiver)
        finally:
            ledger.is_over = True
            await asyncio.wait(writers, timeout=_LAST_WORDS_SECONDS)
    for writer in writers:
        writer.result()
    return ledger, lost_at


async def _write(resources: Resources, ledger: _Ledger, number: int) -> None:
    """One writer: episodes and facts, one after another, in turn for each tenant."""
    count = 0
    while not ledger.is_over:
        count += 1
        tenant = TENANTS[(count + number) % len(TENANTS)]
        caller = Caller(Principal(tenant, _BUTLER, Role.AGENT))
        said = f"Writer {number} wrote line {count} of the drill"
        try:
            if count % 2:
                stored = await remember.episode(resources, NewEpisode(content=said, butler=_BUTLER), caller)
                ref = f"episode:{stored.ref}"
            else:
                fact = NewFact(subject=f"writer {number}", predicate=f"line {count}", content=said)
                ref = f"fact:{(await remember.fact(resources, fact, caller)).ref}"
        except MemoryButlerError:
            # The store was lost before the answer: nobody was told that this was stored.
            continue
        ledger.writes.append(Write(tenant, ref, time.monotonic(), datetime.now(UTC)))


def _lose(store: EmbeddedPostgres, archiver: Archiver) -> float:
    """Kill the server and the receiver of its log at once, and delete the data folder; returns the time of it."""
    pid = store.pid
    archiver.kill()
    if pid:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    lost_at = time.monotonic()
    # Processes of the killed server may still write a file into it.
    while store.data_dir.exists():
        shutil.rmtree(store.data_dir, ignore_errors=True)
    archiver.close()
    return lost_at


async def _missing(resources: Resources, writes: list[Write]) -> list[Write]:
    """The writes that the store does not have."""
    missing = []
    for write in writes:
        kind = write.ref.partition(":")[0]
        try:
            await get(resources, kind, write.ref, Caller(Principal(write.tenant, _BUTLER, Role.ADMIN)), bump=False)
        except NotFound:
            missing.append(write)
    return missing


async def _halfway(settings: Settings, archive: Archive, writes: list[Write], progress: Progress) -> int:
    """Restore to a moment between two writes; returns how many writes are wrongly there or not there."""
    if len(writes) < 4:
        return 0
    middle = len(writes) // 2
    moment = writes[middle].moment
    await asyncio.to_thread(restore, settings, archive.folder, moment=moment, replace=True, progress=progress)
    # Writes that were on their way at that moment may be there or not.
    before, after = writes[: middle + 1], writes[middle + WRITERS :]
    async with open_resources(settings, embedder=FakeEmbedder()) as resources:
        missing = len(await _missing(resources, before))
        return missing + len(after) - len(await _missing(resources, after))
