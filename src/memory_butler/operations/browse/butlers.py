"""Summaries of the butlers of a tenant, and of several stores."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

from memory_butler.errors import DeadlinePassed, MemoryButlerError
from memory_butler.models import Caller
from memory_butler.models.listings import ButlerSummary
from memory_butler.operations.system.system_info import may_see_all_tenants
from memory_butler.policy.access import visibility
from memory_butler.resources import Resources, on_replica
from memory_butler.store.browse import butlers

Summaries = tuple[ButlerSummary, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreButlers:
    """The butlers of one store, or the problem that kept it from answering."""

    source: str
    tenant: str
    butlers: Summaries = ()
    problem: str | None = None


@on_replica
async def butler_summaries(resources: Resources, caller: Caller | None = None) -> Summaries:
    """Returns the butlers of the caller's tenant by name. An agent sees only itself."""
    caller = resources.allowed(caller, "list_memories")
    async with resources.database.read(caller.principal.tenant) as transaction:
        return tuple(await butlers.standings(transaction, visibility.viewer(caller.principal)))


def may_see_other_stores(resources: Resources, caller: Caller) -> bool:
    """True if the caller may see the butlers of other configured stores: callers who may see all tenants of this one,
    unless they currently work in another tenant. There, butlers of other stores could be mistaken for the tenant's."""
    return may_see_all_tenants(resources, caller) and caller.principal.home is None


async def butlers_of_stores(
    sources: Mapping[str, tuple[Callable[[], Awaitable[Resources]], Caller]], timeout_seconds: float
) -> tuple[StoreButlers, ...]:
    """Returns the butlers of several stores, queried concurrently. A store that fails or times out has a problem."""

    async def query(name: str, open_store: Callable[[], Awaitable[Resources]], caller: Caller) -> StoreButlers:
        result = StoreButlers(source=name, tenant=caller.principal.tenant)
        try:
            async with asyncio.timeout(timeout_seconds):
                return replace(result, butlers=await butler_summaries(await open_store(), caller))
        except MemoryButlerError as problem:
            return replace(result, problem=problem.message)
        except TimeoutError:
            return replace(result, problem=DeadlinePassed(f"No answer within {timeout_seconds:g} seconds.").message)

    queries = [query(name, open_store, caller) for name, (open_store, caller) in sources.items()]
    return tuple(await asyncio.gather(*queries))
