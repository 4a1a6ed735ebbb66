"""Positions of calls over HTTP: a write's answer carries one, and a read can name the one that it needs."""

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memory_butler.adapters.http.problems import problem_response, request_id_from
from memory_butler.errors import InvalidInput
from memory_butler.models.log_position import POSITION_HEADER, format_position, parse_position
from memory_butler.store.gate.positions import CallPosition, current

STALE_HEADER = "Memory-Butler-Degraded"


class ReadPositions:
    """Takes the position of a request from its header and sends that of the answer.

    Without replicas there are no positions. `Memory-Butler-Degraded` says that the answer comes from a stale replica.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        given = Headers(scope=scope).get(POSITION_HEADER)
        try:
            call = CallPosition(needed=parse_position(given) if given else 0)
        except InvalidInput as problem:
            return await problem_response(problem, request_id_from(scope))(scope, receive, send)

        async def send_with_position(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), *_headers(call)]}
            await send(message)

        token = current.set(call)
        try:
            await self._app(scope, receive, send_with_position)
        finally:
            current.reset(token)
        return None


def _headers(call: CallPosition) -> list[tuple[bytes, bytes]]:
    found = []
    if call.written:
        found.append((POSITION_HEADER.lower().encode(), format_position(call.written).encode()))
    if call.stale:
        found.append((STALE_HEADER.lower().encode(), call.stale.encode("ascii", "replace")))
    return found
