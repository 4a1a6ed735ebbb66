"""Memory from another process: a client for a Memory Butler server, and memory around an agent's session.

Nothing here loads the engine: no database driver, no model.
"""

from typing import TYPE_CHECKING, Any

from memory_butler.client.answers import Forgotten, Result, Results, Seen, Shown
from memory_butler.client.session import InProcess, Session, session

if TYPE_CHECKING:
    from memory_butler.client.remote import MemoryClient

__all__ = [
    "Forgotten",
    "InProcess",
    "MemoryClient",
    "Result",
    "Results",
    "Seen",
    "Session",
    "Shown",
    "session",
]


def __getattr__(name: str) -> Any:
    """Who has a butler in process needs no client over HTTP, and does not wait for its library."""
    if name != "MemoryClient":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from memory_butler.client.remote import MemoryClient  # noqa: PLC0415 (see above)

    return MemoryClient
