"""The rules of an engine that spreads tenants over machines (Citus), so that the step to it stays open.

docs/guides/sharding.md describes the step. Every table is distributed by its tenant, or small and the same everywhere,
or of the job queue, which stays on the coordinator.
"""

import re
from pathlib import Path

import psycopg
import pytest

from memory_butler.resources import Resources
from memory_butler.store.gate.queries import Names, load_queries

Owner = psycopg.Connection[tuple[str, ...]]
GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "sharding.md"

# Copied to every machine. A token and a login are looked up by their hash, before there is a tenant.
REFERENCE = {"embedding_versions", "lifecycle_transitions", "tokens", "sessions"}
# Not distributed: only the program's set-up, the job queue and monitoring use them.
LOCAL = {
    "alembic_version",
    "fleet_sample",
    "objective_buckets",
    "partition_moves",
    "procrastinate_events",
    "procrastinate_jobs",
    "procrastinate_periodic_defers",
    "procrastinate_workers",
}
# Queries over tables of tenants without a tenant, each with its reason.
WITHOUT_TENANT = {
    "residue.rewrite": "rewrites whole tables of the embedded store",
    "moves.analyze": "counts whole tables for the planner",
    "vector_index.analyze": "counts whole tables for the planner",
    "vector_index.indexes": "names the tenants of indexes in the catalog",
    "vector_index.usable": "looks into the catalog",
    "system_info.sizes": "looks into the catalog",
    "fleet.tables": "looks into the catalog",
    "fleet.vector_indexes": "looks into the catalog",
    "as_of": "reads and fills temporary tables of one tenant",
}
# Functions over tables of tenants without a tenant, each with its reason.
FUNCTIONS_WITHOUT_TENANT = {
    "tenant_names": "upkeep has to know which tenants there are",
    "begin_move": "makes partitions of whole tables",
    "end_move": "makes partitions of whole tables",
    "cancel_move": "makes partitions of whole tables",
    "add_months": "makes partitions of whole tables",
}


# A table and its alias, if it has one.
WORDS = "WHERE|SET|ON|USING|CROSS|JOIN|LEFT|ORDER|VALUES|SELECT|LIMIT|GROUP|UNION|FULL|FOR"
TABLE = re.compile(rf'"memory"\."?(\w+)"?(?:\s+(?:AS\s+)?(?!(?:{WORDS})\b)(\w+))?')


def is_bound(text: str, alias: str) -> bool:
    """True if a statement names the tenant of a table: by its alias, by the bare column, or in the rows of a file."""
    return bool(
        (alias and re.search(rf"\b{alias}\.tenant_id\b", text))
        or re.search(r"(?<![\w.])tenant_id\b", text)
        or "jsonb_build_object('tenant_id'" in text
    )


@pytest.fixture(scope="module")
def distributed(home: Path, shared_resources: Resources) -> set[str]:
    dsn = shared_resources.database.owner_dsn()
    with psycopg.connect(dsn) as connection:
        tables = connection.execute(
            "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'memory'::regnamespace AND c.relkind IN ('r', 'p')"
            " AND NOT c.relispartition"
        ).fetchall()
    return {str(name) for (name,) in tables} - REFERENCE - LOCAL


def test_every_table_has_a_tenant_or_a_reason(distributed: set[str], owner: Owner) -> None:
    """And none of those that are the same everywhere is missing."""
    rows = owner.execute(
        "SELECT table_name FROM information_schema.columns WHERE table_schema = 'memory' AND column_name = 'tenant_id'"
        " AND data_type = 'text' AND is_nullable = 'NO'"
    ).fetchall()
    assert distributed - {name for (name,) in rows} == set()
    assert {"tenants", "facts", "memory_events", "episodes"} <= distributed


def test_every_key_contains_the_tenant(distributed: set[str], owner: Owner) -> None:
    """Primary keys and unique indexes, also partial ones: a machine can only enforce what it has."""
    rows = owner.execute(
        "SELECT c.relname, i.indexrelid::regclass::text, array_agg(a.attname) FROM pg_index i"
        " JOIN pg_class c ON c.oid = i.indrelid"
        " JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)"
        " WHERE i.indisunique AND c.relnamespace = 'memory'::regnamespace GROUP BY 1, 2"
    ).fetchall()
    assert len(rows) > 25
    assert [index for table, index, columns in rows if table in distributed and "tenant_id" not in columns] == []
    keyed = {table for table, _, _ in rows}
    # Postings have a unique index and no primary key, which Citus does not ask for.
    assert distributed - keyed == set()


def test_foreign_keys_stay_inside_a_tenant(distributed: set[str], owner: Owner) -> None:
    """Each names the tenant on both sides at the same place, or a table that is the same everywhere."""
    rows = owner.execute(
        "SELECT s.relname, k.conname, t.relname,"
        " ARRAY(SELECT a.attname FROM unnest(k.conkey) WITH ORDINALITY AS u (n, o)"
        "  JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.n ORDER BY u.o),"
        " ARRAY(SELECT a.attname FROM unnest(k.confkey) WITH ORDINALITY AS u (n, o)"
        "  JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = u.n ORDER BY u.o)"
        " FROM pg_constraint k JOIN pg_class s ON s.oid = k.conrelid JOIN pg_class t ON t.oid = k.confrelid"
        " WHERE k.contype = 'f' AND s.relnamespace = 'memory'::regnamespace AND k.conparentid = 0"
    ).fetchall()
    checked = 0
    for source, name, target, here, there in rows:
        if source in distributed and target not in REFERENCE:
            assert "tenant_id" in here, name
            assert here.index("tenant_id") == list(there).index("tenant_id"), name
            assert target in distributed, name
            checked += 1
        elif source in REFERENCE:
            assert target in REFERENCE, name
    assert checked > 10


def test_every_query_names_the_tenant(distributed: set[str]) -> None:
    """Of every table that it reads or writes; the exceptions have a reason and are no longer than needed."""
    missing, used = [], set()
    for name, query in load_queries(Names()).items():
        text = query.decode()
        if not {table for table, alias in TABLE.findall(text) if table in distributed and not is_bound(text, alias)}:
            continue
        reason = next((key for key in WITHOUT_TENANT if re.fullmatch(rf"{re.escape(key)}([.:].+)?", name)), None)
        used.add(reason) if reason else missing.append(name)
    assert missing == []
    assert used == set(WITHOUT_TENANT)


def test_every_function_is_bound_to_a_tenant(distributed: set[str], owner: Owner) -> None:
    """What it reads of a table of tenants, it reads of one."""
    rows = owner.execute(
        "SELECT p.proname, p.prosrc FROM pg_proc p WHERE p.pronamespace = 'memory'::regnamespace"
        " AND p.proname NOT LIKE 'procrastinate%'"
    ).fetchall()
    touching = [
        (name, body)
        for name, body in rows
        if any(re.search(rf'"memory"\.{table}\b(?!\))', body) for table in distributed)
        and name not in FUNCTIONS_WITHOUT_TENANT
    ]
    assert len(touching) > 5
    assert [name for name, body in touching if "tenant_id" not in body] == []


def test_the_guide_names_every_table(distributed: set[str]) -> None:
    """Each where it belongs: whoever follows it forgets none."""
    text = GUIDE.read_text(encoding="utf-8")
    block = re.search(r"```sql\n(.*?)```", text, re.DOTALL)
    assert block
    assert set(re.findall(r"create_reference_table\('memory\.(\w+)'\)", block[1])) == REFERENCE
    listed = set(re.findall(r"'(\w+)'", re.search(r"ARRAY\[(.*?)\]", block[1], re.DOTALL)[1]))
    assert listed | {"tenants"} == distributed
