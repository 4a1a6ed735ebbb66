"""The named queries: each is understood by the migrated schema, says what it is for, and has a user."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

import memory_butler
from memory_butler.resources import Resources
from memory_butler.store.embedded.server import EmbeddedPostgres
from memory_butler.store.gate.queries import Names, load_queries, numbered
from memory_butler.store.history.replay import scratch_schema
from memory_butler.store.retrieval.as_of import TABLES, TEMPORARY

SOURCE = Path(memory_butler.__file__).parent
SQL = sorted(file for file in (SOURCE / "store").glob("*/*.sql") if file.parent.name != "migrations")
QUERIES = sorted(load_queries(Names()))
OWNER_QUERIES = {
    "replay.drop_scratch",
    "replay.let_facts_come_in_any_order",
    "replay.make_wordless",
    "replay.share_wordless",
    "replay.release_turn",
    "replay.take_turn",
}
IN_THE_PAST = [
    *(name for name in QUERIES if name.startswith("as_of.") and name not in TABLES),
    "replay.rebuild_references",
    "replay.rebuild_states",
    *(name for name in QUERIES if name.startswith("search.")),
]


@pytest.fixture(scope="module")
async def scratch(shared_resources: Resources) -> AsyncIterator[None]:
    """The schema that the queries of a replay speak of."""
    async with scratch_schema(shared_resources.database):
        yield


@pytest.fixture(scope="module")
def code() -> str:
    return "\n".join(file.read_text() for file in SOURCE.rglob("*.py"))


def _positional(query: bytes) -> bytes:
    """The query with $1, $2 … for its named parameters, as the driver sends it."""
    names: list[bytes] = []

    def number(match: re.Match[bytes]) -> bytes:
        if match[1] not in names:
            names.append(match[1])
        return b"$%d" % (names.index(match[1]) + 1)

    return re.sub(rb"%\((\w+)\)s", number, query).replace(b"%%", b"%")


@pytest.mark.parametrize("name", [name for name in QUERIES if not name.startswith("as_of.")])
def test_every_query_is_understood_by_the_migrated_schema(
    server: EmbeddedPostgres, shared_resources: Resources, scratch: None, name: str
) -> None:
    """PostgreSQL prepares the query as the program's role: every table, column, function and type in it exists."""
    names = shared_resources.database.names
    user = "memory_owner" if name in OWNER_QUERIES else names.app_role
    with psycopg.connect(server.dsn(user, "memory")) as connection:
        # Without a search_path every name has to be qualified by itself.
        connection.execute("SET search_path = pg_catalog")
        result = connection.pgconn.prepare(b"", _positional(load_queries(names)[name]))
    assert result.status == psycopg.pq.ExecStatus.COMMAND_OK, result.error_message.decode()


@pytest.mark.parametrize("name", IN_THE_PAST)
def test_every_query_about_the_past_is_understood_where_the_past_is_rebuilt(
    server: EmbeddedPostgres, shared_resources: Resources, name: str
) -> None:
    """The temporary tables are made by the program's role, and hold all that the search and the rebuilding name."""
    names = replace(shared_resources.database.names, rebuilt_in=TEMPORARY)
    queries = load_queries(names)
    with psycopg.connect(server.dsn(names.app_role, "memory")) as connection:
        connection.execute("SET search_path = pg_catalog")
        for room in TABLES:
            connection.execute(queries[room])
        result = connection.pgconn.prepare(b"", _positional(queries[name]))
        assert result.status == psycopg.pq.ExecStatus.COMMAND_OK, result.error_message.decode()
        connection.rollback()


def test_a_query_that_names_nothing_is_found_out(server: EmbeddedPostgres) -> None:
    """The check above can fail: a column that does not exist is refused when the query is prepared."""
    with psycopg.connect(server.dsn("memory_app", "memory")) as connection:
        result = connection.pgconn.prepare(b"", b"SELECT colour FROM memory.facts")
    assert result.status == psycopg.pq.ExecStatus.FATAL_ERROR


@pytest.mark.parametrize("name", QUERIES)
def test_every_query_has_a_user(code: str, name: str) -> None:
    """Every query is called by its name; a query for several tables by its name and the kind."""
    assert re.search(rf'"{re.escape(name.partition(":")[0])}(?:"|:)', code)


def test_every_query_that_is_called_exists(code: str) -> None:
    """Whatever the program sends by name is in the files."""
    nouns = "|".join(file.stem for file in SQL)
    called = set(re.findall(rf'(?:send|one|all|_transaction)\(\s*(?:tenant, )?f?"((?:{nouns})\.\w+)[":]', code))
    assert called - {name.partition(":")[0] for name in QUERIES} == set()
    assert len(called) > len(QUERIES) / 2


@pytest.mark.parametrize("file", SQL, ids=lambda file: file.stem)
def test_every_query_says_what_it_is_for(file: Path) -> None:
    """A name is followed by a line of purpose, names are unique in a file, and no statement is without a name."""
    text = file.read_text()
    heads: list[Any] = re.findall(r"^-- name: (\w+)\n(?:-- each: .*\n)*(-- .*)?", text, re.MULTILINE)
    names = [name for name, _ in heads]
    loaded = {name.partition(":")[0] for name in QUERIES if name.startswith(f"{file.stem}.")}
    assert len(names) == len(set(names)) == len(loaded)
    for name, purpose in heads:
        assert re.match(r"-- [A-Z].+[.?:,]?$", purpose or ""), f"{file.stem}.{name} has no purpose"
    assert re.match(r"(?:-- .*\n)*\n?-- (?:name|part): ", text)


def test_a_query_for_several_tables_is_loaded_once_for_each() -> None:
    queries = load_queries(Names())
    assert b'"memory".facts' in queries["memories.set_pinned:fact"]
    assert b'"memory".rules' in queries["memories.set_pinned:rule"]
    assert "memories.set_pinned" not in queries


@pytest.mark.parametrize("table", ["facts", "rules", "episodes"])
def test_undo_restores_every_column_that_can_change(
    server: EmbeddedPostgres, shared_resources: Resources, table: str
) -> None:
    """A column is restored, or a trigger refuses to change it, or it counts references, which undo leaves alone."""
    restore = "undo.restore_episodes" if table == "episodes" else f"undo.restore:{table[:-1]}"
    update = load_queries(shared_resources.database.names)[restore].decode()
    restored = set(re.findall(r"\w+", update[update.index("SET (") + 5 : update.index(") = (")]))
    with psycopg.connect(server.dsn("memory_owner", "memory")) as connection:
        columns = connection.execute(
            "SELECT attname FROM pg_attribute"
            " WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''",
            (f"memory.{table}",),
        ).fetchall()
        guards = connection.execute(
            "SELECT string_agg(pg_get_triggerdef(oid), ' ') FROM pg_trigger"
            " WHERE tgrelid = %s::regclass AND tgname LIKE 'guard%%'",
            (f"memory.{table}",),
        ).fetchone()
    assert guards
    fixed = set(re.findall(r"old\.(\w+)", guards[0]))
    assert {name for (name,) in columns} == restored | fixed | {"reference_count", "last_referenced_at"}


def test_placeholders_are_numbered_once_for_each_name() -> None:
    """A name that comes again has its number already, and a doubled percent sign is one."""
    query = b"SELECT %(b)s, %(a)s, %(b)s WHERE %(tenant)s LIKE 'x%%' AND 5 %% 2 = 1"
    expected = b"SELECT $1, $2, $1 WHERE $3 LIKE 'x%' AND 5 % 2 = 1"
    assert numbered(query) == (expected, ("b", "a", "tenant"))
