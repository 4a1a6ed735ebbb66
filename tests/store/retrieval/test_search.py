"""The plans of the search: they must not depend on what the database knows about its tables."""

import re

import psycopg
import pytest

from memory_butler.store.embedded.server import EmbeddedPostgres
from memory_butler.store.gate import migrate
from memory_butler.store.gate.queries import Names, load_queries, numbered

FORMS = ("by_meaning:usual", "by_meaning:full", "candidates:usual", "candidates:full")
STATEMENTS = ("names", *FORMS, "more", "facts", "rules", "episodes")
LOOKUP = re.compile(r"Index (?:Only )?Scan using (\w+) on (facts|rules|episodes)\b.*\n\s+Index Cond: (.*)")


def plan_before_the_tables_are_counted(server: EmbeddedPostgres, database: str, statement: str) -> str:
    """The plan that all callers share, made by a store without a memory, as a new process makes it."""
    queries = load_queries(Names())
    bound = {
        "role": "memory_app",
        "search_path": '"memory", "public"',
        "tenant": "anyone",
        "timeout_ms": "5000",
        "revision": migrate.HEAD,
    }
    with psycopg.connect(server.dsn("memory_app", database)) as connection:
        connection.execute(queries["database.bind_read"], bound)
        query, _ = numbered(queries[f"search.{statement}"])
        return "\n".join(line for (line,) in connection.execute(b"EXPLAIN (GENERIC_PLAN) " + query).fetchall())


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_new_store_looks_memories_up_by_their_primary_key(
    server: EmbeddedPostgres, template: str, statement: str
) -> None:
    """Any other index would read all memories of the tenant for each candidate, until the tables are counted."""
    plan = plan_before_the_tables_are_counted(server, template, statement)
    by_id = [(index, table) for index, table, condition in LOOKUP.findall(plan) if re.search(r"\bid = ANY", condition)]
    assert by_id, plan
    assert all(index == f"{table}_pkey" for index, table in by_id), plan
    assert not re.search(r"Filter: \(+id = ", plan), plan
    assert not re.search(r"Seq Scan on (facts|rules|episodes|passages|postings|profiles)\b", plan), plan
