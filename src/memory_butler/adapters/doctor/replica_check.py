"""The check of the replicas that serve reads."""

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

from memory_butler.adapters.doctor.findings import CheckContext, Finding
from memory_butler.settings import Settings

if TYPE_CHECKING:
    from memory_butler.store.gate.read_plane import ReplicaState

# A server that takes longer to answer counts as unreachable.
PROBE_SECONDS = 5.0


def check_replicas(context: CheckContext) -> Iterator[Finding]:
    """One finding for each replica; none without replicas."""
    if not context.settings.database.replicas:
        return
    if context.diagnostics is None:
        yield Finding("replicas", "warning", "not checked: the database is not reachable", "Fix the database first.")
        return
    states = asyncio.run(_states(context.settings))
    for state in states:
        if state.problem is None:
            yield Finding("replicas", "ok", f"{state.name} serves reads, {state.lag_seconds:.0f} s behind")
        elif state.is_primary and len(states) > 1:
            yield Finding("replicas", "ok", f"{state.name} is the primary")
        else:
            advice = "The primary serves its reads meanwhile. docs/guides/replicas.md explains each reason."
            yield Finding("replicas", "problem", f"{state.name} is left out: {state.problem}", advice)


async def _states(settings: Settings) -> "list[ReplicaState]":
    from memory_butler.store.gate.database import Database  # noqa: PLC0415 (an import error is another check's finding)
    from memory_butler.store.gate.read_plane import open_read_plane  # noqa: PLC0415

    database = Database.from_settings(settings)
    plane = await open_read_plane(settings, database.dsn, database.names)
    assert plane
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            await plane.probed()
        return plane.states()
    finally:
        await plane.close()
