"""API tokens and logins."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from uuid import UUID

from memory_butler.models.vocabulary import Role
from memory_butler.models.wire.codec import ALWAYS


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """An API token, without its secret."""

    tenant: str
    id: UUID
    label: str
    butler: str
    role: Role
    created_at: datetime
    created_by: str
    expires_at: Annotated[datetime | None, ALWAYS] = None
    revoked_at: Annotated[datetime | None, ALWAYS] = None
    last_used_at: Annotated[datetime | None, ALWAYS] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    tenant: str
    butler: str
    role: str = Role.AGENT
    label: str | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A dashboard login, without the key in the browser's cookie."""

    tenant: str
    hash: bytes
    butler: str
    role: Role
    name: str | None
    token_id: UUID | None
    created_at: datetime
    expires_at: datetime
    seen_at: datetime
