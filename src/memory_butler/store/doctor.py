"""What a check-up asks of the database. Works on any server, also on one that was never set up."""

from dataclasses import dataclass
from datetime import datetime

import psycopg
from psycopg.rows import class_row

from memory_butler.store import migrate
from memory_butler.store.database import translated
from memory_butler.store.queries import Names, load_queries


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """One look at a server. The fields of the role are None if it is not there yet."""

    server_version: int
    server_version_text: str
    clock: datetime
    vector_installed: str | None
    vector_available: str | None
    role: str | None
    is_superuser: bool | None
    bypasses_rls: bool | None
    may_become: bool | None
    owned_objects: int | None


def examine(dsn: str, names: Names) -> tuple[Examination, str | None]:
    """The state of a server, and the revision its schema is at (None: no schema yet)."""
    with translated(), psycopg.connect(dsn, connect_timeout=5) as connection:
        cursor = connection.cursor(row_factory=class_row(Examination))
        found = cursor.execute(load_queries(names)["doctor.examine"], {"role": names.app_role}).fetchone()
        assert found
        return found, migrate.revision(connection, names.schema)
