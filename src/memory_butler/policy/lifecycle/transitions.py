"""Allowed state transitions. The database has the same table and refuses any other."""

from collections.abc import Mapping, Sequence

from memory_butler.models import ConsolidationStatus as C
from memory_butler.models import Maturity as M
from memory_butler.models import Memory, MemoryType, Rule
from memory_butler.models import Validity as V

_FACT: dict[str, tuple[str, ...]] = {
    V.ACTIVE: (V.FADING, V.SUPERSEDED, V.EXPIRED, V.RETRACTED),
    V.FADING: (V.ACTIVE, V.SUPERSEDED, V.EXPIRED, V.RETRACTED),
    **dict.fromkeys((V.SUPERSEDED, V.EXPIRED, V.RETRACTED), (V.ACTIVE,)),
}
_MATURITY: dict[str, tuple[str, ...]] = {
    M.CANDIDATE: (M.ESTABLISHED, M.ANTI_PATTERN),
    M.ESTABLISHED: (M.PROVEN, M.CANDIDATE, M.ANTI_PATTERN),
    M.PROVEN: (M.ESTABLISHED, M.CANDIDATE, M.ANTI_PATTERN),
    M.ANTI_PATTERN: (M.CANDIDATE,),
}
_CONSOLIDATION: dict[str, tuple[str, ...]] = {
    C.PENDING: (C.CONSOLIDATED, C.FAILED, C.DEAD_LETTER),
    **dict.fromkeys((C.FAILED, C.DEAD_LETTER, C.CONSOLIDATED), (C.PENDING,)),
}


def _pairs(table: Mapping[str, Sequence[str]]) -> set[tuple[str, str]]:
    return {(str(before), str(after)) for before, following in table.items() for after in following}


TRANSITIONS: dict[tuple[MemoryType, str], set[tuple[str, str]]] = {
    (MemoryType.FACT, "validity"): _pairs(_FACT),
    (MemoryType.RULE, "validity"): {pair for pair in _pairs(_FACT) if "superseded" not in pair},
    (MemoryType.RULE, "maturity"): _pairs(_MATURITY),
    (MemoryType.EPISODE, "validity"): {("active", "retracted"), ("retracted", "active")},
    (MemoryType.EPISODE, "consolidation"): _pairs(_CONSOLIDATION),
}


def may_follow(memory_type: MemoryType, axis: str, from_state: str, to_state: str) -> bool:
    return from_state == to_state or (from_state, to_state) in TRANSITIONS[memory_type, axis]


def is_exempt(memory: Memory) -> bool:
    """Whether a memory is exempt from decay: it is pinned, or it is a warning."""
    return memory.pinned or (isinstance(memory, Rule) and memory.maturity is M.ANTI_PATTERN)
