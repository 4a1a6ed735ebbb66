"""A store of a test's own: what looks after every tenant that it finds would find those of other tests."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from memory_butler.settings import Settings, load_settings
from memory_butler.store.embedded.server import EmbeddedPostgres

Row = dict[str, Any]
BRISK = {"tick_seconds": 0.1, "lost_after_seconds": 1}


def settings_for(server: EmbeddedPostgres, database: str, **given: Any) -> Settings:
    """Settings as for a database of one's own, which is how a store of its own is had quickly."""
    return load_settings(
        home=server.home,
        database_url=server.dsn("memory_app", database),
        owner_url=server.dsn("memory_owner", database),
        **given,
    )


@contextmanager
def own_database(server: EmbeddedPostgres, template: str) -> Iterator[str]:
    """The name of a database that only one test uses."""
    name = f"j{uuid.uuid4().hex[:12]}"
    own, model = sql.Identifier(name), sql.Identifier(template)
    with psycopg.connect(server.dsn("postgres", "postgres"), autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {} OWNER memory_owner TEMPLATE {}").format(own, model))
        yield name
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(own))


def reader(server: EmbeddedPostgres, database: str) -> Callable[..., list[Row]]:
    """What a statement finds, past row-level security."""

    def read(statement: str, *params: object) -> list[Row]:
        with psycopg.connect(server.dsn("postgres", database), autocommit=True, row_factory=dict_row) as connection:
            # The queue's triggers name its tables without a schema.
            connection.execute("SET search_path = memory")
            cursor = connection.execute(statement.encode(), params)
            return cursor.fetchall() if cursor.description else []

    return read
