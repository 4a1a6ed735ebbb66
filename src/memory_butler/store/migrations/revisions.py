"""The chain of migrations: the `.sql` bodies of this folder in the order of their numbers, each run once.

All pending bodies run in one transaction. The table of the revision has the name and form that Alembic gives it: it ran
the chain up to version 0.11.
"""

from importlib.resources import files
from typing import Any, Final

import psycopg
from procrastinate.schema import SchemaManager
from psycopg import sql

from memory_butler.store.gate.queries import Names, migration_body

# After its body, this revision installs the tables of the job queue, which the queue's library brings along.
_QUEUE: Final = "0002"


def bodies() -> dict[str, str]:
    """Return the name of each body by its revision, in order."""
    names = (file.name.removesuffix(".sql") for file in files(__package__).iterdir() if file.name.endswith(".sql"))
    return {name[:4]: name for name in sorted(names)}


def run(connection: psycopg.Connection[Any], names: Names, *, after: str | None, until: str) -> None:
    """Run the bodies after one revision up to another, and record the new revision."""
    schema = sql.Identifier(names.schema)
    if after is None:
        connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(schema))
        connection.execute(
            sql.SQL(
                "CREATE TABLE {}.alembic_version"
                " (version_num varchar(32) NOT NULL CONSTRAINT alembic_version_pkc PRIMARY KEY)"
            ).format(schema)
        )
        connection.execute(sql.SQL("INSERT INTO {}.alembic_version VALUES ('')").format(schema))
    for revision, name in bodies().items():
        if (after or "") < revision <= until:
            connection.execute(migration_body(name, names).encode())
            if revision == _QUEUE:
                _install_queue(connection, names)
    connection.execute(sql.SQL("UPDATE {}.alembic_version SET version_num = %s").format(schema), (until,))


def _install_queue(connection: psycopg.Connection[Any], names: Names) -> None:
    """Create the queue's tables in our schema and for our role."""
    found = connection.execute("SHOW search_path").fetchone()
    assert found
    connection.execute(sql.SQL("SET LOCAL search_path TO {}").format(sql.Identifier(names.schema)))
    connection.execute(SchemaManager.get_schema().encode())
    connection.execute("SELECT set_config('search_path', %s, true)", (found[0],))
    tables = connection.execute(
        "SELECT c.relname, c.relkind::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname = %s AND c.relname LIKE 'procrastinate%%' AND c.relkind IN ('r', 'S')",
        (names.schema,),
    ).fetchall()
    rights = {
        "r": sql.SQL("GRANT SELECT, INSERT, UPDATE, DELETE ON {}.{} TO {}"),
        "S": sql.SQL("GRANT USAGE, SELECT ON SEQUENCE {}.{} TO {}"),
    }
    role = sql.Identifier(names.app_role)
    for name, kind in tables:
        connection.execute(rights[kind].format(sql.Identifier(names.schema), sql.Identifier(name), role))
