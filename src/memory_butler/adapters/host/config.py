"""The host's `[modules.memory]` table and its conversion to settings. Missing keys have their defaults."""

import hashlib
import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from memory_butler import settings
from memory_butler.adapters.host.host_database import HostConnection
from memory_butler.adapters.mcp.catalog import GROUPS as TOOL_GROUPS
from memory_butler.errors import InvalidInput

TABLE = "modules.memory"
# Names derived from the schema's name are longer, and PostgreSQL truncates names to 63 bytes.
SCHEMA_CHARACTERS = 48
HostSchema = Annotated[settings.SqlName, Field(max_length=SCHEMA_CHARACTERS)]
GROUPS = {group.name: group for group in TOOL_GROUPS}


class SessionChoices(settings.Group):
    """Hooks around an agent session: deadline, and the episode that is stored at its end."""

    deadline_seconds: float = Field(
        2, gt=0, le=60, description="Timeout of a hook in seconds; after it the session continues without memory."
    )
    episode: Literal["summary", "extract", "model", "off"] = Field(
        "summary",
        description="Source of a session's episode: its `summary`, an `extract` of its last exchanges, the notes of a"
        " `model` (consolidation.model), or `off` for no episode.",
    )
    importance: int = Field(5, ge=1, le=10, description="Importance of a session's episode.")
    maintenance_sources: tuple[str, ...] = Field(
        ("maintenance*", "memory*", "schedule:memory*", "consolidation*"),
        description="Trigger sources of maintenance sessions, which store no episode; `*` matches anything.",
    )


class MemoryConfig(settings.Group):
    """The host's `[modules.memory]` table."""

    enabled: bool = Field(True, description="Whether the module is active.")
    tools: tuple[str, ...] = Field(
        tuple(GROUPS), description="Tool groups to register on the butler's server; empty: hooks only."
    )
    administrator: bool = Field(
        False, description="Whether this butler is an administrator: it may also undo, purge and reverse warnings."
    )
    db_schema: HostSchema | None = Field(
        None, description="Schema of the memory (default: `<host schema>_memory`, else `memory_<butler>`)."
    )
    app_role: settings.SqlName | None = Field(
        None, description="Database role of the memory (default: `<db_schema>_app`)."
    )
    pooler: bool | None = Field(
        None,
        description="Whether the host reaches its database through a transaction pooler. Unset: detected.",
    )
    session: SessionChoices = SessionChoices()
    # The other keys are settings of Memory Butler, with the same defaults.
    home: Path | None = Field(None, description="Folder for the cached embedding model.")
    pool_size: int | None = Field(None, description="Maximum number of database connections of this butler's memory.")
    deadline_seconds: float | None = Field(None, description="Timeout of a tool call in seconds.")
    idempotency_days: float | None = Field(None, description="Days until an idempotency key expires.")
    retrieval: settings.Retrieval = settings.Retrieval()
    briefing: settings.BriefingSettings = settings.BriefingSettings()
    embedding: settings.Embedding = settings.Embedding()
    lifecycle: settings.Lifecycle = settings.Lifecycle()
    upkeep: settings.Upkeep = settings.Upkeep()
    vector_index: settings.VectorIndex = settings.VectorIndex()
    consolidation: settings.Consolidation = settings.Consolidation()
    encryption: settings.EncryptionSettings = settings.EncryptionSettings()
    database: settings.DatabaseSettings = settings.DatabaseSettings()

    @field_validator("tools")
    @classmethod
    def _check_groups(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        unknown = [name for name in names if name not in GROUPS]
        if unknown:
            raise ValueError(f"unknown group {', '.join(map(repr, unknown))}; the groups are {', '.join(GROUPS)}")
        return tuple(dict.fromkeys(names))

    @classmethod
    def read(cls, config: object) -> Self:
        """Validate the host's table: a mapping, None, or a model that the host parsed with this schema."""
        if isinstance(config, cls):
            return config
        if isinstance(config, BaseModel):
            config = config.model_dump(exclude_unset=True)
        try:
            return cls.model_validate({} if config is None else config)
        except ValidationError as problem:
            raise _invalid_config(problem) from problem


class _HostSettings(settings.Settings):
    """Settings from the host's table only: environment variables and the settings file are ignored."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)


def settings_for(config: MemoryConfig, connection: HostConnection, butler: str) -> settings.Settings:
    schema = config.db_schema or _memory_schema(connection.schema, butler)
    values: dict[str, Any] = {
        name: value
        for name in config.model_fields_set & settings.Settings.model_fields.keys()
        if (value := getattr(config, name)) is not None
    }
    values |= {
        "database_url": SecretStr(connection.dsn),
        "owner_url": SecretStr(connection.owner_dsn) if connection.owner_dsn else None,
        "db_schema": schema,
        # One role per butler, so that no butler has rights in another's schema.
        "app_role": config.app_role or f"{schema}_app",
        "butler": butler,
        "service": settings.Service(pooler=config.pooler),
    }
    try:
        return _HostSettings(**values)
    except ValidationError as problem:
        raise _invalid_config(problem) from problem


def _memory_schema(host_schema: str | None, butler: str) -> str:
    """Return the schema of the memory. It is never the host's own, because table names could collide."""
    wanted = f"{host_schema}_memory" if host_schema and host_schema != "public" else f"memory_{butler}"
    plain = re.sub(r"[^a-z0-9_]", "_", wanted)
    if plain == wanted and len(plain) <= SCHEMA_CHARACTERS and not plain[0].isdigit():
        return plain
    # The digest keeps names distinct that differ only in replaced or truncated characters.
    digest = hashlib.sha256(wanted.encode()).hexdigest()[:8]
    return f"{'m' if plain[0].isdigit() else ''}{plain[: SCHEMA_CHARACTERS - 10]}_{digest}"


def _invalid_config(problem: ValidationError) -> InvalidInput:
    lines = []
    for error in problem.errors():
        key = ".".join([TABLE, *(str(part) for part in error["loc"])])
        lines.append(f"{key}: {'unknown key' if error['type'] == 'extra_forbidden' else settings.said_of(error)}")
    return InvalidInput(
        "The host's memory configuration is not valid. " + "; ".join(lines),
        recovery=f"Correct the table [{TABLE}]; the keys are described in docs/guides/embedding-in-a-host.md.",
    )
