"""TOML edited as text: appends or removes one table, and leaves every other byte as it is."""

import json
import re
import tomllib
from typing import Any

_HEADER = re.compile(r"[ \t]*\[+[^\[\]]*\]+[ \t]*(?:#.*)?$")
_QUOTES = re.compile(r'"""|\'\'\'')


def value_of(text: str) -> dict[str, Any]:
    return tomllib.loads(text)


def put(text: str, path: tuple[str, str], value: dict[str, Any]) -> str:
    """Append the table; an existing one is replaced."""
    text = take(text, path)
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{'.'.join(map(_key, path))}]", *(f"{_key(key)} = {_written(said)}" for key, said in value.items()), ""]
    if text and not text.endswith("\n"):
        text += newline
    return text + (newline if text.strip() else "") + newline.join(lines)


def take(text: str, path: tuple[str, str]) -> str:
    """Remove the table, its subtables, and one empty line before each."""
    lines = text.splitlines(keepends=True)
    headers = _headers(lines)
    gone: set[int] = set()
    for at, (place, names) in enumerate(headers):
        if names[: len(path)] != list(path):
            continue
        end = headers[at + 1][0] if at + 1 < len(headers) else len(lines)
        # Comments above the next table belong to that table.
        while end > place + 1 and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
            end -= 1
        begin = place - 1 if place and not lines[place - 1].strip() else place
        gone |= set(range(begin, end))
    return "".join(line for at, line in enumerate(lines) if at not in gone)


def _headers(lines: list[str]) -> list[tuple[int, list[str]]]:
    """Return the header lines with the names of their tables; lines inside multi-line strings do not count."""
    found, quote = [], ""
    for at, line in enumerate(lines):
        if not quote and _HEADER.match(line.rstrip("\r\n")):
            names = _names(line)
            if names:
                found.append((at, names))
        for mark in _QUOTES.findall(line):
            quote = mark if not quote else "" if quote == mark else quote
    return found


def _names(header: str) -> list[str]:
    """Parse the names of a header; empty if it is no header."""
    try:
        inner: Any = tomllib.loads(header)
    except tomllib.TOMLDecodeError:
        return []
    names: list[str] = []
    while isinstance(inner, dict | list) and inner:
        if isinstance(inner, list):
            inner = inner[0]
            continue
        name = next(iter(inner))
        names.append(name)
        inner = inner[name]
    return names


def _key(name: str) -> str:
    return name if re.fullmatch(r"[\w-]+", name, re.ASCII) else json.dumps(name, ensure_ascii=False)


def _written(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(key)} = {_written(said)}" for key, said in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_written, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
