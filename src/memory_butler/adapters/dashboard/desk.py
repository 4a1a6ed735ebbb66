"""What the dashboard of one server works with: the store, who may come in, who is in, and what is new."""

import getpass
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from memory_butler.adapters.answering import within
from memory_butler.adapters.dashboard.live import Live
from memory_butler.adapters.identity import Identities
from memory_butler.adapters.opening import LateButler
from memory_butler.butler import Butler
from memory_butler.errors import MemoryButlerError
from memory_butler.models import Login, Principal, Role
from memory_butler.operations import sessions

Answer = TypeVar("Answer")
REMEMBERED = 10_000
LONGEST_KEY = 200


class Desk:
    """Logins are remembered for a moment, by their key, so that not every click asks for them."""

    def __init__(self, late: LateButler) -> None:
        self.late = late
        self.settings = late.settings
        self.is_open = late.settings.service.auth == "off"
        self.identities = Identities.from_settings(late)
        self.live = Live(late)
        self._known: OrderedDict[str, tuple[float, Login]] = OrderedDict()
        self._person = _person()

    async def butler(self) -> Butler:
        # Less than the deadline, so that a store which does not open is named as the reason.
        return await self.late.get(self.settings.deadline_seconds * 0.8)

    def local(self) -> Principal:
        """The person at this machine, whose store it is."""
        return Principal(self.settings.tenant, self.settings.butler, Role.ADMIN, name=self._person)

    async def login_of(self, key: str | None) -> Login | None:
        """Who is logged in with a key, if anybody still is. Raises if that cannot be found out now."""
        if not key or len(key) > LONGEST_KEY:
            return None
        until, known = self._known.get(key, (0.0, None))
        if known is not None and time.monotonic() < until:
            return known
        asked_at = time.monotonic()
        login = await self.asking(lambda butler: sessions.recognise(butler, key))
        self._known.pop(key, None)
        if login is not None:
            self._known[key] = (asked_at + self.settings.service.token_cache_seconds, login)
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return login

    async def enter(self, bearer: str) -> str:
        """Log in whoever shows a token; the key of the login."""
        principal = await within(self.settings.deadline_seconds, self.identities.principal_of(bearer))
        return await self.asking(lambda butler: sessions.begin(butler, principal))

    async def leave(self, key: str | None) -> None:
        if key and len(key) <= LONGEST_KEY:
            self._known.pop(key, None)
            with suppress(MemoryButlerError):
                await self.asking(lambda butler: sessions.end(butler, key))

    async def asking(self, work: Callable[[Butler], Awaitable[Answer]]) -> Answer:
        async def asked() -> Answer:
            return await work(await self.butler())

        return await within(self.settings.deadline_seconds, asked())

    async def close(self) -> None:
        await self.live.close()


def _person() -> str:
    """What this machine calls the person who uses it."""
    try:
        return getpass.getuser()[:64] or "you"
    except (OSError, KeyError, ImportError):
        return "you"
