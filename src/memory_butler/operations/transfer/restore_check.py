"""The check of a restored store: every tenant is rebuilt from its log and compared."""

from collections.abc import Sequence
from dataclasses import dataclass

from memory_butler.models import Caller, Principal, Role
from memory_butler.operations.history.replay import replay_into_scratch
from memory_butler.operations.lifecycle.job_status import tenants
from memory_butler.resources import Resources
from memory_butler.store.history.replay import Progress, scratch_schema


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedTenant:
    """The verdict on one tenant: its number of events, and what does not match (None: everything does)."""

    tenant: str
    events: int
    problem: str | None


async def check_tenants(resources: Resources, progress: Progress) -> list[CheckedTenant]:
    """Rebuild every tenant from its log and compare it with the store, and check its hash chain."""
    names: Sequence[str] = await tenants(resources)
    found = []
    async with scratch_schema(resources.database):
        for number, tenant in enumerate(names):
            progress(f"Checking {tenant}", number, len(names))
            caller = Caller(Principal(tenant, resources.settings.butler, Role.OPERATOR))
            report = await replay_into_scratch(resources, caller)
            problem = None
            if not report.equal:
                problem = "the store does not match its log"
            elif report.chain.broken:
                problem = f"the hash chain breaks at event {report.chain.broken.seq}: {report.chain.broken.problem}"
            found.append(CheckedTenant(tenant=tenant, events=report.events, problem=problem))
    return found
