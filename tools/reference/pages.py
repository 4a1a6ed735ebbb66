"""The reference pages, generated from the code: `python -m tools.reference docs/reference [--check]`."""

import asyncio
import inspect
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import typer
from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo
from typer.main import get_command

from memory_butler.adapters.cli.app import app
from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.adapters.mcp.catalog import ALLOWED
from memory_butler.adapters.mcp.server import build_server
from memory_butler.adapters.wire.json_schema import ERROR_PROPERTIES
from memory_butler.errors import ERROR_CLASSES
from memory_butler.models import Role
from memory_butler.settings import ENV_PREFIX, PRESETS, Settings, load_settings
from tools.reference.markdown import HOW, page, schema_words, table
from tools.reference.rest import rest_page

CONFIG_EXAMPLE: Final = """\
```toml
# ~/.memory-butler/config.toml
port = 8200

[retrieval.weights]
fit = 0.5
importance = 0.2

[briefing]
token_budget = 2000
```"""
BUTLERS_EXAMPLE: Final = """\
```toml
[lifecycle]
preset = "generational"

[lifecycle.mid]
capacity = 2000

[butlers.coder]
token_budget = 2000

[butlers.coder.lifecycle.eden]
ttl_days = 3
```"""
ERROR_EXAMPLE: Final = """\
```json
{"error": "not_found", "message": "There is no fact:k3f7.", "retryable": false, "recovery": "Use memory_search …"}
```"""
OPTIONAL: Final = (
    "**Optional.** Offered only where connected agents distil episodes "
    '(`consolidation.distiller = "agent"`); see [consolidation](../guides/consolidation.md#agent).'
)


def tools_page() -> str:
    """Every MCP tool: description, hints, parameters and answer."""
    with tempfile.TemporaryDirectory() as home:
        always = {tool.name for tool in _tools_of(load_settings(home=home))}
        tools = _tools_of(load_settings(home=home, consolidation={"distiller": "agent"}))
    marks = {tool.name: "" if tool.name in always else "(optional) " for tool in tools}
    lines = [
        "# Tools",
        HOW,
        "The MCP tools, over stdio and HTTP, for agents. A *butler* is a named agent; each has its own scope of "
        "memories. Every id parameter also accepts the short reference of a memory (`fact:k3f7`, or `k3f7` "
        "alone). This page shows the full form of tools and answers; agents see a [shorter one]"
        "(../getting-started/agents.md#tools-and-tokens). See also [errors](errors.md) and [roles](roles.md).",
        table(
            ("tool", "summary"),
            ((f"[`{tool.name}`](#{tool.name})", marks[tool.name] + _first_line(tool.description)) for tool in tools),
        ),
    ]
    for tool in tools:
        lines += [f"## {tool.name}", OPTIONAL if marks[tool.name] else ""]
        lines += [_example_as_code(tool.description or ""), _hints(tool.annotations)]
        lines += [_parameters(tool.parameters), _answer(tool.output_schema)]
    return page(lines)


def _tools_of(settings: Settings) -> Any:
    return asyncio.run(build_server(LazyResources(settings)).list_tools(run_middleware=False))


def settings_page() -> str:
    """Every setting: its names, type, default and meaning."""
    lines = [
        "# Settings",
        HOW,
        "Every setting has a default. To change one, put it into `config.toml` in the home folder, or set its "
        "environment variable, which takes precedence. With an unknown or invalid setting the program does not start "
        "and names the setting.",
        CONFIG_EXAMPLE,
        "The same in the environment: `MEMORY_BUTLER_PORT=8200`, `MEMORY_BUTLER_RETRIEVAL__WEIGHTS__FIT=0.5`, "
        "`MEMORY_BUTLER_RETRIEVAL__WEIGHTS__IMPORTANCE=0.2`, `MEMORY_BUTLER_BRIEFING__TOKEN_BUDGET=2000`. "
        "`home` can only come from the environment or from `--home`.",
    ]
    sections: dict[str, list[tuple[str, ...]]] = {}
    titles: dict[str, str] = {}
    for path, field, group in _settings(Settings, ()):
        section = ".".join(path[:-1])
        titles.setdefault(section, inspect.getdoc(group) or "")
        variable = ENV_PREFIX + "__".join(path).upper()
        row = (f"`{path[-1]}`", f"`{variable}`", _type_words(field), _default_words(field), field.description or "")
        sections.setdefault(section, []).append(row)
    for section, rows in sections.items():
        lines += [f"## `[{section}]`" if section else "## Top level", titles[section]]
        lines.append(table(("name", "environment variable", "type", "default", "meaning"), rows))
    lines += [
        "## Single butlers",
        "All settings of `lifecycle` and `redaction`, `review` (proposals for this butler wait for review) and "
        "`token_budget` (default token budget of its briefings) can be set for one butler, under `butlers` and its "
        "name. The butler inherits "
        "the rest: first from `lifecycle`, then from the preset, which it may choose for itself, then the defaults.",
        BUTLERS_EXAMPLE,
        "Here the butler `coder` keeps its episodes for three days, all others for one, and every butler has a "
        "capacity of 2000 mid-term memories. Briefings of `coder` have 2000 tokens, unless a request names another "
        "budget. In the environment the name is between double underscores: "
        "`MEMORY_BUTLER_BUTLERS__CODER__LIFECYCLE__EDEN__TTL_DAYS=3`. Any other name is written as "
        """JSON: `MEMORY_BUTLER_BUTLERS='{"home-office": {"lifecycle": {"eden": {"ttl_days": 3}}}}'`.""",
        "Values of the presets:",
        table(("preset", "section", "numbers"), _preset_rows()),
        "## Single tenants",
        "All settings of `redaction` can be set for one tenant, under `tenants` and its name. Those of a butler are "
        "added to those of its tenant. [Redaction](../guides/redaction.md) has examples.",
        "## Encryption policies",
        "`encryption.policies` names the classes of memories that are encrypted once there is a key. Each entry has "
        "the lists `predicates`, `butlers` and `tenants`, and `search`: `none`, `words` or `vectors`. "
        "[Encryption](../guides/encryption.md) has examples.",
        "## Kinds of work",
        "`briefing.domains` extends the kinds of work that a [briefing](../concepts/briefing.md#kinds-of-work) knows, "
        "or adds some. Each entry has the lists `tasks`, `memories`, `words`, `verbs` and `tags`.",
    ]
    return page(lines)


def cli_page() -> str:
    """Every command with its arguments and options."""
    lines = [
        "# Command line",
        HOW,
        "Look up a command, its arguments and its options. Commands print tables; with `--json` they print one line of "
        "JSON on stdout, in the format of the MCP tools. The text argument `-` reads stdin. Put `--` before text "
        "that starts with a dash.",
        "Exit codes: 0 success; 1 error, on stderr with its recovery, or with `--json` as JSON on stdout (`error`, "
        "`message`, `retryable`, `recovery`); 2 usage error; 130 interrupted.",
    ]
    root = get_command(app)
    with typer.Context(root, info_name="memory-butler") as context:
        lines += ["## memory-butler", root.help or "", *_command_tables(root, context)]
        lines += _commands(root, context, "memory-butler")
    return page(lines)


def errors_page() -> str:
    """Every class of error."""
    lines = [
        "# Errors",
        HOW,
        "Find out what an error means and how to recover. Every error has one of these types, in MCP, REST, "
        "Python and the command line. It has a message, `retryable`, and a recovery, which may be more "
        "specific than the one here.",
        ERROR_EXAMPLE,
    ]
    for name, kind in ERROR_CLASSES.items():
        retry = "Retryable." if kind.retryable else "Not retryable."
        lines += [f"## {name}", f"{inspect.getdoc(kind)} {retry}", f"*Recovery:* {kind.default_recovery}"]
    return page(lines)


def roles_page() -> str:
    """Every tool and operation with the roles that may use it."""
    return page(
        [
            "# Roles",
            HOW,
            "Tools and operations by role. `memory_…` are [tools](tools.md); the others are REST routes, commands and "
            "pages of the dashboard. [Service](../guides/service.md#roles) describes the roles.",
            table(
                ("operation", *Role),
                (
                    (f"`{name}`", *("✓" if role in ALLOWED[name] else "–" for role in Role))
                    for name in sorted(ALLOWED, key=lambda name: (-len(ALLOWED[name]), name))
                ),
            ),
        ]
    )


PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "tools.md": tools_page,
    "settings.md": settings_page,
    "cli.md": cli_page,
    "errors.md": errors_page,
    "rest.md": rest_page,
    "roles.md": roles_page,
}


def outdated(folder: Path) -> list[str]:
    """The names of the pages that do not match the code."""
    return [
        name
        for name, make in PAGES.items()
        if not (folder / name).is_file() or (folder / name).read_text(encoding="utf-8") != make()
    ]


def write(folder: Path) -> list[str]:
    """Write every missing or outdated page; returns their names."""
    folder.mkdir(parents=True, exist_ok=True)
    stale = outdated(folder)
    for name in stale:
        (folder / name).write_text(PAGES[name](), encoding="utf-8")
    return stale


def main() -> int:
    arguments = [word for word in sys.argv[1:] if word != "--check"]
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m tools.reference FOLDER [--check]\n")
        return 2
    folder = Path(arguments[0])
    if "--check" in sys.argv[1:]:
        stale = outdated(folder)
        for name in stale:
            sys.stderr.write(f"{folder / name} is out of date; run: make docs\n")
        return 1 if stale else 0
    for name in write(folder):
        sys.stdout.write(f"wrote {folder / name}\n")
    return 0


# --- pieces of pages ------------------------------------------------------------------------------


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]


def _example_as_code(description: str) -> str:
    """A tool description with its example as a code block."""
    parts = []
    for paragraph in inspect.cleandoc(description).split("\n\n"):
        head, colon, rest = paragraph.partition(":")
        if colon and head in ("Example", "Examples"):
            parts.append(f"{head}:\n\n```python\n{inspect.cleandoc(rest.strip())}\n```")
        else:
            parts.append(paragraph)
    return "\n\n".join(parts)


def _hints(hints: Any) -> str:
    words = ["read-only" if hints.read_only_hint else "destructive" if hints.destructive_hint else "writes"]
    if hints.idempotent_hint:
        words.append("idempotent")
    return f"*{', '.join(words).capitalize()}.*"


def _answer(schema: dict[str, Any]) -> str:
    """The fields of an answer; the errors page describes those of an error."""
    required = schema["anyOf"][0]["required"]
    fields = [
        f"`{name}`" if name in required else f"`{name}` (optional)"
        for name in schema["properties"]
        if name in required or name not in ERROR_PROPERTIES
    ]
    return f"Response: {', '.join(fields)}."


def _parameters(schema: dict[str, Any]) -> str:
    required = set(schema.get("required", ()))
    rows = [
        (f"`{name}`", schema_words(about, schema), "yes" if name in required else "", about.get("description", ""))
        for name, about in schema.get("properties", {}).items()
    ]
    return table(("parameter", "type", "required", "meaning"), rows) if rows else "No parameters."


def _settings(group: type[BaseModel], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], FieldInfo, type]]:
    """Every setting with its path: the plain ones of a group first, then its groups."""
    nested = []
    for name, field in group.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            nested.append((name, field.annotation))
        else:
            yield (*path, name), field, group
    for name, inner in nested:
        yield from _settings(inner, (*path, name))


def _preset_rows() -> Iterator[tuple[str, str, str]]:
    for preset, groups in PRESETS.items():
        if not groups:
            yield f"`{preset}`", "", "the defaults above"
        for group, numbers in groups.items():
            values = ", ".join(f"`{name} = {number}`" for name, number in numbers.items())
            yield f"`{preset}`", f"`lifecycle.{group}`", values


def _type_words(field: FieldInfo) -> str:
    kinds, rules = [], list(field.metadata)
    for kind in _alternatives(field.annotation):
        if get_origin(kind) is Annotated:
            bare, *extra = get_args(kind)
            kinds.append(bare)
            rules += [rule for one in extra for rule in getattr(one, "metadata", [one])]
        elif kind is not type(None):
            kinds.append(kind)
    words = {str: "string", int: "integer", float: "number", Path: "path", SecretStr: "secret string"}
    names = " or ".join(words.get(kind) or _composed_words(kind) for kind in kinds)
    bounds = []
    for rule in rules:
        for name, sign in (("ge", "≥"), ("gt", ">"), ("le", "≤"), ("lt", "<")):
            if getattr(rule, name, None) is not None:
                bounds.append(f"{sign} {_number(getattr(rule, name))}")
        if getattr(rule, "pattern", None):
            bounds.append(f"`{rule.pattern}`")
    return f"{names}, {', '.join(bounds)}" if bounds else names


def _composed_words(kind: Any) -> str:
    """The name of a type; for a choice its values."""
    if get_origin(kind) is Literal:
        return " or ".join(f"`{value}`" for value in get_args(kind))
    if get_origin(kind) is dict:
        return "table"
    return getattr(kind, "__name__", str(kind))


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:g}"


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    if get_origin(annotation) is Union or type(annotation).__name__ == "UnionType":
        return get_args(annotation)
    return (annotation,)


def _default_words(field: FieldInfo) -> str:
    default = field.get_default(call_default_factory=True)
    if isinstance(default, dict) and default:
        return ", ".join(f"`{name}`" for name in default)
    return "not set" if default is None else "empty" if default == {} else f"`{default}`"


def _commands(group: Any, context: Any, path: str) -> Iterator[str]:
    for name in sorted(group.list_commands(context)):
        command = group.get_command(context, name)
        full = f"{path} {name}"
        with typer.Context(command, info_name=name, parent=context) as inner:
            usage = " ".join(command.collect_usage_pieces(inner))
            yield f"## {full}"
            yield command.help or ""
            yield f"```sh\n{full} {usage}\n```"
            yield from _command_tables(command, inner)
            if hasattr(command, "list_commands"):
                yield from _commands(command, inner, full)


def _command_tables(command: Any, context: Any) -> Iterator[str]:
    for kind, title in (("argument", "argument"), ("option", "option")):
        rows = []
        for parameter in command.get_params(context):
            record = parameter.get_help_record(context)
            if record and parameter.param_type_name == kind and parameter.name != "help":
                rows.append((f"`{record[0]}`", record[1]))
        if rows:
            yield table((title, "meaning"), rows)


if __name__ == "__main__":
    sys.exit(main())
