"""The list of tools that an MCP client sees.

Agents pay for it in tokens, so it is short: a summary of each tool, its parameters and the fields of its answer. The
full descriptions are in the docs and in REST.
"""

from collections.abc import Mapping, Sequence
from typing import get_args

from fastmcp.server.dependencies import get_http_request
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import Tool
from mcp_types import ListToolsRequest

from memory_butler.adapters.mcp.tool_base import MemoryTool
from memory_butler.errors import InvalidInput
from memory_butler.settings.mcp import ToolSet

HEADER = "memory-butler-tools"
CORE = frozenset(
    {
        "memory_store_episode",
        "memory_store_fact",
        "memory_store_rule",
        "memory_search",
        "memory_recall",
        "memory_get",
        "memory_confirm",
        "memory_mark_helpful",
        "memory_mark_harmful",
        "memory_forget",
        "memory_stats",
        "memory_context",
    }
)
STANDARD = CORE | {
    "memory_store",
    "memory_explain",
    "memory_correct",
    "memory_update",
    "memory_forget_about",
    "memory_restore",
    "memory_pin",
    "memory_unpin",
    "memory_undo",
}
# Offered by a setting of their own, so always listed.
DISTILLING = frozenset({"memory_consolidation_claim", "memory_consolidation_submit"})


class ListedTools(Middleware):
    """Lists the tools of the set that the request's header asks for, or the configured set."""

    def __init__(self, tools: Sequence[MemoryTool], default: ToolSet) -> None:
        self._default = default
        self._lists: Mapping[ToolSet, list[Tool]] = {
            "core": [tool.with_usual_parameters() for tool in tools if tool.name in CORE | DISTILLING],
            "standard": [tool for tool in tools if tool.name in STANDARD | DISTILLING],
            "all": list(tools),
        }

    async def on_list_tools(
        self,
        context: MiddlewareContext[ListToolsRequest],
        call_next: CallNext[ListToolsRequest, Sequence[Tool]],
    ) -> Sequence[Tool]:
        return self._lists[_requested() or self._default]


def _requested() -> ToolSet | None:
    try:
        name = get_http_request().headers.get(HEADER)
    except RuntimeError:
        # Not over HTTP.
        return None
    return parse_tool_set(name) if name else None


def parse_tool_set(name: str) -> ToolSet:
    for known in get_args(ToolSet):
        if name.strip().casefold() == known:
            return known  # type: ignore[no-any-return]
    raise InvalidInput(f"{name[:60]!r} is not a set of tools.", recovery=f"Use one of {', '.join(get_args(ToolSet))}.")
