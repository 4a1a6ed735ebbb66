"""The database server whose log is archived: embedded or external, through PostgreSQL's own programs."""

import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, Final, Self

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import DictRow, dict_row

from memory_butler.errors import InvalidInput, TargetUnavailable
from memory_butler.settings import Settings
from memory_butler.store.embedded.account import Programs, bundled_programs
from memory_butler.store.embedded.server import TARGET_MAJOR, EmbeddedPostgres
from memory_butler.store.embedded.upgrade import SUPERUSER, programs_of
from memory_butler.store.gate.queries import Names, load_queries

_CONNECT_SECONDS: Final = 5


@dataclass(frozen=True, slots=True)
class Server:
    """Identity of a server: its cluster, timeline, major version and the size of its log segments."""

    cluster: str
    timeline: int
    major: int
    segment_bytes: int


@dataclass(frozen=True, slots=True)
class Slot:
    """A replication slot: how far its receiver has the log, and whether the server has lost the rest."""

    received: int
    active: bool
    lost: bool


class Source:
    """A server with an account that may replicate."""

    def __init__(self, dsn: Callable[[], str], programs: Programs, embedded: EmbeddedPostgres | None = None) -> None:
        self._dsn = dsn
        self._programs = programs
        self.embedded = embedded
        self._queries = load_queries(Names())

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The configured server. Its programs run as the current user, also under root: they only write files."""
        external = settings.backup.url or settings.owner_url or settings.database_url
        programs = bundled_programs(TARGET_MAJOR) or programs_of(TARGET_MAJOR, settings.home)
        if settings.database_url and external:
            return cls(external.get_secret_value, programs)
        store = EmbeddedPostgres(settings.home)
        return cls(lambda: store.dsn(SUPERUSER, SUPERUSER), programs, store)

    def server(self) -> Server:
        """Ask the server who it is; this also shows that the account may replicate."""
        with self._connected(replication="true") as connection:
            system = connection.pgconn.exec_(b"IDENTIFY_SYSTEM")
            size = connection.pgconn.exec_(b"SHOW wal_segment_size")
            found = [system.get_value(0, 0), system.get_value(0, 1), size.get_value(0, 0)]
            if None in found:
                raise TargetUnavailable(f"The database does not say who it is: {system.error_message.decode()}")
            cluster, timeline, text = (value.decode() for value in found if value is not None)
            return Server(cluster, int(timeline), connection.info.server_version // 10_000, _bytes(text))

    def state(self) -> DictRow:
        """The server's clock (`now`) and how far it has written the log (`written`)."""
        row = self._one("source.state")
        assert row
        if row["in_recovery"]:
            raise InvalidInput(
                "The database to back up is a replica.",
                recovery="Set backup.url to the primary; an archive of a replica would lack what it has not received.",
            )
        return row

    def slot(self, name: str) -> Slot | None:
        row = self._one("source.slot", slot=name)
        return Slot(row["received"] or 0, row["active"], row["wal_status"] == "lost") if row else None

    def make_slot(self, name: str) -> None:
        self._one("source.make_slot", slot=name)

    def end_receiver(self, name: str) -> None:
        """End a receiver that an earlier process left behind."""
        self._one("source.end_receiver", slot=name)

    def drop_slot(self, name: str) -> None:
        self._one("source.drop_slot", slot=name)

    def idle_slots(self) -> list[DictRow]:
        """Slots of archives that nobody receives from."""
        with self._connected() as connection:
            return connection.execute(self._queries["source.idle_slots"], {}).fetchall()

    def spawn(self, command: Sequence[str], *, stdout: int, stderr: IO[bytes]) -> subprocess.Popen[bytes]:
        """Start a replication program. A password travels in its environment: others can read a command line."""
        address, env = self._address()
        fds = self.embedded.inherited_fds if self.embedded else ()
        return self._programs.spawn(
            [command[0], "-d", address, "-w", *command[1:]], stdout=stdout, stderr=stderr, env=env, pass_fds=fds
        )

    def receive(self, command: Sequence[str], take: Callable[[bytes], None], chunk_bytes: int) -> None:
        """Run a program and pass on its output; raises TargetUnavailable if it fails."""
        with tempfile.TemporaryFile() as said:
            with self.spawn(command, stdout=subprocess.PIPE, stderr=said) as process:
                assert process.stdout
                try:
                    while chunk := process.stdout.read(chunk_bytes):
                        take(chunk)
                    process.wait()
                finally:
                    if process.poll() is None:
                        process.kill()
            if process.returncode != 0:
                said.seek(0)
                raise TargetUnavailable(f"{command[0]} failed: {said.read().decode(errors='replace').strip()}")

    def _address(self) -> tuple[str, Mapping[str, str]]:
        parts: dict[str, Any] = conninfo_to_dict(self._dsn())
        parts.pop("dbname", None)
        password = parts.pop("password", None)
        return make_conninfo(**parts), {"PGPASSWORD": password} if password else {}

    def _one(self, query: str, **params: Any) -> DictRow | None:
        with self._connected() as connection:
            return connection.execute(self._queries[query], params).fetchone()

    @contextmanager
    def _connected(self, **more: Any) -> Iterator[psycopg.Connection[DictRow]]:
        try:
            with psycopg.connect(
                self._dsn(), autocommit=True, connect_timeout=_CONNECT_SECONDS, row_factory=dict_row, **more
            ) as connection:
                yield connection
        except psycopg.Error as problem:
            raise TargetUnavailable(
                f"The database cannot be backed up now: {' '.join(str(problem).split())}.",
                recovery="Check that it runs, and that the account of backup.url may replicate"
                " (ALTER ROLE … REPLICATION, and a line `host replication …` in pg_hba.conf).",
            ) from problem


def _bytes(text: str) -> int:
    """A size as PostgreSQL shows it: 16MB, 1GB."""
    for unit, factor in (("kB", 2**10), ("MB", 2**20), ("GB", 2**30)):
        if text.endswith(unit):
            return int(text.removesuffix(unit)) * factor
    return int(text.removesuffix("B"))
