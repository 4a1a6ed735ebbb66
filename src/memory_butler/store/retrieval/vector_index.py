"""Vector indexes: one for each large tenant, type of memory and embedding version, built while reads and writes go on.

A search needs to know whether its tenant has an index. The database object caches that and refreshes it every ten
seconds in the round trip of a search. A stale entry makes a search slower, never wrong: the statement checks
the catalog.
"""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg
from psycopg import AsyncConnection
from psycopg.rows import dict_row

from memory_butler.errors import OverloadRejected
from memory_butler.models.vector_index import Shape
from memory_butler.store.gate.database import Database, Row, Transaction
from memory_butler.store.gate.driver_errors import translated
from memory_butler.store.gate.ids import tenant_digest
from memory_butler.store.gate.primary_facts import direct_connection
from memory_butler.store.gate.queries import load_queries
from memory_butler.store.gate.vectors import as_vector

POLL_SECONDS = 0.2
# Divides 256, so that a byte of a hash selects each slot equally often.
QUESTION_SLOTS = 64
NEAR, NEXT, PAST = "near", "next", "past"

Params = Mapping[str, Any]
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Place:
    """Scope of an index: a tenant's passages of one type and embedding version, their number and dimensions."""

    tenant: str
    memory_type: str
    version: int
    dimensions: int
    rows: int

    def named(self) -> dict[str, Any]:
        """The parameters that name its index."""
        return {"tenant": self.tenant, "memory_type": self.memory_type, "embedding_version": self.version}


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """An index as the catalog has it. `near` is the one that is read, `next` its successor, `past` its predecessor."""

    name: str
    tenant: str | None
    stage: str
    memory_type: str
    version: int
    shape: Shape
    valid: bool
    bytes: int
    rows_when_built: int | None
    bytes_when_built: int | None
    built_at: datetime | None

    def bloat(self, rows: int) -> float | None:
        """The share of it that a new index of as many rows would not need."""
        if not self.rows_when_built or not self.bytes_when_built or not self.bytes:
            return None
        return max(0.0, 1 - self.bytes_when_built / self.rows_when_built * rows / self.bytes)


def is_asked(database: Database, tenant: str, params: Params) -> bool:
    """True if a search with these parameters queries the tenant's indexes, or may have to."""
    if database.index_rules.posture == "exact" or params["embedding"] is None:
        return False
    versions = (params["embedding_version"], *(vector["embedding_version"] for vector in params["earlier_vectors"]))
    return any(database.indexed_tenants.may_include(tenant, version) for version in versions)


@asynccontextmanager
async def read(database: Database, tenant: str, params: Params) -> AsyncIterator[Transaction]:
    """A read transaction that has queried the tenant's indexes for a search with these parameters, without another
    round trip."""
    indexed, usable = database.indexed_tenants, None
    async with database.read(tenant) as transaction:
        if database.index_rules.posture != "exact" and params["embedding"] is not None:
            if indexed.is_stale():
                usable = await transaction.send("vector_index.usable")
            for vector in (own_vector(params), *params["earlier_vectors"]):
                if indexed.may_include(tenant, vector["embedding_version"]):
                    await find_near(database, transaction, {**params, **vector})
        yield transaction
    if usable is not None:
        indexed.refresh((row["digest"], row["version"]) for row in await usable.fetchall())


def own_vector(params: Params) -> dict[str, Any]:
    """The vector of a search in the current embedding version, with what brings its cosines to the current scale."""
    return {
        "embedding_version": params["embedding_version"],
        "dimensions": params["dimensions"],
        "scale": 1,
        "shift": 0,
    }


async def find_near(database: Database, transaction: Transaction, params: Params, stage: str = NEAR) -> None:
    """Query the tenant's indexes of one embedding version and leave the result for the search that follows in this
    transaction. Searches use the stage `near`."""
    rules = database.index_rules
    await transaction.send(
        "vector_index.prepare",
        ef_search=rules.hnsw.ef_search,
        probes=rules.ivfflat.probes,
        scan_share=rules.scan_share,
        candidates=params["candidates"],
        embedding_version=params["embedding_version"],
        stage=stage,
    )
    await transaction.send("vector_index.near", scan_share=rules.scan_share, stage=stage, **params)


def name_of(place: Place, stage: str) -> str:
    return f"passages_{stage}_{place.memory_type}_{place.version}_{tenant_digest(place.tenant)}"


async def places(transaction: Transaction, tenant: str) -> list[Place]:
    """The tenant's passages by type and embedding version."""
    return [
        Place(tenant, row["memory_type"], row["embedding_version"], row["dimensions"], row["passages"])
        for row in await transaction.all("vector_index.passages")
    ]


async def nearest_by_index(
    database: Database, transaction: Transaction, params: Params, stage: str = NEAR
) -> list[tuple[UUID, float]]:
    """The list that the index gives to a search; empty if the search has to scan all memories."""
    await find_near(database, transaction, {**params, **own_vector(params)}, stage)
    return [(row["id"], row["score"]) for row in await transaction.all("vector_index.listed") if not row["ahead"]]


async def nearest(transaction: Transaction, params: Params) -> list[tuple[UUID, float]]:
    """The list of an exact search."""
    return [(row["id"], row["score"]) for row in await transaction.all("vector_index.exact", **params)]


async def sample(transaction: Transaction, place: Place, size: int, seed: int) -> list[tuple[UUID, Any]]:
    """Passages to query with: memory id and vector. Half are the newest, half are random."""
    named = {"memory_type": place.memory_type, "embedding_version": place.version}
    rows = await transaction.all("vector_index.sample", half=size // 2, seed=seed, **named)
    return [(row["memory_id"], as_vector(row["embedding"])) for row in rows]


async def keep_question(
    transaction: Transaction, embedding: Sequence[float], embedding_version: int, asked_at: datetime
) -> None:
    """Store the vector of a question in a slot, which follows from the vector: a repeated question is stored once."""
    vector = as_vector(embedding)
    await transaction.send(
        "vector_index.keep_question",
        slot=hashlib.sha256(vector).digest()[0] % QUESTION_SLOTS,
        embedding=vector,
        embedding_version=embedding_version,
        asked_at=asked_at,
    )


async def recent_questions(transaction: Transaction, embedding_version: int, limit: int) -> list[Any]:
    """Vectors of recent questions, the latest first."""
    rows = await transaction.all("vector_index.recent_questions", embedding_version=embedding_version, limit=limit)
    return [as_vector(row["embedding"]) for row in rows]


@asynccontextmanager
async def overseen(database: Database) -> AsyncIterator["Overseer"]:
    """Open a connection that owns the indexes of all tenants."""
    with translated():
        async with direct_connection(database.owner_dsn(), database.names) as owner:
            yield Overseer(database, owner)


class Overseer:
    """Lists, builds and drops the indexes of all tenants while reads and writes continue."""

    def __init__(self, database: Database, owner: AsyncConnection[Row]) -> None:
        self._database = database
        self._owner = owner
        self._queries = load_queries(database.names)
        self._pid = 0
        self._turn = f"{database.names.schema} vector indexes"

    async def _all(self, query: str, **params: Any) -> list[Row]:
        return await (await self._owner.execute(self._queries[query], params)).fetchall()

    async def _written(self, query: str, **params: Any) -> None:
        """Run the statement that a query returns."""
        for row in await self._all(query, **params):
            await self._owner.execute(row["statement"].encode())

    async def tenants(self, at_least: int, largest: int) -> dict[str, int]:
        """Tenants that may have many passages and the largest tenants, with the number of their memories."""
        rows = await self._all("vector_index.tenants", at_least=at_least, largest=largest)
        return {row["tenant"]: row["memories"] for row in rows}

    async def indexes(self) -> list[Index]:
        return [_index(row) for row in await self._all("vector_index.indexes", tenant=None)]

    async def take_turn(self) -> None:
        """Lock the indexes against other migrations, until `end_turn` or the end of the connection."""
        (turn,) = await self._all(
            "vector_index.take_turn",
            key=self._turn,
            memory=f"{self._database.index_rules.build_memory_mb}MB",
        )
        if not turn["mine"]:
            raise OverloadRejected(
                "The indexes of this store are being migrated already.",
                recovery="Wait until that has ended; memory-butler index status shows the progress.",
            )
        self._pid = turn["pid"]
        await self._owner.execute(self._queries["vector_index.analyze"])

    async def end_turn(self) -> None:
        """Release the lock now; the server notices a closed connection only after a moment."""
        await self._all("vector_index.end_turn", key=self._turn)

    async def build(self, place: Place, shape: Shape, now: datetime, progress: Progress) -> None:
        """Build an index beside the one in use. Drop an unfinished one of the same name first."""
        named = place.named()
        (written,) = await self._all(
            "vector_index.write_build",
            kind=shape.kind,
            dimensions=place.dimensions,
            names=[name for name, _ in shape.options],
            values=[value for _, value in shape.options],
            **named,
        )
        watching = asyncio.create_task(self._watch(place, progress))
        try:
            await self._owner.execute(written["statement"].encode())
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError, psycopg.Error):
                await watching
        await self._written("vector_index.write_note", rows=place.rows, now=now, **named)

    async def put_in_place(self, place: Place) -> None:
        """Put the new index into use. The old one still exists; the caller drops it next."""
        named = place.named()
        async with self._owner.transaction():
            await self._written("vector_index.write_rename", stage=NEAR, becomes=PAST, **named)
            await self._written("vector_index.write_rename", stage=NEXT, becomes=NEAR, **named)

    async def drop(self, name: str) -> None:
        await self._written("vector_index.write_drop", name=name)

    async def _watch(self, place: Place, progress: Progress) -> None:
        """Report the progress of the build as the server counts it."""
        async with await AsyncConnection.connect(
            self._database.owner_dsn(), autocommit=True, row_factory=dict_row
        ) as connection:
            while True:
                cursor = await connection.execute(self._queries["vector_index.progress"], {"pid": self._pid})
                row = await cursor.fetchone()
                if row:
                    progress(row["phase"], *_done(row, place.rows))
                await asyncio.sleep(POLL_SECONDS)


def _done(row: Row, rows: int) -> tuple[int, int]:
    """The server counts passages while it inserts them; in other phases it counts blocks, or nothing."""
    if row["tuples_done"]:
        return min(row["tuples_done"], rows), rows
    return row["blocks_done"] or 0, row["blocks_total"] or 0


def _index(row: Row) -> Index:
    note: dict[str, Any] = json.loads(row["note"]) if row["note"] else {}
    return Index(
        name=row["name"],
        tenant=row["tenant"],
        stage=row["stage"],
        memory_type=row["memory_type"],
        version=row["version"],
        shape=Shape(row["kind"], tuple(_options(row["options"]))),
        valid=row["valid"],
        bytes=row["bytes"],
        rows_when_built=note.get("rows"),
        bytes_when_built=note.get("bytes"),
        built_at=datetime.fromisoformat(note["built_at"]) if note else None,
    )


def _options(pairs: list[list[str]]) -> Iterator[tuple[str, int]]:
    for name, value in sorted(pairs):
        yield name, int(value)
