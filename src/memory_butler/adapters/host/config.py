"""The host's `[modules.memory]` table, and the settings that come of it. What is not said there has its usual value."""

import hashlib
import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from memory_butler.adapters.answering import Toolbox
from memory_butler.adapters.host.handles import Place
from memory_butler.adapters.mcp import BOXES
from memory_butler.adapters.tools_consolidation import ConsolidationTools
from memory_butler.errors import InvalidInput
from memory_butler.settings import (
    BriefingSettings,
    Consolidation,
    Embedding,
    Group,
    Lifecycle,
    Retrieval,
    Service,
    Settings,
    SqlName,
    Upkeep,
    VectorIndex,
    said_of,
)

TABLE = "modules.memory"
# Names that are made of a schema's are longer than it, and PostgreSQL cuts names at 63.
SCHEMA_CHARACTERS = 48
HostSchema = Annotated[SqlName, Field(max_length=SCHEMA_CHARACTERS)]
_BOXES: tuple[type[Toolbox], ...] = (*BOXES, ConsolidationTools)
# Each box of tools is a group, under its own name.
GROUPS = {box.__name__.removesuffix("Tools").lower(): box for box in _BOXES}


class SessionChoices(Group):
    """What a session is given, and what it leaves behind."""

    deadline_seconds: float = Field(
        2, gt=0, le=60, description="A hook that takes longer is given up; the session goes on without memory."
    )
    episode: Literal["summary", "extract", "model", "off"] = Field(
        "summary",
        description="What becomes the episode of a session: its own `summary`, what is `extract`ed from its last"
        " exchanges, what a `model` notes of them (consolidation.model), or nothing.",
    )
    importance: int = Field(5, ge=1, le=10, description="Importance of such an episode.")
    maintenance_sources: tuple[str, ...] = Field(
        ("maintenance*", "memory*", "schedule:memory*", "consolidation*"),
        description="Triggers whose sessions are upkeep and leave no episode; `*` stands for anything.",
    )


class MemoryConfig(Group):
    """The host's `[modules.memory]` table."""

    enabled: bool = Field(True, description="Off, the module does nothing at all.")
    tools: tuple[str, ...] = Field(
        tuple(GROUPS), description="Groups of tools to register on the butler's server; none: the hooks alone."
    )
    db_schema: HostSchema | None = Field(
        None, description="Schema for the memory; `<the host's schema>_memory`, or else `memory_<butler>`."
    )
    app_role: SqlName | None = Field(None, description="Role that works in it; `<db_schema>_app`.")
    pooler: bool = Field(False, description="Whether the host reaches its database through a transaction pooler.")
    session: SessionChoices = SessionChoices()
    # The rest are settings of Memory Butler itself; unset, they have the values they have there.
    home: Path | None = Field(None, description="Folder for the prepared embedding model.")
    pool_size: int | None = Field(None, description="Most database connections of this butler's memory.")
    deadline_seconds: float | None = Field(None, description="A tool call that takes longer is given up.")
    idempotency_days: float | None = Field(None, description="Days an idempotency key is remembered.")
    retrieval: Retrieval = Retrieval()
    briefing: BriefingSettings = BriefingSettings()
    embedding: Embedding = Embedding()
    lifecycle: Lifecycle = Lifecycle()
    upkeep: Upkeep = Upkeep()
    vector_index: VectorIndex = VectorIndex()
    consolidation: Consolidation = Consolidation()

    @field_validator("tools")
    @classmethod
    def _know_groups(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        unknown = [name for name in names if name not in GROUPS]
        if unknown:
            raise ValueError(f"there is no group {', '.join(map(repr, unknown))}; the groups are {', '.join(GROUPS)}")
        return tuple(dict.fromkeys(names))

    @classmethod
    def read(cls, given: object) -> Self:
        """The table as the host has it: a mapping, nothing, or what its own parser made of it with this schema."""
        if isinstance(given, cls):
            return given
        if isinstance(given, BaseModel):
            given = given.model_dump(exclude_unset=True)
        try:
            return cls.model_validate({} if given is None else given)
        except ValidationError as problem:
            raise _refused(problem) from problem


class _HostSettings(Settings):
    """Settings that come from the host alone: neither the environment nor a local store's file has a say."""

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


def settings_for(config: MemoryConfig, place: Place, butler: str) -> Settings:
    """The settings of one butler's memory."""
    schema = config.db_schema or _schema_beside(place.schema, butler)
    given: dict[str, Any] = {
        name: value
        for name in config.model_fields_set & Settings.model_fields.keys()
        if (value := getattr(config, name)) is not None
    }
    given |= {
        "database_url": SecretStr(place.dsn),
        "owner_url": SecretStr(place.owner_dsn) if place.owner_dsn else None,
        "db_schema": schema,
        # A role of its own: what works in one butler's schema has no rights in another's.
        "app_role": config.app_role or f"{schema}_app",
        "butler": butler,
        "service": Service(pooler=config.pooler),
    }
    try:
        return _HostSettings(**given)
    except ValidationError as problem:
        raise _refused(problem) from problem


def _schema_beside(host_schema: str | None, butler: str) -> str:
    """A schema of its own, never the one with the host's tables: both have tables that could be called the same."""
    wanted = f"{host_schema}_memory" if host_schema and host_schema != "public" else f"memory_{butler}"
    plain = re.sub(r"[^a-z0-9_]", "_", wanted)
    if plain == wanted and len(plain) <= SCHEMA_CHARACTERS and not plain[0].isdigit():
        return plain
    # Two names must not become one by what was replaced or cut off.
    digest = hashlib.sha256(wanted.encode()).hexdigest()[:8]
    return f"{'m' if plain[0].isdigit() else ''}{plain[: SCHEMA_CHARACTERS - 10]}_{digest}"


def _refused(problem: ValidationError) -> InvalidInput:
    lines = []
    for error in problem.errors():
        place = ".".join([TABLE, *(str(part) for part in error["loc"])])
        lines.append(f"{place}: {'there is no such key' if error['type'] == 'extra_forbidden' else said_of(error)}")
    return InvalidInput(
        "The host's configuration of memory is not valid. " + "; ".join(lines),
        recovery=f"Correct the table [{TABLE}]; the keys are described in docs/embedding-in-a-host.md.",
    )
