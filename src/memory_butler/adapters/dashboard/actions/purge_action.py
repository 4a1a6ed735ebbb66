"""Purging a memory from its page: shows everything that would be erased, asks, and erases it."""

from memory_butler.adapters.dashboard.components.confirm_dialog import ConfirmDialog
from memory_butler.adapters.dashboard.server.page_context import PageContext
from memory_butler.adapters.dashboard.view_models.phrases import truncate
from memory_butler.models import Memory
from memory_butler.operations.trust import purge

OPERATION = "memory_purge"
LABEL = "Erase for good"
SHOWN = 12
LINE_CHARACTERS = 120


async def purge_memory(context: PageContext, confirm: ConfirmDialog, memory: Memory) -> purge.PurgeReport | None:
    """Returns the report of the purge, or None if the user cancels."""
    request = purge.PurgeRequest(ref=f"{memory.type}:{memory.ref}")
    planned = await context.run(OPERATION, purge.purge, request)
    if not await confirm("Erase for good? This cannot be undone.", _effects(planned), button=LABEL):
        return None
    patience = context.dashboard.settings.deadline_seconds / 4
    return await context.run(OPERATION, purge.purge, request, dry_run=False, patience_seconds=patience)


def _effects(planned: purge.PurgeReport) -> list[str]:
    lines = [
        f"{entry.type}:{entry.ref} ({', '.join(entry.why)}): {truncate(entry.line or '', LINE_CHARACTERS)}"
        for entry in planned.touched[:SHOWN]
    ]
    if len(planned.touched) > SHOWN:
        lines.append(f"and {len(planned.touched) - SHOWN} more memories")
    if planned.aliases:
        lines.append(f"{len(planned.aliases)} other names of the subject")
    if planned.kept_sources:
        lines.append(f"Not erased, although they may hold the same words: {', '.join(planned.kept_sources)}")
    return lines
