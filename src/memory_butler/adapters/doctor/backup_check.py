"""The check of continuous backups: archives that nobody writes to, and old base backups."""

from collections.abc import Iterator
from datetime import UTC, datetime

from memory_butler.adapters.doctor.findings import CheckContext, Finding
from memory_butler.errors import InvalidInput
from memory_butler.store.archive.layout import Archive
from memory_butler.store.archive.source import Source

# A base backup may be late by this factor before it is worth a word.
LATE = 2


def check_backup(context: CheckContext) -> Iterator[Finding]:
    """Nothing if there is no continuous backup."""
    folder = context.settings.backup.folder
    archive: Archive | None = None
    if folder:
        try:
            archive = Archive.open(folder.expanduser())
            yield _newest(archive, context)
        except InvalidInput as problem:
            yield Finding("backup", "problem", problem.message, problem.recovery)
    if context.diagnostics is None:
        return
    for slot in Source.of(context.settings).idle_slots():
        name = slot["slot_name"]
        where = str(folder) if archive and archive.slot == name else "FOLDER"
        kept = "the log that it lacks was dropped"
        if slot["wal_status"] != "lost":
            kept = f"the database keeps {slot['kept_bytes'] / 2**20:,.0f} MB of log for it"
        message = f"no process receives the log for the archive of the slot {name}; {kept}"
        advice = f"Run `memory-butler backup --continuous {where}`, or end that backup with --end."
        yield Finding("backup", "warning", message, advice)


def _newest(archive: Archive, context: CheckContext) -> Finding:
    bases = [base for generation in archive.generations() for base in generation.bases()]
    if not bases:
        message = f"{archive.folder} has no base backup yet"
        return Finding("backup", "problem", message, "Run: memory-butler backup --continuous")
    hours = (datetime.now(UTC) - bases[-1].finished_at).total_seconds() / 3600
    message = f"the newest base backup in {archive.folder} is {hours:,.0f} hours old"
    if hours > LATE * context.settings.backup.base_hours:
        return Finding("backup", "warning", message, "Run `memory-butler backup --continuous` as a service.")
    return Finding("backup", "ok", message)
