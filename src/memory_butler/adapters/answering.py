"""How every tool call is answered: within its deadline, and with an error of the closed set if it fails."""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from fastmcp.exceptions import NotFoundError, ValidationError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult
from fastmcp.tools.function_tool import FunctionTool
from mcp_types import CallToolRequestParams, ToolAnnotations
from pydantic import PrivateAttr
from pydantic import ValidationError as PydanticValidationError

from memory_butler.adapters import watching
from memory_butler.adapters.arguments import Context, explain, lineage_of, request_id_of
from memory_butler.adapters.identity import shown_principal
from memory_butler.adapters.opening import LateButler
from memory_butler.adapters.shapes import Shape, with_request
from memory_butler.butler import Butler
from memory_butler.errors import DeadlinePassed, InternalError, MemoryButlerError, NotFound
from memory_butler.models import Caller, Principal
from memory_butler.operations.visits import note_visit
from memory_butler.policy.roles import check_role

log = logging.getLogger(__name__)
Answer = TypeVar("Answer")
Offer = tuple[Callable[..., Awaitable[Shape]], ToolAnnotations]
_given_up: set[asyncio.Task[Any]] = set()
# Set by doors that have no use for an answer's text beside its structure.
without_text: ContextVar[bool] = ContextVar("without_text", default=False)

ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
SETTLES = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
WITHDRAWS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)
PURE_READ = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
# A read that counts as a reference is a read all the same: no memory says anything else afterwards, and nobody should
# be asked for permission to look something up. The count is the store's own book-keeping, so it is not a pure one.
COUNTED_READ = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)


@dataclass(frozen=True, slots=True)
class Visit:
    """One call: the open store, who is calling, and which request to name in the answer."""

    butler: Butler
    caller: Caller

    def answer(self, shape: Shape) -> Shape:
        return with_request(shape, self.caller.lineage.request_id)


class Toolbox(ABC):
    """Some tools that belong together, over one store and one caller."""

    def __init__(self, late: LateButler, principal: Principal | None) -> None:
        self._late = late
        self._principal = principal
        self._must_tell = late.settings.service.auth == "required"

    async def _visit(self, context: Context) -> Visit:
        call, lineage = watching.current.get(), lineage_of(context)
        assert call, "tools are called through MemoryTool"
        # Less than the deadline, so that a store which does not open is named as the reason.
        butler = await self._late.get(self._late.settings.deadline_seconds * 0.8)
        principal = self._principal or shown_principal(required=self._must_tell) or butler.local_caller().principal
        call.principal = principal
        check_role(principal, call.tool)
        caller = Caller(principal, lineage)
        await note_visit(butler, caller, call.tool)
        return Visit(butler, caller)

    @abstractmethod
    def tools(self) -> list[Offer]:
        """The tools, each with its hints for the client."""


def given(**arguments: Any) -> dict[str, Any]:
    """What was passed; an explicit null is the same as leaving it out."""
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in arguments.items()
        if value is not None
    }


def refusal(problem: MemoryButlerError, request_id: str | None) -> ToolResult:
    """An error as a tool result: the same JSON as text and as structured content."""
    return ToolResult(structured_content=with_request(said(problem), request_id), is_error=True)


def said(problem: MemoryButlerError) -> Shape:
    """An error as plain JSON."""
    return {key: _speakable(value) for key, value in problem.as_dict().items()}


def _speakable(value: object) -> object:
    """Words quoted from a bad call may hold characters that no protocol can carry."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


async def within(seconds: float, work: Coroutine[Any, Any, Answer]) -> Answer:
    """The result of `work`, or `timeout`. Work that is slow to give up, such as a query to a server that is gone,
    is not waited for."""
    task = asyncio.create_task(work)
    try:
        await asyncio.wait({task}, timeout=seconds)
    finally:
        if not task.done():
            _given_up.add(task)
            task.add_done_callback(_buried)
            task.cancel()
    if not task.done():
        raise DeadlinePassed(f"The call took longer than its deadline of {seconds:g} seconds and was given up.")
    return task.result()


def _buried(task: asyncio.Task[Any]) -> None:
    _given_up.discard(task)
    if not task.cancelled():
        task.exception()


class MemoryTool(FunctionTool):
    """A tool whose every answer has our shape, whatever goes wrong."""

    _deadline_seconds: float = PrivateAttr(default=5)

    @classmethod
    def within(cls, deadline_seconds: float, function: Callable[..., Awaitable[Shape]], hints: ToolAnnotations) -> Self:
        tool = cls.from_function(function, annotations=hints)
        assert isinstance(tool, cls)
        tool._deadline_seconds = deadline_seconds
        return tool

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        request_id = request_id_of(arguments)
        with watching.watched(self.name, request_id) as call:
            try:
                answer = await within(self._deadline_seconds, super().run(arguments))
            except MemoryButlerError as problem:
                return self._refused(call, problem)
            except ValidationError as problem:
                cause = problem.__cause__
                if isinstance(cause, PydanticValidationError):
                    return self._refused(call, explain(self.name, list(self.parameters["properties"]), cause))
                log.exception("%s failed", self.name)
            except Exception:
                # The outermost place of a call: the log gets where it happened, the caller that it did.
                log.exception("%s failed", self.name)
            else:
                call.outcome = watching.OK
                return answer
            return self._refused(call, InternalError())

    def convert_result(self, raw_value: Any) -> ToolResult:
        if without_text.get() and isinstance(raw_value, dict):
            return ToolResult(content=[], structured_content=raw_value)
        return super().convert_result(raw_value)

    def _refused(self, call: watching.Call, problem: MemoryButlerError) -> ToolResult:
        call.outcome = problem.error_class
        return refusal(problem, call.request_id)


class UnknownTools(Middleware):
    """Models invent tools. They are told which ones there are."""

    async def on_call_tool(
        self,
        context: MiddlewareContext[CallToolRequestParams],
        call_next: CallNext[CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        try:
            return await call_next(context)
        except NotFoundError:
            assert context.fastmcp_context
            known = await context.fastmcp_context.fastmcp.list_tools(run_middleware=False)
            problem = NotFound(
                f"There is no tool {context.message.name[:60]!r}.",
                recovery=f"The tools are: {', '.join(tool.name for tool in known)}.",
            )
            return refusal(problem, request_id_of(context.message.arguments or {}))
