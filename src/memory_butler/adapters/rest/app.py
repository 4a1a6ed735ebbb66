"""The REST application: /api/v1 of the server."""

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import Response

from memory_butler.adapters.answering import MemoryTool
from memory_butler.adapters.mcp import program_version
from memory_butler.adapters.opening import LateButler
from memory_butler.adapters.problems import (
    REQUEST_ID_PATTERN,
    WRONG_CONTENT_TYPE,
    WRONG_METHOD,
    problem_response,
    request_id_from,
)
from memory_butler.adapters.rest.desk import Desk
from memory_butler.adapters.rest.envelope import Envelope, WrongContentType
from memory_butler.adapters.rest.governing import governing_routes
from memory_butler.adapters.rest.memories import memory_routes
from memory_butler.adapters.rest.schemas import COMPONENTS, TEXT, problems
from memory_butler.adapters.rest.tools import tool_routes
from memory_butler.adapters.streaming import OPERATION, ActivityStreams
from memory_butler.adapters.streaming import PATH as STREAM_PATH
from memory_butler.errors import InternalError, InvalidInput, MemoryButlerError, NotFound

BASE = "/api/v1"
ABOUT = "Long-term memory for AI agents: every tool as a route, and listings for people."
_SHOWN_PROBLEMS = 5


def mount_rest(server: Starlette, late: LateButler, tools: Sequence[MemoryTool]) -> None:
    """Put the application into the server, and have the server say in the same form what it does not have."""
    server.mount(BASE, build_rest(late, tools))
    server.add_exception_handler(HTTPException, no_route)


def build_rest(late: LateButler, tools: Sequence[MemoryTool]) -> FastAPI:
    """The application itself. It has no page to try things out: such pages load from elsewhere."""
    app = _Rest(
        title="Memory Butler",
        version=program_version(),
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
    )
    app.secured = late.settings.service.auth == "required"
    app.add_middleware(Envelope)
    app.add_exception_handler(MemoryButlerError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, no_route)
    desk = Desk(late)
    for routes in (tool_routes(tools), memory_routes(desk), governing_routes(desk)):
        app.include_router(routes)
    app.add_route(STREAM_PATH, ActivityStreams(late).open, methods=["GET"])
    return app


class _Rest(FastAPI):
    """FastAPI, with what it cannot know of our answers in its OpenAPI page."""

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
    "summary": "What happens in memory, as it happens: server-sent events.",
    "description": "Every event has the cursor behind it as its id. Whoever comes again with it, as `since` or as the "
    "header `Last-Event-ID`, misses nothing and hears nothing twice.",
    "parameters": [
        {"name": "since", "in": "query", "schema": TEXT, "description": "The cursor to go on from."},
        {"name": "scope", "in": "query", "schema": TEXT, "description": "Only this scope."},
    ],
    "responses": {
        200: {"description": "Events, for as long as you listen.", "content": {"text/event-stream": {"schema": TEXT}}},
        **problems(),
    },
}
_REQUEST_ID = {
    "name": "X-Request-Id",
    "in": "header",
    "required": False,
    "description": "Your id of this request: kept with what the request changes, and returned. Made if left out.",
    "schema": {"type": "string", "pattern": REQUEST_ID_PATTERN},
}


async def _refused(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, MemoryButlerError)
    status = WRONG_CONTENT_TYPE if isinstance(problem, WrongContentType) else None
    return problem_response(problem, request.state.request_id, status=status)


async def _invalid(request: Request, problem: Exception) -> Response:
    """What is wrong with a path or a query, in words for whoever wrote it."""
    assert isinstance(problem, RequestValidationError)
    lines = []
    for error in problem.errors()[:_SHOWN_PROBLEMS]:
        name = ".".join(str(part)[:60] for part in error["loc"][1:]) or "the request"
        said = "is not known" if error["type"] == "extra_forbidden" else str(error["msg"])
        lines.append(f"{name}: {said}.")
    return problem_response(InvalidInput(" ".join(dict.fromkeys(lines))), request.state.request_id)


async def no_route(request: Request, problem: Exception) -> Response:
    """Nothing is at an address, or not with this method: also outside of /api/v1."""
    assert isinstance(problem, HTTPException)
    request_id = getattr(request.state, "request_id", None) or request_id_from(request.scope)
    refused: MemoryButlerError
    if problem.status_code == WRONG_METHOD:
        allowed = (problem.headers or {}).get("Allow", "")
        refused = InvalidInput(
            f"{request.method[:20]} is not offered here.", recovery=f"Offered: {allowed}; see {BASE}/openapi.json."
        )
        return problem_response(refused, request_id, status=WRONG_METHOD, headers=problem.headers)
    if problem.status_code == 404:
        refused = NotFound("There is nothing at this address.", recovery=f"{BASE}/openapi.json lists what there is.")
    elif problem.status_code < 500:
        refused = InvalidInput(str(problem.detail))
    else:
        refused = InternalError()
    return problem_response(refused, request_id)
