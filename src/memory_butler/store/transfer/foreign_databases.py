"""Databases of other memories, read and never written. They are SQLite files; what is read of them is public."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final
from urllib.parse import quote

from memory_butler.errors import InvalidInput
from memory_butler.store.gate.database import Row

# All columns, as they differ from version to version; what is not there is not missed.
_CLAUDE_MEM_OBSERVATIONS: Final = "SELECT * FROM observations ORDER BY id"
_CLAUDE_MEM_SUMMARIES: Final = "SELECT * FROM session_summaries ORDER BY id"
_MCP_MEMORY_SERVICE: Final = "SELECT * FROM memories ORDER BY id"


def claude_mem_observations(path: Path) -> Iterator[Row]:
    return _rows(path, _CLAUDE_MEM_OBSERVATIONS, "claude-mem")


def claude_mem_summaries(path: Path) -> Iterator[Row]:
    return _rows(path, _CLAUDE_MEM_SUMMARIES, "claude-mem")


def mcp_memory_service_memories(path: Path) -> Iterator[Row]:
    return _rows(path, _MCP_MEMORY_SERVICE, "mcp-memory-service")


def _rows(path: Path, query: str, name: str) -> Iterator[Row]:
    if not path.is_file():
        raise InvalidInput(f"There is no file {path}.", recovery="Pass the path of the database file.")
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            for row in connection.execute(query):
                yield dict(row)
    except sqlite3.Error as problem:
        raise InvalidInput(
            f"{path} cannot be read as a database of {name}: {problem}.",
            recovery="Check the path, and that it was written by that program.",
        ) from problem
