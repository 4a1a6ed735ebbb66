"""Which vector index a tenant's memories of one type deserve: none while they are few, then IVFFlat, then HNSW.

An index is not dropped or changed at the very row at which it was built: a store that grows and shrinks around a
threshold would be rebuilt again and again. What is there stays until the rows have halved.
"""

import math
from dataclasses import dataclass

from memory_butler.models.vector_index import Shape

IVFFLAT, HNSW = "ivfflat", "hnsw"
FEWEST_LISTS, MOST_LISTS = 10, 32_768


@dataclass(frozen=True, slots=True, kw_only=True)
class PostureRules:
    """The numbers of the posture, as configured."""

    posture: str
    exact_below: int
    hnsw_from: int
    lists: int | None
    m: int
    ef_construction: int


def wanted_shape(rows: int, rules: PostureRules, present: Shape | None = None) -> Shape | None:
    """The index that so many rows should have, given the one they have; None: none, they are searched exactly."""
    if rules.posture == "exact" or rows < _threshold(rules.exact_below, there=present is not None):
        return None
    if _kind(rows, rules, present) == HNSW:
        return Shape(HNSW, (("ef_construction", rules.ef_construction), ("m", rules.m)))
    return Shape(IVFFLAT, (("lists", rules.lists or _lists(rows, present)),))


def _kind(rows: int, rules: PostureRules, present: Shape | None) -> str:
    if rules.posture != "auto":
        return rules.posture
    large = rows >= _threshold(rules.hnsw_from, there=present is not None and present.kind == HNSW)
    return HNSW if large else IVFFLAT


def _threshold(rows: int, *, there: bool) -> float:
    return rows / 2 if there else rows


def _lists(rows: int, present: Shape | None) -> int:
    """As many lists as each has rows; those of an index that is there will do while they are not far from that."""
    fitting = min(MOST_LISTS, max(FEWEST_LISTS, round(math.sqrt(rows))))
    has = dict(present.options).get("lists") if present else None
    return has if has and fitting / 2 <= has <= fitting * 2 else fitting
