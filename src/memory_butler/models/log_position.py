"""A position in the write-ahead log of PostgreSQL, as text and as a number.

Answers of writes carry it, and reads can ask for it, so that a caller sees its own writes on any server.
"""

import re

from memory_butler.errors import InvalidInput

POSITION_HEADER = "Memory-Butler-Position"
# Key in the `_meta` of an MCP request and of its result.
POSITION_META = "memory-butler/position"
# Key in the `_meta` of a result that comes from a stale replica.
STALE_META = "memory-butler/degraded"
_POSITION = re.compile(r"([0-9A-Fa-f]{1,8})/([0-9A-Fa-f]{1,8})")


def parse_position(text: str) -> int:
    """A position as PostgreSQL writes it, such as 0/3000148."""
    found = _POSITION.fullmatch(text.strip())
    if found is None:
        raise InvalidInput(
            f"{text[:60]!r} is not a position.",
            recovery="Send the position of the last answer as it was, such as 0/3000148, or none.",
        )
    return int(found[1], 16) << 32 | int(found[2], 16)


def format_position(position: int) -> str:
    return f"{position >> 32:X}/{position & 0xFFFFFFFF:X}"
