"""How often the database counts what its tables hold."""

import re
from typing import Any

import psycopg

from memory_butler.butler import Butler
from memory_butler.store.queries import load_queries


def test_no_count_of_a_tenth_throws_away_the_plan_of_the_search(butler: Butler, owner: psycopg.Connection[Any]) -> None:
    """Each count has every connection plan anew: so every table that the search reads has to double first."""
    query = load_queries(butler.database.names)["search_index.search"].decode()
    read = set(re.findall(r'"memory"\.(\w+)', query))
    options = dict(owner.execute("SELECT relname, reloptions FROM pg_class WHERE relkind = 'r'").fetchall())
    tables = read & options.keys()
    assert {"tenants", "episodes", "facts", "rules", "passages", "postings", "aliases"} <= tables
    for table in tables:
        (factor,) = [one.partition("=")[2] for one in options[table] or () if "analyze_scale_factor" in one]
        assert float(factor) >= 1, table
