"""What the tests of operations share: a look at the rows behind the butler's back."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row

from memory_butler.models import NewEpisode, NewFact, NewRule, Stored
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources

TABLES = ("episodes", "facts", "rules", "memory_links", "memory_events", "rule_applications", "texts", "passages",
          "postings", "idempotency_keys", "butlers", "aliases", "consolidation_runs", "consolidation_episodes",
          "consolidation_items", "distilled_keys", "recent_questions")  # fmt: skip

Row = dict[str, Any]
Rows = Callable[[str], list[Row]]
KINDS = ["fact", "rule", "episode"]


async def store_tea(resources: Resources, kind: str, **given: Any) -> Stored:
    """A memory of this kind that a search for green tea finds."""
    if kind == "fact":
        return await remember.fact(resources, NewFact(subject="u", predicate="tea", content="green tea", **given))
    if kind == "rule":
        return await remember.rule(resources, NewRule(content="offer green tea", **given))
    return await remember.episode(resources, NewEpisode(content="green tea was served", butler="main"))


def second_tenant(resources: Resources) -> Resources:
    """The same resources, for another tenant."""
    tenant = f"{resources.settings.tenant}-2"
    return replace(resources, settings=resources.settings.model_copy(update={"tenant": tenant}))


@pytest.fixture
def rows(owner: psycopg.Connection[Any], tenant: str) -> Rows:
    """All rows of a table of the test's tenant, as the superuser sees them."""

    def read(table: str) -> list[Row]:
        query = sql.SQL("SELECT * FROM memory.{} WHERE tenant_id = %s").format(sql.Identifier(table))
        with owner.cursor(row_factory=dict_row) as cursor:
            return cursor.execute(query, [tenant]).fetchall()

    return read


@pytest.fixture
def everything(rows: Rows) -> Callable[[], dict[str, list[str]]]:
    """Every row of every table of the test's tenant, in a form that can be compared."""

    def read() -> dict[str, list[str]]:
        found = {table: sorted(str(row) for row in rows(table)) for table in TABLES}
        return {**found, "seq": [str(row["last_seq"]) for row in rows("tenants")]}

    return read
