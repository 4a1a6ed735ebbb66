"""Connection details from the host's database handle."""

from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import quote

from memory_butler.errors import InvalidInput

# SQLAlchemy adds the driver to the scheme (postgresql+asyncpg); libpq does not accept that.
_SCHEMES = ("postgresql", "postgres")


class HostDatabase(Protocol):
    """Database handle of a host. Also accepted: a DSN string, an object with `url` instead of `dsn`, or an object with
    `host`, `port`, `user`, `password` and `db_name`.

    Optional: `schema`, the schema of the host's own tables; `owner_dsn`, a login that may create schemas.
    """

    @property
    def dsn(self) -> str: ...


@dataclass(frozen=True, slots=True)
class HostConnection:
    dsn: str
    owner_dsn: str | None = None
    schema: str | None = None

    def __repr__(self) -> str:
        # Without the DSNs, which contain passwords.
        return f"HostConnection(schema={self.schema!r})"


def host_connection(db: object) -> HostConnection:
    """Read the connection details of a host's handle. Errors name its type only: the handle may contain a password."""
    if isinstance(db, str):
        return HostConnection(_libpq_dsn(db))
    dsn = getattr(db, "dsn", None) or getattr(db, "url", None) or _from_parts(db)
    if not dsn:
        raise InvalidInput(
            f"The host's database handle ({type(db).__name__}) has neither dsn nor url.",
            recovery="Pass a DSN such as postgresql://user@host/database, or an object with `dsn` and `schema`.",
        )
    owner, schema = getattr(db, "owner_dsn", None), getattr(db, "schema", None)
    return HostConnection(_libpq_dsn(dsn), _libpq_dsn(owner) if owner else None, str(schema) if schema else None)


def _libpq_dsn(dsn: Any) -> str:
    """Return a connection string that libpq accepts. `str()` of a URL object or a secret would mask the password."""
    dsn = dsn.get_secret_value() if hasattr(dsn, "get_secret_value") else dsn
    text = dsn.render_as_string(hide_password=False) if hasattr(dsn, "render_as_string") else str(dsn)
    scheme, separator, rest = text.partition("://")
    if not separator:
        return text
    if scheme.partition("+")[0] not in _SCHEMES:
        raise InvalidInput(
            f"The host's database is not PostgreSQL ({scheme[:40]}).",
            recovery="Pass a connection to PostgreSQL 15 or later with pgvector.",
        )
    return f"postgresql://{rest}"


def _from_parts(db: object) -> str | None:
    name = getattr(db, "db_name", None) or getattr(db, "database", None)
    host = getattr(db, "host", None)
    if not (name and host):
        return None
    user, password, port = (getattr(db, part, None) for part in ("user", "password", "port"))
    login = quote(str(user), safe="") if user else ""
    login += f":{quote(str(password), safe='')}" if user and password else ""
    # In the query string, because a host that begins with a slash is a socket folder.
    query = f"host={quote(str(host), safe='')}" + (f"&port={port}" if port else "")
    return f"postgresql://{login}{'@' if login else ''}/{quote(str(name), safe='')}?{query}"
