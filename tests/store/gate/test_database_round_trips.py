"""How often a call waits for the database, counted on the wire: between program and server stands a listener."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from pydantic import SecretStr

from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.models import BriefRequest, NewFact, Question
from memory_butler.operations.briefing import brief
from memory_butler.operations.retrieval import ranked_candidates, search
from memory_butler.operations.writing import remember
from memory_butler.policy.memories.validation import validate_question
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import Settings
from memory_butler.store.embedded.server import EmbeddedPostgres
from memory_butler.store.gate.ids import tenant_digest

# Messages upon which the server hands out what it has to say, and before which it keeps it: Sync and Flush. A simple
# query is work and asking in one.
ASKING = (b"S", b"H")
QUERY = b"Q"


class Wire:
    """Carries bytes both ways and counts how often work is handed over and its answer asked for.

    To ask twice with no work in between, as the driver does at the end of a pipeline, is to wait once.
    """

    def __init__(self) -> None:
        self.round_trips = 0
        self._carrying: list[asyncio.Task[None]] = []

    async def ended(self) -> None:
        """Wait until everything has been carried."""
        await asyncio.gather(*self._carrying)

    def carry(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter, path: str) -> None:
        self._carrying.append(asyncio.create_task(self._carry(client, to_client, path)))

    async def _carry(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter, path: str) -> None:
        server, to_server = await asyncio.open_unix_connection(path)
        back = asyncio.create_task(self._copy(server, to_client))
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            await self._copy_messages(client, to_server)
        to_server.close()
        await back

    async def _copy(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await source.read(65536):
                target.write(data)
                await target.drain()
        target.close()

    async def _copy_messages(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        kind, working = b"", False  # the first message has no kind
        while True:
            head = await source.readexactly(4)
            body = await source.readexactly(int.from_bytes(head, "big") - 4)
            self.round_trips += kind == QUERY or (working and kind in ASKING)
            working = kind not in ASKING and kind != QUERY
            target.write(kind + head + body)
            await target.drain()
            kind = await source.readexactly(1)


@asynccontextmanager
async def _listened_to(
    settings: Settings, server: EmbeddedPostgres, tenant: str
) -> AsyncIterator[tuple[Resources, Wire]]:
    place = conninfo_to_dict(server.dsn("memory_app", "memory"))
    path = f"{place['host']}/.s.PGSQL.{place['port']}"
    wire = Wire()
    listener = await asyncio.start_server(lambda reader, writer: wire.carry(reader, writer, path), "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    url = f"postgresql://memory_app@127.0.0.1:{port}/memory?sslmode=disable&gssencmode=disable"
    given: dict[str, Any] = {
        "database_url": SecretStr(url),
        "owner_url": SecretStr(server.dsn("memory_owner", "memory")),
        "tenant": tenant,
    }
    try:
        async with open_resources(settings.model_copy(update=given), embedder=FakeEmbedder()) as resources:
            yield resources, wire
    finally:
        listener.close()
        await wire.ended()


@pytest.mark.parametrize("read", ["search", "context"])
async def test_a_read_is_one_round_trip(settings: Settings, server: EmbeddedPostgres, tenant: str, read: str) -> None:
    """Role, tenant, limits, the search itself and the end of the transaction travel together, each time."""
    async with _listened_to(settings, server, tenant) as (butler, wire):
        for number in range(30):
            await remember.fact(butler, NewFact(subject=f"s{number}", predicate="tea", content=f"green {number} " * 40))

        async def ask() -> int:
            before = wire.round_trips
            if read == "search":
                question = validate_question(Question(query="green tea", min_relevance=0))
                assert (
                    len((await ranked_candidates.rank_candidates(butler, butler.local_caller(), question)).ranked) == 30
                )
            else:
                built = await brief.brief(butler, BriefRequest(trigger_prompt="green tea", butler="main"))
                assert "green" in built.text
            return wire.round_trips - before

        # More often than it takes until the driver keeps a statement prepared: that must not cost a round trip either.
        assert [await ask() for _ in range(8)] == [1] * 8


async def test_a_name_that_was_not_guessed_costs_a_second_round_trip_once(
    settings: Settings, server: EmbeddedPostgres, tenant: str
) -> None:
    """A name without a capital is no guess: the store says that it is one, the question is asked again without it, and
    from then on the name is known. One that looks like a name costs nothing."""
    async with _listened_to(settings, server, tenant) as (butler, wire):
        for name in ("Anna", "Ben"):
            await remember.fact(butler, NewFact(subject=name, predicate="tea", content="green"))

        async def ask(query: str) -> int:
            before = wire.round_trips
            found = await ranked_candidates.rank_candidates(
                butler, butler.local_caller(), validate_question(Question(query=query))
            )
            assert found.ranked[0].hit.is_named
            return wire.round_trips - before

        assert [await ask("which tea does anna drink?") for _ in range(3)] == [2, 1, 1]
        assert await ask("which tea does Ben drink?") == 1
        assert await ask("and which milk does anna take?") == 1


async def test_keeping_a_question_costs_no_round_trip(
    settings: Settings, server: EmbeddedPostgres, tenant: str, owner: psycopg.Connection[Any]
) -> None:
    """A search that counts what it returns waits as often where the question is kept, too."""
    async with _listened_to(settings, server, tenant) as (butler, wire):
        await remember.fact(butler, NewFact(subject="user", predicate="tea", content="green"))

        async def ask() -> int:
            before = wire.round_trips
            assert (await search.search(butler, Question(query="green tea", min_relevance=0))).results
            return wire.round_trips - before

        def kept() -> Any:
            query = "SELECT count(*) FROM memory.recent_questions WHERE tenant_id = %s"
            return owner.execute(query, (tenant,)).fetchone()

        without = [await ask() for _ in range(8)]
        assert kept() == (0,)
        butler.database.indexed_tenants.refresh({(tenant_digest(tenant), butler.embedding_version)})
        assert [await ask() for _ in range(8)] == without
        assert kept() == (1,)


async def test_the_wire_tells_one_round_trip_from_several(
    settings: Settings, server: EmbeddedPostgres, tenant: str
) -> None:
    """The count can be wrong: a read that waits for each of three rows makes three, and a write more than a read."""
    async with _listened_to(settings, server, tenant) as (butler, wire):
        before = wire.round_trips
        async with butler.database.read(tenant) as transaction:
            for _ in range(3):
                await transaction.one("search_index.find_text_search", config="english")
        assert wire.round_trips - before == 3
        before = wire.round_trips
        await remember.fact(butler, NewFact(subject="user", predicate="tea", content="green"))
        assert wire.round_trips - before > 1
