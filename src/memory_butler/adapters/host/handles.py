"""The host's database, as far as the memory needs it: where it is, and which schema is the host's own."""

from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import quote

from memory_butler.errors import InvalidInput

# SQLAlchemy names the driver in the scheme; PostgreSQL's own form has none.
_SCHEMES = ("postgresql", "postgres")


class HostDatabase(Protocol):
    """What a host may hand over. A plain DSN string will do as well, or an object with `url` instead of `dsn`, or one
    with `host`, `port`, `user`, `password` and `db_name`.

    Optional: `schema`, the schema of the host's own tables; `owner_dsn`, an account that may create schemas.
    """

    @property
    def dsn(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Place:
    """Where a host keeps its data."""

    dsn: str
    owner_dsn: str | None = None
    schema: str | None = None

    def __repr__(self) -> str:
        return f"Place(schema={self.schema!r})"


def place_of(db: object) -> Place:
    """Read a host's handle; refuses what has no connection in it, without repeating what it holds."""
    if isinstance(db, str):
        return Place(_plain(db))
    given = getattr(db, "dsn", None) or getattr(db, "url", None) or _from_parts(db)
    if not given:
        raise InvalidInput(
            f"The host's database handle ({type(db).__name__}) has neither dsn nor url.",
            recovery="Hand over a DSN such as postgresql://user@host/database, or an object with `dsn` and `schema`.",
        )
    owner, schema = getattr(db, "owner_dsn", None), getattr(db, "schema", None)
    return Place(_plain(given), _plain(owner) if owner else None, str(schema) if schema else None)


def _plain(given: Any) -> str:
    """A connection string as PostgreSQL's own library reads it. URL objects hide the password in their text."""
    given = given.get_secret_value() if hasattr(given, "get_secret_value") else given
    shown = given.render_as_string(hide_password=False) if hasattr(given, "render_as_string") else str(given)
    scheme, separator, rest = shown.partition("://")
    if not separator:
        return shown
    if scheme.partition("+")[0] not in _SCHEMES:
        raise InvalidInput(
            f"The host's database is not PostgreSQL ({scheme[:40]}).",
            recovery="Memory needs PostgreSQL 15 or later with pgvector; hand over such a connection.",
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
    # A host that begins with a slash is a folder with a socket, which has no place before the path of a URL.
    where = f"host={quote(str(host), safe='')}" + (f"&port={port}" if port else "")
    return f"postgresql://{login}{'@' if login else ''}/{quote(str(name), safe='')}?{where}"
