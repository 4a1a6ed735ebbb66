"""OpenTelemetry's conventions for MCP: what FastMCP's own spans lack, and the duration of every message."""

import time
from collections.abc import Iterable
from typing import Any, Literal

from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult
from mcp_types import CallToolRequestParams
from opentelemetry import trace
from opentelemetry.trace import StatusCode

from memory_butler.adapters.telemetry.traces import EXECUTE_TOOL, OPERATION, measure_message

TOOL_ERROR = "tool_error"
# Standard input and output are a pipe, HTTP is TCP. A host's server has a transport of its own.
Transport = Literal["pipe", "tcp"]


class ProtocolTelemetry(Middleware):
    """FastMCP opens one span per message, in the trace that the client sends in `_meta`."""

    def __init__(self, tools: Iterable[str], transport: Transport | None) -> None:
        # Models invent names of tools, and each would be a series of its own.
        self._tools = frozenset(tools)
        self._always = {"network.transport": transport} if transport else {}

    async def on_message(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        attributes = {"mcp.method.name": context.method or "unknown", **self._always}
        if isinstance(context.message, CallToolRequestParams):
            name = context.message.name
            attributes |= {OPERATION: EXECUTE_TOOL, "gen_ai.tool.name": name if name in self._tools else "unknown"}
        began = time.perf_counter()
        try:
            result = await call_next(context)
            if isinstance(result, ToolResult) and result.is_error:
                attributes["error.type"] = TOOL_ERROR
            return result
        except Exception as problem:
            attributes["error.type"] = type(problem).__qualname__
            raise
        finally:
            measure_message(attributes, time.perf_counter() - began)

    async def on_call_tool(
        self,
        context: MiddlewareContext[CallToolRequestParams],
        call_next: CallNext[CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        span = trace.get_current_span()
        span.set_attributes({OPERATION: EXECUTE_TOOL, **self._always})
        request = context.fastmcp_context.request_context if context.fastmcp_context else None
        if request is not None and request.request_id is not None:
            span.set_attribute("jsonrpc.request.id", str(request.request_id))
        result = await call_next(context)
        if result.is_error:
            # The message may quote an argument; the span of the operation has the class of the error.
            span.set_attribute("error.type", TOOL_ERROR)
            span.set_status(StatusCode.ERROR)
        return result
