"""The host's table: what it may say, what is refused, and which settings come of it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memory_butler.adapters.host.config import GROUPS, SCHEMA_CHARACTERS, MemoryConfig, settings_for
from memory_butler.adapters.host.host_database import HostConnection, host_connection
from memory_butler.adapters.mcp.catalog import GROUPS as TOOL_GROUPS
from memory_butler.errors import InvalidInput
from memory_butler.settings import Settings

HERE = HostConnection("postgresql://host@localhost/household")


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"colour": "green"}, "modules.memory.colour: unknown key"),
        ({"retrieval": {"speed": 9}}, "modules.memory.retrieval.speed: unknown key"),
        ({"retrieval": {"weights": {"fit": 0.9}}}, "retrieval.weights: score weights add up to 1.5, not 1"),
        ({"briefing": {"quotas": {"facts": 0.9}}}, "briefing.quotas: section quotas add up to 1.4, more than 1"),
        ({"briefing": {"token_budget": -1}}, "modules.memory.briefing.token_budget"),
        ({"tools": ["recall", "magic"]}, "unknown group 'magic'; the groups are remember, recall"),
        ({"upkeep": {"tick_seconds": 3600, "consolidation_hours": 0.25}}, "jobs would always be late"),
        ({"consolidation": {"distiller": "oracle"}}, "modules.memory.consolidation.distiller"),
        ({"session": {"episode": "transcript"}}, "modules.memory.session.episode"),
        ({"session": {"deadline_seconds": 0}}, "modules.memory.session.deadline_seconds"),
        ({"db_schema": "x" * (SCHEMA_CHARACTERS + 1)}, "modules.memory.db_schema"),
        ({"db_schema": 'a"b'}, "modules.memory.db_schema"),
        (["tools"], "modules.memory"),
    ],
)
def test_a_wrong_table_is_refused_in_words(table: Any, said: str) -> None:
    """Unknown keys, shares that do not add up and values out of range are named by their place in the table."""
    with pytest.raises(InvalidInput) as refused:
        MemoryConfig.read(table)
    assert said in refused.value.message and "[modules.memory]" in refused.value.recovery


def test_limits_of_the_settings_hold_for_the_host_too() -> None:
    """What the table hands on as it is, the settings check."""
    with pytest.raises(InvalidInput, match=r"modules\.memory\.pool_size"):
        settings_for(MemoryConfig.read({"pool_size": 0}), HERE, "health")


def test_an_empty_table_means_the_usual_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No second default: beside the host's place every setting has its own default, whatever environment and files of
    a local store say."""
    (tmp_path / "config.toml").write_text("pool_size = 3\n", encoding="utf-8")
    monkeypatch.setenv("MEMORY_BUTLER_HOME", str(tmp_path))
    monkeypatch.setenv("MEMORY_BUTLER_RETRIEVAL__LIMIT", "7")
    made = settings_for(MemoryConfig.read(None), HERE, "health")
    own = {"database_url", "owner_url", "db_schema", "app_role", "butler", "home"}
    usual = {name: field.get_default(call_default_factory=True) for name, field in Settings.model_fields.items()}
    assert {name: getattr(made, name) for name in usual.keys() - own} == {
        name: usual[name] for name in usual.keys() - own
    }
    assert made.database_url and made.database_url.get_secret_value() == HERE.dsn
    assert made.home == usual["home"].expanduser()


def test_what_the_table_says_becomes_the_settings(tmp_path: Path) -> None:
    """Every part of it arrives where the rest of the program reads it."""
    table = {
        "home": str(tmp_path),
        "pool_size": 4,
        "pooler": True,
        "deadline_seconds": 3,
        "retrieval": {"limit": 4, "min_confidence": 0.3, "weights": {"recency": 0.3, "importance": 0.2}},
        "briefing": {"token_budget": 500},
        "lifecycle": {"preset": "generational", "eden": {"ttl_days": 2}},
        "upkeep": {"consolidation_hours": 3},
        "consolidation": {"distiller": "off"},
    }
    made = settings_for(MemoryConfig.read(table), HERE, "health")
    assert (made.home, made.pool_size, made.deadline_seconds) == (tmp_path, 4, 3)
    assert (made.retrieval.limit, made.retrieval.min_confidence, made.retrieval.weights.recency) == (4, 0.3, 0.3)
    assert made.service.pooler and made.briefing.token_budget == 500 and made.consolidation.distiller == "off"
    assert (made.lifecycle.eden.ttl_days, made.lifecycle.mid.capacity) == (2, 500)
    assert made.upkeep.intervals()["consolidation"].total_seconds() == 3 * 3600


def test_a_deprecated_key_of_the_table_is_read_with_a_warning() -> None:
    """The settings made of the table still carry the warning, so that it is logged when the store opens."""
    made = settings_for(MemoryConfig.read({"retrieval": {"weights": {"relevance": 0.4}}}), HERE, "health")
    assert made.retrieval.weights.fit == 0.4
    assert "retrieval.weights.fit" in made.warnings[0]


def test_every_group_of_tools_can_be_chosen() -> None:
    """The groups are those of the server, under their names, and all are on unless the table says otherwise."""
    assert set(GROUPS.values()) == set(TOOL_GROUPS)
    assert MemoryConfig.read({}).tools == tuple(GROUPS)
    assert MemoryConfig.read({"tools": ["recall", "recall"]}).tools == ("recall",)


def schema_of(host_schema: str | None, butler: str, **table: Any) -> str:
    return settings_for(MemoryConfig.read(table), HostConnection(HERE.dsn, schema=host_schema), butler).db_schema


def test_each_butler_has_a_schema_and_a_role_of_its_own() -> None:
    """Beside the host's own schema and never in it; names that differ in the least never become one."""
    assert schema_of("health", "health") == "health_memory"
    assert schema_of(None, "health") == schema_of("public", "health") == "memory_health"
    assert schema_of("health", "health", db_schema="elsewhere") == "elsewhere"
    odd = [schema_of(None, name) for name in ("a-b", "a.b", "a_b", "a" * 60, "a" * 61)]
    assert len(set(odd)) == len(odd) and all(len(name) <= SCHEMA_CHARACTERS for name in odd)
    assert schema_of("7th", "x")[0] == "m" and schema_of("Big One", "x") != schema_of("big_one", "x")
    made = settings_for(MemoryConfig.read({}), HERE, "health")
    assert made.app_role == "memory_health_app"


@dataclass
class Parts:
    host: str = "/run/sockets"
    port: int = 5433
    user: str = "an na"
    password: str = "p@ss/word"
    db_name: str = "house"
    schema: str = "health"


class UrlObject:
    """SQLAlchemy's way: the text of a URL hides its password."""

    def __str__(self) -> str:
        return "postgresql+psycopg://anna:***@db/house"

    def render_as_string(self, *, hide_password: bool) -> str:
        return str(self) if hide_password else "postgresql+psycopg://anna:geheim@db/house"


@dataclass
class Engine:
    url: Any
    owner_dsn: str | None = None


@pytest.mark.parametrize(
    ("db", "dsn"),
    [
        ("postgresql+asyncpg://anna@db/house", "postgresql://anna@db/house"),
        ("host=/run/sockets dbname=house", "host=/run/sockets dbname=house"),
        (Engine(UrlObject()), "postgresql://anna:geheim@db/house"),
        (Parts(), "postgresql://an%20na:p%40ss%2Fword@/house?host=%2Frun%2Fsockets&port=5433"),
    ],
)
def test_a_host_hands_over_what_it_has(db: object, dsn: str) -> None:
    """A DSN with or without a driver, an object with a URL, or one with the parts of a connection."""
    assert host_connection(db).dsn == dsn


def test_schema_and_owner_come_with_the_handle() -> None:
    """The host's schema and its second account are taken from it where there are any; the password is never shown."""
    connection = host_connection(Engine("postgresql://app:geheim@db/house", owner_dsn="postgresql://boss@db/house"))
    assert (connection.owner_dsn, connection.schema, host_connection(Parts()).schema) == (
        "postgresql://boss@db/house",
        None,
        "health",
    )
    assert "geheim" not in repr(connection)


@pytest.mark.parametrize("db", [None, object(), {"dsn": "x"}, "mysql://anna:geheim@db/house"])
def test_a_handle_without_a_postgres_is_refused(db: object) -> None:
    """What has no connection in it is an error that says what to hand over, and repeats no password."""
    with pytest.raises(InvalidInput) as refused:
        host_connection(db)
    assert "geheim" not in str(refused.value.as_dict())
