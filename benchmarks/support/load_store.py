"""Filling a store quickly: the rows that storing each memory would have written, in bulk.

Texts are drawn from a pool of sentences that the real model has embedded; a memory's vector is its sentence's, moved a
little by seeded noise, because embedding a quarter of a million passages would take an hour. Rows are copied in as the
superuser (COPY does not work under row-level security) and pass every constraint; postings are made by the
database's own parser, and events by the statement that the program itself uses.
"""

import hashlib
import random
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt
import psycopg

from benchmarks.support.sentences import PEOPLE, PREDICATES, ROLES, rule_text
from memory_butler.english.text.names import indexed_names, secondary_names
from memory_butler.models import Lineage, MemoryType
from memory_butler.policy.briefing.domains import DomainPhrases
from memory_butler.policy.lifecycle.confidence import NEW_RULE_CONFIDENCE
from memory_butler.policy.memories.references import short_reference
from memory_butler.policy.memories.text import indexed_text, indexed_words
from memory_butler.resources import Resources
from memory_butler.settings import Lifecycle
from memory_butler.store.history import events
from memory_butler.store.history.events import AuditTrail, Change

BUTLER = "main"
NOISE = 0.15
STANDARD_RATE = Lifecycle().decay.standard_per_day
EPISODE_SENTENCES = 3
EVENTS_AT_ONCE = 1000
COPY_HEAD, COPY_TAIL = b"PGCOPY\n\xff\r\n\0" + struct.pack("!II", 0, 0), struct.pack("!h", -1)

FACT_COLUMNS = (
    "tenant_id, id, ref, subject, subject_label, predicate, predicate_label, content, content_hash, scope, importance,"
    " tags, validity, confidence, permanence, decay_rate, source_butler, created_at, reference_count, metadata"
)
RULE_COLUMNS = (
    "tenant_id, id, ref, content, content_hash, scope, tags, validity, maturity, confidence, decay_rate,"
    " applied_count, success_count, harmful_count, harmful_reasons, source_butler, created_at, reference_count,"
    " metadata"
)
EPISODE_COLUMNS = (
    "tenant_id, id, ref, butler, session_id, content, content_hash, importance, tags, validity, consolidation_status,"
    " consolidation_attempts, observed_at, created_at, expires_at, reference_count, metadata"
)


@dataclass(frozen=True, slots=True)
class Size:
    """What a tenant holds."""

    facts: int
    rules: int
    episodes: int

    @property
    def memories(self) -> int:
        return self.facts + self.rules + self.episodes


@dataclass(frozen=True, slots=True)
class Pool:
    """Sentences and their vectors."""

    sentences: Sequence[str]
    vectors: npt.NDArray[np.float32]


@dataclass(slots=True)
class _Rows:
    """The rows of some tenants, ready to be copied."""

    facts: list[tuple[Any, ...]]
    rules: list[tuple[Any, ...]]
    episodes: list[tuple[Any, ...]]
    words: list[tuple[str, str, UUID, str, list[str]]]
    passages: list[tuple[str, str, UUID, int, int]]
    # The text that each memory's domain profile comes from, and its sentences.
    profiled: list[tuple[str, str, UUID, str, Sequence[int]]]
    changes: dict[str, list[Change]]


async def load_store(
    resources: Resources, sizes: dict[str, Size], pool: Pool, seed: int, *, is_counted: bool = True
) -> None:
    """Fill the tenants named, which must be new, and, unless `is_counted` is off, let the planner know."""
    now = resources.clock()
    rows = _rows(resources, sizes, pool, random.Random(seed), now)
    embedded = resources.database.embedded
    assert embedded, "the loader needs the embedded server, where it can be superuser"
    with psycopg.connect(embedded.dsn("postgres", "memory")) as connection:
        _copy(connection, rows, sizes, now)
        _copy_passages(connection, rows, pool, resources.embedding_version, seed)
        _copy_profiles(connection, rows, pool, await resources.domains.phrases(), resources.domains.version)
        _add_postings(connection, rows, resources.settings.retrieval.text_search)
    for tenant, changes in rows.changes.items():
        trail = AuditTrail(now=now, actor=BUTLER, lineage=Lineage(), make_id=resources.make_id)
        for start in range(0, len(changes), EVENTS_AT_ONCE):
            async with resources.database.write(tenant, now) as transaction:
                await events.record(transaction, trail, changes[start : start + EVENTS_AT_ONCE])
    with psycopg.connect(embedded.dsn("postgres", "memory"), autocommit=True) as connection:
        if is_counted:
            connection.execute("VACUUM (ANALYZE)")
        connection.execute("CHECKPOINT")


def _rows(resources: Resources, sizes: dict[str, Size], pool: Pool, source: random.Random, now: datetime) -> _Rows:
    rows = _Rows([], [], [], [], [], [], {})
    for tenant, size in sizes.items():
        changes = rows.changes[tenant] = []
        for number in range(1, size.memories + 1):
            memory_id = resources.make_id(now - timedelta(minutes=number))
            start = (tenant, memory_id, short_reference(number))
            if number <= size.facts:
                kind = MemoryType.FACT
                _add_fact(rows, start, number - 1, pool, (source, now))
            elif number <= size.facts + size.rules:
                kind = MemoryType.RULE
                _add_rule(rows, start, pool, (source, now))
            else:
                kind = MemoryType.EPISODE
                _add_episode(rows, start, number, pool, (source, now))
            changes.append(Change(kind, memory_id, "created"))
    return rows


Start = tuple[str, UUID, str]
Drawn = tuple[random.Random, datetime]


def _add_fact(rows: _Rows, start: Start, number: int, pool: Pool, drawn: Drawn) -> None:
    source, now = drawn
    place = source.randrange(len(pool.sentences))
    content = pool.sentences[place]
    spread = len(PEOPLE) * len(ROLES)
    subject = PEOPLE[number % len(PEOPLE)] + ROLES[number // len(PEOPLE) % len(ROLES)]
    predicate = PREDICATES[number // spread % len(PREDICATES)]
    if number >= spread * len(PREDICATES):
        predicate += f":{number}"
    created = now - timedelta(days=source.uniform(0, 60))
    names = (subject.lower().replace(" ", "_"), subject, predicate, predicate)
    tail = (source.randint(1, 10), [], "active", 1.0, "standard", STANDARD_RATE, BUTLER)
    rows.facts.append((*start, *names, content, _digest(content), "global", *tail, created, 0, "{}"))
    _index(rows, start, MemoryType.FACT, content, [place], about=(subject, predicate))


def _add_rule(rows: _Rows, start: Start, pool: Pool, drawn: Drawn) -> None:
    source, now = drawn
    place = source.randrange(len(pool.sentences))
    content = rule_text(pool.sentences[place], source)
    created = now - timedelta(days=source.uniform(0, 60))
    middle = ("global", [], "active", "candidate", NEW_RULE_CONFIDENCE, STANDARD_RATE, 0, 0, 0, [])
    rows.rules.append((*start, content, _digest(content), *middle, BUTLER, created, 0, "{}"))
    _index(rows, start, MemoryType.RULE, content, [place])


def _add_episode(rows: _Rows, start: Start, number: int, pool: Pool, drawn: Drawn) -> None:
    source, now = drawn
    places = [source.randrange(len(pool.sentences)) for _ in range(EPISODE_SENTENCES)]
    content = " ".join(pool.sentences[place] for place in places)
    created = now - timedelta(days=source.uniform(0, 6))
    middle = (BUTLER, f"s{number // 10}", content, _digest(content), source.randint(1, 10), [], "active", "pending", 0)
    rows.episodes.append((*start, *middle, created, created, now + timedelta(days=7), 0, "{}"))
    _index(rows, start, MemoryType.EPISODE, content, places)


def _index(
    rows: _Rows,
    start: Start,
    kind: MemoryType,
    content: str,
    places: Sequence[int],
    *,
    about: tuple[str | None, str | None] = (None, None),
) -> None:
    subject, predicate = about
    names = [f"@{name}" for name in indexed_names(kind, subject, content)]
    secondary = [f"#{name}" for name in secondary_names(kind, subject, content)]
    text = indexed_text(kind, subject, predicate, content)
    rows.words.append((start[0], kind, start[1], indexed_words(text, []), names + secondary))
    rows.profiled.append((start[0], kind, start[1], text, places))
    rows.passages.extend((start[0], kind, start[1], ordinal, place) for ordinal, place in enumerate(places))


def _copy(connection: psycopg.Connection[Any], rows: _Rows, sizes: dict[str, Size], now: datetime) -> None:
    connection.execute(
        "CREATE TEMPORARY TABLE loading (tenant_id text, type text, id uuid, words text, names text[]) ON COMMIT DROP"
    )
    tenants = [(tenant, now, size.memories) for tenant, size in sizes.items()]
    for table, columns, values in (
        ("memory.tenants", "tenant_id, created_at, last_ref", tenants),
        ("memory.butlers", "tenant_id, butler, created_at", [(tenant, BUTLER, now) for tenant in sizes]),
        ("memory.facts", FACT_COLUMNS, rows.facts),
        ("memory.rules", RULE_COLUMNS, rows.rules),
        ("memory.episodes", EPISODE_COLUMNS, rows.episodes),
        ("loading", "tenant_id, type, id, words, names", rows.words),
    ):
        with connection.cursor().copy(f"COPY {table} ({columns}) FROM STDIN".encode()) as copy:
            for row in values:
                copy.write_row(row)


def _copy_passages(connection: psycopg.Connection[Any], rows: _Rows, pool: Pool, version: int, seed: int) -> None:
    columns = "tenant_id, memory_type, memory_id, ordinal, embedding_version, embedding"
    with connection.cursor().copy(f"COPY memory.passages ({columns}) FROM STDIN (FORMAT binary)".encode()) as copy:
        copy.write(COPY_HEAD)
        for block in _passage_blocks(rows, pool, version, seed):
            copy.write(block)
        copy.write(COPY_TAIL)
    connection.execute(
        "INSERT INTO memory.embedding_counts (tenant_id, memory_type, embedding_version, memories, passages)"
        " SELECT tenant_id, memory_type, embedding_version, count(*) FILTER (WHERE ordinal = 0), count(*)"
        " FROM memory.passages WHERE tenant_id = ANY(%s) GROUP BY 1, 2, 3",
        (list(rows.changes),),
    )


def _copy_profiles(
    connection: psycopg.Connection[Any], rows: _Rows, pool: Pool, domains: DomainPhrases, version: int
) -> None:
    columns = "tenant_id, memory_type, memory_id, version, profile"
    with connection.cursor().copy(f"COPY memory.profiles ({columns}) FROM STDIN".encode()) as copy:
        for tenant, kind, memory_id, text, places in rows.profiled:
            profile = domains.memory_profile(pool.vectors[list(places)], text, ())
            copy.write_row((tenant, kind, memory_id, version, str(profile.tolist())))


def _passage_blocks(rows: _Rows, pool: Pool, version: int, seed: int, block: int = 2000) -> Iterator[bytes]:
    """Passages in PostgreSQL's binary form: for each field its length and its bytes."""
    noise = np.random.default_rng(seed)
    dimensions = pool.vectors.shape[1]
    for start in range(0, len(rows.passages), block):
        part = rows.passages[start : start + block]
        vectors = pool.vectors[[place for *_, place in part]]
        vectors = vectors + NOISE * noise.standard_normal(vectors.shape, np.float32) / np.sqrt(dimensions)
        vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(">f4")
        yield b"".join(
            struct.pack("!hi", 6, len(tenant)) + tenant.encode()
            + struct.pack("!i", len(kind)) + kind.encode()
            + struct.pack("!i", 16) + memory_id.bytes
            + struct.pack("!ihih", 2, ordinal, 2, version)
            + struct.pack("!ihh", 4 + 4 * dimensions, dimensions, 0) + vector.tobytes()
            for (tenant, kind, memory_id, ordinal, _), vector in zip(part, vectors, strict=True)
        )  # fmt: skip


def _add_postings(connection: psycopg.Connection[Any], rows: _Rows, text_search: str) -> None:
    connection.execute(
        "INSERT INTO memory.postings (tenant_id, memory_type, memory_id, lexeme, frequency, words)"
        " SELECT l.tenant_id, l.type, l.id, w.lexeme, cardinality(w.positions),"
        " sum(cardinality(w.positions)) OVER (PARTITION BY l.id)"
        " FROM loading l, unnest(to_tsvector(%s::regconfig, l.words)) w",
        (text_search,),
    )
    connection.execute(
        "INSERT INTO memory.postings (tenant_id, memory_type, memory_id, lexeme, frequency, words)"
        " SELECT l.tenant_id, l.type, l.id, n.name, 1, m.words FROM loading l CROSS JOIN unnest(l.names) AS n (name)"
        " JOIN (SELECT DISTINCT tenant_id, memory_id, words FROM memory.postings) m"
        " ON m.tenant_id = l.tenant_id AND m.memory_id = l.id"
    )
    connection.execute(
        "UPDATE memory.tenants t SET documents = p.documents, document_words = p.words"
        " FROM (SELECT tenant_id, count(*) AS documents, sum(words) AS words"
        " FROM (SELECT DISTINCT tenant_id, memory_id, words FROM memory.postings) m GROUP BY tenant_id) p"
        " WHERE t.tenant_id = p.tenant_id"
    )


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
