"""The REST application at /api/v1."""

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import Response

from memory_butler.adapters.http.activity_stream import OPERATION, ActivityStreams
from memory_butler.adapters.http.activity_stream import PATH as STREAM_PATH
from memory_butler.adapters.http.problems import (
    REQUEST_ID_PATTERN,
    WRONG_CONTENT_TYPE,
    WRONG_METHOD,
    problem_from,
    problem_response,
    request_id_from,
)
from memory_butler.adapters.http.read_positions import ReadPositions
from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.adapters.mcp.tool_base import MemoryTool
from memory_butler.adapters.rest.administration import administration_routes
from memory_butler.adapters.rest.listings import memory_routes
from memory_butler.adapters.rest.middleware import RequestIds, WrongContentType
from memory_butler.adapters.rest.request_handler import RequestHandler
from memory_butler.adapters.rest.schemas import COMPONENTS, TEXT, problems
from memory_butler.adapters.rest.tools import BASE, tool_routes, with_routes
from memory_butler.adapters.wire.answers import error_json
from memory_butler.errors import InternalError, InvalidInput, MemoryButlerError, NotFound
from memory_butler.metrics.registry import program_version

ABOUT = "Long-term memory for AI agents: every tool as a route, lists of memories, and administration."
_MAX_PROBLEMS = 5


def mount_rest(server: Starlette, lazy: LazyResources, tools: Sequence[MemoryTool]) -> None:
    """Mount the application, and report unknown paths of the whole server in the same format."""
    server.mount(BASE, build_rest(lazy, tools))
    server.add_exception_handler(HTTPException, no_route)


def build_rest(lazy: LazyResources, tools: Sequence[MemoryTool]) -> FastAPI:
    """The application. It has no Swagger page, because that loads scripts from a CDN."""
    app = _Rest(
        title="Memory Butler",
        version=program_version(),
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
    )
    app.secured = lazy.settings.service.auth == "required"
    app.add_middleware(ReadPositions)
    app.add_middleware(RequestIds)
    app.add_exception_handler(MemoryButlerError, _error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, no_route)
    handler = RequestHandler(lazy)
    for routes in (tool_routes(tools), memory_routes(handler), administration_routes(handler)):
        app.include_router(routes)
    app.add_route(STREAM_PATH, ActivityStreams(lazy).open, methods=["GET"])
    return app


class _Rest(FastAPI):
    """FastAPI with the OpenAPI parts that it cannot derive from our routes."""

    secured = False

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            page = super().openapi()
            page["servers"] = [{"url": BASE}]
            components = page.setdefault("components", {})
            components.setdefault("schemas", {}).update(COMPONENTS)
            components["parameters"] = {"RequestId": _REQUEST_ID}
            components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            page["security"] = [{"token": []}] if self.secured else [{}, {"token": []}]
            page["paths"][STREAM_PATH] = {"get": _STREAM}
            for path in page["paths"].values():
                path["parameters"] = [{"$ref": "#/components/parameters/RequestId"}]
            self.openapi_schema = page
        return self.openapi_schema


_STREAM = {
    "tags": ["activity"],
    "operationId": OPERATION,
    "summary": "Stream events of the store as server-sent events.",
    "description": "The id of each event is the cursor after it. A client that reconnects with it, as `since` or in "
    "the header `Last-Event-ID`, misses no event and gets none twice.",
    "parameters": [
        {"name": "since", "in": "query", "schema": TEXT, "description": "Cursor to continue from; default now."},
        {"name": "scope", "in": "query", "schema": TEXT, "description": "Only this scope."},
    ],
    "responses": {
        200: {
            "description": "Events until you disconnect.",
            "content": {"text/event-stream": {"schema": TEXT}},
        },
        **problems(),
    },
}
_REQUEST_ID = {
    "name": "X-Request-Id",
    "in": "header",
    "required": False,
    "description": "Your id of this request, stored with its changes and returned. Default: generated.",
    "schema": {"type": "string", "pattern": REQUEST_ID_PATTERN},
}


async def _error(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, MemoryButlerError)
    status = WRONG_CONTENT_TYPE if isinstance(problem, WrongContentType) else None
    return problem_from(with_routes(error_json(problem)), request.state.request_id, status=status)


async def _invalid(request: Request, problem: Exception) -> Response:
    """Validation errors of a path or a query as one error message."""
    assert isinstance(problem, RequestValidationError)
    lines = []
    for error in problem.errors()[:_MAX_PROBLEMS]:
        name = ".".join(str(part)[:60] for part in error["loc"][1:]) or "the request"
        message = "is unknown" if error["type"] == "extra_forbidden" else str(error["msg"])
        lines.append(f"{name}: {message}.")
    return problem_response(InvalidInput(" ".join(dict.fromkeys(lines))), request.state.request_id)


async def no_route(request: Request, problem: Exception) -> Response:
    """The error for an unknown path or method, also outside of /api/v1."""
    assert isinstance(problem, HTTPException)
    request_id = getattr(request.state, "request_id", None) or request_id_from(request.scope)
    error: MemoryButlerError
    if problem.status_code == WRONG_METHOD:
        allowed = (problem.headers or {}).get("Allow", "")
        error = InvalidInput(
            f"{request.method[:20]} is not allowed here.", recovery=f"Allowed: {allowed}; see {BASE}/openapi.json."
        )
        return problem_response(error, request_id, status=WRONG_METHOD, headers=problem.headers)
    if problem.status_code == 404:
        error = NotFound("There is no such path.", recovery=f"{BASE}/openapi.json lists all paths.")
    elif problem.status_code < 500:
        error = InvalidInput(str(problem.detail))
    else:
        error = InternalError()
    return problem_response(error, request_id)
