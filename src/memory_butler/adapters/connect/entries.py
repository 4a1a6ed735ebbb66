"""Our entries in a client's file, in JSON and TOML: insert, find, remove."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from memory_butler.adapters.connect import json_text, toml_text
from memory_butler.errors import Conflict, InvalidInput

NAME = "memory-butler"
HOOK_COMMAND = re.compile(
    r"memory[-_]butler\S*['\"]?\s(?:.*\s)?hook\s+(?:session-start|user-prompt|pre-compact|session-end)\b"
    r"(?:\s+--port\s+\d+)?(?:\s*(?:\d?>|\|\|).*)?\s*$"
)
# A server entry that somebody wrote: our command or module with `mcp`, or the address of a server on this machine.
_COMMAND = re.compile(r"memory[-_]butler(?:\.adapters\.(?:entry|cli\.app))?(?:\.exe)?(?:@[\w.]+)?$")
_ADDRESS = re.compile(r"^https?://(?:127\.\d+\.\d+\.\d+|localhost|\[::1\])(?::\d+)?/mcp/?$")


@dataclass(frozen=True, slots=True)
class Entries:
    """The server under its section, if it belongs into this file, and hooks by event."""

    section: str | None
    server: Mapping[str, Any] = field(default_factory=dict)
    hooks: Mapping[str, Any] = field(default_factory=dict)
    # Names of entries that somebody made by hand.
    by_hand: tuple[str, ...] = ()


class Format(Protocol):
    def value_of(self, text: str) -> Any: ...
    def with_entries(self, text: str, entries: Entries) -> str: ...
    def without(self, text: str, section: str | None, original: str | None) -> str: ...
    def found(self, text: str, section: str | None) -> Entries: ...


class Json:
    """Files of Claude Code, Cursor, Gemini CLI and VS Code."""

    def value_of(self, text: str) -> Any:
        try:
            value = json_text.value_of(text) if text.strip() else {}
        except json_text.NotJson as problem:
            raise InvalidInput(str(problem)) from None
        if not isinstance(value, dict):
            raise InvalidInput("it is not an object")
        return value

    def with_entries(self, text: str, entries: Entries) -> str:
        text = text if text.strip() else "{}\n"
        was = self.value_of(text)
        try:
            if entries.section and _at(was, entries.section, NAME) != entries.server:
                text = json_text.put(text, (entries.section, NAME), dict(entries.server))
            for event, handler in entries.hooks.items():
                ours = list(_handlers(was, event))
                if [found for _, found in ours] != [handler]:
                    text = _without_hooks(text, event)
                    text = json_text.put(text, ("hooks", event, -1), {"hooks": [handler]})
        except json_text.NotJson as problem:
            raise InvalidInput(str(problem)) from None
        return text

    def without(self, text: str, section: str | None, original: str | None) -> str:
        """Remove our entries, and the containers created for them unless they existed before or hold more."""
        before = self.value_of(original) if original is not None else {}
        if section:
            text = json_text.take(text, (section, NAME))
            text = _pruned(text, (section,), before)
        for event in list(_dict(self.value_of(text).get("hooks"))):
            if list(_handlers(self.value_of(text), event)):
                text = _pruned(_without_hooks(text, event), ("hooks", event), before)
        return _pruned(text, ("hooks",), before)

    def found(self, text: str, section: str | None) -> Entries:
        value = self.value_of(text)
        server = _at(value, section, NAME) if section else None
        hooks = {event: handler for event in _dict(value.get("hooks")) for _, handler in _handlers(value, event)}
        by_hand = (*_by_hand(value.get(section or "")), *_of_projects(value, section))
        return Entries(section, server if isinstance(server, dict) else {}, hooks, by_hand)


class Toml:
    """Codex's file."""

    def value_of(self, text: str) -> Any:
        try:
            return toml_text.value_of(text)
        except ValueError as problem:
            raise InvalidInput(str(problem)) from None

    def with_entries(self, text: str, entries: Entries) -> str:
        assert entries.section
        value = self.value_of(text)
        if _at(value, entries.section, NAME) == entries.server:
            return text
        changed = toml_text.put(text, (entries.section, NAME), dict(entries.server))
        section = {**_dict(value.get(entries.section)), NAME: dict(entries.server)}
        return _checked(changed, {**value, entries.section: section}, self.value_of)

    def without(self, text: str, section: str | None, original: str | None) -> str:
        assert section
        value = self.value_of(text)
        rest = {key: said for key, said in _dict(value.get(section)).items() if key != NAME}
        wanted = {key: said for key, said in value.items() if key != section} | ({section: rest} if rest else {})
        changed = toml_text.take(text, (section, NAME))
        if not rest and section in self.value_of(changed):
            wanted[section] = {}
        return _checked(changed, wanted, self.value_of)

    def found(self, text: str, section: str | None) -> Entries:
        value = self.value_of(text)
        server = _at(value, section, NAME) if section else None
        return Entries(section, server if isinstance(server, dict) else {}, by_hand=_by_hand(value.get(section or "")))


def _by_hand(servers: Any) -> tuple[str, ...]:
    """Names of other entries that lead to a Memory Butler."""
    return tuple(name for name, entry in _dict(servers).items() if name != NAME and _is_ours(name, _dict(entry)))


def _of_projects(value: Any, section: str | None) -> Iterator[str]:
    """Entries for single projects in a file for all of them, as `claude mcp add` makes by default."""
    for path, project in _dict(value.get("projects")).items():
        servers = _dict(_dict(project).get(section or ""))
        yield from (f"{name} in {path}" for name, entry in servers.items() if _is_ours(name, _dict(entry)))


def _is_ours(name: str, entry: dict[str, Any]) -> bool:
    args = entry.get("args")
    words = [str(entry.get("command") or ""), *(map(str, args) if isinstance(args, list) else ())]
    address = str(entry.get("url") or entry.get("httpUrl") or "")
    return ("memory" in name.casefold() and bool(_ADDRESS.match(address))) or (
        "mcp" in words and any(map(_COMMAND.search, words))
    )


def _checked(text: str, wanted: Any, value_of: Callable[[str], Any]) -> str:
    """Return the text if it parses to the expected value; a file in an unusual style must be changed by hand."""
    try:
        is_right = value_of(text) == wanted
    except InvalidInput:
        is_right = False
    if not is_right:
        raise Conflict(
            f"The entry {NAME} is written in a form that cannot be edited without changing other entries.",
            recovery="Remove that entry by hand, then try again.",
        )
    return text


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _at(value: Any, *path: str | None) -> Any:
    for step in path:
        value = _dict(value).get(step or "")
    return value


def _handlers(value: Any, event: str) -> Iterator[tuple[tuple[int, int], dict[str, Any]]]:
    """Yield our handlers of an event, each with the index of its group and its own index."""
    groups = _at(value, "hooks", event)
    for place, group in enumerate(groups if isinstance(groups, list) else []):
        inner = _dict(group).get("hooks")
        for at, handler in enumerate(inner if isinstance(inner, list) else []):
            if HOOK_COMMAND.search(str(_dict(handler).get("command") or "")):
                yield (place, at), handler


def _without_hooks(text: str, event: str) -> str:
    while True:
        value = json_text.value_of(text)
        ours = list(_handlers(value, event))
        if not ours:
            return text
        place, at = ours[-1][0]
        alone = len(value["hooks"][event][place]["hooks"]) == 1
        text = json_text.take(text, ("hooks", event, place) if alone else ("hooks", event, place, "hooks", at))


def _pruned(text: str, path: tuple[str, ...], before: Any) -> str:
    """Remove an empty container, unless it existed before."""
    found = _at(json_text.value_of(text), *path) if text.strip() else None
    is_empty = isinstance(found, dict | list) and not found
    return json_text.take(text, path) if is_empty and _at(before, *path) is None else text
