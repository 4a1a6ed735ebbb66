"""Connections to the other stores that the Butlers page shows: opened on first use, read-only."""

import asyncio
from dataclasses import replace

from memory_butler.models import Caller, Principal, Role
from memory_butler.resources import Resources
from memory_butler.settings import Settings, Source
from memory_butler.store.gate.database import Database


class OtherStores:
    """Connections stay open until the server stops."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._databases: dict[str, Database] = {}
        self._lock = asyncio.Lock()

    @property
    def names(self) -> list[str]:
        return sorted(self._settings.dashboard.sources)

    async def resources(self, name: str, own: Resources) -> Resources:
        """Resources with another store's database; everything else is shared with this server."""
        settings = _settings_for(self._settings, self._settings.dashboard.sources[name])
        async with self._lock:
            database = self._databases.get(name)
            if database is None:
                database = Database.from_settings(settings)
                # The store's owner migrates it; this server only reads.
                await database.open(upgrade=False)
                self._databases[name] = database
        return replace(own, settings=settings, database=database)

    def caller(self, name: str) -> Caller:
        return Caller(Principal(self._settings.dashboard.sources[name].tenant, self._settings.butler, Role.ADMIN))

    async def close(self) -> None:
        for database in self._databases.values():
            await database.close()
        self._databases.clear()


def _settings_for(settings: Settings, source: Source) -> Settings:
    return settings.model_copy(
        update={
            "database_url": source.database_url,
            "owner_url": None,
            "db_schema": source.db_schema,
            "app_role": source.app_role or settings.app_role,
            "tenant": source.tenant,
            "pool_size": 2,
        }
    )
