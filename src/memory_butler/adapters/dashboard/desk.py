"""What the dashboard of one server works with: the store, who may come in, who is in, and what is new."""

import getpass
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from memory_butler.adapters.answering import within
from memory_butler.adapters.dashboard.errands import Errands
from memory_butler.adapters.dashboard.live import Live
from memory_butler.adapters.dashboard.sources import Sources
from memory_butler.adapters.enquiries import Enquiries
from memory_butler.adapters.identity import Identities
from memory_butler.adapters.opening import LateButler
from memory_butler.butler import Butler
from memory_butler.models import Login, Principal, Role
from memory_butler.operations import sessions

Answer = TypeVar("Answer")
REMEMBERED = 10_000
LONGEST_KEY = 200


@dataclass(frozen=True, slots=True)
class _Known:
    """A login, until when it is believed, and until when nobody needs to note that the person is there."""

    login: Login
    until: float
    noted_until: float


class Desk:
    """Logins are remembered for a moment, by their key, so that not every click asks for them. Keys that nobody has had
    a login for are looked up like tokens: a few at a time, and each once for all who show it."""

    def __init__(self, late: LateButler) -> None:
        self.late = late
        self.settings = late.settings
        self.is_open = late.settings.service.auth == "off"
        self.identities = Identities.from_settings(late)
        self.live = Live(late)
        self.errands = Errands()
        self.sources = Sources(late.settings)
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._enquiries: Enquiries[Login | None] = Enquiries()
        self._person = _person()

    async def butler(self) -> Butler:
        # Less than the deadline, so that a store which does not open is named as the reason.
        return await self.late.get(self.settings.deadline_seconds * 0.8)

    def local(self) -> Principal:
        """The person at this machine, whose store it is."""
        return Principal(self.settings.tenant, self.settings.butler, Role.ADMIN, name=self._person)

    async def login_of(self, key: str | None, *, is_there: bool = True) -> Login | None:
        """Who is logged in with a key, if anybody still is. Raises if that cannot be found out now.

        A page that asks by itself does not count as somebody there: nobody stays logged in because a page is open.
        """
        if not key or len(key) > LONGEST_KEY:
            return None
        now, known = time.monotonic(), self._known.get(key)
        if known is not None and now < (min(known.until, known.noted_until) if is_there else known.until):
            return known.login
        return await self._enquiries.shared((key, is_there), partial(self._found, key, is_there))

    async def _found(self, key: str, is_there: bool) -> Login | None:
        asked_at = time.monotonic()
        login, seconds, noted = await self.asking(lambda butler: self._looked_up(butler, key, is_there))
        known = self._known.pop(key, None)
        if login is not None:
            noted_until = asked_at + noted if is_there else known.noted_until if known else asked_at
            self._known[key] = _Known(login, asked_at + seconds, noted_until)
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return login

    async def _looked_up(self, butler: Butler, key: str, is_there: bool) -> tuple[Login | None, float, float]:
        """A login, for how many seconds it need not be looked up again, and its person not be noted."""
        async with self._enquiries.turn():
            login, noted = await sessions.recognise(butler, key, is_there=is_there), sessions.noted_every(butler)
        left = login.expires_at - butler.clock() if login else noted
        most = self.settings.service.token_cache_seconds
        return login, min(most, noted.total_seconds(), left.total_seconds()), noted.total_seconds()

    async def enter(self, bearer: str) -> str:
        """Log in whoever shows a token; the key of the login."""
        return await self.admit(await within(self.settings.deadline_seconds, self.identities.principal_of(bearer)))

    async def admit(self, principal: Principal) -> str:
        """Log in somebody who is known; the key of the login."""
        return await self.asking(lambda butler: sessions.begin(butler, principal))

    async def leave(self, key: str | None) -> None:
        """Log somebody out. Raises if that cannot be done now: the login goes on, and they have to know."""
        if key and len(key) <= LONGEST_KEY:
            await self.asking(lambda butler: sessions.end(butler, key))
            self._known.pop(key, None)

    async def asking(self, work: Callable[[Butler], Awaitable[Answer]]) -> Answer:
        async def asked() -> Answer:
            return await work(await self.butler())

        return await within(self.settings.deadline_seconds, asked())

    async def close(self) -> None:
        await self.live.close()
        await self.errands.close()
        await self.sources.close()


def _person() -> str:
    """What this machine calls the person who uses it."""
    try:
        return getpass.getuser()[:64] or "you"
    except (OSError, KeyError, ImportError):
        return "you"
