"""The doctor's check of the scheduled jobs, over all tenants: never ran, overdue, or failing."""

import asyncio
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from memory_butler.adapters.doctor.findings import CheckContext, Finding
from memory_butler.settings import Settings

if TYPE_CHECKING:
    from memory_butler.operations.system.fleet import Fleet, JobFigures

ADVICE = "`serve` and `mcp` run a worker unless started with --no-worker. Otherwise start one: memory-butler work"
NAMES = {"never": "never ran", "overdue": "overdue", "failing": "failing"}
_finding = partial(Finding, "jobs")


def check_upkeep(context: CheckContext) -> Iterator[Finding]:
    from memory_butler.operations.system import fleet  # noqa: PLC0415 (an import error is another check's finding)
    from memory_butler.store.gate.migrate import HEAD  # noqa: PLC0415

    if context.diagnostics is None or context.revision != HEAD:
        yield _finding("warning", f"not checked: {context.unreachable or 'the store is not at the newest revision'}")
        return
    found, has_butlers = asyncio.run(_look(context.settings))
    state, detail = fleet.judge(context.settings, found, datetime.now(UTC))
    if found is None and not has_butlers:
        yield _finding("ok", "none yet: nothing is stored")
    elif detail or found is None:
        yield _finding("warning", f"{NAMES[state]}: {(detail or '').removesuffix('.')}", ADVICE)
    else:
        yield from _of_jobs(found, list(context.settings.upkeep.intervals()))


def _of_jobs(found: "Fleet", order: Sequence[str]) -> Iterator[Finding]:
    known = [(job, found.jobs[job]) for job in order if job in found.jobs]
    wrong = [(job, figures) for job, figures in known if figures.state != "ok" and found.shards]
    for job, figures in wrong:
        advice = "See `memory-butler jobs --all-tenants`. " + ("" if figures.state == "failing" else ADVICE)
        yield _finding("warning", f"{job}: {_words(figures)}", advice.strip())
    if not wrong:
        yield _finding("ok", f"all on schedule for {found.shards:,} {'butler' if found.shards == 1 else 'butlers'}")


def _words(figures: "JobFigures") -> str:
    said = [f"{NAMES[state]} for {figures.states[state]:,}" for state in NAMES if figures.states[state]]
    worst = f", first {figures.worst[0]}" if figures.worst else ""
    return f"{', '.join(said)} of {sum(figures.states.values()):,} butlers{worst}"


async def _look(settings: Settings) -> "tuple[Fleet | None, bool]":
    """The newest sample, and whether the tenant has a butler."""
    from memory_butler.operations.system import fleet  # noqa: PLC0415
    from memory_butler.store.gate.database import Database  # noqa: PLC0415
    from memory_butler.store.lifecycle import sweep  # noqa: PLC0415

    database = Database.from_settings(settings)
    try:
        await database.open(upgrade=False)
        found = await fleet.latest_in(database)
        async with database.read(settings.tenant) as transaction:
            return found, bool(await sweep.butlers(transaction))
    finally:
        await database.close()
