"""The settings object and its sources."""

import os
import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, SecretStr, ValidationError, model_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from memory_butler.errors import InvalidInput, PermissionDenied
from memory_butler.settings import config_file
from memory_butler.settings.backup import BackupSettings
from memory_butler.settings.call_log import CallLogSettings
from memory_butler.settings.dashboard import DashboardSettings
from memory_butler.settings.database import DatabaseSettings
from memory_butler.settings.encryption import EncryptionSettings
from memory_butler.settings.hooks import HookSettings
from memory_butler.settings.lifecycle import EdenTier, Lifecycle
from memory_butler.settings.mcp import McpSettings
from memory_butler.settings.partitions import PartitionSettings
from memory_butler.settings.redaction import RedactionSettings
from memory_butler.settings.retrieval import BriefingSettings, Embedding, Retrieval
from memory_butler.settings.service import Service
from memory_butler.settings.telemetry import Telemetry
from memory_butler.settings.tier_names import read_tier_names
from memory_butler.settings.upkeep import Consolidation, Upkeep
from memory_butler.settings.values import Days, Group, Name, SqlName, said_of
from memory_butler.settings.vector_index import VectorIndex

ENV_PREFIX = "MEMORY_BUTLER_"
# Variables that other parts read: the client, the hooks, the `claude-code` distiller and the compose file.
NO_SETTINGS = frozenset({"URL", "TOKEN", "HOOK_SECONDS", "HOOK_DEBUG", "MAINTENANCE"}) | {
    *("DB_PASSWORD", "DB_OWNER_PASSWORD", "DB_SUPERUSER_PASSWORD"),
}
# Variables that Kubernetes sets for a service whose name has the same prefix.
_SERVICE_LINK = re.compile(r"_(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT_\d+_(?:TCP|UDP)(?:_\w+)?)$")


class ButlerSettings(Group):
    """Settings of one butler."""

    review: bool | None = Field(
        None, description="Proposals for this butler wait for an admin's decision. Unset: as in `consolidation.review`."
    )
    token_budget: int | None = Field(
        None,
        ge=0,
        le=200_000,
        description="Default token budget of this butler's briefings. Unset: as in `briefing.token_budget`.",
    )
    lifecycle: dict[str, Any] = Field(
        default_factory=dict, description="Any of the settings under `lifecycle`, for the memories of this butler."
    )
    redaction: dict[str, Any] = Field(
        default_factory=dict, description="Any of the settings under `redaction`, for what this butler stores."
    )


class TenantSettings(Group):
    """Settings of one tenant."""

    redaction: dict[str, Any] = Field(
        default_factory=dict, description="Any of the settings under `redaction`, for what is stored in this tenant."
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
        None, description="PostgreSQL database (15 or later, pgvector 0.8 or later). Unset: the embedded one."
    )
    owner_url: SecretStr | None = Field(
        None, description="Connection of the schema's owner, for migrations. Unset: `database_url`."
    )
    db_schema: SqlName = Field("memory", description="Schema of all tables.")
    app_role: SqlName = Field("memory_app", description="Database role for all work but migrations. It owns nothing.")
    pool_size: int = Field(10, ge=1, le=200, description="Maximum number of database connections per process.")
    deadline_seconds: float = Field(5, gt=0, le=300, description="Timeout of a call in seconds.")
    tenant: Name = Field("default", description="Tenant of the local shape.")
    butler: Name = Field("main", description="Default butler of calls that name none.")
    host: str = Field("127.0.0.1", description="Address `serve` listens on.")
    port: int = Field(8150, ge=0, le=65535, description="Port `serve` listens on.")
    idempotency_days: Days = Field(7, description="Lifetime of an idempotency key in days.")
    log_level: str = Field("INFO", pattern="^(DEBUG|INFO|WARNING|ERROR)$", description="Minimum severity of log lines.")
    log_format: Literal["text", "json"] = Field(
        "text", description="Format of log lines: text, or one JSON object per line."
    )
    retrieval: Retrieval = Retrieval()
    briefing: BriefingSettings = BriefingSettings()
    hooks: HookSettings = HookSettings()
    mcp: McpSettings = McpSettings()
    embedding: Embedding = Embedding()
    lifecycle: Lifecycle = Lifecycle()
    upkeep: Upkeep = Upkeep()
    telemetry: Telemetry = Telemetry()
    vector_index: VectorIndex = VectorIndex()
    consolidation: Consolidation = Consolidation()
    redaction: RedactionSettings = RedactionSettings()
    encryption: EncryptionSettings = EncryptionSettings()
    database: DatabaseSettings = DatabaseSettings()
    backup: BackupSettings = BackupSettings()
    call_log: CallLogSettings = CallLogSettings()
    partitions: PartitionSettings = PartitionSettings()
    service: Service = Service()
    dashboard: DashboardSettings = DashboardSettings()
    butlers: dict[Name, ButlerSettings] = Field(
        default_factory=dict, description="Settings of [single butlers](#single-butlers), by name."
    )
    tenants: dict[Name, TenantSettings] = Field(
        default_factory=dict, description="Settings of [single tenants](#single-tenants), by name."
    )

    @property
    def warnings(self) -> tuple[str, ...]:
        """One sentence for each deprecated name that was read."""
        own = (
            ("service.listen_url is deprecated; rename it to database.direct_url.",) if self.service.listen_url else ()
        )
        return own + self.retrieval.weights.warnings + self.briefing.warnings + self.service.limits.warnings

    @property
    def logs_calls(self) -> bool:
        """True if the calls of agents are logged."""
        return self.database_url is None if self.call_log.enabled is None else self.call_log.enabled

    @property
    def direct_url(self) -> SecretStr | None:
        """Connection to the primary past a pooler, also by its deprecated name."""
        return self.database.direct_url or self.service.listen_url

    def reached_at(self, port: int | None = None) -> str:
        """Address of the server for programs on this machine."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return f"http://{f'[{host}]' if ':' in host else host}:{port or self.port}"

    def lifecycle_of(self, butler: str) -> Lifecycle:
        """The lifecycle settings of one butler: the general ones, overridden by those of the butler."""
        own = self.butlers.get(butler)
        return self.lifecycle.changed(own.lifecycle) if own else self.lifecycle

    def redaction_of(self, tenant: str, butler: str) -> RedactionSettings:
        """The redaction settings for a write: the general ones, overridden by those of the tenant and the butler."""
        found = self.redaction
        if tenant in self.tenants:
            found = found.changed(self.tenants[tenant].redaction)
        return found.changed(self.butlers[butler].redaction) if butler in self.butlers else found

    def fading_thresholds(self) -> dict[str | None, float]:
        """The fading threshold of each butler with settings of its own; under None the one of all others."""
        own: dict[str | None, float] = {name: self.lifecycle_of(name).decay.fading_below for name in self.butlers}
        return {None: self.lifecycle.decay.fading_below, **own}

    def eden_of_butlers(self) -> dict[str | None, EdenTier]:
        """The episode settings of each butler with settings of its own; under None those of all others."""
        own: dict[str | None, EdenTier] = {name: self.lifecycle_of(name).eden for name in self.butlers}
        return {None: self.lifecycle.eden, **own}

    def min_confidence_of(self, requested: float | None) -> float:
        """Minimum effective confidence of a search: as requested, else as set, else the fading threshold."""
        chosen = self.retrieval.min_confidence if requested is None else requested
        return self.lifecycle.decay.fading_below if chosen is None else chosen

    @property
    def learned_scope(self) -> str:
        """How the scope of new memories is chosen: by-subject, own or global."""
        chosen = self.consolidation.scope
        return chosen if chosen != "auto" else "own" if self.database_url else "by-subject"

    def reviews(self, butler: str) -> bool:
        """Whether proposals for a butler wait for an admin's decision."""
        own = self.butlers.get(butler)
        return self.consolidation.review if own is None or own.review is None else own.review

    def token_budget_of(self, butler: str) -> int:
        """Token budget of a briefing for a butler whose request names none."""
        own = self.butlers.get(butler)
        return self.briefing.token_budget if own is None or own.token_budget is None else own.token_budget

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        config = TomlConfigSettingsSource(settings_cls, toml_file=_config_file(init_settings()))
        return init_settings, env_settings, config

    @model_validator(mode="before")
    @classmethod
    def _read_tier_names(cls, values: Any) -> Any:
        return read_tier_names(values)

    @model_validator(mode="after")
    def _resolve_home(self) -> Self:
        object.__setattr__(self, "home", self.home.expanduser().absolute())
        return self

    @model_validator(mode="after")
    def _check_key_file(self) -> Self:
        file = self.encryption.key_file
        if file and file.expanduser().absolute().is_relative_to(self.home):
            raise ValueError("encryption.key_file is in the home folder, where a backup would contain it; move it out")
        return self

    @model_validator(mode="after")
    def _check_login_provider(self) -> Self:
        if self.dashboard.login.authorize_url and not self.service.jwt.issuer:
            raise ValueError(
                "dashboard.login needs service.jwt (issuer, audience, key_set) to verify the provider's tokens"
            )
        return self

    @model_validator(mode="after")
    def _check_single(self) -> Self:
        checks: list[tuple[str, str, str, Callable[[], object]]] = [
            ("butlers", name, "lifecycle", partial(self.lifecycle_of, name)) for name in self.butlers
        ]
        for group, names in (("butlers", self.butlers), ("tenants", self.tenants)):
            for name, own in names.items():
                checks.append((group, name, "redaction", partial(self.redaction.changed, own.redaction)))
        for group, name, setting, check in checks:
            try:
                check()
            except ValidationError as problem:
                first = problem.errors()[0]
                place = ".".join([group, name, setting, *(str(part) for part in first["loc"])])
                raise ValueError(f"{place}: {said_of(first)}") from problem
        return self


def _refuse_unknown(environment: Mapping[str, str]) -> None:
    """Refuse unknown variables: a misspelled `service.auth` must not open the server to everybody."""
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
            f"The environment variable {name} is not a setting.",
            recovery=f"{meant}Correct or unset it; docs/reference/settings.md lists all settings.",
        )


def load_settings(**given: Any) -> Settings:
    """Read the settings; an error names the invalid one."""
    _refuse_unknown(os.environ)
    try:
        return Settings(**given)
    except ValidationError as problem:
        raise config_file.invalid(_config_file(given), problem.errors(), Settings) from problem
    except PermissionError as problem:
        home = _config_file(given).parent
        raise PermissionDenied(
            f"The home folder {home} belongs to another account (user id {home.stat().st_uid}).",
            recovery="Run as that account, or set MEMORY_BUTLER_HOME to a folder of your own.",
        ) from problem
    except ValueError as problem:  # a config file that is not TOML
        raise config_file.unreadable(_config_file(given), problem) from problem


def _config_file(given: Mapping[str, Any]) -> Path:
    home = given.get("home") or os.environ.get(f"{ENV_PREFIX}HOME") or "~/.memory-butler"
    return Path(str(home)).expanduser() / "config.toml"
