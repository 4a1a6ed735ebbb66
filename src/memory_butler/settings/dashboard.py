"""The dashboard: whether there is one, how long a login holds, and through whom."""

from typing import Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, model_validator

from memory_butler.settings.service import is_loopback_host
from memory_butler.settings.values import Group, Name, SqlName


class LoginSettings(Group):
    """Logging in through the identity provider of `service.jwt` (OpenID Connect). Without these, with a token only."""

    authorize_url: str | None = Field(None, description="The provider's page where people log in.")
    token_url: str | None = Field(None, description="Where the provider hands out tokens.")
    client_id: str | None = Field(None, description="The name this service is registered under there.")
    client_secret: SecretStr | None = Field(None, description="The secret it is registered with, if it has one.")
    scopes: str = Field("openid profile", description="What the provider is asked for.")
    name: str = Field("your identity provider", description="What the button to log in calls it.")

    @model_validator(mode="after")
    def _name_all_three(self) -> Self:
        needed = {"authorize_url": self.authorize_url, "token_url": self.token_url, "client_id": self.client_id}
        missing = [name for name, value in needed.items() if not value]
        if missing and len(missing) < len(needed):
            raise ValueError(f"{' and '.join(missing)} not set: all three are needed to log in through a provider")
        for name in ("authorize_url", "token_url"):
            parts = urlsplit(needed[name] or "https:")
            if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback_host(parts.hostname)):
                raise ValueError(f"{name} must be an https address, or an http address of this machine")
        return self


class Source(Group):
    """Another store whose butlers are shown beside this one's: that of a host's module, for example."""

    database_url: SecretStr = Field(description="PostgreSQL that holds it.")
    db_schema: SqlName = Field("memory", description="Schema that holds it.")
    app_role: SqlName | None = Field(None, description="Role to work as there; the same as here unless set.")
    tenant: Name = Field("default", description="Tenant to show of it.")


class DashboardSettings(Group):
    """The pages for people."""

    enabled: bool = Field(True, description="Whether `serve` has the dashboard.")
    public_url: str | None = Field(
        None,
        description="Address people reach the service at, if a proxy stands before it: https://memory.example.org.",
    )
    session_hours: float = Field(12, gt=0, le=720, description="Hours a login holds.")
    idle_minutes: float = Field(120, gt=0, le=43200, description="Minutes without a page or click that end a login.")
    login: LoginSettings = LoginSettings()
    sources: dict[Name, Source] = Field(
        default_factory=dict, description="Other [stores](#other-stores) whose butlers are shown, by name."
    )

    @model_validator(mode="after")
    def _reach_it_somewhere(self) -> Self:
        parts = urlsplit(self.public_url or "https://here")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("public_url must start with https:// or http:// and name a host")
        if parts.path.strip("/") or parts.query or parts.fragment:
            raise ValueError("public_url must end with the host and its port: the pages stand at the top of a site")
        return self
