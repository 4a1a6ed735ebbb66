"""Dashboard settings: logins, the identity provider, and other stores to show."""

from typing import Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, model_validator

from memory_butler.settings.service import is_loopback_host
from memory_butler.settings.values import Group, Name, SqlName


class LoginSettings(Group):
    """Login through the identity provider of `service.jwt` (OpenID Connect). Unset: login with an API token only."""

    authorize_url: str | None = Field(None, description="The provider's authorization endpoint.")
    token_url: str | None = Field(None, description="The provider's token endpoint.")
    client_id: str | None = Field(None, description="Client id of this service at the provider.")
    client_secret: SecretStr | None = Field(
        None, description="Client secret of this service at the provider, if it has one."
    )
    scopes: str = Field("openid profile", description="Scopes requested from the provider.")
    name: str = Field("your identity provider", description="Name of the provider on the login button.")

    @model_validator(mode="after")
    def _check_complete(self) -> Self:
        needed = {"authorize_url": self.authorize_url, "token_url": self.token_url, "client_id": self.client_id}
        missing = [name for name, value in needed.items() if not value]
        if missing and len(missing) < len(needed):
            raise ValueError(f"{' and '.join(missing)} not set: login through a provider needs all three")
        for name in ("authorize_url", "token_url"):
            parts = urlsplit(needed[name] or "https:")
            if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback_host(parts.hostname)):
                raise ValueError(f"{name} must be an https address, or an http address of this machine")
        return self


class Source(Group):
    """Another store whose butlers the dashboard shows too, for example that of a host's memory module."""

    database_url: SecretStr = Field(description="PostgreSQL database of the store.")
    db_schema: SqlName = Field("memory", description="Schema of the store.")
    app_role: SqlName | None = Field(None, description="Database role to use there. Unset: the same as here.")
    tenant: Name = Field("default", description="Tenant of the store to show.")


class DashboardSettings(Group):
    """The web dashboard."""

    enabled: bool = Field(True, description="Serve the dashboard.")
    public_url: str | None = Field(
        None,
        description="Public address of the service behind a proxy, for example https://memory.example.org.",
    )
    session_hours: float = Field(12, gt=0, le=720, description="Hours until a login expires.")
    idle_minutes: float = Field(
        120, gt=0, le=43200, description="Minutes without activity after which a login expires."
    )
    login_roles: tuple[Literal["reader", "agent", "admin", "operator"], ...] = Field(
        ("reader", "agent", "admin", "operator"), min_length=1, description="Roles that may log in to the dashboard."
    )
    changes: Literal["admin", "role"] = Field(
        "admin",
        description="Who may change memories in the dashboard of a service. `admin`: admins and operators. `role`: "
        "everyone whose role allows it in the API.",
    )
    open_pages: int = Field(
        200, ge=2, le=10_000, description="Maximum number of open pages; each takes almost a megabyte of memory."
    )
    login: LoginSettings = LoginSettings()
    sources: dict[Name, Source] = Field(
        default_factory=dict,
        description="Other stores to show, by name; see [several stores](../guides/dashboard.md#several-stores).",
    )

    @model_validator(mode="after")
    def _check_public_url(self) -> Self:
        parts = urlsplit(self.public_url or "https://here")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("public_url must start with https:// or http:// and name a host")
        if parts.path.strip("/") or parts.query or parts.fragment:
            raise ValueError("public_url must not have a path: the dashboard is served from the root of the site")
        return self
