"""Stores with many passages for the tests of the vector index: a database of their own, filled within seconds.

Migrating the indexes concerns every tenant of a database, so these tests have one to themselves.
"""

import random
import struct
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import psycopg
from pydantic import SecretStr

from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import Settings, VectorIndex
from memory_butler.store.embedded.server import EmbeddedPostgres
from memory_butler.store.gate.database import Database
from memory_butler.store.gate.ids import id_maker

Vectors = npt.NDArray[np.float32]
DIMENSIONS = 384
NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
COPY_HEAD, COPY_TAIL = b"PGCOPY\n\xff\r\n\0" + struct.pack("!II", 0, 0), struct.pack("!h", -1)
BLOCK = 10_000
# The members of a topic are as far apart as sentences about one thing: a cosine of about 0.67.
NOISE = 0.7


@contextmanager
def own_database(server: EmbeddedPostgres, template: str) -> Iterator[str]:
    """A copy of a database that nobody is connected to."""
    name = f"d{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server.dsn("postgres", "postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} OWNER memory_owner TEMPLATE {template}")
        yield name
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@asynccontextmanager
async def open_store(
    server: EmbeddedPostgres, settings: Settings, database: str, seed: int = 1
) -> AsyncIterator[Resources]:
    """A butler whose store is that database, with a clock that stands still."""
    given: dict[str, Any] = {
        "database_url": SecretStr(server.dsn("memory_app", database)),
        "owner_url": SecretStr(server.dsn("memory_owner", database)),
    }
    clock = lambda: NOW  # noqa: E731
    make_id = id_maker(random.Random(seed))
    async with open_resources(
        settings.model_copy(update=given), embedder=FakeEmbedder(), clock=clock, make_id=make_id
    ) as resources:
        yield resources


@asynccontextmanager
async def under(resources: Resources, **rules: Any) -> AsyncIterator[Resources]:
    """The same store under other rules, in connections of its own: what a process set up that way would see."""
    settings = resources.settings.model_copy(update={"vector_index": VectorIndex(**rules)})
    database = Database.from_settings(settings)
    try:
        await database.open()
        yield replace(resources, settings=settings, database=database)
    finally:
        await database.close()


@dataclass(frozen=True, slots=True)
class Crowd:
    """Vectors around some topics, from a seed."""

    topics: Vectors
    source: np.random.Generator

    @classmethod
    def of(cls, seed: int, topics: int = 500) -> "Crowd":
        source = np.random.default_rng(seed)
        return cls(_unit(source.standard_normal((topics, DIMENSIONS), np.float32)), source)

    def draw(self, count: int) -> Vectors:
        noise = self.source.standard_normal((count, DIMENSIONS), np.float32) * np.float32(NOISE / DIMENSIONS**0.5)
        return _unit(self.topics[self.source.integers(0, len(self.topics), count)] + noise)


def _unit(vectors: Vectors) -> Vectors:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def ids_of(count: int, source: np.random.Generator) -> npt.NDArray[np.void]:
    """Random ids, as bytes."""
    return source.integers(0, 256, (count, 16), np.uint8).view("V16").reshape(count)


def add_passages(
    connection: psycopg.Connection[Any],
    tenants: npt.NDArray[np.bytes_],
    ids: npt.NDArray[np.void],
    vectors: Vectors,
    into: str = "memory.passages",
) -> None:
    """One passage for each fact, of the first model version; the names of the tenants have the same length."""
    width = tenants.dtype.itemsize
    row = np.dtype([
        ("fields", ">i2"), ("a", ">i4"), ("tenant", f"V{width}"), ("b", ">i4"), ("type", "V4"),
        ("c", ">i4"), ("id", "V16"), ("d", ">i4"), ("ordinal", ">i2"), ("e", ">i4"), ("version", ">i2"),
        ("f", ">i4"), ("dimensions", ">i2"), ("unused", ">i2"), ("vector", ">f4", (DIMENSIONS,)),
    ])  # fmt: skip
    columns = "tenant_id, memory_type, memory_id, ordinal, embedding_version, embedding"
    with connection.cursor().copy(f"COPY {into} ({columns}) FROM STDIN (FORMAT binary)") as copy:
        copy.write(COPY_HEAD)
        for start in range(0, len(ids), BLOCK):
            part = slice(start, start + BLOCK)
            rows = np.zeros(len(ids[part]), row)
            sizes = {"fields": 6, "a": width, "b": 4, "c": 16, "d": 2, "e": 2, "version": 1, "dimensions": DIMENSIONS}
            for name, value in {**sizes, "f": 4 + 4 * DIMENSIONS}.items():
                rows[name] = value
            rows["tenant"], rows["type"] = tenants[part].view(f"V{width}"), np.void(b"fact")
            rows["id"], rows["vector"] = ids[part], vectors[part]
            copy.write(rows.tobytes())
        copy.write(COPY_TAIL)
    if into == "memory.passages":
        count_passages(connection)


def count_passages(connection: psycopg.Connection[Any]) -> None:
    """Count the passages that were not stored by the program."""
    connection.execute(
        "INSERT INTO memory.embedding_counts (tenant_id, memory_type, embedding_version, memories, passages)"
        " SELECT tenant_id, memory_type, embedding_version, count(*) FILTER (WHERE ordinal = 0), count(*)"
        " FROM memory.passages GROUP BY 1, 2, 3 ON CONFLICT (tenant_id, memory_type, embedding_version)"
        " DO UPDATE SET memories = excluded.memories, passages = excluded.passages"
    )


def add_alike(
    connection: psycopg.Connection[Any],
    tenants: npt.NDArray[np.bytes_],
    ids: npt.NDArray[np.void],
    vectors: Vectors,
    which: npt.NDArray[np.int64],
) -> None:
    """Many passages that share a few vectors, each by its number: only those travel, and nothing of it goes to the log.

    That every row has its model version is seen to here, not asked of the database again for each.
    """
    numbers = np.zeros((len(vectors), 2), ">u8")
    numbers[:, 1] = np.arange(len(vectors))
    keys = numbers.view("V16").reshape(-1)
    connection.execute("ALTER TABLE memory.passages SET UNLOGGED")
    with connection.transaction():
        connection.execute("SET LOCAL session_replication_role = replica")
        connection.execute("CREATE TEMP TABLE shared (LIKE memory.passages INCLUDING INDEXES) ON COMMIT DROP")
        add_passages(connection, np.repeat(np.array(["any"], "S3"), len(vectors)), keys, vectors, "shared")
        connection.execute(
            "INSERT INTO memory.passages SELECT one.tenant, 'fact', one.id, 0, 1, embedding"
            " FROM unnest(%s::text[], %s::uuid[], %s::uuid[]) AS one (tenant, id, shared)"
            " JOIN shared ON (tenant_id, memory_type, memory_id, ordinal) = ('any', 'fact', one.shared, 0)",
            (tenants.astype(str).tolist(), *([bytes(one).hex() for one in each] for each in (ids, keys[which]))),
        )
    count_passages(connection)


def add_tenants(connection: psycopg.Connection[Any], sizes: dict[str, int]) -> None:
    connection.execute(
        "INSERT INTO memory.tenants (tenant_id, created_at, last_ref, documents)"
        " SELECT tenant, %s, size, size FROM unnest(%s::text[], %s::int[]) AS t (tenant, size)",
        (NOW, list(sizes), list(sizes.values())),
    )


def add_facts(connection: psycopg.Connection[Any], tenant: str, ids: npt.NDArray[np.void], private: int = 0) -> None:
    """The facts that passages belong to; every so-many-th of them is for one butler's eyes."""
    connection.execute(
        "INSERT INTO memory.facts (tenant_id, id, ref, subject, subject_label, predicate, predicate_label, content,"
        " content_hash, scope, importance, tags, validity, confidence, permanence, decay_rate, source_butler,"
        " created_at, reference_count, metadata)"
        " SELECT %(tenant)s, id, 'r' || lpad(n::text, 8, '0'), 's' || n, 's' || n, 'is', 'is', 'number ' || n,"
        " sha256(convert_to(n::text, 'UTF8')),"
        " CASE WHEN %(private)s > 0 AND n %% nullif(%(private)s, 0) = 0 THEN 'health' ELSE 'global' END,"
        " 5, '{}', 'active', 1, 'standard', 0.008, 'main', %(now)s, 0, '{}'"
        " FROM unnest(%(ids)s::uuid[]) WITH ORDINALITY AS f (id, n)",
        {"tenant": tenant, "private": private, "now": NOW, "ids": [uuid.UUID(bytes=bytes(one)) for one in ids]},
    )
