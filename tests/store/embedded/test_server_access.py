"""The embedded database is closed to other accounts, and its log holds no text of a memory."""

import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from tests.support.other_account import NOBODY

from memory_butler.store.embedded.server import EmbeddedPostgres

CANARY = "canary-7f3d9a51"


@pytest.fixture
def store(new_home: Callable[[], Path]) -> Iterator[EmbeddedPostgres]:
    folder = new_home()
    store = EmbeddedPostgres(folder, options={"fsync": "off"})
    yield store
    store.stop()
    shutil.rmtree(folder)


def test_other_accounts_cannot_reach_the_database(store: EmbeddedPostgres) -> None:
    """Not even in a home folder that was open to all before; a real other account is refused by the system."""
    store.home.chmod(0o755)
    store.ensure_running()
    assert stat.S_IMODE(store.home.stat().st_mode) & ~stat.S_IXGRP == 0o700
    assert stat.S_IMODE(store.data_dir.stat().st_mode) == 0o700
    path = store.data_dir / ".s.PGSQL.5432"
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert stat.S_IMODE(store.log_file.stat().st_mode) == 0o600
    if os.geteuid() == 0:
        code = f"import socket; socket.socket(socket.AF_UNIX).connect({str(path)!r})"
        done = subprocess.run(
            ["/usr/bin/python3", "-c", code], capture_output=True, text=True, check=False, cwd="/",
            user=NOBODY, group=NOBODY, extra_groups=[],
        )  # fmt: skip
        assert "PermissionError" in done.stderr


def test_errors_leave_no_values_in_the_log(store: EmbeddedPostgres) -> None:
    """Statements, parameters, details and messages of failed statements may hold text of a memory."""
    store.ensure_running()
    statements = [
        "SELECT 'CANARY'::int",
        "INSERT INTO t VALUES ('CANARY')",
        "INSERT INTO t VALUES ('short', 'CANARY')",
        "SELECT 'CANARY' FROM nowhere",
        "SELECT '{\"a\": CANARY'::json",
        "DO $$ BEGIN RAISE WARNING 'CANARY'; RAISE EXCEPTION 'CANARY'; END $$",
        "COPY t FROM PROGRAM 'CANARY'",
    ]
    with psycopg.connect(store.dsn("memory_owner", "memory"), autocommit=True) as connection:
        connection.execute("CREATE TABLE t (a text PRIMARY KEY, b text CHECK (length(b) < 5))")
        connection.execute("INSERT INTO t VALUES (%s)", [CANARY])
        for statement in statements:
            with pytest.raises(psycopg.Error):
                connection.execute(statement.replace("CANARY", CANARY))
        for parameters in ([CANARY, None], ["x", CANARY]):
            with pytest.raises(psycopg.Error):
                connection.execute("INSERT INTO t VALUES (%s, %s)", parameters)
        with pytest.raises(psycopg.Error):
            connection.execute("SELECT %s::int", [CANARY])
        connection.execute("DROP TABLE t")
    store.stop()
    logs = [path.read_text() for path in store.log_file.parent.iterdir()]
    assert any("database system is ready" in text for text in logs)
    assert not any(CANARY in text for text in logs)
