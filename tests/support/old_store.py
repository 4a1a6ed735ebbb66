"""Loads the store that version 0.6.3 wrote into a database of its schema revision."""

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from memory_butler.store.embedded.server import EmbeddedPostgres
from memory_butler.store.gate import migrate
from memory_butler.store.gate.queries import Names

FOLDER = Path(__file__).parents[1] / "data" / "store-0.6.3"
EXPORT = FOLDER / "export.jsonl"
ANSWERS: dict[str, Any] = json.loads((FOLDER / "answers.json").read_text(encoding="utf-8"))
LAST_WRITE = datetime.fromisoformat(ANSWERS["at"])
TENANT = "household"
REVISION = "0007"
_BLOCK = re.compile(r"^COPY (\w+) \(([^)]*)\)\n(.*?)^\\\.\n", re.MULTILINE | re.DOTALL)


def load(server: EmbeddedPostgres, database: str) -> None:
    """Migrate an empty database to the revision of 0.6.3 and copy the rows into it."""
    migrate.migrate_to(REVISION, server.dsn("memory_owner", database), Names(vector="public"))
    with psycopg.connect(server.dsn("postgres", database)) as connection:
        # As pg_restore does: the rows were checked when they were written, and come in any order.
        connection.execute("SET session_replication_role = replica")
        for table, columns, rows in _BLOCK.findall((FOLDER / "rows.copy").read_text(encoding="utf-8")):
            names = sql.SQL(", ").join(sql.Identifier(name) for name in columns.split(", "))
            statement = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier("memory", table), names)
            with connection.cursor().copy(statement) as copy:
                copy.write(rows)
        connection.execute(
            "SELECT setval(pg_get_serial_sequence('memory.embedding_versions', 'id'), max(id)) FROM"
            " memory.embedding_versions"
        )
