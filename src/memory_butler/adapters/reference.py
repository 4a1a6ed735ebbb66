"""The reference pages, written from the code: `python -m memory_butler.adapters.reference docs [--check]`."""

import asyncio
import inspect
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, Union, get_args, get_origin

import typer
from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo
from typer.main import get_command

from memory_butler.adapters.cli import app
from memory_butler.adapters.mcp import build_server
from memory_butler.adapters.opening import LateButler
from memory_butler.adapters.reference_pieces import HOW, page, schema_words, table
from memory_butler.adapters.reference_rest import rest_page
from memory_butler.errors import ERROR_CLASSES
from memory_butler.settings import ENV_PREFIX, PRESETS, Settings, load_settings

CONFIG_EXAMPLE: Final = """\
```toml
# ~/.memory-butler/config.toml
port = 8200

[retrieval.weights]
relevance = 0.5
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

[butlers.coder.lifecycle.eden]
ttl_days = 3
```"""
ERROR_EXAMPLE: Final = """\
```json
{"error": "not_found", "message": "There is no fact:k3f7.", "retryable": false, "recovery": "Use memory_search …"}
```"""
OPTIONAL: Final = (
    "**Optional.** Offered only where connected agents distil episodes "
    '(`consolidation.distiller = "agent"`); see [consolidation](consolidation.md#agent).'
)


def tools_page() -> str:
    """Every MCP tool: when to use it, its parameters, what it promises."""
    with tempfile.TemporaryDirectory() as home:
        always = {tool.name for tool in _tools_of(load_settings(home=home))}
        tools = _tools_of(load_settings(home=home, consolidation={"distiller": "agent"}))
    marks = {tool.name: "" if tool.name in always else "(optional) " for tool in tools}
    lines = [
        "# Tools",
        HOW,
        "What an agent can call, over stdio and over HTTP. Every answer is JSON. Wherever an id is asked for, the "
        "short reference shown with a memory (`fact:k3f7`) does as well. What can go wrong: [errors](errors.md).",
        table(
            ("tool", "in short"),
            ((f"[`{tool.name}`](#{tool.name})", marks[tool.name] + _first_line(tool.description)) for tool in tools),
        ),
    ]
    for tool in tools:
        lines += [f"## {tool.name}", OPTIONAL if marks[tool.name] else ""]
        lines += [_example_as_code(tool.description or ""), _promises(tool.annotations)]
        lines.append(_parameters(tool.parameters))
    return page(lines)


def _tools_of(settings: Settings) -> Any:
    return asyncio.run(build_server(LateButler(settings)).list_tools())


def settings_page() -> str:
    """Every setting: its names, type, default and meaning."""
    lines = [
        "# Settings",
        HOW,
        "Every setting has a default. To change one, put it into `config.toml` in the home folder, or set its "
        "environment variable, which wins. A setting that is unknown or out of range stops the start with a message "
        "that names it.",
        CONFIG_EXAMPLE,
        "The same in the environment: `MEMORY_BUTLER_PORT=8200`, `MEMORY_BUTLER_RETRIEVAL__WEIGHTS__RELEVANCE=0.5`, "
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
        "Whatever is under `lifecycle` can be set for one butler alone, under `butlers` and its name; so can `review`, "
        "whether what is distilled for it waits for a person's decision. It inherits the rest: first what is chosen "
        "under `lifecycle`, then the preset, which it may choose for itself, then the defaults.",
        BUTLERS_EXAMPLE,
        "Here the butler `coder` keeps its episodes for three days, all others keep theirs for one, and everybody has "
        "room for 2000 mid-term memories. In the environment the name stands between two underscores on either side: "
        "`MEMORY_BUTLER_BUTLERS__CODER__LIFECYCLE__EDEN__TTL_DAYS=3`. A name that no variable can have is written as "
        """JSON: `MEMORY_BUTLER_BUTLERS='{"home-office": {"lifecycle": {"eden": {"ttl_days": 3}}}}'`.""",
        "What the presets set:",
        table(("preset", "section", "numbers"), _preset_rows()),
    ]
    return page(lines)


def cli_page() -> str:
    """Every command with its arguments and options."""
    lines = [
        "# Command line",
        HOW,
        "Answers are tables for people; with `--json` they are one line of JSON on stdout, the same shape as the MCP "
        "tools give. A text argument given as `-` is read from stdin. A text that starts with a dash comes after `--`.",
        "Exit codes: 0 done; 1 an error, said on stderr with how to recover from it, or with `--json` as JSON on "
        "stdout (`error`, `message`, `retryable`, `recovery`); 2 the command line was not understood; 130 interrupted.",
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
        "Every error that is raised on purpose belongs to one of these classes, through every door. It comes with a "
        "message, with whether a retry can help, and with how to recover; the recovery may be more exact than the one "
        "given here.",
        ERROR_EXAMPLE,
    ]
    for name, kind in ERROR_CLASSES.items():
        retry = "A retry can help." if kind.retryable else "A retry does not help."
        lines += [f"## {name}", f"{inspect.getdoc(kind)} {retry}", f"*How to recover:* {kind.default_recovery}"]
    return page(lines)


PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "tools.md": tools_page,
    "settings.md": settings_page,
    "cli.md": cli_page,
    "errors.md": errors_page,
    "rest.md": rest_page,
}


def outdated(folder: Path) -> list[str]:
    """The names of the pages that are not what the code says."""
    return [
        name
        for name, make in PAGES.items()
        if not (folder / name).is_file() or (folder / name).read_text(encoding="utf-8") != make()
    ]


def write(folder: Path) -> list[str]:
    """Write every page that is not there or not current; returns their names."""
    folder.mkdir(parents=True, exist_ok=True)
    stale = outdated(folder)
    for name in stale:
        (folder / name).write_text(PAGES[name](), encoding="utf-8")
    return stale


def main() -> int:
    arguments = [word for word in sys.argv[1:] if word != "--check"]
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m memory_butler.adapters.reference FOLDER [--check]\n")
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
    """A description for a model as prose for a person: its examples stand out as code."""
    parts = []
    for paragraph in inspect.cleandoc(description).split("\n\n"):
        head, colon, rest = paragraph.partition(":")
        if colon and head in ("Example", "Examples"):
            parts.append(f"{head}:\n\n```python\n{inspect.cleandoc(rest.strip())}\n```")
        else:
            parts.append(paragraph)
    return "\n\n".join(parts)


def _promises(hints: Any) -> str:
    if hints is None:
        return ""
    said = ["reads only" if hints.read_only_hint else "writes"]
    if not hints.read_only_hint:
        said.append("withdraws what is stored" if hints.destructive_hint else "takes nothing away")
    if hints.idempotent_hint:
        said.append("a repeat changes nothing more")
    return f"*{'; '.join(said).capitalize()}.*"


def _parameters(schema: dict[str, Any]) -> str:
    required = set(schema.get("required", ()))
    rows = [
        (f"`{name}`", schema_words(about, schema), "yes" if name in required else "", about.get("description", ""))
        for name, about in schema.get("properties", {}).items()
    ]
    return table(("parameter", "type", "required", "meaning"), rows) if rows else "It takes no parameters."


def _settings(group: type[BaseModel], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], FieldInfo, type]]:
    """Every setting with where it stands: the plain ones of a group first, then its groups."""
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
            said = ", ".join(f"`{name} = {number}`" for name, number in numbers.items())
            yield f"`{preset}`", f"`lifecycle.{group}`", said


def _type_words(field: FieldInfo) -> str:
    kinds = [kind for kind in _alternatives(field.annotation) if kind is not type(None)]
    words = {str: "text", int: "whole number", float: "number", Path: "path", SecretStr: "text, kept secret"}
    said = " or ".join(words.get(kind) or _composed_words(kind) for kind in kinds)
    bounds = []
    for rule in field.metadata:
        for name, sign in (("ge", "≥"), ("gt", ">"), ("le", "≤"), ("lt", "<")):
            if getattr(rule, name, None) is not None:
                bounds.append(f"{sign} {_number(getattr(rule, name))}")
        if getattr(rule, "pattern", None):
            bounds.append(f"`{rule.pattern}`")
    return f"{said}, {', '.join(bounds)}" if bounds else said


def _composed_words(kind: Any) -> str:
    """A choice as its values, a table as what it is."""
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
