"""A host's database on the test server: a login of its own, which owns the database and may make roles."""

import importlib.util
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import psycopg
import pytest

from memory_butler.store.embedded.server import EmbeddedPostgres

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Handle:
    """A host's own handle."""

    dsn: str
    schema: str | None = None


@pytest.fixture(scope="module")
def host_dsn(server: EmbeddedPostgres) -> Iterator[str]:
    """An empty database by the account of a host that is no superuser; pgvector is in a schema of its own."""
    name = f"h{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server.dsn("postgres", "postgres"), autocommit=True) as superuser:
        superuser.execute(f"CREATE ROLE {name} LOGIN CREATEROLE")
        superuser.execute(f"CREATE DATABASE {name} OWNER {name}")
        with psycopg.connect(server.dsn("postgres", name), autocommit=True) as inside:
            inside.execute(f'CREATE SCHEMA "Extra Things" AUTHORIZATION {name}')
            inside.execute('CREATE EXTENSION vector SCHEMA "Extra Things"')
        yield server.dsn(name, name)
        superuser.execute(f"DROP DATABASE {name} WITH (FORCE)")
        made = superuser.execute(
            "SELECT quote_ident(r.rolname) FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.roleid"
            " JOIN pg_roles h ON h.oid = m.member WHERE h.rolname = %s AND r.rolname <> 'memory_app'",
            (name,),
        ).fetchall()
        for (role,) in dict.fromkeys(made):
            superuser.execute(f"DROP ROLE {role}")
        superuser.execute(f"DROP ROLE {name}")


@pytest.fixture(scope="session")
def example() -> ModuleType:
    """The example host, as a module."""
    spec = importlib.util.spec_from_file_location("host_butler", ROOT / "examples" / "host_butler" / "host.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["host_butler"] = module
    spec.loader.exec_module(module)
    return module
