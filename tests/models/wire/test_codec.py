"""Answers are encoded and decoded by their types; JSON that does not fit is refused."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_butler.models import Briefing, MemoryType, Stored, UndoReport
from memory_butler.models.explanation import Explanation
from memory_butler.models.listings import Page
from memory_butler.models.wire.codec import ALWAYS, HIDDEN, INLINE, Reference, Unreadable, Wire, decode, encode
from memory_butler.models.wire.memory_answers import (
    ActivityPage,
    BriefingsAnswer,
    ForgetAnswer,
    IngestAnswer,
    LinksAnswer,
    MemoryDetail,
    MemoryListItem,
    SearchResults,
    Stats,
    UndoAnswer,
)

SCALARS = st.sampled_from([None, True, -1, 2.5, "", "x", "fact", "fact:k3f7", "created", [], {}, [{}], [None]])
ANSWERS: tuple[Any, ...] = (
    Stored,
    SearchResults,
    Briefing,
    MemoryDetail,
    ForgetAnswer,
    UndoAnswer,
    Explanation,
    IngestAnswer,
    BriefingsAnswer,
    Page[MemoryListItem],
    LinksAnswer,
    ActivityPage,
    Stats,
)
# Fields that the decoder looks into, so that random answers get further than the first one.
FIELDS = ("results", "parts", "ref", "type", "id", "memory", "chain", "items", "events", "touched", "context")
FLAT = st.dictionaries(st.sampled_from(FIELDS), SCALARS, max_size=6)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(FIELDS), SCALARS | FLAT | st.lists(FLAT, max_size=2), max_size=8))
def test_any_answer_is_decoded_or_refused(body: dict[str, Any]) -> None:
    """No JSON object, however strange, makes the decoder fail in another way."""
    for kind in ANSWERS:
        try:
            decode(kind, body)
        except Unreadable:
            continue


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


def test_values_are_decoded_by_their_types() -> None:
    """Nested records, numbers, moments, ids; what the type does not know is passed over."""
    given = {
        "name": "x",
        "kind": "fact",
        "at": "2026-03-01T09:00:00+00:00",
        "pairs": [{"left": 1, "right": 2}, {"left": 3}],
        "by_name": {"a": [1]},
        "new": True,
    }
    assert decode(Thing, given) == Thing(
        name="x",
        kind=MemoryType.FACT,
        at=datetime(2026, 3, 1, 9, tzinfo=UTC),
        pairs=(Pair(1, 2.0), Pair(3)),
        by_name={"a": [1]},
    )
    assert decode(Thing, {"name": "x", "kind": "rule"}) == Thing(name="x", kind=MemoryType.RULE, at=None)
    assert decode(UUID, "0198f3c2-7a10-7c3e-8f4b-2d9f5a6b7c8d").version == 7


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
        decode(Thing, wrong)


@pytest.mark.parametrize("kind", [Stored, Briefing, UndoReport, Explanation])
def test_nothing_is_not_an_answer(kind: type) -> None:
    """Every answer has something that it must say."""
    with pytest.raises(Unreadable):
        decode(kind, {})


@dataclass(frozen=True, kw_only=True)
class Outer:
    thing: Annotated[Thing, INLINE]
    type: MemoryType
    ref: Reference
    tenant: Annotated[str, HIDDEN] = "t"
    old_ref: Annotated[str | None, Wire(name="replaces", prefix="fact")] = None
    count: Annotated[int, ALWAYS] = 0
    note: str | None = None
    end: datetime | None


def test_marks_describe_the_json() -> None:
    """Renamed, prefixed, merged and hidden fields; defaults are left out unless the mark says otherwise."""
    thing = Thing(name="x", kind=MemoryType.FACT, at=None)
    value = Outer(thing=thing, type=MemoryType.RULE, ref="k3f7", tenant="t", old_ref="aaaa", end=None)
    body = {
        "name": "x",
        "kind": "fact",
        "at": None,
        "type": "rule",
        "ref": "rule:k3f7",
        "replaces": "fact:aaaa",
        "count": 0,
        "end": None,
    }
    assert encode(value) == body and list(encode(value)) == list(body)
    assert decode(Outer, body) == value
