"""Says what is wrong with config.toml: the path, the line, and the setting that was probably meant."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from memory_butler.errors import InvalidInput
from memory_butler.settings.values import said_of

DOCS = "docs/reference/settings.md lists all settings."
_TABLE = re.compile(r"\s*\[+\s*([^\]]+?)\s*\]+\s*(#.*)?$")
_KEY = re.compile(r"\s*([A-Za-z0-9_.\"'-]+?)\s*=")
_PLACE = re.compile(r" \(at (line \d+, column \d+|end of document)\)$")


def unreadable(file: Path, problem: ValueError) -> InvalidInput:
    """The error for a file that is not TOML."""
    text = str(problem)
    found = _PLACE.search(text)
    where, what = (f", {found[1]}", text[: found.start()]) if found else ("", text)
    return InvalidInput(
        f"{file}{where}: {what}.", recovery="Correct that line, or remove the file to use the defaults."
    )


def invalid(file: Path, errors: Sequence[Any], model: type[BaseModel]) -> InvalidInput:
    """The error for settings that do not fit, each with its place if it is in the file."""
    content = _read(file)
    lines, meant = [], []
    for error in errors:
        path = [str(part) for part in error["loc"]]
        number = _line_of(path, content) if content else None
        place = f"{file}, line {number}: " if number else ""
        name = ".".join(path) or "settings"
        if error["type"] == "extra_forbidden":
            lines.append(f"{place}{name} is not a setting")
            near = get_close_matches(path[-1], _fields(model, path[:-1]), 1)
            meant += [f"Did you mean {'.'.join([*path[:-1], near[0]])}? "] if near else []
        else:
            lines.append(f"{place}{name}: {said_of(error)}")
    return InvalidInput(
        "The settings are not valid. " + "; ".join(lines) + ".",
        recovery=f"{''.join(meant)}Correct config.toml in the home folder or the variable; {DOCS}",
    )


def _read(file: Path) -> str | None:
    try:
        text = file.read_text(encoding="utf-8")
        tomllib.loads(text)
    except (OSError, ValueError):
        return None
    return text


def _line_of(path: Sequence[str], text: str) -> int | None:
    """The line of a setting, or of the table that holds it."""
    table: list[str] = []
    best = None
    for number, line in enumerate(text.splitlines(), start=1):
        if found := _TABLE.match(line):
            table = _parts(found[1])
            here = table
        elif found := _KEY.match(line):
            here = [*table, *_parts(found[1])]
        else:
            continue
        if list(path[: len(here)]) == here and (best is None or len(here) > best[0]):
            best = len(here), number
    return best[1] if best else None


def _parts(name: str) -> list[str]:
    return [part.strip().strip("\"'") for part in name.split(".")]


def _fields(model: type[BaseModel], path: Sequence[str]) -> Mapping[str, Any]:
    """The names that are valid inside a group of settings."""
    for name in path:
        field = model.model_fields.get(name)
        inner = type(field.default) if field and isinstance(field.default, BaseModel) else None
        if inner is None:
            return {}
        model = inner
    return model.model_fields
