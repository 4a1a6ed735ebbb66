"""What must not be, the database itself refuses: tried with plain SQL, past every check of the program."""

import hashlib
import itertools
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from psycopg import sql
from psycopg.types.json import Jsonb

from memory_butler.models import ConsolidationStatus, Maturity, MemoryType, Validity
from memory_butler.policy.lifecycle import confidence
from memory_butler.policy.lifecycle.transitions import TRANSITIONS
from memory_butler.resources import Resources
from memory_butler.store.embedded.server import EmbeddedPostgres

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
BROKEN = "MB001"
CONTENT = "It is so"
COMMON: dict[str, Any] = {
    "content": CONTENT,
    "content_hash": hashlib.sha256(CONTENT.encode()).digest(),
    "tags": ["home"],
    "validity": "active",
    "created_at": NOW,
    "reference_count": 0,
    "metadata": Jsonb({}),
}
SAMPLES: dict[str, dict[str, Any]] = {
    "facts": COMMON
    | {
        "subject": "user",
        "subject_label": "User",
        "predicate": "color",
        "predicate_label": "Color",
        "scope": "global",
        "importance": 5,
        "confidence": 1.0,
        "permanence": "standard",
        "decay_rate": 0.008,
        "source_butler": "main",
    },
    "rules": COMMON
    | {
        "scope": "global",
        "maturity": "candidate",
        "confidence": 0.5,
        "decay_rate": 0.008,
        "applied_count": 0,
        "success_count": 0,
        "harmful_count": 0,
        "harmful_reasons": [],
        "source_butler": "main",
    },
    "episodes": COMMON
    | {
        "butler": "main",
        "importance": 5,
        "consolidation_status": "pending",
        "consolidation_attempts": 0,
        "observed_at": NOW,
        "expires_at": NOW + timedelta(days=7),
    },
}
TABLE = {MemoryType.FACT: "facts", MemoryType.RULE: "rules", MemoryType.EPISODE: "episodes"}
AXES: dict[tuple[MemoryType, str], tuple[str, list[str]]] = {
    (MemoryType.FACT, "validity"): ("validity", list(Validity)),
    (MemoryType.RULE, "validity"): ("validity", [state for state in Validity if state is not Validity.SUPERSEDED]),
    (MemoryType.RULE, "maturity"): ("maturity", list(Maturity)),
    (MemoryType.EPISODE, "validity"): ("validity", ["active", "retracted"]),
    (MemoryType.EPISODE, "consolidation"): ("consolidation_status", list(ConsolidationStatus)),
}
# A fact needs a subject of its own to live beside the others.
UNIQUE: dict[str, Callable[[], dict[str, Any]]] = {
    "facts": lambda: {"subject": uuid.uuid4().hex},
    "rules": dict,
    "episodes": dict,
}
Connection = psycopg.Connection[Any]


class Rows:
    """Rows written with plain SQL as one role, for one tenant."""

    def __init__(self, connection: Connection, tenant: str) -> None:
        self.connection = connection
        self.tenant = tenant
        connection.execute("SELECT set_config('memory_butler.tenant', %s, false)", (tenant,))
        connection.execute(
            "INSERT INTO memory.tenants (tenant_id, created_at) VALUES (%s, now()) ON CONFLICT DO NOTHING", (tenant,)
        )

    def insert(self, table: str, **given: Any) -> None:
        values = {"tenant_id": self.tenant} | given
        self.connection.execute(
            sql.SQL("INSERT INTO memory.{} ({}) VALUES ({})").format(
                sql.Identifier(table),
                sql.SQL(", ").join(map(sql.Identifier, values)),
                sql.SQL(", ").join(map(sql.Placeholder, values)),
            ),
            values,
        )

    def add(self, table: str, **given: Any) -> UUID:
        """A memory that is as it should be, but for what is given."""
        memory_id = uuid.uuid4()
        named = {"id": memory_id, "ref": memory_id.hex[:13]}
        self.insert(table, **(SAMPLES[table] | named | given))
        return memory_id

    def change(self, table: str, memory_id: UUID, **given: Any) -> int:
        return self.connection.execute(
            sql.SQL("UPDATE memory.{} SET {} WHERE tenant_id = %(its_tenant)s AND id = %(its_id)s").format(
                sql.Identifier(table),
                sql.SQL(", ").join(
                    sql.SQL("{} = {}").format(sql.Identifier(name), sql.Placeholder(name)) for name in given
                ),
            ),
            given | {"its_tenant": self.tenant, "its_id": memory_id},
        ).rowcount

    def link(self, source: tuple[str, UUID], target: tuple[str, UUID], **given: Any) -> None:
        ends = {"source_type": source[0], "source_id": source[1], "target_type": target[0], "target_id": target[1]}
        self.insert("memory_links", **({"relation": "related_to", "created_at": NOW} | ends | given))

    def event(self, **given: Any) -> UUID:
        event_id = uuid.uuid4()
        sample: dict[str, Any] = {
            "id": event_id,
            "seq": 1,
            "event_type": "fact.created",
            "entity_type": "fact",
            "entity_id": uuid.uuid4(),
            "occurred_at": NOW,
            "actor": "main",
            "payload_version": 1,
            "payload": Jsonb({}),
        }
        self.insert("memory_events", **(sample | given))
        return event_id


@pytest.fixture(params=["postgres", "memory_app"])
def rows(
    request: pytest.FixtureRequest, server: EmbeddedPostgres, shared_resources: Resources, tenant: str
) -> Iterator[Rows]:
    """As the superuser, whom no permission stops, and as the role the program works as."""
    with psycopg.connect(server.dsn(request.param, "memory"), autocommit=True) as connection:
        yield Rows(connection, tenant)


@pytest.fixture
def superuser(owner: Connection, tenant: str) -> Rows:
    return Rows(owner, tenant)


def _refused(*states: str) -> Any:
    """Refused by an invariant, a constraint or a missing permission: all of them reach a caller as integrity_error."""
    return pytest.raises(psycopg.Error, check=lambda problem: problem.sqlstate in (states or (BROKEN,)))


# --- lifecycles -----------------------------------------------------------------------------------


def test_the_database_holds_the_same_transitions_as_the_policy(superuser: Rows) -> None:
    """The table of transitions in the store is the table in policy/lifecycle.py, no row more or less."""
    held = superuser.connection.execute(
        "SELECT memory_type, axis, from_state, to_state FROM memory.lifecycle_transitions"
    ).fetchall()
    assert set(held) == {(str(kind), axis, *pair) for (kind, axis), pairs in TRANSITIONS.items() for pair in pairs}


@pytest.mark.parametrize(("kind", "axis"), AXES)
def test_exactly_the_allowed_transitions_are_accepted(rows: Rows, kind: MemoryType, axis: str) -> None:
    """Of all pairs of states only those of the policy can follow one another."""
    table, (column, states) = TABLE[kind], AXES[kind, axis]
    for before, after in itertools.product(states, states):
        memory_id = rows.add(table, **UNIQUE[table](), **{column: before})
        if before == after or (before, after) in TRANSITIONS[kind, axis]:
            assert rows.change(table, memory_id, **{column: after}) == 1
        else:
            with _refused():
                rows.change(table, memory_id, **{column: after})


@pytest.mark.parametrize(("kind", "axis"), AXES)
def test_unknown_states_are_refused(rows: Rows, kind: MemoryType, axis: str) -> None:
    """A state outside the vocabulary can be neither stored nor moved to."""
    table, column = TABLE[kind], AXES[kind, axis][0]
    with _refused("23514"):
        rows.add(table, **{column: "forgotten"})
    memory_id = rows.add(table)
    with _refused(BROKEN):
        rows.change(table, memory_id, **{column: "forgotten"})


# --- single rows ----------------------------------------------------------------------------------

WRONG: dict[str, list[dict[str, Any]]] = {
    "facts": [
        {"importance": 0},
        {"importance": 11},
        {"confidence": -0.01},
        {"confidence": 1.01},
        {"confidence": float("nan")},
        {"permanence": "eternal"},
        {"decay_rate": -0.001},
        {"decay_rate": float("inf")},
        {"decay_rate": float("nan")},
        {"content": ""},
        {"subject": ""},
        {"predicate": ""},
        {"content_hash": b"short"},
        {"scope": ""},
        {"scope": "s" * 65},
        {"reference_count": -1},
        {"metadata": Jsonb([])},
        {"ref": "ABC!"},
        {"ref": "abc"},
        {"last_confirmed_at": NOW - timedelta(seconds=1)},
    ],
    "rules": [
        {"confidence": 2.0},
        {"decay_rate": -0.1},
        {"decay_rate": float("inf")},
        {"decay_rate": float("nan")},
        {"content": ""},
        {"content_hash": b""},
        {"success_count": -1, "applied_count": -1},
        {"harmful_count": -1, "applied_count": -1},
        {"success_count": 1, "applied_count": 2, "effectiveness_score": 1.0},
        {"success_count": 1, "applied_count": 1},
        {"effectiveness_score": 0.5},
        {"success_count": 1, "applied_count": 1, "effectiveness_score": 1.5},
        {"scope": ""},
        {"reference_count": -1},
        {"metadata": Jsonb("text")},
        {"last_confirmed_at": NOW - timedelta(seconds=1)},
    ],
    "episodes": [
        {"importance": 0},
        {"importance": 11},
        {"content": ""},
        {"butler": ""},
        {"content_hash": b"short"},
        {"consolidation_attempts": -1},
        {"expires_at": NOW - timedelta(seconds=1)},
        {"reference_count": -1},
        {"metadata": Jsonb(None)},
        {"ref": "with space"},
    ],
}


@pytest.mark.parametrize("table", WRONG)
def test_values_out_of_range_are_refused(rows: Rows, table: str) -> None:
    """Every range and every vocabulary is a CHECK."""
    for wrong in WRONG[table]:
        with _refused("23514"):
            rows.add(table, **(UNIQUE[table]() | wrong))
    rows.add(table)


@pytest.mark.parametrize("table", SAMPLES)
def test_every_column_that_is_not_optional_is_required(rows: Rows, table: str) -> None:
    """A row without one of its required values is refused."""
    for column in SAMPLES[table]:
        with _refused("23502"):
            rows.add(table, **(UNIQUE[table]() | {column: None}))


WRONG_EVENTS: list[dict[str, Any]] = [
    {"seq": 0},
    {"event_type": "created"},
    {"entity_type": "tenant"},
    {"entity_id": None},
    {"entity_type": "reference"},
    {"payload_version": 0},
    {"payload": Jsonb([])},
]


def test_malformed_events_are_refused(rows: Rows) -> None:
    """An event says what happened to which memory, in a known form, or is not written."""
    rows.event()
    for wrong in WRONG_EVENTS:
        with _refused("23514"):
            rows.event(**wrong)


def test_names_of_tenants_and_butlers_are_bounded(superuser: Rows) -> None:
    """A tenant's name has one form, and a butler's name is neither empty nor endless."""
    for name in ("", "Upper", "-dash", "a" * 64, "a b"):
        with _refused("23514"):
            superuser.insert("tenants", tenant_id=name, created_at=NOW)
    for name in ("", "b" * 65):
        with _refused("23514"):
            superuser.insert("butlers", butler=name, created_at=NOW)


def test_two_live_facts_of_one_property_are_refused(rows: Rows) -> None:
    """One live property per tenant, scope, subject and predicate; events and past facts do not count."""
    first = rows.add("facts")
    for live in ("active", "fading"):
        with _refused("23505"):
            rows.add("facts", validity=live)
    rows.add("facts", valid_at=NOW)
    rows.add("facts", scope="health")
    old = rows.add("facts", validity="superseded")
    with _refused("23505"):
        rows.change("facts", old, validity="active")
    rows.change("facts", first, validity="superseded")
    rows.change("facts", old, validity="active")


def test_a_short_reference_is_given_once(rows: Rows) -> None:
    """Two facts, or two rules, of one tenant never share a reference."""
    for table in ("facts", "rules"):
        rows.add(table, ref="same1")
        with _refused("23505"):
            rows.add(table, ref="same1", **({"valid_at": NOW} if table == "facts" else {}))


# --- what never changes -----------------------------------------------------------------------------

FIXED: dict[str, dict[str, Any]] = {
    "facts": {
        "id": uuid.uuid4(),
        "ref": "other1",
        "scope": "health",
        "created_at": NOW - timedelta(days=1),
        "valid_at": NOW,
        "source_butler": "other",
        "source_episode_id": uuid.uuid4(),
        "content": "It is otherwise",
        "content_hash": bytes(32),
        "subject": "someone",
        "predicate": "else",
        "request_id": "r9",
        "subject_label": "Someone",
        "predicate_label": "Else",
    },
    "rules": {
        "id": uuid.uuid4(),
        "ref": "other1",
        "scope": "health",
        "created_at": NOW - timedelta(days=1),
        "source_butler": "other",
        "source_episode_id": uuid.uuid4(),
        "content": "Do otherwise",
        "content_hash": bytes(32),
        "request_id": "r9",
    },
    "episodes": {
        "id": uuid.uuid4(),
        "ref": "other1",
        "butler": "other",
        "session_id": "s9",
        "observed_at": NOW - timedelta(days=1),
        "created_at": NOW - timedelta(days=1),
        "content": "It went otherwise",
        "content_hash": bytes(32),
        "request_id": "r9",
    },
}


@pytest.mark.parametrize("table", FIXED)
def test_identity_provenance_and_content_are_never_rewritten(rows: Rows, table: str) -> None:
    """Who said what, when, in which words and under which name stays as it was stored."""
    memory_id = rows.add(table)
    for column, value in FIXED[table].items():
        with _refused():
            rows.change(table, memory_id, **{column: value})


def test_a_fact_never_gets_another_predecessor(rows: Rows) -> None:
    """The line of supersession is provenance too."""
    first, second = rows.add("facts", validity="superseded"), rows.add("facts", validity="retracted")
    third = rows.add("facts", supersedes_id=first)
    with _refused():
        rows.change("facts", third, supersedes_id=second)
    with _refused("23514"):
        same = uuid.uuid4()
        rows.add("facts", id=same, supersedes_id=same, valid_at=NOW)


def test_a_fact_supersedes_only_a_fact_of_its_tenant(rows: Rows, superuser: Rows) -> None:
    """A predecessor that does not exist, or is another tenant's, is refused."""
    stranger = _other_tenant(superuser).add("facts")
    for target in (uuid.uuid4(), stranger):
        with _refused("23503"):
            rows.add("facts", supersedes_id=target)


HISTORY = {"memory_events": "actor", "rule_applications": "butler", "memory_links": "request_id"}


@pytest.mark.parametrize("table", HISTORY)
@pytest.mark.parametrize("role", ["postgres", "memory_owner", "memory_app"])
def test_history_is_append_only_for_everybody(server: EmbeddedPostgres, superuser: Rows, table: str, role: str) -> None:
    """Events, applications and links cannot be changed, deleted or truncated, not even by their owner."""
    rule, episode = superuser.add("rules"), superuser.add("episodes")
    superuser.event()
    superuser.link(("rule", rule), ("episode", episode))
    application = {"id": uuid.uuid4(), "rule_id": rule, "outcome": "helpful", "butler": "main", "created_at": NOW}
    superuser.insert("rule_applications", **application)
    names = {"table": sql.Identifier(table), "column": sql.Identifier(HISTORY[table])}
    with psycopg.connect(server.dsn(role, "memory"), autocommit=True) as connection:
        connection.execute("SELECT set_config('memory_butler.tenant', %s, false)", (superuser.tenant,))
        statements = (
            "UPDATE memory.{table} SET {column} = 'x'",
            "DELETE FROM memory.{table}",
            "TRUNCATE memory.{table}",
        )
        for statement in statements:
            # 42501: the program's role has not even the permission.
            with _refused(*((BROKEN, "42501") if role == "memory_app" else (BROKEN,))):
                connection.execute(sql.SQL(statement).format(**names))


# --- links ------------------------------------------------------------------------------------------


def _other_tenant(superuser: Rows) -> Rows:
    other = Rows(superuser.connection, f"t{uuid.uuid4().hex[:16]}")
    superuser.connection.execute("SELECT set_config('memory_butler.tenant', %s, false)", (superuser.tenant,))
    return other


def test_a_link_joins_two_memories_that_exist_in_the_tenant(rows: Rows, superuser: Rows) -> None:
    """Neither end may be nothing, of another type, or another tenant's."""
    fact, episode = rows.add("facts"), rows.add("episodes")
    rows.link(("fact", fact), ("episode", episode))
    stranger = _other_tenant(superuser).add("facts")
    here = ("fact", fact)
    for there in (("fact", stranger), ("fact", uuid.uuid4()), ("rule", episode), ("episode", uuid.uuid4())):
        with _refused():
            rows.link(here, there)
        with _refused():
            rows.link(there, here)


def test_a_link_has_a_known_relation_and_two_ends(rows: Rows) -> None:
    """Five relations, no memory linked to itself."""
    fact, episode = rows.add("facts"), rows.add("episodes")
    with _refused("23514"):
        rows.link(("fact", fact), ("episode", episode), relation="likes")
    with _refused("23514"):
        rows.link(("fact", fact), ("fact", fact))


def test_a_link_to_a_deleted_episode_stays_and_can_be_made(rows: Rows) -> None:
    """An episode's tombstone is enough of an end for a link."""
    fact, rule, episode = rows.add("facts"), rows.add("rules"), rows.add("episodes")
    rows.link(("fact", fact), ("episode", episode))
    grave = {"episode_id": episode, "ref": "e123", "butler": "main", "observed_at": NOW, "created_at": NOW}
    rows.insert("episode_tombstones", **grave, deleted_at=NOW, reason="expired")
    rows.connection.execute("DELETE FROM memory.episodes WHERE tenant_id = %s AND id = %s", (rows.tenant, episode))
    rows.link(("rule", rule), ("episode", episode))
    found = rows.connection.execute(
        "SELECT count(*) FROM memory.memory_links WHERE tenant_id = %s AND target_id = %s", (rows.tenant, episode)
    ).fetchone()
    assert found == (2,)


# --- the formula ----------------------------------------------------------------------------------

MOMENTS = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
CASE = st.tuples(
    st.just(0.0) | st.floats(1e-6, 1), st.sampled_from([0.0, 0.002, 0.1]) | st.floats(0, 100), MOMENTS, MOMENTS
)


@examples(max_examples=20, deadline=None)
@given(cases=st.lists(CASE, min_size=1, max_size=50))
def test_the_database_computes_the_same_confidence(server: EmbeddedPostgres, cases: list[tuple[Any, ...]]) -> None:
    """effective_confidence in SQL and in policy/confidence.py are one formula, to twelve digits."""
    with psycopg.connect(server.dsn("postgres", "memory")) as connection:
        rates, anchors = [case[1] for case in cases], [case[2] for case in cases]
        held = connection.execute(
            "SELECT memory.effective_confidence(c, r, a, n) FROM unnest(%s::float8[], %s::float8[],"
            " %s::timestamptz[], %s::timestamptz[]) WITH ORDINALITY AS t (c, r, a, n, i) ORDER BY i",
            ([case[0] for case in cases], rates, anchors, [case[3] for case in cases]),
        ).fetchall()
    expected = [confidence.effective_confidence(*case) for case in cases]
    assert [row[0] for row in held] == pytest.approx(expected, rel=1e-12, abs=1e-250)
