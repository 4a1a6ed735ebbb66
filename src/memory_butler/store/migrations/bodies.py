"""Runs the `.sql` body of a revision unchanged, inside the migration's transaction."""

from typing import Any

from alembic import context
from procrastinate.schema import SchemaManager
from psycopg import sql

from memory_butler.store.gate.queries import Names, migration_body


def run_body(op: Any, body: str) -> None:
    _connection(op).execute(migration_body(body, _names()))


def install_queue(op: Any) -> None:
    """The tables of the job queue, which the library brings along, in our schema and for our role."""
    connection, names = _connection(op), _names()
    (before,) = connection.execute("SHOW search_path").fetchone()
    connection.execute(sql.SQL("SET LOCAL search_path TO {}").format(sql.Identifier(names.schema)))
    connection.execute(SchemaManager.get_schema())
    connection.execute("SELECT set_config('search_path', %s, true)", (before,))
    tables = connection.execute(
        "SELECT c.relname, c.relkind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname = %s AND c.relname LIKE 'procrastinate%%' AND c.relkind IN ('r', 'S')",
        (names.schema,),
    ).fetchall()
    for name, kind in tables:
        rights = "USAGE, SELECT ON SEQUENCE" if kind in ("S", b"S") else "SELECT, INSERT, UPDATE, DELETE ON"
        connection.execute(
            sql.SQL("GRANT " + rights + " {}.{} TO {}").format(
                sql.Identifier(names.schema), sql.Identifier(name), sql.Identifier(names.app_role)
            )
        )


def _connection(op: Any) -> Any:
    return op.get_bind().connection.driver_connection


def _names() -> Names:
    found: Names = context.config.attributes.get("memory_names", Names())
    return found
