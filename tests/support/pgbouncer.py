"""A real PgBouncer in transaction mode, in front of a server of the tests. `make test` installs it."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict

from memory_butler.store.embedded.account import ACCOUNT

PORT = 6432
START_SECONDS = 10.0
# Few, so that clients share server connections all the time.
SERVER_CONNECTIONS = 3
CONFIG = """
[databases]
{databases}
[pgbouncer]
listen_addr =
listen_port = {port}
unix_socket_dir = {folder}
auth_type = trust
auth_file = {folder}/users.txt
pool_mode = transaction
default_pool_size = {size}
max_client_conn = 200
server_login_retry = 1
logfile = {folder}/pgbouncer.log
pidfile = {folder}/pgbouncer.pid
"""


class PgBouncer:
    """A running PgBouncer; `dsn` leads through it to one of its databases."""

    def __init__(self, folder: Path, process: subprocess.Popen[bytes]) -> None:
        self.folder = folder
        self._process = process

    def dsn(self, user: str, database: str = "memory") -> str:
        return f"postgresql://{user}@/{database}?host={quote(str(self.folder), safe='')}&port={PORT}"

    def stop(self) -> None:
        self._process.send_signal(signal.SIGINT)
        self._process.wait()


@contextmanager
def pgbouncer(places: Mapping[str, str], size: int = SERVER_CONNECTIONS) -> Iterator[PgBouncer]:
    """PgBouncer with databases by name, each with the connection string of its server (without the user)."""
    folder = Path(tempfile.mkdtemp(prefix="mb-pgb-"))
    lines = []
    for name, dsn in places.items():
        given = conninfo_to_dict(dsn)
        lines.append(f"{name} = host={given['host']} port={given['port']} dbname={given['dbname']}\n")
    config = CONFIG.format(databases="".join(lines), folder=folder, port=PORT, size=size)
    (folder / "pgbouncer.ini").write_text(config)
    (folder / "users.txt").write_text('"memory_app" ""\n"memory_owner" ""\n"postgres" ""\n')
    command = [shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin") or "pgbouncer"]
    if os.geteuid() == 0:
        # It does not run as root, and only this account may connect to the server.
        account = pwd.getpwnam(ACCOUNT)
        for path in (folder, *folder.iterdir()):
            os.chown(path, account.pw_uid, account.pw_gid)
        command += ["-u", ACCOUNT]
    process = subprocess.Popen(
        [*command, str(folder / "pgbouncer.ini")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    made = PgBouncer(folder, process)
    try:
        _wait(made, next(iter(places)))
        yield made
    finally:
        made.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _wait(made: PgBouncer, name: str) -> None:
    ends = time.monotonic() + START_SECONDS
    while True:
        try:
            psycopg.connect(made.dsn("memory_app", name)).close()
            return
        except psycopg.Error:
            log = made.folder / "pgbouncer.log"
            assert time.monotonic() < ends, log.read_text() if log.exists() else "PgBouncer does not start"
            time.sleep(0.02)
