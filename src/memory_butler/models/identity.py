"""Who somebody is to the service."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory_butler.models.vocabulary import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A key to the service, without its secret."""

    tenant: str
    id: UUID
    label: str
    butler: str
    role: Role
    created_at: datetime
    created_by: str
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    tenant: str
    butler: str
    role: str = Role.AGENT
    label: str | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A person at the dashboard, without the key that their browser has."""

    tenant: str
    hash: bytes
    butler: str
    role: Role
    name: str | None
    token_id: UUID | None
    created_at: datetime
    expires_at: datetime
    seen_at: datetime
