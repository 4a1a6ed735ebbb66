"""Every tool as a REST route. The routes call the tools of the MCP server."""

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from fastapi import APIRouter, Request
from fastmcp.tools import ToolResult
from fastmcp.utilities.json_schema import dereference_refs
from starlette.responses import Response

from memory_butler.adapters.http.identity import in_process_principal
from memory_butler.adapters.http.problems import json_bytes, problem_from
from memory_butler.adapters.mcp.catalog import TOOLS
from memory_butler.adapters.mcp.client_name import name_of_request, rest_client
from memory_butler.adapters.mcp.tool_base import MemoryTool
from memory_butler.adapters.rest.middleware import body_of
from memory_butler.adapters.rest.schemas import documented, request_body
from memory_butler.models import Principal

BASE = "/api/v1"
PREFIX = "memory_"
_TOOL = re.compile(r"\bmemory_[a-z_]+\b")


def tool_routes(tools: Sequence[MemoryTool]) -> APIRouter:
    router = APIRouter(tags=["tools"])
    for tool in tools:
        summary, _, description = (tool.description or "").partition("\n")
        required = bool(tool.parameters.get("required"))
        body = dereference_refs(tool.parameters)
        # Answers over REST are always full.
        body["properties"] = {name: schema for name, schema in body["properties"].items() if name != "detail"}
        router.add_api_route(
            f"/{tool.name.removeprefix(PREFIX)}",
            _route(tool),
            methods=["POST"],
            name=tool.name,
            operation_id=tool.name,
            summary=summary,
            description=description.strip(),
            openapi_extra={"requestBody": request_body(body, required=required)},
            **documented(tool.declaration.answer),
        )
    return router


def _route(tool: MemoryTool) -> Callable[[Request], Awaitable[Response]]:
    async def call(request: Request) -> Response:
        arguments = _with_request_id(await body_of(request), request.state.request_id)
        result = await run_tool(tool, request, arguments)
        request_id = request.state.request_id
        content: dict[str, Any] = result.structured_content or {}
        if result.is_error:
            return problem_from(with_routes(content), request_id)
        return Response(json_bytes({**content, "request_id": request_id}), media_type="application/json")

    return call


async def run_tool(tool: MemoryTool, request: Request, arguments: dict[str, Any]) -> ToolResult:
    """Run a tool for the caller of a request; the result has no text."""
    previous, client = in_process_principal.set(principal_of(request)), rest_client.set(name_of_request(request))
    try:
        return await tool.run(arguments)
    finally:
        rest_client.reset(client)
        in_process_principal.reset(previous)


def with_routes(error: dict[str, Any]) -> dict[str, Any]:
    """An error that names the routes of tools instead of the tools: its recovery, and the subject of its message."""
    message, recovery = str(error["message"]), str(error["recovery"])
    subject = _TOOL.match(message)
    if subject:
        message = _route_of(subject) + message[subject.end() :]
    return {**error, "message": message, "recovery": _TOOL.sub(_route_of, recovery)}


def _route_of(match: re.Match[str]) -> str:
    return f"POST {BASE}/{match[0].removeprefix(PREFIX)}" if match[0] in TOOLS else match[0]


def principal_of(request: Request) -> Principal | None:
    """The authenticated caller; None where authentication is not required."""
    principal = request.scope.get("state", {}).get("principal")
    return principal if isinstance(principal, Principal) else None


def _with_request_id(arguments: dict[str, Any], request_id: str) -> dict[str, Any]:
    """Arguments whose lineage has the id of the request, also if it came as a header or was generated."""
    context = arguments.get("request_context")
    if context is None or (isinstance(context, dict) and context.get("request_id") is None):
        return {**arguments, "request_context": {**(context or {}), "request_id": request_id}}
    return arguments
