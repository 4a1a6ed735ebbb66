"""All settings together, and where they are read from."""

import os
import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, SecretStr, ValidationError, model_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from memory_butler.errors import InvalidInput
from memory_butler.settings.dashboard import DashboardSettings
from memory_butler.settings.lifecycle import Lifecycle
from memory_butler.settings.retrieval import BriefingSettings, Embedding, Retrieval
from memory_butler.settings.service import Service
from memory_butler.settings.upkeep import Consolidation, Upkeep
from memory_butler.settings.values import Days, Group, Name, SqlName, said_of
from memory_butler.settings.vector_index import VectorIndex

ENV_PREFIX = "MEMORY_BUTLER_"
# Variables that are read by others: the client and the hooks, agents that upkeep starts, the compose file.
NO_SETTINGS = frozenset({"URL", "TOKEN", "HOOK_SECONDS", "HOOK_DEBUG", "MAINTENANCE", "DB_PASSWORD"})
# What Kubernetes puts there for a service whose name begins like ours.
_SERVICE_LINK = re.compile(r"_(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT_\d+_(?:TCP|UDP)(?:_\w+)?)$")


class ButlerSettings(Group):
    """What differs for one butler."""

    review: bool | None = Field(None, description="Whether proposals for this butler wait for a person's decision.")
    lifecycle: dict[str, Any] = Field(
        default_factory=dict, description="Any of the settings under `lifecycle`, for this butler alone."
    )


class Settings(BaseSettings):
    """All settings of Memory Butler."""

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX,
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
    )

    home: Path = Field(Path("~/.memory-butler"), description="Home folder: database, model cache, config file, logs.")
    database_url: SecretStr | None = Field(
        None, description="PostgreSQL to use instead of the embedded one (15 or later, pgvector 0.8 or later)."
    )
    owner_url: SecretStr | None = Field(
        None, description="Connection that owns the schema, for migrations; the database URL if not given."
    )
    db_schema: SqlName = Field("memory", description="Schema that holds everything.")
    app_role: SqlName = Field(
        "memory_app", description="Role the program works as in a database of yours; owns nothing."
    )
    pool_size: int = Field(10, ge=1, le=200, description="Most database connections of one process.")
    deadline_seconds: float = Field(5, gt=0, le=300, description="A call that takes longer is given up.")
    tenant: Name = Field("default", description="Tenant of the local shape.")
    butler: Name = Field("main", description="Name this process calls itself when a call names no butler.")
    host: str = Field("127.0.0.1", description="Address `serve` listens on.")
    port: int = Field(8150, ge=0, le=65535, description="Port `serve` listens on.")
    idempotency_days: Days = Field(7, description="Days an idempotency key is remembered.")
    log_level: str = Field("INFO", pattern="^(DEBUG|INFO|WARNING|ERROR)$", description="Least severe log line written.")
    log_format: Literal["text", "json"] = Field("text", description="Log lines for people, or one JSON object each.")
    retrieval: Retrieval = Retrieval()
    briefing: BriefingSettings = BriefingSettings()
    embedding: Embedding = Embedding()
    lifecycle: Lifecycle = Lifecycle()
    upkeep: Upkeep = Upkeep()
    vector_index: VectorIndex = VectorIndex()
    consolidation: Consolidation = Consolidation()
    service: Service = Service()
    dashboard: DashboardSettings = DashboardSettings()
    butlers: dict[Name, ButlerSettings] = Field(
        default_factory=dict, description="What differs for [single butlers](#single-butlers), by name."
    )

    def reached_at(self, port: int | None = None) -> str:
        """Where programs on this machine reach the server: one that listens everywhere, at its loopback address."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return f"http://{f'[{host}]' if ':' in host else host}:{port or self.port}"

    def lifecycle_of(self, butler: str) -> Lifecycle:
        """The lifecycle of one butler's memories: the general one, with what was set for this butler."""
        own = self.butlers.get(butler)
        return self.lifecycle.changed(own.lifecycle) if own else self.lifecycle

    def reviews(self, butler: str) -> bool:
        """Whether what is distilled for a butler waits for a person's decision."""
        own = self.butlers.get(butler)
        return self.consolidation.review if own is None or own.review is None else own.review

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        given = init_settings().get("home") or os.environ.get(f"{ENV_PREFIX}HOME") or "~/.memory-butler"
        config = Path(str(given)).expanduser() / "config.toml"
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls, toml_file=config)

    @model_validator(mode="after")
    def _resolve_home(self) -> Self:
        object.__setattr__(self, "home", self.home.expanduser().absolute())
        return self

    @model_validator(mode="after")
    def _know_the_provider(self) -> Self:
        if self.dashboard.login.authorize_url and not self.service.jwt.issuer:
            raise ValueError(
                "dashboard.login needs service.jwt (issuer, audience, key_set): the provider's tokens are checked by it"
            )
        return self

    @model_validator(mode="after")
    def _check_butlers(self) -> Self:
        for name in self.butlers:
            try:
                self.lifecycle_of(name)
            except ValidationError as problem:
                first = problem.errors()[0]
                place = ".".join(["butlers", name, "lifecycle", *(str(part) for part in first["loc"])])
                raise ValueError(f"{place}: {said_of(first)}") from problem
        return self


def _refuse_unknown(environment: Mapping[str, str]) -> None:
    """Whoever misspells `service.auth` must not get a server that is open to everybody."""
    given = {name.upper(): value for name, value in environment.items()}
    for name, value in sorted(given.items()):
        first = name.removeprefix(ENV_PREFIX).partition("__")[0]
        if not name.startswith(ENV_PREFIX) or first in NO_SETTINGS or first.lower() in Settings.model_fields:
            continue
        if _SERVICE_LINK.search(first) or value.startswith(("tcp://", "udp://")):
            continue
        known = [
            f"{ENV_PREFIX}{field.upper()}"
            for field, info in Settings.model_fields.items()
            if not isinstance(info.default, Group)
        ]
        known += [
            f"{ENV_PREFIX}{group.upper()}__{field.upper()}"
            for group, info in Settings.model_fields.items()
            if isinstance(info.default, Group)
            for field in type(info.default).model_fields
        ]
        meant = "".join(f"Did you mean {near}? " for near in get_close_matches(name, known, 1))
        raise InvalidInput(
            f"The environment variable {name} is no setting.",
            recovery=f"{meant}Correct or unset it; docs/settings.md lists those that there are.",
        )


def load_settings(**given: Any) -> Settings:
    """Read the settings, or say which one is wrong."""
    _refuse_unknown(os.environ)
    try:
        return Settings(**given)
    except ValidationError as problem:
        lines = [f"{'.'.join(str(part) for part in e['loc']) or 'settings'}: {said_of(e)}" for e in problem.errors()]
        raise InvalidInput(
            "The settings are not valid. " + "; ".join(lines),
            recovery="Correct config.toml in the home folder or the MEMORY_BUTLER_… variable; see docs/settings.md.",
        ) from problem
    except ValueError as problem:  # a config file that is not TOML
        raise InvalidInput(f"config.toml cannot be read: {problem}") from problem
