"""The database's own line between tenants: it holds where the program forgets its own."""

import random
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from tests.stories.isolation import Tally, World, as_everybody, fire, new_tenants, plant, snapshot

from memory_butler.errors import NotFound
from memory_butler.models import Caller, Principal, Role
from memory_butler.operations.retrieval import get
from memory_butler.operations.system.call_log import store_waiting
from memory_butler.resources import Resources
from memory_butler.store.embedded.server import EmbeddedPostgres
from memory_butler.store.gate import database
from memory_butler.store.gate.database import Database, Transaction
from memory_butler.store.gate.queries import Names, load_queries

FILTER = re.compile(rb"[\w.]*tenant_id\s*=\s*%\(tenant\)s")
Owner = psycopg.Connection[Any]


@pytest.fixture(scope="module")
async def worlds(shared_resources: Resources) -> list[World]:
    return [
        await plant(shared_resources, tenant, random.Random(number)) for number, tenant in enumerate(new_tenants(2))
    ]


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every query of the program without its condition on the tenant."""

    def stripped(names: Names) -> dict[str, bytes]:
        return {name: FILTER.sub(b"TRUE", query) for name, query in load_queries(names).items()}

    monkeypatch.setattr(database, "load_queries", stripped)


def test_the_conditions_can_be_taken_out(resources: Resources) -> None:
    """The pattern finds them: hundreds, in most queries, and what names a tenant elsewhere binds it or writes it."""
    queries = load_queries(resources.database.names)
    assert sum(len(FILTER.findall(query)) for query in queries.values()) > 400
    assert len([name for name, query in queries.items() if FILTER.search(query)]) > 0.6 * len(queries)


async def test_without_the_programs_own_filter_nothing_of_others_comes_back(
    shared_resources: Resources, owner: Owner, worlds: list[World], forgetful: None
) -> None:
    """Every query without its WHERE tenant_id: no word of another tenant is told, and none of its rows changes."""
    intruder, other = worlds
    await store_waiting(shared_resources)
    before, tally = snapshot(owner, [other]), Tally()
    await fire(as_everybody(shared_resources), intruder, worlds, 104, tally)
    assert tally.leaked == []
    assert snapshot(owner, [other]) == before
    assert tally.outcomes["ok"] > 20 and tally.outcomes["not_found"] > 10, tally.outcomes


async def test_a_program_that_names_the_wrong_tenant_reaches_nothing(
    shared_resources: Resources, owner: Owner, worlds: list[World], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gate is bound to one tenant and every parameter says another: neither is seen, neither changes."""
    bound, named = worlds
    await store_waiting(shared_resources)
    before, tally = snapshot(owner, worlds), Tally()
    bind = Database._bind

    async def bind_another(self: Database, transaction: Transaction, *given: Any, **more: Any) -> None:
        asked, transaction.tenant = transaction.tenant, bound.tenant
        await bind(self, transaction, *given, **more)
        transaction.tenant = asked

    monkeypatch.setattr(Database, "_bind", bind_another)
    await fire(as_everybody(shared_resources), named, [named], 100, tally, seen_by=bound)
    assert tally.leaked == []
    assert snapshot(owner, worlds) == before
    # Reads find nothing, writes are refused by the database, and neither is an unexpected fault.
    assert tally.outcomes["integrity_error"] > 20 and "internal_error" not in tally.outcomes, tally.outcomes


@pytest.fixture
async def defenceless(shared_resources: Resources, server: EmbeddedPostgres) -> AsyncIterator[Resources]:
    """The same store through an account that row-level security does not bind."""
    settings = shared_resources.settings.model_copy(
        update={"database_url": _Secret(server.dsn("postgres", "memory")), "app_role": "postgres"}
    )
    opened = Database.from_settings(settings)
    await opened.open()
    yield replace(shared_resources, database=opened, settings=settings)
    await opened.close()


class _Secret(str):
    def get_secret_value(self) -> str:
        return str(self)


async def test_it_is_the_database_that_holds_the_line(
    shared_resources: Resources, defenceless: Resources, worlds: list[World], forgetful: None
) -> None:
    """The same forgetful program, past row-level security, does hand out another tenant's memory: the tests above would
    see it."""
    intruder, other = worlds
    caller = Caller(Principal(intruder.tenant, "main", Role.ADMIN))
    theirs = next(handle for handle in other.handles[1::2] if ":" not in handle)
    with pytest.raises(NotFound):
        await get.get(shared_resources, "episode", theirs, caller, bump=False)
    seen = await get.get(defenceless, "episode", theirs, caller, bump=False)
    assert any(secret in seen.memory.content.casefold() for secret in other.secrets)
