"""Handling of REST requests that are not tools: authentication, role check, deadline, audit and metrics."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.responses import Response

from memory_butler.adapters.http.identity import unauthenticated
from memory_butler.adapters.http.problems import json_bytes
from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.adapters.mcp.arguments import Context, explain, lineage_of
from memory_butler.adapters.mcp.catalog import check_operation
from memory_butler.adapters.mcp.tool_base import CallContext, within
from memory_butler.adapters.rest.middleware import body_of
from memory_butler.adapters.rest.tools import principal_of
from memory_butler.adapters.telemetry import instrumentation
from memory_butler.models import Caller
from memory_butler.models.wire.codec import encode
from memory_butler.operations.access.cross_tenant_audit import audit_access
from memory_butler.operations.trust.protection import limit_reading

Work = Callable[[CallContext], Awaitable[Any]]


class RequestBody(BaseModel):
    """A JSON body; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)

    request_context: Context = None


Body = TypeVar("Body", bound=RequestBody)


@dataclass(frozen=True, slots=True)
class RequestHandler:
    lazy: LazyResources

    async def answer(
        self, request: Request, operation: str, work: Work, *, context: Context = None, status: int = 200
    ) -> Response:
        """The response with the answer of `work`, if the caller's role allows `operation`."""
        request_id = request.state.request_id
        with instrumentation.instrument_call(operation, request_id) as call:
            answer = await within(self.lazy.settings.deadline_seconds, self._work(request, call, work, context))
        body = {**encode(answer), "request_id": request_id}
        return Response(json_bytes(body), status, media_type="application/json")

    async def run(
        self,
        request: Request,
        name: str,
        operation: Callable[..., Awaitable[Any]],
        *arguments: Any,
        to_answer: Callable[[Any], Any] = lambda result: result,
        **options: Any,
    ) -> Response:
        """The response with the result of one operation. `name` is its name in the table of roles."""

        async def work(call: CallContext) -> Any:
            return to_answer(await operation(call.resources, *arguments, caller=call.caller, **options))

        return await self.answer(request, name, work)

    async def _work(self, request: Request, call: instrumentation.Call, work: Work, context: Context) -> Any:
        resources = await self.lazy.get_for_call()
        principal = principal_of(request)
        if principal is None and self.lazy.settings.service.auth == "required":
            raise unauthenticated()
        call.principal = principal or resources.local_caller().principal
        check_operation(call.principal, call.tool)
        lineage = replace(lineage_of(context), request_id=request.state.request_id)
        limit_reading(resources, call.principal)
        caller = Caller(call.principal, lineage)
        await audit_access(resources, caller, call.tool)
        return await work(CallContext(resources, caller))


async def parse_body(request: Request, kind: type[Body]) -> Body:
    body: dict[str, Any] = await body_of(request)
    try:
        return kind.model_validate(body)
    except ValidationError as problem:
        raise explain("The route", list(kind.model_fields), problem) from None
