"""Rows and vectors that go to the database as one value arrive there as they were."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import numpy as np
import psycopg

from memory_butler.store.gate.recordsets import recordset
from memory_butler.store.gate.vectors import as_numbers

Connection = psycopg.Connection[tuple[Any, ...]]


def test_a_row_keeps_its_values(owner: Connection) -> None:
    """Bytes, ids, moments, numbers, words of any script, lists and what is missing."""
    row = {
        "a": b"\x00\\\xff",
        "b": UUID(int=7),
        "c": datetime(2026, 3, 4, 10, 5, 6, 789, tzinfo=UTC),
        "d": 0.1 + 0.2,
        "e": 'quoted "é" \\ 漢字 \n',
        "f": ("x", "y,{}"),
        "g": None,
        "h": {"deep": [1, None]},
    }
    found = owner.execute(
        "SELECT * FROM json_to_recordset(%s::json) AS n"
        " (a bytea, b uuid, c timestamptz, d float8, e text, f text[], g text, h jsonb)",
        (recordset([row, row]),),
    ).fetchall()
    assert found == [tuple({**row, "f": ["x", "y,{}"]}.values())] * 2


def test_vectors_arrive_one_after_another(owner: Connection) -> None:
    """To the last bit, whether they come as arrays or as lists."""
    vectors = np.random.default_rng(1).standard_normal((3, 5)).astype(np.float32)
    for given in (list(vectors), vectors.tolist()):
        row = owner.execute("SELECT %s::real[]", (as_numbers(given),)).fetchone()
        assert row and np.array_equal(np.array(row[0], np.float32), vectors.ravel())
