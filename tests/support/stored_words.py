"""Everything that the database holds of a tenant, to look for words that must not be there."""

from typing import Any

import psycopg
from psycopg import sql


def stored_words(owner: psycopg.Connection[Any], tenant: str) -> str:
    """Returns all rows of all tables with a tenant, and of the queue, as text."""
    tables = owner.execute(
        "SELECT table_schema, table_name, bool_or(column_name = 'tenant_id') FROM information_schema.columns"
        " WHERE table_schema = 'memory' GROUP BY 1, 2"
    ).fetchall()
    words = []
    for schema, table, has_tenant in tables:
        query = sql.SQL("SELECT t::text FROM {}.{} t").format(sql.Identifier(schema), sql.Identifier(table))
        if has_tenant:
            query += sql.SQL(" WHERE tenant_id = {}").format(sql.Literal(tenant))
        words += [str(row[0]) for row in owner.execute(query)]
    return "\n".join(words)
