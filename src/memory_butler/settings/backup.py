"""Settings of the continuous backup."""

from datetime import timedelta
from pathlib import Path

from pydantic import Field, SecretStr

from memory_butler.settings.values import Group


class BackupSettings(Group):
    """Continuous backup: base backups and the write-ahead log, for `memory-butler backup --continuous`."""

    folder: Path | None = Field(
        None, description="Folder of the archive, on another disk than the store. Unset: named on the command line."
    )
    url: SecretStr | None = Field(
        None,
        description="Connection to an external database for backups; its account needs the attribute REPLICATION. "
        "Unset: `owner_url`, else `database_url`.",
    )
    base_hours: float = Field(24, ge=0.25, le=8760, description="Hours between two base backups.")
    keep_days: float = Field(
        7,
        gt=0,
        le=3650,
        description="Every moment of this many days can be restored. Older base backups and log segments are deleted.",
    )

    @property
    def base_every(self) -> timedelta:
        return timedelta(hours=self.base_hours)

    @property
    def keep(self) -> timedelta:
        return timedelta(days=self.keep_days)
