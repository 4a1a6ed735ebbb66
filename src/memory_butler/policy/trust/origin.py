"""Origin of memories: ranks of trust, and the words that mark a memory of lower rank."""

from collections.abc import Iterable

from memory_butler.models import Origin

# The user and agents are trusted alike. What is derived is trusted as little as the least trusted of its sources.
RANKS = {Origin.USER: 3, Origin.AGENT: 3, Origin.IMPORT: 2, Origin.TOOL: 1, Origin.EXTERNAL: 0}
UNTRUSTED = frozenset({Origin.TOOL, Origin.EXTERNAL})
_MARKS = {
    Origin.IMPORT: "unverified, imported",
    Origin.TOOL: "unverified, from a tool",
    Origin.EXTERNAL: "unverified, from an outside source",
}
PARTLY = "unverified in part, quotes an outside source"


def rank(origin: str) -> int:
    return RANKS[Origin(origin)]


def lowest(origins: Iterable[str]) -> Origin:
    """The origin of what is derived from sources of these origins; `agent` without any."""
    return min((Origin(one) for one in origins), key=rank, default=Origin.AGENT)


def outranks(one: str, other: str) -> bool:
    """True if one origin is trusted more than the other."""
    return rank(one) > rank(other)


def is_trusted(origin: str) -> bool:
    """True for what the user said or an agent concluded: lines of a briefing without a mark."""
    return rank(origin) >= RANKS[Origin.AGENT]


def mark(origin: str) -> str | None:
    """The words that mark a memory below `agent`; None for a trusted one."""
    return _MARKS.get(Origin(origin))
