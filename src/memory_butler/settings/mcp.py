"""Settings of the MCP door."""

from typing import Literal

from pydantic import Field

from memory_butler.settings.values import Group

ToolSet = Literal["core", "standard", "all"]


class McpSettings(Group):
    """Tools that MCP clients see. Tools that are not listed can be called by name all the same."""

    tools: ToolSet = Field(
        "core",
        description="Tools in `tools/list`: `core` (the twelve stable tools with their usual parameters), `standard` "
        "(and corrections, history and notes, with all parameters) or `all`. The header `Memory-Butler-Tools` and "
        "`memory-butler mcp --tools` override it.",
    )
