"""Requests of the client: options of a call, arguments as JSON, answers as typed values."""

import re
import secrets
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypedDict, TypeVar, Unpack

from memory_butler.client.connection import REQUEST_HEADER, Call, Connection
from memory_butler.models import Lineage
from memory_butler.models.listings import Listing
from memory_butler.models.wire.codec import JsonObject, Unreadable, decode, encode

Value = TypeVar("Value")
# The server accepts this as a request id in a header.
HEADER_TEXT = re.compile(r"[!-~]{1,200}")


class Options(TypedDict, total=False):
    """Options of every call: your request ids, and a deadline for all attempts together."""

    lineage: Lineage
    deadline_seconds: float


class WriteOptions(Options, total=False):
    """Options of writes. Without an idempotency key the client makes one, so that a retry is not a second change."""

    idempotency_key: str


class ReasonedOptions(WriteOptions, total=False):
    """Options of writes with a reason, which the history of the memory shows."""

    reason: str


def new_key() -> str:
    return secrets.token_hex(16)


def arguments(request: Any) -> JsonObject:
    """The fields of a request that differ from their defaults, as JSON."""
    return {
        field.name: encode(value)
        for field in fields(request)
        if (value := getattr(request, field.name)) != field.default and value not in (None, (), {})
    }


def listing_params(listing: Listing) -> dict[str, str | list[str]]:
    params = {name: value for name, value in arguments(listing).items() if name not in ("type", "descending")}
    if "tags" in params:
        params["tag"] = params.pop("tags")
    if not listing.descending:
        params["order"] = "asc"
    return {name: value if isinstance(value, list) else str(value) for name, value in params.items()}


def request_header(options: Options) -> dict[str, str]:
    """The request id as a header, for requests without a body."""
    request_id = options.get("lineage", Lineage()).request_id
    return {REQUEST_HEADER: request_id} if request_id and HEADER_TEXT.fullmatch(request_id) else {}


class ClientBase:
    """Sends requests to one server and decodes its answers."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        repeatable: bool = False,
        **options: Unpack[Options],
    ) -> JsonObject:
        """Call any tool of the server by name, also one that this client has no method for; returns its JSON.

        `repeatable` allows a retry after the request was sent: pass it for reads, and for writes with an
        `idempotency_key` among the arguments.
        """
        name = tool.removeprefix("memory_")
        return await self._post(name, dict(arguments or {}), options, dict, repeatable=repeatable)

    async def _read(self, operation: str, body: JsonObject, options: Options, kind: type[Value]) -> Value:
        return await self._post(operation, body, options, kind, repeatable=True)

    async def _write(self, operation: str, body: JsonObject, options: Options, kind: type[Value]) -> Value:
        more = {name: value for name, value in options.items() if name in ("idempotency_key", "reason")}
        body = {**body, **more}
        body["idempotency_key"] = body.get("idempotency_key") or new_key()
        return await self._post(operation, body, options, kind, repeatable=True)

    async def _post(
        self, operation: str, body: JsonObject, options: Options, kind: type[Value], *, repeatable: bool
    ) -> Value:
        body = {name: encode(value) for name, value in body.items() if value is not None}
        if context := arguments(options.get("lineage", Lineage())):
            body["request_context"] = context
        call = Call(method="POST", path=f"/{operation}", body=body, repeatable=repeatable)
        return await self._send(call, options, kind)

    async def _get(
        self,
        path: str,
        options: Options,
        kind: type[Value],
        params: Mapping[str, str | list[str]] | None = None,
        *,
        method: str = "GET",
    ) -> Value:
        """A request without a body; it may be retried."""
        call = Call(method=method, path=path, params=params, headers=request_header(options))
        return await self._send(call, options, kind)

    async def _send(self, call: Call, options: Options, kind: type[Value]) -> Value:
        answer = await self._connection.send(call, options.get("deadline_seconds"))
        try:
            return decode(kind, answer)
        except Unreadable as problem:
            raise self._connection.unexpected(f"unexpected JSON ({problem})") from problem
