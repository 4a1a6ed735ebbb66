"""State shared by all dashboard pages of one server: resources, logins, live updates and background tasks."""

import getpass
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from memory_butler.adapters.dashboard.actions.background_tasks import BackgroundTasks
from memory_butler.adapters.dashboard.server.live_updates import LiveUpdates
from memory_butler.adapters.dashboard.server.other_stores import OtherStores
from memory_butler.adapters.http.identity import Identities
from memory_butler.adapters.http.local_access import LocalAccess
from memory_butler.adapters.http.single_flight import SingleFlight
from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.adapters.mcp.tool_base import within
from memory_butler.errors import PermissionDenied
from memory_butler.models import Login, Principal, Role
from memory_butler.operations.access import logins
from memory_butler.resources import Resources

Result = TypeVar("Result")
CACHED_LOGINS = 10_000
MAX_KEY_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class _CachedLogin:
    """A login, the time its cache entry expires, and the time the user's activity must be recorded again."""

    login: Login
    valid_until: float
    activity_until: float


class DashboardContext:
    """Logins are cached briefly by their key, so that not every click queries the database. Unknown keys are looked up
    like API tokens: a bounded number at a time, and concurrent lookups of one key share a single query."""

    def __init__(self, lazy_resources: LazyResources) -> None:
        self.lazy_resources = lazy_resources
        self.settings = lazy_resources.settings
        self.is_open = self.settings.service.auth == "off"
        self.local_access = LocalAccess(self.settings)
        self.identities = Identities(lazy_resources)
        self.live_updates = LiveUpdates(lazy_resources)
        self.background_tasks = BackgroundTasks()
        self.other_stores = OtherStores(self.settings)
        self._logins: OrderedDict[str, _CachedLogin] = OrderedDict()
        self._lookups: SingleFlight[Login | None] = SingleFlight()
        self._user_name = _user_name()

    def local_principal(self) -> Principal:
        """The user of this machine, who owns the local store."""
        return Principal(self.settings.tenant, self.settings.butler, Role.ADMIN, name=self._user_name)

    async def find_login(self, key: str | None, *, is_activity: bool = True) -> Login | None:
        """The login with this key, or None if it has ended. Raises if the database cannot be asked now.

        Requests that a page makes by itself are no user activity: an open page does not keep its user logged in.
        """
        if not key or len(key) > MAX_KEY_CHARACTERS:
            return None
        now, cached = time.monotonic(), self._logins.get(key)
        if cached is not None:
            expires = min(cached.valid_until, cached.activity_until) if is_activity else cached.valid_until
            if now < expires:
                return cached.login
        return await self._lookups.shared((key, is_activity), partial(self._read_login, key, is_activity))

    async def _read_login(self, key: str, is_activity: bool) -> Login | None:
        started = time.monotonic()
        login, valid_seconds, activity_seconds = await self.call(
            lambda resources: self._query_login(resources, key, is_activity)
        )
        cached = self._logins.pop(key, None)
        if login is not None:
            activity_until = started + activity_seconds if is_activity else cached.activity_until if cached else started
            self._logins[key] = _CachedLogin(login, started + valid_seconds, activity_until)
            while len(self._logins) > CACHED_LOGINS:
                self._logins.popitem(last=False)
        return login

    async def _query_login(
        self, resources: Resources, key: str, is_activity: bool
    ) -> tuple[Login | None, float, float]:
        """A login, the seconds its cache entry is valid, and the seconds until activity must be recorded again."""
        async with self._lookups.slot():
            login, noted = (
                await logins.authenticate(resources, key, is_there=is_activity),
                logins.seen_interval(resources),
            )
        left = login.expires_at - resources.clock() if login else noted
        limit = self.settings.service.token_cache_seconds
        return login, min(limit, noted.total_seconds(), left.total_seconds()), noted.total_seconds()

    async def log_in_with_token(self, bearer: str) -> str:
        """Create a login for the owner of an API token and return its key."""
        return await self.log_in(await within(self.settings.deadline_seconds, self.identities.principal_of(bearer)))

    async def log_in(self, principal: Principal) -> str:
        """Create a login for an authenticated principal and return its key."""
        if not self.may_log_in(principal.role):
            raise PermissionDenied(
                f"The role {principal.role} may not log in to the dashboard.",
                recovery="Use a token of another role, or add the role to dashboard.login_roles.",
            )
        return await self.call(lambda resources: logins.log_in(resources, principal))

    def may_log_in(self, role: Role) -> bool:
        return str(role) in self.settings.dashboard.login_roles

    async def log_out(self, key: str | None) -> None:
        """End a login. Raises if the database cannot be reached: the login is still valid, and the user must know."""
        if key and len(key) <= MAX_KEY_CHARACTERS:
            await self.call(lambda resources: logins.log_out(resources, key))
            self._logins.pop(key, None)

    async def call(self, operation: Callable[[Resources], Awaitable[Result]]) -> Result:
        """Run an operation on the resources within the deadline."""

        async def run() -> Result:
            return await operation(await self.lazy_resources.get_for_call())

        return await within(self.settings.deadline_seconds, run())

    async def close(self) -> None:
        await self.live_updates.close()
        await self.background_tasks.close()
        await self.other_stores.close()


def _user_name() -> str:
    """The user name of the operating system, or "you"."""
    try:
        return getpass.getuser()[:64] or "you"
    except (OSError, KeyError, ImportError):
        return "you"
