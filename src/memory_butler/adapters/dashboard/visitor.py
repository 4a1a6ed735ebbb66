"""Who looks at a page, and the one way from a page to an operation: in their name, if they may, within the deadline."""

import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TypeVar

from memory_butler.adapters import watching
from memory_butler.adapters.answering import Visit, within
from memory_butler.adapters.dashboard.desk import Desk
from memory_butler.errors import MemoryButlerError, PermissionDenied
from memory_butler.models import Caller, Lineage, Principal
from memory_butler.operations.visits import note_visit
from memory_butler.policy.reach import acting_butler
from memory_butler.policy.roles import ALLOWED, check_role

Answer = TypeVar("Answer")
_by_itself: ContextVar[bool] = ContextVar("by_itself", default=False)


@contextmanager
def by_itself() -> Iterator[None]:
    """What a page asks within this nobody asked for: it does not count as somebody there."""
    before = _by_itself.set(True)
    try:
        yield
    finally:
        _by_itself.reset(before)


def asks_by_itself() -> bool:
    return _by_itself.get()


class LoginOver(PermissionDenied):
    """Your login has ended."""

    default_recovery = "Log in again."


@dataclass(frozen=True, slots=True)
class Visitor:
    """One person at one page. A page stays in the tenant that it was opened in."""

    desk: Desk
    principal: Principal
    key: str | None = None

    def may(self, operation: str) -> bool:
        """Whether the person's role allows it: what it does not is not offered."""
        return self.principal.role in ALLOWED.get(operation, frozenset())

    async def ask(
        self,
        operation: str,
        work: Callable[[Visit], Awaitable[Answer]],
        *,
        request_id: str | None = None,
        butler: str | None = None,
    ) -> Answer:
        """What an operation answers this person. `operation` is its name in the table of roles.

        With a butler it is done for that one; who does it stays the person.
        """
        # Upkeep gives way to people; that a page is drawn again for what upkeep wrote must not hold it up.
        counted = nullcontext() if asks_by_itself() else self.desk.late.calls.one()
        with counted, watching.watched(operation, request_id) as call:
            call.principal = self.principal
            try:
                asked = self._asked(operation, work, request_id, butler)
                answer = await within(self.desk.settings.deadline_seconds, asked)
            except MemoryButlerError as problem:
                call.outcome = problem.error_class
                raise
            call.outcome = watching.OK
        return answer

    async def _asked(
        self,
        operation: str,
        work: Callable[[Visit], Awaitable[Answer]],
        request_id: str | None,
        acts_for: str | None,
    ) -> Answer:
        await self.require_login()
        butler = await self.desk.butler()
        check_role(self.principal, operation)
        caller = Caller(self.principal, Lineage(request_id=request_id))
        if not asks_by_itself():
            # That the page was opened is on record; to note each time it is drawn again would be news to draw it for.
            await note_visit(butler, caller, operation)
        if acts_for is not None:
            acting = acting_butler(self.principal, acts_for)
            caller = replace(caller, principal=replace(self.principal, butler=acting, name=self.principal.actor))
        return await work(Visit(butler, caller))

    async def require_login(self) -> None:
        """A page outlives the login it was opened with: whoever asks through it must still be logged in."""
        if self.desk.is_open:
            return
        if await self.desk.login_of(self.key, is_there=not asks_by_itself()) is None:
            raise LoginOver()


def new_request_id() -> str:
    """Names one click, so that what it changed can be found and taken back."""
    return f"dashboard-{uuid.uuid4().hex}"
