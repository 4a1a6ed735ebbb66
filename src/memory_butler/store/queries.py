"""Named queries: one `.sql` file per noun, each query with a name and a line of purpose.

What several queries of a file, or several places of one, have in common stands above them as a named *part*; `{name}`
puts it in.
"""

import re
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


@cache
def _sources() -> dict[str, str]:
    folder = files("memory_butler.store") / "sql"
    found: dict[str, str] = {}
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if not file.name.endswith(".sql"):
            continue
        text = file.read_text(encoding="utf-8")
        heads = list(_HEAD.finditer(text))
        parts: dict[str, str] = {}
        for head, following in zip(heads, [*heads[1:], None], strict=True):
            body = text[head.end() : following.start() if following else len(text)].strip().removesuffix(";")
            for part, words in parts.items():
                body = body.replace("{" + part + "}", words)
            if head[1] == "part":
                parts[head[2]] = body
            else:
                found[f"{file.name.removesuffix('.sql')}.{head[2]}"] = body
    return found


@cache
def load_queries(names: Names) -> dict[str, bytes]:
    """Every query by `noun.name`, ready to run against the schema."""
    return {name: names.fill(body).encode() for name, body in _sources().items()}


def migration_body(revision: str, names: Names) -> str:
    """The SQL of one migration."""
    file = files("memory_butler.store") / "migrations" / f"{revision}.sql"
    return names.fill(file.read_text(encoding="utf-8"))
