"""What all operations of the client share: how a call is made, and what may be said with it."""

import re
import secrets
from collections.abc import Callable, Mapping
from typing import TypedDict, TypeVar

from memory_butler.client import shaping
from memory_butler.client.answers import Shape
from memory_butler.client.calling import REQUEST_HEADER, Call, Connection
from memory_butler.client.reading import Unreadable
from memory_butler.models import Lineage

Value = TypeVar("Value")
# What the server accepts as the id of a request outside of its body.
SPEAKABLE = re.compile(r"[!-~]{1,200}")


class Options(TypedDict, total=False):
    """What every call takes: which request of yours it belongs to, and how long it may take with all its attempts."""

    lineage: Lineage
    deadline_seconds: float


class WriteOptions(Options, total=False):
    """What changes take besides. A key is made if none is given, so that a second attempt is not a second change."""

    idempotency_key: str


class ReasonedOptions(WriteOptions, total=False):
    """Some changes have a reason, which their history tells."""

    reason: str


def new_key() -> str:
    return secrets.token_hex(16)


def request_header(options: Options) -> dict[str, str]:
    """The request's id, where there is no body to say it in."""
    request_id = options.get("lineage", Lineage()).request_id
    return {REQUEST_HEADER: request_id} if request_id and SPEAKABLE.fullmatch(request_id) else {}


class Asking:
    """Asks one server."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def _read(self, operation: str, asked: Shape, options: Options, shape: Callable[[Shape], Value]) -> Value:
        return await self._ask(operation, asked, options, shape, repeatable=True)

    async def _write(self, operation: str, asked: Shape, options: Options, shape: Callable[[Shape], Value]) -> Value:
        more = {name: value for name, value in options.items() if name in ("idempotency_key", "reason")}
        given = {**asked, **more}
        given["idempotency_key"] = given.get("idempotency_key") or new_key()
        return await self._ask(operation, given, options, shape, repeatable=True)

    async def _ask(
        self, operation: str, asked: Shape, options: Options, shape: Callable[[Shape], Value], *, repeatable: bool
    ) -> Value:
        body = {name: shaping.plain(value) for name, value in asked.items() if value is not None}
        if context := shaping.request_context(options.get("lineage", Lineage())):
            body["request_context"] = context
        call = Call(method="POST", path=f"/{operation}", body=body, repeatable=repeatable)
        return await self._shaped(call, options, shape)

    async def _look(
        self,
        path: str,
        options: Options,
        shape: Callable[[Shape], Value],
        params: Mapping[str, str | list[str]] | None = None,
        *,
        method: str = "GET",
    ) -> Value:
        """Something at an address of its own, without a body; it may be asked for twice."""
        call = Call(method=method, path=path, params=params, headers=request_header(options))
        return await self._shaped(call, options, shape)

    async def _shaped(self, call: Call, options: Options, shape: Callable[[Shape], Value]) -> Value:
        answer = await self._connection.ask(call, options.get("deadline_seconds"))
        try:
            return shape(answer)
        except Unreadable as problem:
            raise self._connection.garbage(f"an unexpected shape ({problem})") from problem
