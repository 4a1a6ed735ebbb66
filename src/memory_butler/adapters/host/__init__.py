"""Memory as a module of a host platform, which has its own MCP server, database and agent sessions."""

from memory_butler.adapters.host.config import MemoryConfig, SessionChoices
from memory_butler.adapters.host.host_database import HostDatabase
from memory_butler.adapters.host.module import MemoryModule, shared_embedder
from memory_butler.adapters.host.sessions import SessionEnd, SessionStart
from memory_butler.ai.embedding import Embedder
from memory_butler.policy.agent_sessions.observations import Exchange

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
