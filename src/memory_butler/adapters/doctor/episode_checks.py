"""The doctor's check of episodes: important ones that expire soon although nothing was kept of them."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial

from memory_butler.adapters.doctor.findings import CheckContext, Finding
from memory_butler.models import Episode
from memory_butler.settings import Settings

SHOWN = 3
_finding = partial(Finding, "episodes")


def check_expiring(context: CheckContext) -> Iterator[Finding]:
    from memory_butler.store.gate.migrate import HEAD  # noqa: PLC0415 (an import error is this check's finding)

    if context.diagnostics is None or context.revision != HEAD:
        reason = context.unreachable or "the store is not at the newest revision"
        yield _finding("warning", f"not checked: {reason}")
        return
    found, total = asyncio.run(_expiring(context.settings))
    if not total:
        yield _finding("ok", "no important episode is about to expire unkept")
        return
    names = ", ".join(f"episode:{one.ref}" for one in found) + (" …" if total > len(found) else "")
    yield _finding(
        "warning",
        f"{total:,} important {'episode expires' if total == 1 else 'episodes expire'} soon and nothing was kept:"
        f" {names}",
        "Run `memory-butler consolidate --again-empty`, or pin them: memory-butler pin REF.",
    )


async def _expiring(settings: Settings) -> tuple[list[Episode], int]:
    from memory_butler.store.gate.database import Database  # noqa: PLC0415
    from memory_butler.store.system import alerts  # noqa: PLC0415

    database = Database.from_settings(settings)
    try:
        await database.open(upgrade=False)
        async with database.read(settings.tenant) as transaction:
            return await alerts.expiring(
                transaction, settings.eden_of_butlers(), datetime.now(UTC), butlers=None, limit=SHOWN
            )
    finally:
        await database.close()
