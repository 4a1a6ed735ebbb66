"""The tool groups that a host's butler gets."""

from pathlib import Path
from typing import Any

import pytest
from fastmcp import FastMCP

from memory_butler.adapters.host.module import MemoryModule

JUDGE = {"memory_confirm", "memory_mark_helpful", "memory_mark_harmful"}


@pytest.mark.parametrize(
    ("table", "tools"),
    [
        ({"tools": ["judge"]}, JUDGE),
        ({"tools": ["history"]}, set[str]()),
        ({"tools": ["history"], "administrator": True}, {"memory_undo", "memory_purge"}),
    ],
)
async def test_groups_hold_what_their_names_say(home: Path, table: dict[str, Any], tools: set[str]) -> None:
    """Feedback brings no corrections, and an administrator has the tools of the history."""
    server = FastMCP[None]("home")
    await MemoryModule().register_tools(server, {"home": str(home), **table}, "postgresql://nobody@localhost/x", "home")
    assert {tool.name for tool in await server.list_tools()} == tools
