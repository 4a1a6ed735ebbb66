"""Declaration and execution of tools. Every call has a deadline; every failure becomes an error of the closed set."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self, TypeVar, get_type_hints

from fastmcp.exceptions import NotFoundError, ValidationError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult
from fastmcp.tools.function_tool import FunctionTool
from mcp_types import CallToolRequestParams, ToolAnnotations
from mcp_types import Tool as ListedTool
from pydantic import PrivateAttr
from pydantic import ValidationError as PydanticValidationError

from memory_butler.adapters.http.identity import request_principal
from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.adapters.mcp import short_schemas
from memory_butler.adapters.mcp.arguments import Context, explain, lineage_of, request_id_of
from memory_butler.adapters.mcp.client_name import client_name, rest_client
from memory_butler.adapters.telemetry import instrumentation
from memory_butler.adapters.telemetry.traces import record_of
from memory_butler.adapters.wire.answers import error_json
from memory_butler.adapters.wire.brief_answers import BriefForm
from memory_butler.adapters.wire.json_schema import output_schema, schema_of
from memory_butler.errors import DeadlinePassed, InternalError, InvalidInput, MemoryButlerError, NotFound
from memory_butler.models import Caller, Principal, Role
from memory_butler.models.log_position import POSITION_META, STALE_META, format_position, parse_position
from memory_butler.models.wire.codec import JsonObject, encode
from memory_butler.operations.access.cross_tenant_audit import audit_access
from memory_butler.operations.trust.protection import limit_reading
from memory_butler.policy.access.roles import check_role
from memory_butler.resources import Resources
from memory_butler.store.gate import positions, server_waits

log = logging.getLogger(__name__)
Answer = TypeVar("Answer")
# The memory operations of OpenTelemetry's conventions. What is none of them is the execution of a tool.
MemoryOperation = Literal["create_memory", "update_memory", "upsert_memory", "search_memory", "delete_memory"]
Method = TypeVar("Method", bound=Callable[..., Awaitable[Any]])
_abandoned: set[asyncio.Task[Any]] = set()
_wants_full: ContextVar[bool] = ContextVar("wants_full", default=False)

ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
IDEMPOTENT = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
DESTRUCTIVE = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)
PURE_READ = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
# A read that bumps reference counts. It changes no memory, so clients need not ask for permission; but it is not
# idempotent, because the counts influence later rankings.
COUNTED_READ = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)


@dataclass(frozen=True, slots=True)
class Declaration:
    """A declared tool. Its parameters and description are the signature and docstring of its method."""

    name: str
    roles: frozenset[Role]
    hints: ToolAnnotations
    answer: Any
    brief: BriefForm | None
    operation: MemoryOperation | None


def tool(
    roles: frozenset[Role],
    hints: ToolAnnotations,
    operation: MemoryOperation | None = None,
    *,
    brief: BriefForm | None = None,
) -> Callable[[Method], Method]:
    """Declare a method of a `ToolGroup` as a tool.

    The method's name, parameters, docstring and return type become the MCP tool with its schemas, the REST route, a row
    of the role table and an entry of the reference pages. With `brief`, MCP answers are brief unless the call says
    `detail="full"`; REST always answers in full. `operation` names the tool's spans.
    """

    def declare(method: Method) -> Method:
        answer = get_type_hints(method, include_extras=True)["return"]
        # FastMCP would build a second output schema from it.
        method.__annotations__["return"] = Any
        method.declaration = Declaration(method.__name__, roles, hints, answer, brief, operation)  # type: ignore[attr-defined]
        return method

    return declare


@dataclass(frozen=True, slots=True)
class CallContext:
    """The open resources and the caller of one call."""

    resources: Resources
    caller: Caller


class ToolGroup:
    """Related tools over one store. `principal` is the fixed caller; without it, each request names its caller.

    `name` is public: hosts choose groups by it in their configuration.
    """

    name: ClassVar[str]

    def __init__(self, lazy: LazyResources, principal: Principal | None) -> None:
        self._lazy = lazy
        self._principal = principal
        self._auth_required = lazy.settings.service.auth == "required"

    @classmethod
    def declarations(cls) -> Iterator[Declaration]:
        for method in vars(cls).values():
            if declaration := getattr(method, "declaration", None):
                yield declaration

    def tools(self) -> "list[MemoryTool]":
        return [MemoryTool.declared(self, declaration) for declaration in self.declarations()]

    @property
    def deadline_seconds(self) -> float:
        return self._lazy.settings.deadline_seconds

    async def _open(self, context: Context) -> tuple[Resources, Caller]:
        """The resources and the caller of the current call, after checking the caller's role."""
        call, lineage = instrumentation.current.get(), lineage_of(context)
        assert call, "tools are called through MemoryTool"
        resources = await self._lazy.get_for_call()
        principal = (
            self._principal or request_principal(required=self._auth_required) or resources.local_caller().principal
        )
        call.principal = principal
        check_role(principal, call.tool, getattr(self, call.tool).declaration.roles)
        limit_reading(resources, principal)
        caller = Caller(principal, lineage, client_name())
        await audit_access(resources, caller, call.tool)
        return resources, caller

    async def _run(
        self, context: Context, operation: Callable[..., Awaitable[Answer]], *arguments: Any, **options: Any
    ) -> Answer:
        """Run an operation for the caller of the current call."""
        resources, caller = await self._open(context)
        return await operation(resources, *arguments, caller=caller, **options)


def provided(arguments: Mapping[str, Any], *other: str) -> dict[str, Any]:
    """The arguments that the caller provided, with lists as tuples. Tools pass their `locals()`.

    Without null, without the request context, and without `other`, which the tool uses itself.
    """
    left_out = {"self", "request_context", "detail", *other}
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in arguments.items()
        if value is not None and name not in left_out
    }


async def within(seconds: float, work: Coroutine[Any, Any, Answer]) -> Answer:
    """The result of `work`; after `seconds` it raises `DeadlinePassed`, or `TargetUnavailable` if the work waits for a
    database that does not answer.

    Does not wait for work that is slow to cancel, such as a query to a server that is gone.
    """
    waited = server_waits.ServerWait()
    token = server_waits.current.set(waited)
    task = asyncio.create_task(work)
    server_waits.current.reset(token)
    try:
        await asyncio.wait({task}, timeout=seconds)
    finally:
        if not task.done():
            _abandoned.add(task)
            task.add_done_callback(_discard)
            task.cancel()
    if not task.done():
        if waited.is_unanswered:
            raise server_waits.DatabaseSilent(f"The database did not answer within {seconds:g} seconds.")
        raise DeadlinePassed(f"The call exceeded its deadline of {seconds:g} seconds and was cancelled.")
    return task.result()


def _discard(task: asyncio.Task[Any]) -> None:
    _abandoned.discard(task)
    if not task.cancelled():
        task.exception()


def with_request_id(answer: JsonObject, request_id: str | None) -> JsonObject:
    return {**answer, "request_id": request_id} if request_id else answer


class MemoryTool(FunctionTool):
    """An MCP tool that answers with its declared type or with an error of the closed set."""

    _deadline_seconds: float = PrivateAttr(default=5)
    _declaration: Declaration = PrivateAttr()
    _usual_parameters: bool = PrivateAttr(default=False)

    @classmethod
    def declared(cls, group: ToolGroup, declaration: Declaration) -> Self:
        built = cls.from_function(
            getattr(group, declaration.name),
            annotations=declaration.hints,
            output_schema=output_schema(declaration.answer),
        )
        assert isinstance(built, cls)
        built._deadline_seconds = group.deadline_seconds
        built._declaration = declaration
        return built

    @property
    def declaration(self) -> Declaration:
        return self._declaration

    def with_usual_parameters(self) -> Self:
        """The same tool for lists that leave out the rare parameters. Calls accept them all the same."""
        copy = self.model_copy()
        copy._usual_parameters = True
        return copy

    def to_mcp_tool(self, **overrides: Any) -> ListedTool:
        full, brief = output_schema(self._declaration.answer), self._declaration.brief
        answer, depth = (schema_of(self._declaration.answer), 1) if brief is None else (brief.schema(full), 2)
        listed = super().to_mcp_tool(
            **{
                "description": short_schemas.summary(self.description or ""),
                "inputSchema": short_schemas.input_schema(self.parameters, usual=self._usual_parameters),
                "outputSchema": short_schemas.output_schema(answer, depth),
                "annotations": short_schemas.hints(self._declaration.hints),
                "_meta": None,
                **overrides,
            }
        )
        listed.title = None
        return listed

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        token = _wants_full.set(arguments.get("detail") == "full")
        try:
            return await self._run_within_deadline(arguments)
        finally:
            _wants_full.reset(token)

    async def _run_within_deadline(self, arguments: dict[str, Any]) -> ToolResult:
        operation = self._declaration.operation
        with instrumentation.instrument_call(self.name, request_id_of(arguments), operation) as call:
            try:
                return await within(self._deadline_seconds, super().run(arguments))
            except MemoryButlerError as problem:
                return self._failed(call, problem)
            except ValidationError as problem:
                cause = problem.__cause__
                if isinstance(cause, PydanticValidationError):
                    return self._failed(call, explain(self.name, list(self.parameters["properties"]), cause))
                log.exception("%s failed", self.name)
            except Exception:
                # Call boundary: the log gets the stack trace, the caller an internal error.
                log.exception("%s failed", self.name)
            return self._failed(call, InternalError())

    def convert_result(self, raw_value: Any) -> ToolResult:
        call = instrumentation.current.get()
        request_id, brief = call.request_id if call else None, self._declaration.brief
        answer = encode(raw_value)
        if call:
            call.record = record_of(answer)
        # REST sends the structure of an answer and has no use for its text.
        if rest_client.get():
            return ToolResult(content=[], structured_content=with_request_id(answer, request_id))
        if brief is None or _wants_full.get():
            return ToolResult(structured_content=with_request_id(answer, request_id))
        structured = with_request_id(brief.of(answer), request_id)
        return ToolResult(content=brief.text(raw_value), structured_content=structured)

    def _failed(self, call: instrumentation.Call, problem: MemoryButlerError) -> ToolResult:
        call.outcome = problem.error_class
        return error_result(problem, call.request_id)


def error_result(problem: MemoryButlerError, request_id: str | None) -> ToolResult:
    """An error as a tool result: the same JSON as text and as structured content."""
    return ToolResult(structured_content=with_request_id(error_json(problem), request_id), is_error=True)


class UnknownTools(Middleware):
    """Answers a call of an unknown tool with the list of tools: models invent names."""

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
            return error_result(problem, request_id_of(context.message.arguments or {}))


class ReadPositions(Middleware):
    """Takes the position that a call needs from its `_meta`, and puts the one after its writes into that of the result,
    as well as a note on a stale answer.

    Without replicas there are no positions.
    """

    async def on_call_tool(
        self,
        context: MiddlewareContext[CallToolRequestParams],
        call_next: CallNext[CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        request = context.fastmcp_context.request_context if context.fastmcp_context else None
        given = (request.meta or {}).get(POSITION_META) if request else None
        try:
            call = positions.CallPosition(needed=parse_position(str(given)) if given else 0)
        except InvalidInput as problem:
            return error_result(problem, request_id_of(context.message.arguments or {}))
        token = positions.current.set(call)
        try:
            result = await call_next(context)
        finally:
            positions.current.reset(token)
        noted = {POSITION_META: format_position(call.written)} if call.written else {}
        noted |= {STALE_META: call.stale} if call.stale else {}
        if noted:
            result.meta = {**(result.meta or {}), **noted}
        return result
