"""Other stores whose butlers are shown beside this one's: opened when they are asked for, and never changed."""

import asyncio
from dataclasses import replace

from memory_butler.butler import Butler
from memory_butler.models import Caller, Principal, Role
from memory_butler.settings import Settings, Source
from memory_butler.store.database import Database


class Sources:
    """The connections to other stores, kept until the server stops."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._open: dict[str, Database] = {}
        self._opening = asyncio.Lock()

    @property
    def names(self) -> list[str]:
        return sorted(self._settings.dashboard.sources)

    async def butler(self, name: str, own: Butler) -> Butler:
        """A butler over another store. What it needs besides the store is this one's."""
        source = self._settings.dashboard.sources[name]
        settings = _settings_of(self._settings, source)
        async with self._opening:
            database = self._open.get(name)
            if database is None:
                database = Database.from_settings(settings)
                # Whose store it is brings it up to date; here it is only read.
                await database.open(upgrade=False)
                self._open[name] = database
        return replace(own, settings=settings, database=database)

    def caller(self, name: str) -> Caller:
        return Caller(Principal(self._settings.dashboard.sources[name].tenant, self._settings.butler, Role.ADMIN))

    async def close(self) -> None:
        for database in self._open.values():
            await database.close()
        self._open.clear()


def _settings_of(settings: Settings, source: Source) -> Settings:
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
