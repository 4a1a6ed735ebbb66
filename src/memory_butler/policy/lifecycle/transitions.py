"""Allowed state transitions. The database has the same table and refuses any other."""

from memory_butler.models import ConsolidationStatus as C
from memory_butler.models import Maturity as M
from memory_butler.models import Memory, MemoryType, Rule
from memory_butler.models import Validity as V

_FACT = {
    (V.ACTIVE, V.FADING),
    (V.FADING, V.ACTIVE),
    (V.ACTIVE, V.SUPERSEDED),
    (V.FADING, V.SUPERSEDED),
    (V.ACTIVE, V.EXPIRED),
    (V.FADING, V.EXPIRED),
    (V.ACTIVE, V.RETRACTED),
    (V.FADING, V.RETRACTED),
    (V.SUPERSEDED, V.ACTIVE),
    (V.EXPIRED, V.ACTIVE),
    (V.RETRACTED, V.ACTIVE),
}
_MATURITY = {
    (M.CANDIDATE, M.ESTABLISHED),
    (M.ESTABLISHED, M.PROVEN),
    (M.PROVEN, M.ESTABLISHED),
    (M.PROVEN, M.CANDIDATE),
    (M.ESTABLISHED, M.CANDIDATE),
    (M.CANDIDATE, M.ANTI_PATTERN),
    (M.ESTABLISHED, M.ANTI_PATTERN),
    (M.PROVEN, M.ANTI_PATTERN),
    (M.ANTI_PATTERN, M.CANDIDATE),
}
_CONSOLIDATION = {
    (C.PENDING, C.CONSOLIDATED),
    (C.PENDING, C.FAILED),
    (C.PENDING, C.DEAD_LETTER),
    (C.FAILED, C.PENDING),
    (C.DEAD_LETTER, C.PENDING),
    (C.CONSOLIDATED, C.PENDING),
}

TRANSITIONS: dict[tuple[MemoryType, str], set[tuple[str, str]]] = {
    (MemoryType.FACT, "validity"): {(str(a), str(b)) for a, b in _FACT},
    (MemoryType.RULE, "validity"): {(str(a), str(b)) for a, b in _FACT if V.SUPERSEDED not in (a, b)},
    (MemoryType.RULE, "maturity"): {(str(a), str(b)) for a, b in _MATURITY},
    (MemoryType.EPISODE, "validity"): {("active", "retracted"), ("retracted", "active")},
    (MemoryType.EPISODE, "consolidation"): {(str(a), str(b)) for a, b in _CONSOLIDATION},
}


def may_follow(memory_type: MemoryType, axis: str, from_state: str, to_state: str) -> bool:
    return from_state == to_state or (from_state, to_state) in TRANSITIONS[memory_type, axis]


def is_exempt(memory: Memory) -> bool:
    """Whether a memory is exempt from decay: it is pinned, or it is a warning."""
    return memory.pinned or (isinstance(memory, Rule) and memory.maturity is M.ANTI_PATTERN)
