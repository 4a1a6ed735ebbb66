"""A real streaming replica of an embedded PostgreSQL, made with its own programs."""

import asyncio
import os
import shutil
import signal
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
from pydantic import SecretStr

from memory_butler.resources import Resources
from memory_butler.settings import DatabaseSettings
from memory_butler.store.embedded.home_folder import Home
from memory_butler.store.embedded.server import Cluster, EmbeddedPostgres
from memory_butler.store.embedded.upgrade import SUPERUSER
from memory_butler.store.gate.database import Database
from memory_butler.store.gate.read_plane import ReadPlane, ReplicaState

COPY_SECONDS = 60
WAIT_SECONDS = 15.0


class StreamingReplica:
    """A hot standby of a primary in the same account. It keeps its place in the primary's log while it is stopped."""

    def __init__(self, primary: EmbeddedPostgres) -> None:
        self._primary = primary
        self._programs = primary._programs()
        self.folder = Path(tempfile.mkdtemp(prefix="mb-replica-"))
        if self._programs.account:
            shutil.chown(self.folder, self._programs.account.uid, self._programs.account.gid)
        self._cluster = Cluster(Home(self.folder), "database")
        self._slot = f"slot_{self.folder.name.lower().replace('-', '_')}"
        source = ["-h", str(primary.data_dir), "-p", "5432", "-U", SUPERUSER, "-w"]
        command = ["pg_basebackup", "-D", str(self._cluster.folder), "-c", "fast", "-X", "stream", "-R", "--no-sync"]
        copied = self._programs.run([*command, "-C", "-S", self._slot, *source], timeout_seconds=COPY_SECONDS)
        assert copied.returncode == 0, copied.stderr.decode()
        shutil.copy2(primary.home / "database.conf", self.folder / "database.conf")
        if self._programs.account:
            shutil.chown(self.folder / "database.conf", self._programs.account.uid)
        self.start()

    def dsn(self, user: str = "memory_app", database: str = "memory") -> str:
        return f"postgresql://{user}@/{database}?host={self._cluster.folder}&port=5432"

    def start(self) -> None:
        self._cluster.start(self._programs)

    def stop(self) -> None:
        self._cluster.stop(self._programs, "immediate")

    def pause_replay(self) -> None:
        """Receive the log without applying it: the replica lags."""
        self._execute("SELECT pg_wal_replay_pause()")

    def resume_replay(self) -> None:
        self._execute("SELECT pg_wal_replay_resume()")

    def configure(self, **settings: str) -> None:
        for name, value in settings.items():
            self._execute(f"ALTER SYSTEM SET {name} = '{value}'")
        self._execute("SELECT pg_reload_conf()")

    def promote(self) -> None:
        self._execute("SELECT pg_promote()")

    def freeze(self) -> None:
        """Stop all its processes, as a machine that hangs."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def discard(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
        with psycopg.connect(self._primary.dsn(SUPERUSER, SUPERUSER), autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = %s", (self._slot,)
            )
            connection.execute("SELECT pg_drop_replication_slot(%s)", (self._slot,))

    def _execute(self, statement: str) -> None:
        with psycopg.connect(self.dsn(SUPERUSER, SUPERUSER), autocommit=True) as connection:
            connection.execute(statement.encode())

    def _signal(self, number: signal.Signals) -> None:
        claimed = self._cluster.postmaster()
        assert claimed
        children = Path(f"/proc/{claimed[0]}/task/{claimed[0]}/children").read_text().split()
        for pid in [claimed[0], *map(int, children)]:
            with suppress(ProcessLookupError):
                os.kill(pid, number)


@asynccontextmanager
async def opened_planes(resources: Resources, *urls: str, **more: Any) -> AsyncIterator[Resources]:
    # A busy machine may need longer than the default to pass on a write.
    more = {"replica_wait_seconds": 1, **more}
    settings = DatabaseSettings(replicas=tuple(map(SecretStr, urls)), **more)
    database = Database.from_settings(resources.settings.model_copy(update={"database": settings}))
    await database.open()
    try:
        yield replace(resources, database=database)
    finally:
        await database.close()


def plane_of(resources: Resources) -> ReadPlane:
    assert resources.database.read_plane
    return resources.database.read_plane


async def until(resources: Resources, test: Callable[[ReplicaState], bool]) -> ReplicaState:
    """The state of the first replica, once it passes a test."""
    ends = time.monotonic() + WAIT_SECONDS
    while not test(state := plane_of(resources).states()[0]):
        assert time.monotonic() < ends, state
        await asyncio.sleep(0.02)
    return state


def serves(state: ReplicaState) -> bool:
    return state.problem is None
