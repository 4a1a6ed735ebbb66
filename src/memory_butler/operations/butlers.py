"""Butlers: who remembers what in a tenant; and over several stores, as far as they answer."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

from memory_butler.butler import Butler
from memory_butler.errors import DeadlinePassed, MemoryButlerError
from memory_butler.models import Caller
from memory_butler.models.listings import ButlerStanding
from memory_butler.operations.machinery import looks_after_all
from memory_butler.policy import reach
from memory_butler.policy.roles import check_role
from memory_butler.store import butlers

Standings = tuple[ButlerStanding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What one store answered; or, if it did not, why."""

    source: str
    tenant: str
    butlers: Standings = ()
    problem: str | None = None


async def standings(butler: Butler, caller: Caller | None = None) -> Standings:
    """The butlers of the caller's tenant, by name. An agent sees itself."""
    caller = caller or butler.local_caller()
    check_role(caller.principal, "memory_stats")
    async with butler.database.read(caller.principal.tenant) as session:
        return tuple(await butlers.standings(session, reach.eyes(caller.principal)))


def may_see_other_stores(butler: Butler, caller: Caller) -> bool:
    """Whether somebody may see the butlers of stores elsewhere, which are nobody's tenant here: whoever looks after
    all of this one may, at home. An operator who works in another tenant sees that tenant and nothing beside it, so
    that what stands there is not taken for its own."""
    return looks_after_all(butler, caller) and caller.principal.home is None


async def everywhere(
    sources: Mapping[str, tuple[Callable[[], Awaitable[Butler]], Caller]], patience_seconds: float
) -> tuple[Heard, ...]:
    """The butlers of several stores, asked at the same time. One that does not answer in time is named, with the
    reason; the others are shown."""

    async def ask(name: str, opened: Callable[[], Awaitable[Butler]], caller: Caller) -> Heard:
        heard = Heard(source=name, tenant=caller.principal.tenant)
        try:
            async with asyncio.timeout(patience_seconds):
                return replace(heard, butlers=await standings(await opened(), caller))
        except MemoryButlerError as problem:
            return replace(heard, problem=problem.message)
        except TimeoutError:
            return replace(heard, problem=DeadlinePassed(f"No answer within {patience_seconds:g} seconds.").message)

    asked = [ask(name, opened, caller) for name, (opened, caller) in sources.items()]
    return tuple(await asyncio.gather(*asked))
