"""Client for a Memory Butler server, and memory around an agent session. Does not load the engine."""

from typing import TYPE_CHECKING, Any

from memory_butler.client.agent_session import InProcess, Session, session
from memory_butler.models.answers import FoundMemory
from memory_butler.models.wire.memory_answers import (
    ForgetAnswer,
    MemoryDetail,
    SearchResult,
    SearchResults,
)

if TYPE_CHECKING:
    from memory_butler.client.memory_client import MemoryClient

__all__ = [
    "ForgetAnswer",
    "Forgotten",
    "FoundMemory",
    "InProcess",
    "MemoryClient",
    "MemoryDetail",
    "Result",
    "Results",
    "SearchResult",
    "SearchResults",
    "Seen",
    "Session",
    "Shown",
    "session",
]

# Names of earlier versions.
Forgotten, Result, Results, Seen, Shown = ForgetAnswer, SearchResult, SearchResults, MemoryDetail, FoundMemory


def __getattr__(name: str) -> Any:
    """Import the HTTP client on first use: a program with a store in process does not need its library."""
    if name != "MemoryClient":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from memory_butler.client.memory_client import MemoryClient  # noqa: PLC0415 (see above)

    return MemoryClient
