"""Every tool as a route: the same objects that the MCP door has, so there is no second implementation."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from fastapi import APIRouter, Request
from fastmcp.utilities.json_schema import dereference_refs
from starlette.responses import Response

from memory_butler.adapters.answering import MemoryTool, without_text
from memory_butler.adapters.identity import calling
from memory_butler.adapters.problems import json_bytes, problem_from
from memory_butler.adapters.rest.answers import answer_schema
from memory_butler.adapters.rest.envelope import body_of
from memory_butler.adapters.rest.schemas import body, ok, problems
from memory_butler.models import Principal

PREFIX = "memory_"


def tool_routes(tools: Sequence[MemoryTool]) -> APIRouter:
    router = APIRouter(tags=["tools"])
    for tool in tools:
        summary, _, description = (tool.description or "").partition("\n")
        required = bool(tool.parameters.get("required"))
        router.add_api_route(
            f"/{tool.name.removeprefix(PREFIX)}",
            _route(tool),
            methods=["POST"],
            name=tool.name,
            operation_id=tool.name,
            summary=summary,
            description=description.strip(),
            response_class=Response,
            responses={**ok(answer_schema(tool.name)), **problems()},
            openapi_extra={"requestBody": body(dereference_refs(tool.parameters), required=required)},
        )
    return router


def _route(tool: MemoryTool) -> Callable[[Request], Awaitable[Response]]:
    async def call(request: Request) -> Response:
        arguments = _with_request_id(await body_of(request), request.state.request_id)
        shown, plain = calling.set(principal_of(request)), without_text.set(True)
        try:
            result = await tool.run(arguments)
        finally:
            without_text.reset(plain)
            calling.reset(shown)
        request_id = request.state.request_id
        content: dict[str, Any] = result.structured_content or {}
        if result.is_error:
            return problem_from(content, request_id)
        return Response(json_bytes({**content, "request_id": request_id}), media_type="application/json")

    return call


def principal_of(request: Request) -> Principal | None:
    """Whoever showed a token; nobody where none is asked for."""
    found = request.scope.get("state", {}).get("principal")
    return found if isinstance(found, Principal) else None


def _with_request_id(arguments: dict[str, Any], request_id: str) -> dict[str, Any]:
    """The request's id goes into lineage also where it came as a header or was made here."""
    context = arguments.get("request_context")
    if context is None or (isinstance(context, dict) and context.get("request_id") is None):
        return {**arguments, "request_context": {**(context or {}), "request_id": request_id}}
    return arguments
