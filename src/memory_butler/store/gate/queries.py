"""Named queries: one `.sql` file per noun, each query with a name and a line of purpose.

Text that several queries share is a named *part*. `{name}` inserts it; `{noun.name}` inserts a part of another file. A
list of columns is such a part, so that every table names its columns in one place.

`-- each: fact=facts, rule=rules` below a name makes one query or part for each entry, `name:fact` and `name:rule`, with
the two words in the place of `{kind}` and `{table}`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from psycopg import sql

_HEAD = re.compile(r"^-- (name|part): (\w+)\n((?:-- each: .+\n)*)(?:-- .*\n)+", re.MULTILINE)
_ENTRY = re.compile(r"(\w+)=(\w+)")
_PART = re.compile(r"\{(?:(\w+)\.)?(\w+(?::\w+)?)\}")


@dataclass(frozen=True, slots=True)
class Names:
    """Configurable names, inserted into the SQL when it is loaded."""

    schema: str = "memory"
    app_role: str = "memory_app"
    vector: str = "public"
    # For searches as of an earlier time: the schema with the tables as they were then.
    rebuilt_in: str | None = None

    @property
    def scratch(self) -> str:
        """Schema into which a replay rebuilds the tables from the event log."""
        return self.rebuilt_in or f"{self.schema[:56]}_replay"

    @property
    def tables(self) -> str:
        """Schema whose tables a search reads."""
        return self.rebuilt_in or self.schema

    def fill(self, text: str) -> str:
        for name in ("schema", "app_role", "vector", "scratch", "tables"):
            text = text.replace("{" + name + "}", sql.Identifier(getattr(self, name)).as_string())
        return text


def _blocks() -> Iterator[tuple[str, str, str, str]]:
    """Yield noun, kind (part or name), name and body of every block."""
    subjects = [folder for folder in files("memory_butler.store").iterdir() if folder.name != "migrations"]
    sources = [file for folder in subjects if folder.is_dir() for file in folder.iterdir()]
    for file in sorted(sources, key=lambda entry: entry.name):
        if not file.name.endswith(".sql"):
            continue
        text = file.read_text(encoding="utf-8")
        heads = list(_HEAD.finditer(text))
        for head, following in zip(heads, [*heads[1:], None], strict=True):
            body = text[head.end() : following.start() if following else len(text)].strip().removesuffix(";")
            for name, filled in _variants(head[2], head[3], body):
                yield file.name.removesuffix(".sql"), head[1], name, filled


def _variants(name: str, each: str, body: str) -> Iterator[tuple[str, str]]:
    if not each:
        yield name, body
    for kind, table in _ENTRY.findall(each):
        yield f"{name}:{kind}", body.replace("{kind}", kind).replace("{table}", table)


def _with_parts(noun: str, body: str, parts: Mapping[str, str]) -> str:
    """The body with its parts, and theirs, in place."""

    def part(reference: re.Match[str]) -> str:
        owner, name = reference[1] or noun, reference[2]
        words = parts.get(f"{owner}.{name}")
        return reference[0] if words is None else _with_parts(owner, words, parts)

    return _PART.sub(part, body)


@cache
def _sources() -> dict[str, str]:
    blocks = list(_blocks())
    parts = {f"{noun}.{name}": body for noun, kind, name, body in blocks if kind == "part"}
    return {f"{noun}.{name}": _with_parts(noun, body, parts) for noun, kind, name, body in blocks if kind == "name"}


@cache
def load_queries(names: Names) -> dict[str, bytes]:
    """Return every query by `noun.name`, with the names of this schema."""
    return {name: names.fill(body).encode() for name, body in _sources().items()}


def migration_body(revision: str, names: Names) -> str:
    file = files("memory_butler.store") / "migrations" / f"{revision}.sql"
    return names.fill(file.read_text(encoding="utf-8"))


_PLACEHOLDER = re.compile(rb"%(?:\((\w+)\)s|%)")


@cache
def numbered(query: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Return the query with numbered placeholders, and the names of its parameters in that order.

    psycopg repeats this for every call of a long query; here it is cached.
    """
    names: dict[str, int] = {}

    def number(found: re.Match[bytes]) -> bytes:
        if found[1] is None:
            return b"%"
        return b"$%d" % names.setdefault(found[1].decode(), len(names) + 1)

    return _PLACEHOLDER.sub(number, query), tuple(names)
