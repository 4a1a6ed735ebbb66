"""Server side of the hooks: briefings, and one episode extracted from the last exchanges of a session.

The extraction runs here because importing its rules takes longer than a hook may take. The exchanges never leave the
machine: hooks connect to the local server only. They are neither stored nor logged.
"""

import asyncio
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from memory_butler.adapters.hooks.briefings import (
    EVENTS,
    SESSION_START,
    USER_PROMPT,
    ToldSessions,
    budget_of,
    trimmed,
)
from memory_butler.adapters.http.problems import problem_from, problem_response
from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.adapters.mcp.tool_base import MemoryTool
from memory_butler.adapters.rest.app import no_route
from memory_butler.adapters.rest.middleware import RequestIds, body_of
from memory_butler.adapters.rest.tools import principal_of, run_tool
from memory_butler.errors import InvalidInput, MemoryButlerError
from memory_butler.policy.agent_sessions.observations import Exchange, SessionEpisode, episode_of_exchanges

BASE = "/hooks"
MOST_EXCHANGES = 200
STORE, CONTEXT = "memory_store_episode", "memory_context"


def build_door(lazy: LazyResources, tools: Sequence[MemoryTool]) -> ASGIApp:
    """Build the application for /hooks. It works through the tools, which check role and input."""
    by_name = {tool.name: tool for tool in tools}
    sessions = ToldSessions()

    async def session_end(request: Request) -> Response:
        request_id = request.state.request_id
        try:
            told = await body_of(request)
            episode = await asyncio.to_thread(_episode, told)
        except MemoryButlerError as problem:
            return problem_response(problem, request_id)
        if episode is None:
            return JSONResponse({"outcome": "nothing", "request_id": request_id})
        result = await run_tool(by_name[STORE], request, _arguments(told, episode, request_id))
        content: dict[str, Any] = result.structured_content or {}
        return problem_from(content, request_id) if result.is_error else JSONResponse(content)

    async def briefing(request: Request) -> Response:
        request_id = request.state.request_id
        try:
            told = await body_of(request)
            event, session = _event(told), (principal_of(request), str(told.get("session_id") or ""))
        except MemoryButlerError as problem:
            return problem_response(problem, request_id)
        is_known = bool(session[1])
        if event == USER_PROMPT and is_known and not sessions.is_first_prompt(session):
            return JSONResponse({"context": "", "request_id": request_id})
        asked = {
            "trigger_prompt": told.get("prompt"),
            "butler": told.get("butler"),
            "token_budget": budget_of(event, lazy.settings.hooks),
            # A session whose start went without memory gets all of it with its first prompt.
            "with_own": event != USER_PROMPT or (is_known and not sessions.was_started(session)),
            "request_context": {"request_id": request_id},
        }
        result = await run_tool(by_name[CONTEXT], request, asked)
        content: dict[str, Any] = result.structured_content or {}
        if result.is_error:
            return problem_from(content, request_id)
        known = sessions.references(session) if event == USER_PROMPT and is_known else frozenset()
        block = trimmed(content["context"], known)
        if event == SESSION_START and is_known:
            sessions.at_start(session, block)
        return JSONResponse({"context": block, "request_id": request_id})

    return Starlette(
        routes=[
            Route("/session-end", session_end, methods=["POST"]),
            Route("/briefing", briefing, methods=["POST"]),
        ],
        middleware=[Middleware(RequestIds)],
        exception_handlers={HTTPException: no_route},
    )


def _event(told: dict[str, Any]) -> str:
    event = told.get("event")
    if event not in EVENTS:
        raise InvalidInput(f"event is {event!r}; it must be one of {', '.join(EVENTS)}.")
    return str(event)


def _episode(told: dict[str, Any]) -> SessionEpisode | None:
    files = [str(path) for path in _list(told.get("files") or [])]
    return episode_of_exchanges([_exchange(given) for given in _list(told.get("exchanges"))], files=files)


def _list(given: Any) -> list[Any]:
    if not isinstance(given, list) or len(given) > MOST_EXCHANGES:
        raise InvalidInput(f"exchanges and files must be lists of at most {MOST_EXCHANGES}.")
    return given


def _exchange(given: Any) -> Exchange:
    if not isinstance(given, dict) or not isinstance(given.get("text"), str):
        raise InvalidInput("Each exchange is an object with role, text and tools.")
    tools = given.get("tools") or []
    if not isinstance(tools, list):
        raise InvalidInput("The tools of an exchange are a list of names.")
    return Exchange(str(given.get("role")), given["text"], tuple(map(str, tools)))


def _arguments(told: dict[str, Any], episode: SessionEpisode, request_id: str) -> dict[str, Any]:
    session, client = told.get("session_id"), told.get("client")
    # A resumed session ends again; the key keeps an unchanged episode from being stored twice.
    digest = sha256(f"{session}\n{episode.content}".encode(errors="replace")).hexdigest()[:32]
    return {
        "content": episode.content,
        "butler": told.get("butler"),
        "session_id": session,
        "tags": [*([client] if isinstance(client, str) else []), *episode.tags],
        "idempotency_key": f"session-end-{digest}",
        "request_context": {"request_id": request_id},
    }
