"""Alembic's entry: runs the chain on the owner's connection, one process at a time."""

import psycopg
from alembic import context
from psycopg import sql
from sqlalchemy import NullPool, create_engine, text

from memory_butler.store.gate.queries import Names

attributes = context.config.attributes
names: Names = attributes["memory_names"]
# Without prepared statements, which a pooler could lose.
engine = create_engine(
    "postgresql+psycopg://",
    creator=lambda: psycopg.connect(attributes["owner_dsn"], prepare_threshold=None),
    poolclass=NullPool,
)

with engine.connect() as connection:
    context.configure(connection=connection, version_table_schema=names.schema, version_table="alembic_version")
    with context.begin_transaction():
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtext(:key))"), {"key": f"memory {names.schema}"})
        connection.execute(text(f"CREATE SCHEMA IF NOT EXISTS {sql.Identifier(names.schema).as_string()}"))
        context.run_migrations()
engine.dispose()
