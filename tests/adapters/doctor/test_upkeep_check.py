"""The check of the jobs: over all tenants it says never ran, overdue or failing, and what to do."""

import asyncio
from datetime import UTC, datetime, timedelta

from tests.conftest import MovingClock
from tests.jobs.conftest import do_all_that_is_due, settle

from memory_butler.adapters.doctor.findings import CheckContext, Finding
from memory_butler.adapters.doctor.upkeep_check import check_upkeep
from memory_butler.operations.system import fleet
from memory_butler.resources import Resources
from memory_butler.store.gate.migrate import HEAD


async def found(resources: Resources, revision: str = HEAD) -> list[Finding]:
    context = CheckContext(resources.settings, diagnostics=object(), revision=revision)
    return await asyncio.to_thread(lambda: list(check_upkeep(context)))


async def test_every_state_of_upkeep_is_said(alone: Resources, clock: MovingClock) -> None:
    """Nothing stored, no worker yet, all well, overdue jobs of another tenant, and a worker that is gone."""
    # The doctor has a clock of its own: the one of the machine.
    clock.now = datetime.now(UTC)
    assert [(one.status, one.message) for one in await found(alone)] == [("ok", "none yet: nothing is stored")]
    await settle(alone, f"{alone.settings.tenant}/home")
    (never,) = await found(alone)
    assert (never.status, never.message) == ("warning", "never ran: No worker has checked the schedule yet")
    assert "memory-butler work" in (never.advice or "")
    await do_all_that_is_due(alone)
    assert [one.message for one in await found(alone)] == ["all on schedule for 1 butler"]
    await settle(alone, "other/work")
    clock.move(hours=2)
    await fleet.take(alone)
    overdue = await found(alone)
    assert [one.message for one in overdue] == [
        f"{job}: never ran for 1 of 2 butlers, first other/work" for job in ("consolidation", "sweep", "cleanup")
    ]
    clock.move(hours=-3)
    await fleet.take(alone)
    (gone,) = await found(alone)
    assert gone.message.startswith("overdue: No worker has checked the schedule since") and gone.status == "warning"
    assert clock() < datetime.now(UTC) - timedelta(minutes=50)


async def test_an_outdated_store_is_not_read(resources: Resources) -> None:
    """The doctor does not migrate: it says that it did not look."""
    assert "not checked" in (await found(resources, "0001"))[0].message
