"""Serving a team over the network: who may call, and how much."""

from ipaddress import ip_address
from typing import Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, model_validator

from memory_butler.settings.values import Group

Signature = Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"]


def is_loopback_host(name: str | None) -> bool:
    """Whether a host's name or address is this machine itself."""
    try:
        return name == "localhost" or ip_address(name or "").is_loopback
    except ValueError:
        return False


class JwtSettings(Group):
    """Tokens of an identity provider (JWT). Without an issuer none are accepted."""

    issuer: str | None = Field(None, description="Who must have issued them, exactly as in their claim `iss`.")
    audience: str | None = Field(None, description="Whom they must be for, as in their claim `aud`.")
    key_set: str | None = Field(None, description="Its public keys (JWKS): an https address, or a file.")
    algorithms: tuple[Signature, ...] = Field(
        ("RS256", "ES256", "EdDSA"), min_length=1, description="Signatures that are accepted; never a shared secret's."
    )
    tenant_claim: str = Field("tenant", description="Claim that names the tenant.")
    butler_claim: str = Field("butler", description="Claim that names the butler.")
    role_claim: str = Field("role", description="Claim that names the role; without it the caller is a reader.")
    name_claim: str = Field("sub", description="Claim that names the person or program.")
    leeway_seconds: float = Field(30, ge=0, le=300, description="How far clocks may differ.")
    key_set_minutes: float = Field(10, gt=0, le=1440, description="How long fetched keys are used before a fresh look.")

    @model_validator(mode="after")
    def _name_all_three(self) -> Self:
        named = {"issuer": self.issuer, "audience": self.audience, "key_set": self.key_set}
        missing = [name for name, value in named.items() if not value]
        if missing and len(missing) < len(named):
            raise ValueError(
                f"{' and '.join(missing)} not set: issuer, audience and key_set are needed together, or a token that"
                " was made for another service would be good here"
            )
        return self

    @model_validator(mode="after")
    def _fetch_keys_safely(self) -> Self:
        scheme, separator, _ = (self.key_set or "").partition("://")
        if (
            separator
            and scheme != "https"
            and not (scheme == "http" and is_loopback_host(urlsplit(self.key_set or "").hostname))
        ):
            raise ValueError("key_set must be an https address, an http address of this machine, or a file")
        return self


class Limits(Group):
    """What one server takes on. What is over is refused at once, and told when to try again."""

    request_bytes: int = Field(4_194_304, ge=1024, description="Longest request.")
    batch_items: int = Field(100, ge=1, le=1000, description="Most items of one batch.")
    concurrency: int | None = Field(
        None,
        ge=1,
        le=10_000,
        description="Most calls that are worked on at the same time; unless set, 4 for each core and at least 8.",
    )
    waiting: int = Field(32, ge=0, le=100_000, description="Most calls that wait for their turn.")
    calls_a_second: float = Field(
        0, ge=0, description="Most calls a second of one token or person, over ten seconds; 0: no such limit."
    )
    streams: int = Field(200, ge=1, le=100_000, description="Most open activity streams.")


class Service(Group):
    """Serving a team over the network."""

    auth: Literal["off", "required"] = Field(
        "off", description="Whether callers must say who they are. Off, only this machine is served."
    )
    listen_url: SecretStr | None = Field(
        None, description="Direct connection to the database for news of changes, where the other is through a pooler."
    )
    pooler: bool = Field(
        False,
        description="Whether the database is reached through a transaction pooler: nothing is prepared there then.",
    )
    poll_seconds: float = Field(
        2, ge=0.1, le=60, description="How often activity streams look for themselves where they cannot hear of news."
    )
    token_cache_seconds: float = Field(
        60, ge=0, le=300, description="How long a token is remembered; a revoked one may work for so long."
    )
    jwt: JwtSettings = JwtSettings()
    limits: Limits = Limits()
