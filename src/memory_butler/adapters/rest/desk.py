"""Where a request that is no tool is answered: who asks, whether they may, within the deadline, and on record."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.responses import Response

from memory_butler.adapters import watching
from memory_butler.adapters.answering import Visit, within
from memory_butler.adapters.arguments import Context, explain, lineage_of
from memory_butler.adapters.identity import calling, nobody, shown_principal
from memory_butler.adapters.opening import LateButler
from memory_butler.adapters.problems import json_bytes
from memory_butler.adapters.rest.envelope import body_of
from memory_butler.adapters.rest.tools import principal_of
from memory_butler.adapters.shapes import Shape
from memory_butler.errors import MemoryButlerError
from memory_butler.models import Caller
from memory_butler.operations.visits import note_visit
from memory_butler.policy.roles import check_role

Work = Callable[[Visit], Awaitable[Shape]]


class Asked(BaseModel):
    """The body of a request."""

    model_config = ConfigDict(extra="forbid", strict=True)

    request_context: Context = None


Body = TypeVar("Body", bound=Asked)


@dataclass(frozen=True, slots=True)
class Desk:
    late: LateButler

    async def answer(
        self, request: Request, operation: str, work: Work, *, context: Context = None, status: int = 200
    ) -> Response:
        """What `work` says to this caller, if it may ask for it."""
        request_id = request.state.request_id
        with watching.watched(operation, request_id) as call:
            try:
                shape = await within(self.late.settings.deadline_seconds, self._work(request, call, work, context))
            except MemoryButlerError as problem:
                call.outcome = problem.error_class
                raise
            call.outcome = watching.OK
        return Response(json_bytes({**shape, "request_id": request_id}), status, media_type="application/json")

    async def _work(self, request: Request, call: watching.Call, work: Work, context: Context) -> Shape:
        # Less than the deadline, so that a store which does not open is named as the reason.
        butler = await self.late.get(self.late.settings.deadline_seconds * 0.8)
        shown = calling.set(principal_of(request))
        try:
            if principal_of(request) is None and self.late.settings.service.auth == "required":
                raise nobody()
            call.principal = shown_principal() or butler.local_caller().principal
            check_role(call.principal, call.tool)
            lineage = replace(lineage_of(context), request_id=request.state.request_id)
            visit = Visit(butler, Caller(call.principal, lineage))
            await note_visit(butler, visit.caller, call.tool)
            return await work(visit)
        finally:
            calling.reset(shown)


async def asked(request: Request, kind: type[Body]) -> Body:
    """The body of a request as what the route takes, or what is wrong with it."""
    given: dict[str, Any] = await body_of(request)
    try:
        return kind.model_validate(given)
    except ValidationError as problem:
        raise explain("The route", list(kind.model_fields), problem) from None
