"""The user of an open page, and the only way from a page to an operation: authorised, audited, within the deadline."""

import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from uuid import UUID

from memory_butler.adapters.dashboard.server.dashboard_context import DashboardContext
from memory_butler.adapters.mcp.catalog import allowed_roles, check_operation
from memory_butler.adapters.mcp.tool_base import CallContext, within
from memory_butler.adapters.telemetry import instrumentation
from memory_butler.errors import PermissionDenied
from memory_butler.models import Caller, Lineage, Principal, Role
from memory_butler.operations.access.cross_tenant_audit import audit_access
from memory_butler.operations.trust.protection import limit_reading
from memory_butler.policy.access.visibility import acting_butler

Result = TypeVar("Result")
_is_background_refresh: ContextVar[bool] = ContextVar("is_background_refresh", default=False)


@contextmanager
def background_refresh() -> Iterator[None]:
    """Mark the calls inside as made by the page itself: they are no user activity."""
    reset = _is_background_refresh.set(True)
    try:
        yield
    finally:
        _is_background_refresh.reset(reset)


def is_background_refresh() -> bool:
    return _is_background_refresh.get()


class LoginExpired(Exception):
    """The user's login has ended. Not an error of the operation: the page is sent to the login, whatever it shows."""

    error_class = PermissionDenied.error_class


@dataclass(frozen=True, slots=True)
class PageContext:
    """One user on one page. A page stays in the tenant in which it was opened."""

    dashboard: DashboardContext
    principal: Principal
    key: str | None = None

    def may(self, operation: str) -> bool:
        """True if the user's role allows an operation. Pages hide the controls of operations that are not allowed."""
        return self.principal.role in allowed_roles(operation) and not self._needs_admin(operation)

    def _needs_admin(self, operation: str) -> bool:
        """True if the operation is a change, which in a service only an administrator makes in the dashboard."""
        settings = self.dashboard.settings.dashboard
        is_change = Role.READER not in allowed_roles(operation)
        return (
            is_change and settings.changes == "admin" and not self.dashboard.is_open and not self.principal.role.governs
        )

    async def call(
        self,
        operation: str,
        work: Callable[[CallContext], Awaitable[Result]],
        *,
        request_id: str | None = None,
        group_id: UUID | None = None,
        butler: str | None = None,
    ) -> Result:
        """Run an operation for this user. `operation` is its name in the table of roles.

        With `butler` it acts for that butler; the user remains the actor. All its events join `group_id`.
        """
        # Upkeep gives way to user calls. A refresh caused by upkeep's own writes must not delay upkeep.
        counted = nullcontext() if is_background_refresh() else self.dashboard.lazy_resources.calls.track()
        with counted, instrumentation.instrument_call(operation, request_id) as call:
            call.principal = self.principal
            return await within(
                self.dashboard.settings.deadline_seconds, self._run(operation, work, (request_id, group_id), butler)
            )

    async def run(
        self,
        name: str,
        operation: Callable[..., Awaitable[Result]],
        *arguments: Any,
        request_id: str | None = None,
        **options: Any,
    ) -> Result:
        """Run one operation with these arguments for this user. `name` is its name in the table of roles."""
        return await self.call(
            name,
            lambda call: operation(call.resources, *arguments, caller=call.caller, **options),
            request_id=request_id,
        )

    async def _run(
        self,
        operation: str,
        work: Callable[[CallContext], Awaitable[Result]],
        ids: tuple[str | None, UUID | None],
        acts_for: str | None,
    ) -> Result:
        await self.require_login()
        resources = await self.dashboard.lazy_resources.get_for_call()
        check_operation(self.principal, operation)
        if self._needs_admin(operation):
            raise PermissionDenied(
                "Only an administrator may make changes in the dashboard.",
                recovery='Log in with an admin token, or set dashboard.changes = "role".',
            )
        limit_reading(resources, self.principal)
        request_id, group_id = ids
        caller = Caller(self.principal, Lineage(request_id=request_id), group_id=group_id)
        if not is_background_refresh():
            # Opening the page is audited. Auditing each refresh would write events that cause the next refresh.
            await audit_access(resources, caller, operation)
        if acts_for is not None:
            acting = acting_butler(self.principal, acts_for)
            caller = replace(caller, principal=replace(self.principal, butler=acting, name=self.principal.actor))
        return await work(CallContext(resources, caller))

    async def require_login(self) -> None:
        """Raise if the user's login has ended: an open page can outlive the login it was opened with."""
        if self.dashboard.is_open:
            return
        if await self.dashboard.find_login(self.key, is_activity=not is_background_refresh()) is None:
            raise LoginExpired()


def new_request_id() -> str:
    """An id for one click: the events it causes carry it, so that the page can offer to undo them."""
    return f"dashboard-{uuid.uuid4().hex}"
