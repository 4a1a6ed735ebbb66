"""Settings of the service: authentication and limits."""

from ipaddress import ip_address
from typing import ClassVar, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, model_validator

from memory_butler.settings.values import DeprecatedGroup, Group

Signature = Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"]


def is_loopback_host(name: str | None) -> bool:
    """Return True for localhost and loopback addresses."""
    try:
        return name == "localhost" or ip_address(name or "").is_loopback
    except ValueError:
        return False


class JwtSettings(Group):
    """JSON Web Tokens of an identity provider. Without an issuer none are accepted."""

    issuer: str | None = Field(None, description="Required issuer, exactly as in the claim `iss`.")
    audience: str | None = Field(None, description="Required audience, as in the claim `aud`.")
    key_set: str | None = Field(None, description="Public keys of the provider (JWKS): an https URL or a file.")
    algorithms: tuple[Signature, ...] = Field(
        ("RS256", "ES256", "EdDSA"), min_length=1, description="Accepted signature algorithms, never symmetric ones."
    )
    tenant_claim: str = Field("tenant", description="Claim with the tenant.")
    butler_claim: str = Field("butler", description="Claim with the butler.")
    role_claim: str = Field("role", description="Claim with the role; without it the caller is a reader.")
    name_claim: str = Field("sub", description="Claim with the name of the user or program.")
    leeway_seconds: float = Field(30, ge=0, le=300, description="Allowed clock difference in seconds.")
    key_set_minutes: float = Field(10, gt=0, le=1440, description="Minutes that fetched keys are cached.")

    @model_validator(mode="after")
    def _check_complete(self) -> Self:
        named = {"issuer": self.issuer, "audience": self.audience, "key_set": self.key_set}
        missing = [name for name, value in named.items() if not value]
        if missing and len(missing) < len(named):
            raise ValueError(
                f"{' and '.join(missing)} not set: issuer, audience and key_set are needed together, otherwise a"
                " token issued for another service would be accepted"
            )
        return self

    @model_validator(mode="after")
    def _check_key_set(self) -> Self:
        scheme, separator, _ = (self.key_set or "").partition("://")
        if (
            separator
            and scheme != "https"
            and not (scheme == "http" and is_loopback_host(urlsplit(self.key_set or "").hostname))
        ):
            raise ValueError("key_set must be an https address, an http address of this machine, or a file")
        return self


class Limits(DeprecatedGroup):
    """Limits of one server. A request over a limit is refused at once, with the time after which to retry."""

    path: ClassVar = "service.limits"
    deprecated: ClassVar = {"calls_a_second": None}

    request_bytes: int = Field(4_194_304, ge=1024, description="Maximum size of a request in bytes.")
    batch_items: int = Field(100, ge=1, le=1000, description="Maximum number of items in one batch call.")
    concurrency: int | None = Field(
        None,
        ge=1,
        le=10_000,
        description="Maximum number of concurrent calls (default: 4 per core, at least 8).",
    )
    waiting: int = Field(32, ge=0, le=100_000, description="Maximum number of calls waiting for a free slot.")
    caller_share: float = Field(
        0.5,
        gt=0,
        le=1,
        description="Largest share of the slots, of the waiting calls and of the streams that one caller may have.",
    )
    tenant_share: float = Field(
        0.75,
        gt=0,
        le=1,
        description="Largest share of the slots, of the waiting calls and of the streams that one tenant may have.",
    )
    streams: int = Field(200, ge=1, le=100_000, description="Maximum number of open activity streams.")


class FeedbackLimits(Group):
    """How much feedback of one caller counts for the maturity of a rule. Every mark is stored all the same."""

    apply: Literal["service", "always", "never"] = Field(
        "service", description='`service`: with `auth = "required"` only; the local store counts every mark.'
    )
    marks_per_session: int = Field(
        1, ge=1, le=1000, description="Helpful, and harmful, marks on one rule that count per agent session."
    )
    marks_per_caller: int = Field(
        2, ge=1, le=1000, description="Helpful, and harmful, marks on one rule that count per caller and day."
    )
    sessions_to_mature: int = Field(
        3, ge=1, le=1000, description="Agent sessions with helpful marks that an established rule needs."
    )
    sessions_to_invert: int = Field(
        2, ge=1, le=1000, description="Agent sessions with harmful marks that turn a rule into a warning."
    )
    callers_to_mature: int = Field(
        1, ge=1, le=1000, description="Callers with helpful marks that an established rule needs."
    )
    callers_to_invert: int = Field(
        2,
        ge=1,
        le=1000,
        description="Callers with harmful marks that turn a rule into a warning. 1: one caller is enough, over days.",
    )


class Service(Group):
    """A server for many callers over the network."""

    auth: Literal["off", "required"] = Field(
        "off", description="`required`: every request needs a token. `off`: only this machine is served."
    )
    local_access: Literal["account", "token", "open"] = Field(
        "account",
        description='Callers of a server with `auth = "off"`. `account`: programs of the account that runs it, which '
        "Linux tells, and callers with the token in the file `token` of the home folder. `token`: the latter only. "
        "`open`: every account of this machine.",
    )
    workers: int = Field(
        1,
        ge=1,
        le=64,
        description="Server processes behind the port (`serve --workers`). Each has its own model and `pool_size`"
        " connections; the limits are divided between them. With more than one, the dashboard is a process of its own"
        " (`memory-butler dashboard`) and MCP sessions have no state.",
    )
    listen_url: SecretStr | None = Field(None, description="Deprecated; the new name is `database.direct_url`.")
    pooler: bool | None = Field(
        None,
        description="Whether connections lead through a transaction pooler: then no statement is prepared. Unset:"
        " detected at the start.",
    )
    poll_seconds: float = Field(
        2, ge=0.1, le=60, description="Polling interval of activity streams in seconds, where LISTEN is not available."
    )
    token_cache_seconds: float = Field(
        60, ge=0, le=300, description="Seconds an API token is cached; a revoked one may keep working for that long."
    )
    min_free_megabytes: int = Field(
        64, ge=0, description="Free space on the disk of the home folder below which the server reports not ready."
    )
    jwt: JwtSettings = JwtSettings()
    limits: Limits = Limits()
    feedback: FeedbackLimits = FeedbackLimits()

    @property
    def feedback_limits(self) -> FeedbackLimits | None:
        """The limits of feedback, if they apply."""
        applies = {"service": self.auth == "required", "always": True, "never": False}
        return self.feedback if applies[self.feedback.apply] else None
