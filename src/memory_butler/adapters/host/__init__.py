"""Memory inside a host: a module for platforms whose butlers have a server, a database and sessions of their own."""

from memory_butler.adapters.host.config import MemoryConfig, SessionChoices
from memory_butler.adapters.host.handles import HostDatabase
from memory_butler.adapters.host.module import MemoryModule, shared_embedder
from memory_butler.adapters.host.sessions import SessionEnd, SessionStart
from memory_butler.ai.embedding import Embedder
from memory_butler.policy.session_episode import Exchange

__all__ = [
    "Embedder",
    "Exchange",
    "HostDatabase",
    "MemoryConfig",
    "MemoryModule",
    "SessionChoices",
    "SessionEnd",
    "SessionStart",
    "shared_embedder",
]
