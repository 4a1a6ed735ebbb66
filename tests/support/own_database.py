"""Resources on a database of their own: a copy of the migrated template."""

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import psycopg
from pydantic import SecretStr

from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import Settings
from memory_butler.store.embedded.server import EmbeddedPostgres


@asynccontextmanager
async def own_database(
    server: EmbeddedPostgres, settings: Settings, template: str, **options: Any
) -> AsyncIterator[Resources]:
    """Open a copy of the template; it is dropped afterwards."""
    name = f"d{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server.dsn("postgres", "postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} OWNER memory_owner")
    urls = {
        "database_url": SecretStr(server.dsn("memory_app", name)),
        "owner_url": SecretStr(server.dsn("memory_owner", name)),
    }
    try:
        async with open_resources(settings.model_copy(update=urls), embedder=FakeEmbedder(), **options) as resources:
            yield replace(resources, settings=resources.settings)
    finally:
        with psycopg.connect(server.dsn("postgres", "postgres"), autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
