"""The server's side of the hook at the end of a session: out of the last exchanges one episode is made and stored.

It is made here because the rules for it take longer to load than a hook may take. The exchanges never leave the
machine: hooks speak to it alone. They are not kept and not logged.
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

from memory_butler.adapters.answering import MemoryTool
from memory_butler.adapters.identity import calling
from memory_butler.adapters.problems import problem_from, problem_response
from memory_butler.adapters.rest.app import no_route
from memory_butler.adapters.rest.envelope import Envelope, body_of
from memory_butler.adapters.rest.tools import principal_of
from memory_butler.errors import InvalidInput, MemoryButlerError
from memory_butler.policy.session_episode import Exchange, SessionEpisode, episode_of_exchanges

BASE = "/hooks"
MOST_EXCHANGES = 200
STORE = "memory_store_episode"


def build_door(tools: Sequence[MemoryTool]) -> ASGIApp:
    """To be mounted at /hooks. Storing is the tool's own doing: who may do it, and what is admitted, is said there."""
    store = next(tool for tool in tools if tool.name == STORE)

    async def session_end(request: Request) -> Response:
        request_id = request.state.request_id
        try:
            told = await body_of(request)
            episode = await asyncio.to_thread(_episode, told)
        except MemoryButlerError as problem:
            return problem_response(problem, request_id)
        if episode is None:
            return JSONResponse({"outcome": "nothing", "request_id": request_id})
        shown = calling.set(principal_of(request))
        try:
            result = await store.run(_arguments(told, episode, request_id))
        finally:
            calling.reset(shown)
        content: dict[str, Any] = result.structured_content or {}
        return problem_from(content, request_id) if result.is_error else JSONResponse(content)

    return Starlette(
        routes=[Route("/session-end", session_end, methods=["POST"])],
        middleware=[Middleware(Envelope)],
        exception_handlers={HTTPException: no_route},
    )


def _episode(told: dict[str, Any]) -> SessionEpisode | None:
    return episode_of_exchanges([_exchange(given) for given in _list(told.get("exchanges"))])


def _list(given: Any) -> list[Any]:
    if not isinstance(given, list) or len(given) > MOST_EXCHANGES:
        raise InvalidInput(f"exchanges must be a list of at most {MOST_EXCHANGES}.")
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
    # A session that is taken up again ends again: what it tells is kept once, as long as it is the same.
    digest = sha256(f"{session}\n{episode.content}".encode(errors="replace")).hexdigest()[:32]
    return {
        "content": episode.content,
        "butler": told.get("butler"),
        "session_id": session,
        "tags": [*([client] if isinstance(client, str) else []), *episode.tags],
        "idempotency_key": f"session-end-{digest}",
        "request_context": {"request_id": request_id},
    }
