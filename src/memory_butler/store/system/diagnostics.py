"""Diagnostics of a database server, also of one without the schema."""

from dataclasses import dataclass
from datetime import datetime

import psycopg
from psycopg.rows import class_row

from memory_butler.store.gate import migrate
from memory_butler.store.gate.driver_errors import translated
from memory_butler.store.gate.queries import Names, load_queries


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """State of a server. The fields of the role are None if it does not exist."""

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
        found = cursor.execute(load_queries(names)["diagnostics.examine"], {"role": names.app_role}).fetchone()
        assert found
        return found, migrate.revision(connection, names.schema)
