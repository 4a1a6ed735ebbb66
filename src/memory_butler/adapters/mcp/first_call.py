"""The first call over stdio: the client has just started the program, and perhaps the store."""

from collections.abc import Awaitable, Callable

from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult
from mcp_types import CallToolRequestParams


class WaitsForStore(Middleware):
    """The first call waits for a store that is being created, as long as clients do, not only its own deadline."""

    def __init__(self, wait: Callable[[], Awaitable[None]]) -> None:
        self._wait = wait

    async def on_call_tool(
        self,
        context: MiddlewareContext[CallToolRequestParams],
        call_next: CallNext[CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        await self._wait()
        return await call_next(context)
