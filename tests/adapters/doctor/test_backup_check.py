"""The doctor's findings about continuous backups."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from tests.support.archives import archived_store

from memory_butler.adapters.doctor.backup_check import check_backup
from memory_butler.adapters.doctor.checks import CHECKS
from memory_butler.adapters.doctor.findings import CheckContext, Finding
from memory_butler.settings import BackupSettings, Settings


def _findings(settings: Settings, backup: BackupSettings) -> list[Finding]:
    context = CheckContext(settings.model_copy(update={"backup": backup}))
    list(CHECKS["database"](context))
    return list(check_backup(context))


def test_an_archive_that_nobody_writes_to_is_reported(new_home: Callable[[], Path]) -> None:
    """With how much log the database keeps for it; the newest base backup has an age; no archive, no finding."""
    with archived_store(new_home) as store:
        assert _findings(store.settings, BackupSettings()) == []
        (missing,) = _findings(store.settings, BackupSettings(folder=store.folder / "none"))
        assert (missing.status, "is not an archive" in missing.message) == ("problem", True)
        store.archive()
        (empty,) = _findings(store.settings, BackupSettings(folder=store.folder))
        assert (empty.status, "no base backup yet" in empty.message) == ("problem", True)
        store.archive_all()
        newest, idle = _findings(store.settings, BackupSettings(folder=store.folder))
        assert (newest.status, idle.status) == ("ok", "warning")
        assert store.archive().slot in idle.message
        assert str(store.folder) in (idle.advice or "")
        (base,) = store.archive().generations()[0].bases()
        old = (base.finished_at - timedelta(days=3)).isoformat()
        base.note.write_text(base.note.read_text().replace(base.finished_at.isoformat(), old))
        newest, _ = _findings(store.settings, BackupSettings(folder=store.folder))
        assert (newest.status, "72 hours old" in newest.message) == ("warning", True)
