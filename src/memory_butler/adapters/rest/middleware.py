"""Middleware of the REST API: request ids, JSON bodies, and an error response for every failure."""

import json
import logging
from typing import Any

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memory_butler.adapters.http.problems import REQUEST_ID_HEADER, header_text, problem_response, request_id_from
from memory_butler.adapters.mcp.arguments import request_id_of
from memory_butler.errors import InternalError, InvalidInput

MAX_DEPTH = 100

log = logging.getLogger(__name__)


class WrongContentType(InvalidInput):
    """The body of a request must be JSON."""

    default_recovery = "Send JSON with the header `Content-Type: application/json`."


class RequestIds:
    """Gives every request an id, the caller's or a new one, and sends it with the response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        state = scope.setdefault("state", {})
        state["request_id"] = request_id_from(scope)
        started = False

        async def send_with_id(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                others = [pair for pair in message.get("headers", []) if pair[0].lower() != REQUEST_ID_HEADER.encode()]
                name = header_text(state["request_id"]).encode()
                message = {**message, "headers": [*others, (REQUEST_ID_HEADER.encode(), name)]}
            await send(message)

        try:
            if Headers(scope=scope).get(REQUEST_ID_HEADER, state["request_id"]) != state["request_id"]:
                problem = InvalidInput("X-Request-Id must be 1 to 200 visible ASCII characters.")
                return await problem_response(problem, state["request_id"])(scope, receive, send_with_id)
            return await self._app(scope, receive, send_with_id)
        except ClientDisconnect:
            return None
        except Exception:
            # Request boundary: the log gets the stack trace, the caller an internal error.
            log.exception("%s %s failed", scope["method"], scope["path"])
            if started:
                raise
            return await problem_response(InternalError(), state["request_id"])(scope, receive, send_with_id)


async def body_of(request: Request) -> dict[str, Any]:
    """The JSON object in the body, empty for an empty body. A request id in it replaces that of the request."""
    raw = await request.body()
    if not raw:
        return {}
    kind = request.headers.get("content-type", "").partition(";")[0].strip().casefold()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise WrongContentType(f"The content type is {kind[:100] or 'missing'}; it must be application/json.")
    value = _parsed(raw)
    if not isinstance(value, dict):
        raise InvalidInput("The body must be a JSON object with the arguments by name.")
    request.state.request_id = request_id_of(value) or request.state.request_id
    return value


def _parsed(raw: bytes) -> Any:
    try:
        value = json.loads(raw, parse_constant=_refuse_constant)
    except RecursionError:
        raise InvalidInput(f"The body is nested more than {MAX_DEPTH} levels deep.") from None
    except ValueError as problem:
        raise InvalidInput(f"The body is not valid JSON: {str(problem)[:200]}.") from None
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH and _depth(value) > MAX_DEPTH:
        raise InvalidInput(f"The body is nested more than {MAX_DEPTH} levels deep.")
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _depth(value: Any) -> int:
    deepest, level = 0, [value]
    while level and deepest <= MAX_DEPTH:
        deepest += 1
        level = [
            entry
            for part in level
            for entry in (part.values() if isinstance(part, dict) else part if isinstance(part, list) else ())
        ]
    return deepest
