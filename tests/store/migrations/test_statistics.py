"""How often the database counts what its tables hold."""

import re
from typing import Any

import psycopg

from memory_butler.resources import Resources
from memory_butler.store.gate.queries import load_queries


def test_no_count_of_a_tenth_throws_away_the_plan_of_the_search(
    resources: Resources, owner: psycopg.Connection[Any]
) -> None:
    """Each count has every connection plan anew: so every table that the search reads has to double first."""
    queries = load_queries(resources.database.names)
    search = b"".join(query for name, query in queries.items() if name.startswith("search."))
    read = set(re.findall(r'"memory"\.(\w+)', search.decode()))
    options = dict(owner.execute("SELECT relname, reloptions FROM pg_class WHERE relkind = 'r'").fetchall())
    tables = read & options.keys()
    assert {"tenants", "episodes", "facts", "rules", "passages", "postings", "aliases"} <= tables
    for table in tables:
        (factor,) = [one.partition("=")[2] for one in options[table] or () if "analyze_scale_factor" in one]
        assert float(factor) >= 1, table
