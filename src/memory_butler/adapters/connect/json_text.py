"""JSON edited as text: inserts or removes one member, and leaves every other byte as it is.

Comments and trailing commas are accepted, because several clients allow them.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any

Path = tuple[str | int, ...]
_SKIPPED = re.compile(r"(?:[\s\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_INDENT = re.compile(r"[{\[]\s*?\n([ \t]+)\S")
_NOTE = re.compile(r"[ \t]*(?://[^\n]*|/\*[^\n]*?\*/)")


class NotJson(ValueError):
    """The text is not JSON."""


@dataclass(slots=True)
class Node:
    """A value with its position in the text; for an object or a list also its members, in order."""

    start: int
    end: int
    value: Any
    inner: list[tuple[str | int, int, "Node"]] = field(default_factory=list)


def value_of(text: str) -> Any:
    return _read(text).value


def put(text: str, path: Path, value: Any) -> str:
    """Insert a member, or append to a list if the path ends with -1.

    Missing containers on the path are created. An existing member is replaced.
    """
    root = _read(text)
    node, at = _deepest(root, path)
    rest = path[at:]
    if not rest:
        return text[: node.start] + _written(text, value, _indent_at(text, node.start)) + text[node.end :]
    if not isinstance(node.value, list if rest[0] == -1 else dict):
        raise NotJson(f"{'.'.join(map(str, path[:at])) or 'the whole'} is not of the kind that is needed")
    for step in reversed(rest[1:]):
        value = [value] if step == -1 else {step: value}
    return _inserted(text, node, rest[0], value)


def take(text: str, path: Path) -> str:
    """Remove one member or list entry, and its comma."""
    node, at = _deepest(_read(text), path[:-1])
    places = [place for place, (key, _, _) in enumerate(node.inner) if key == path[-1]]
    if at < len(path) - 1 or not places:
        return text
    place = places[-1]
    _, start, gone = node.inner[place]
    before = node.inner[place - 1][2].end if place else node.start + 1
    if text[_skip(text, gone.end)] == ",":
        begin = _after_comma(text, before) if place else before
        rest = text[_comma(text, gone.end) + 1 :]
        return text[:begin] + (rest if len(node.inner) > 1 else _squeezed(rest))
    if place == 0:
        return text[:before] + _squeezed(text[gone.end :])
    comma = _comma(text, before)
    gap = (text[before:comma] + text[comma + 1 : start]).rstrip()
    return text[:before] + gap + text[gone.end :]


def _squeezed(rest: str) -> str:
    """Remove the whitespace before the end of a container that has become empty; a comment stays."""
    return rest.lstrip() if rest.lstrip()[:1] in ("}", "]") else rest


def _inserted(text: str, node: Node, key: str | int, value: Any) -> str:
    close = node.end - 1
    newline = "\r\n" if "\r\n" in text else "\n"
    is_wide = not node.inner or newline[-1] in text[node.start : node.inner[0][1]]
    base = _indent_at(text, node.start)
    deeper = _indent_at(text, node.inner[-1][1]) if node.inner and is_wide else base + _unit(text)
    name = "" if key == -1 else json.dumps(key, ensure_ascii=False) + ": "
    if not is_wide:
        narrow = name + json.dumps(value, ensure_ascii=False)
        at = node.inner[-1][2].end
        return f"{text[:at]}, {narrow}{text[at:]}"
    member = newline + deeper + name + _written(text, value, deeper)
    if not node.inner:
        inside = text[node.start + 1 : close]
        ending = "" if newline in inside else newline + base
        return (
            text[: node.start + 1] + inside.rstrip() + member + (inside[len(inside.rstrip()) :] + ending) + text[close:]
        )
    last = node.inner[-1][2].end
    has_comma = "," in _SKIPPED.sub("", text[last:close])
    first = last if not has_comma else _comma(text, last) + 1
    note = _NOTE.match(text, first)
    at = note.end() if note else first
    return text[:last] + ("" if has_comma else ",") + text[last:at] + member + ("," if has_comma else "") + text[at:]


def _after_comma(text: str, at: int) -> int:
    """Return the position after the comma that follows a value, and after a comment on the same line."""
    comma = _comma(text, at)
    note = _NOTE.match(text, comma + 1)
    return note.end() if note else comma + 1


def _comma(text: str, at: int) -> int:
    found = _SKIPPED.match(text, at)
    assert found is not None and text[found.end()] == ","
    return found.end()


def _written(text: str, value: Any, indent: str) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    return json.dumps(value, ensure_ascii=False, indent=_unit(text)).replace("\n", newline + indent)


def _unit(text: str) -> str:
    found = _INDENT.search(text)
    return found[1] if found else "  "


def _indent_at(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _deepest(root: Node, path: Path) -> tuple[Node, int]:
    """Return the deepest existing node on the path, and the number of steps to it."""
    node = root
    for at, step in enumerate(path):
        below = [inner for key, _, inner in node.inner if key == step]
        if not below:
            return node, at
        node = below[-1]
    return node, len(path)


def _read(text: str) -> Node:
    try:
        node = _value(text, _skip(text, 0))
        if _skip(text, node.end) != len(text):
            raise NotJson("there is more text after the end")
    except RecursionError:
        raise NotJson("it is nested too deeply") from None
    return node


def _skip(text: str, at: int) -> int:
    found = _SKIPPED.match(text, at)
    return found.end() if found else at


def _value(text: str, at: int) -> Node:
    if text[at : at + 1] in ("{", "["):
        return _container(text, at)
    found = _STRING.match(text, at) or _SCALAR.match(text, at)
    if not found:
        raise NotJson(f"line {text.count(chr(10), 0, at) + 1} has something that is not a value")
    try:
        return Node(at, found.end(), json.loads(found[0]))
    except ValueError as problem:
        raise NotJson(str(problem)) from None


def _container(text: str, start: int) -> Node:
    is_object = text[start] == "{"
    close = "}" if is_object else "]"
    node = Node(start, start, {} if is_object else [])
    at = _skip(text, start + 1)
    while text[at : at + 1] != close:
        begin, key = at, len(node.inner)
        name: str | int = key
        if is_object:
            found = _STRING.match(text, at)
            colon = _skip(text, found.end()) if found else at
            if not found or text[colon : colon + 1] != ":":
                raise NotJson(f"line {text.count(chr(10), 0, at) + 1} has no name and colon where one is due")
            name, at = json.loads(found[0]), _skip(text, colon + 1)
        below = _value(text, at)
        node.inner.append((name, begin, below))
        if is_object:
            node.value[name] = below.value
        else:
            node.value.append(below.value)
        at = _skip(text, below.end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        elif text[at : at + 1] != close:
            raise NotJson(f"line {text.count(chr(10), 0, at) + 1} lacks a comma, or the end is missing")
    node.end = at + 1
    return node
