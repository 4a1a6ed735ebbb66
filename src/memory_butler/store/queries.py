"""Named queries: one `.sql` file per noun, each query with a name and a line of purpose.

What several queries, or several places of one, have in common stands above them as a named *part*; `{name}` puts it
in, and `{noun.name}` a part of another file.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from psycopg import sql

_HEAD = re.compile(r"^-- (name|part): (\w+)\n((?:-- .*\n)+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Names:
    """The names that are configurable and therefore put into the SQL when it is loaded."""

    schema: str = "memory"
    app_role: str = "memory_app"
    vector: str = "public"
    # Set for a look at another time: the schema that holds the tables as they were then.
    rebuilt_in: str | None = None

    @property
    def scratch(self) -> str:
        """The schema that tables are rebuilt into from the log: for a replay one beside the store."""
        return self.rebuilt_in or f"{self.schema[:56]}_replay"

    @property
    def tables(self) -> str:
        """The schema whose tables a search reads."""
        return self.rebuilt_in or self.schema

    def fill(self, text: str) -> str:
        for name in ("schema", "app_role", "vector", "scratch", "tables"):
            text = text.replace("{" + name + "}", sql.Identifier(getattr(self, name)).as_string())
        return text


def _blocks() -> Iterator[tuple[str, str, str, str]]:
    """The noun of every part and query, which of the two it is, its name and its words."""
    folder = files("memory_butler.store") / "sql"
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if not file.name.endswith(".sql"):
            continue
        text = file.read_text(encoding="utf-8")
        heads = list(_HEAD.finditer(text))
        for head, following in zip(heads, [*heads[1:], None], strict=True):
            body = text[head.end() : following.start() if following else len(text)].strip().removesuffix(";")
            yield file.name.removesuffix(".sql"), head[1], head[2], body


def _with_parts(body: str, parts: Mapping[str, str]) -> str:
    for name, words in parts.items():
        body = body.replace("{" + name + "}", words)
    return body


@cache
def _sources() -> dict[str, str]:
    blocks = list(_blocks())
    own: dict[str, dict[str, str]] = defaultdict(dict)
    for noun, kind, name, body in blocks:
        if kind == "part":
            own[noun][name] = _with_parts(body, own[noun])
    shared = {f"{noun}.{name}": words for noun, parts in own.items() for name, words in parts.items()}
    return {
        f"{noun}.{name}": _with_parts(body, own[noun] | shared) for noun, kind, name, body in blocks if kind == "name"
    }


@cache
def load_queries(names: Names) -> dict[str, bytes]:
    """Every query by `noun.name`, ready to run against the schema."""
    return {name: names.fill(body).encode() for name, body in _sources().items()}


def migration_body(revision: str, names: Names) -> str:
    """The SQL of one migration."""
    file = files("memory_butler.store") / "migrations" / f"{revision}.sql"
    return names.fill(file.read_text(encoding="utf-8"))


_PLACEHOLDER = re.compile(rb"%(?:\((\w+)\)s|%)")


@cache
def numbered(query: bytes) -> tuple[bytes, tuple[str, ...]]:
    """A query with numbered placeholders, and the names of its parameters in that order.

    The driver does this anew for every call of a query that is long.
    """
    names: dict[str, int] = {}

    def number(found: re.Match[bytes]) -> bytes:
        if found[1] is None:
            return b"%"
        return b"$%d" % names.setdefault(found[1].decode(), len(names) + 1)

    return _PLACEHOLDER.sub(number, query), tuple(names)
