"""Answers become typed values, or are refused: nothing in between."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_butler.client import shaping
from memory_butler.client.following import parsed
from memory_butler.client.reading import Unreadable, read
from memory_butler.models import Briefing, MemoryType, Stored, UndoReport
from memory_butler.models.explanation import Explanation

SCALARS = st.sampled_from([None, True, -1, 2.5, "", "x", "fact", "fact:k3f7", "created", [], {}, [{}], [None]])
SHAPES = (
    shaping.stored,
    shaping.results,
    shaping.briefing,
    shaping.seen,
    shaping.forgotten,
    shaping.undone,
    shaping.explanation,
    shaping.ingested,
    shaping.briefed,
    shaping.listed,
    shaping.happenings,
)
# Fields that the readers look into, so that random answers get further than the first one.
FIELDS = ("results", "parts", "ref", "type", "id", "memory", "chain", "items", "events", "touched", "context")
FLAT = st.dictionaries(st.sampled_from(FIELDS), SCALARS, max_size=6)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(FIELDS), SCALARS | FLAT | st.lists(FLAT, max_size=2), max_size=8))
def test_any_answer_is_read_or_refused(shape: dict[str, Any]) -> None:
    """No JSON object, however strange, makes a reader fail in another way."""
    for reader in SHAPES:
        try:
            reader(shape)
        except Unreadable:
            continue


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([b"id: 1", b"id:", b"data: {}", b"data", b"event: x", b": y", b"\xff\0", b""])).map(
        b"\n".join
    )
)
def test_any_block_of_a_stream_is_read(raw: bytes) -> None:
    """Bytes that are no message are none."""
    block = parsed(raw)
    assert block is None or block.id or block.data is not None


class Pair(NamedTuple):
    left: int
    right: float | None = None


@dataclass(frozen=True, kw_only=True)
class Thing:
    name: str
    kind: MemoryType
    at: datetime | None
    pairs: tuple[Pair, ...] = ()
    by_name: dict[str, list[int]] | None = None


def test_values_are_read_by_their_types() -> None:
    """Nested records, numbers, moments, ids; what the type does not know is passed over."""
    given = {
        "name": "x",
        "kind": "fact",
        "at": "2026-03-01T09:00:00+00:00",
        "pairs": [{"left": 1, "right": 2}, {"left": 3}],
        "by_name": {"a": [1]},
        "new": True,
    }
    assert read(Thing, given) == Thing(
        name="x",
        kind=MemoryType.FACT,
        at=datetime(2026, 3, 1, 9, tzinfo=UTC),
        pairs=(Pair(1, 2.0), Pair(3)),
        by_name={"a": [1]},
    )
    assert read(Thing, {"name": "x", "kind": "rule"}) == Thing(name="x", kind=MemoryType.RULE, at=None)
    assert read(UUID, "0198f3c2-7a10-7c3e-8f4b-2d9f5a6b7c8d").version == 7


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "fact"},
        {"name": 7, "kind": "fact"},
        {"name": "x", "kind": "dream"},
        {"name": "x", "kind": "fact", "at": "yesterday"},
        {"name": "x", "kind": "fact", "pairs": [{"left": True}]},
        {"name": "x", "kind": "fact", "pairs": {}},
        {"name": "x", "kind": "fact", "by_name": {"a": ["b"]}},
        {"name": None, "kind": "fact"},
    ],
)
def test_what_does_not_fit_is_refused(wrong: dict[str, Any]) -> None:
    """A missing field, another type, an unknown word."""
    with pytest.raises(Unreadable):
        read(Thing, wrong)


@pytest.mark.parametrize("kind", [Stored, Briefing, UndoReport, Explanation])
def test_nothing_is_not_an_answer(kind: type) -> None:
    """Every answer has something that it must say."""
    with pytest.raises(Unreadable):
        read(kind, {})
