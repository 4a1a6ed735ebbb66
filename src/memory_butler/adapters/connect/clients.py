"""The supported MCP clients: their configuration files and formats, from each client's documentation.

| client | for one person | for one project |
|---|---|---|
| Claude Code | `~/.claude.json`, hooks in `~/.claude/settings.json` | `.mcp.json`, hooks in `.claude/settings.json` |
| Codex | `~/.codex/config.toml` | `.codex/config.toml` |
| Cursor | `~/.cursor/mcp.json` | `.cursor/mcp.json` |
| Gemini CLI | `~/.gemini/settings.json` | `.gemini/settings.json` |
| VS Code | `mcp.json` in its user folder | `.vscode/mcp.json` |
"""

import os
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from memory_butler.adapters.connect.entries import Entries, Format, Json, Toml
from memory_butler.adapters.connect.executable import executable, is_usual, shared_executable

TOKEN = "MEMORY_BUTLER_TOKEN"
# Codex and Gemini CLI time out after 10 and 5 seconds by default; a first start on a busy machine may take longer.
PATIENCE_SECONDS = 60
# Event name in Claude Code, our hook, and its timeout in seconds.
HOOKS = {
    "SessionStart": ("session-start", 15),
    "UserPromptSubmit": ("user-prompt", 5),
    "PreCompact": ("pre-compact", 5),
    "SessionEnd": ("session-end", 3),
}


class Scope(StrEnum):
    USER = "user"
    PROJECT = "project"


@dataclass(frozen=True, slots=True)
class Place:
    """One configuration file of a client: path, format, and the section of its servers, if it has one."""

    path: Path
    format: Format
    section: str | None
    with_hooks: bool = False


@dataclass(frozen=True, slots=True)
class Wish:
    """Connection of a client: it starts the server itself (with `home`), or connects to a URL.

    `port` is that of the server that hooks ask, unless they find it themselves.
    """

    home: Path
    url: str | None = None
    with_token: bool = False
    port: int | None = None


@dataclass(frozen=True, slots=True)
class Client:
    name: str
    title: str
    places: Callable[[Scope, Path], list[Place]]
    started: Callable[[dict[str, Any]], dict[str, Any]]
    reached: Callable[[str, bool], dict[str, Any]]

    def entries(self, place: Place, scope: Scope, wish: Wish) -> Entries:
        command = executable() if scope is Scope.USER else shared_executable()
        server = self.reached(wish.url, wish.with_token) if wish.url else self.started(_process(command, wish.home))
        hooks = _hooks(command, wish) if place.with_hooks else {}
        return Entries(place.section, server if place.section else {}, hooks)


def _process(command: list[str], home: Path) -> dict[str, Any]:
    elsewhere = {} if is_usual(home) else {"env": {"MEMORY_BUTLER_HOME": str(home)}}
    return {"command": command[0], "args": [*command[1:], "mcp"], **elsewhere}


def _hooks(command: list[str], wish: Wish) -> Mapping[str, Any]:
    start = [*command, *([] if is_usual(wish.home) else ["--home", str(wish.home)]), "hook"]
    end = [] if wish.port is None else ["--port", str(wish.port)]
    return {
        event: {"type": "command", "command": shlex.join([*start, name, *end]), "timeout": seconds}
        for event, (name, seconds) in HOOKS.items()
    }


def _claude_code(scope: Scope, project: Path) -> list[Place]:
    if scope is Scope.PROJECT:
        servers, settings = project / ".mcp.json", project / ".claude" / "settings.json"
    else:
        chosen = os.environ.get("CLAUDE_CONFIG_DIR")
        servers = (Path(chosen) if chosen else Path.home()) / ".claude.json"
        settings = (Path(chosen) if chosen else Path.home() / ".claude") / "settings.json"
    return [Place(servers, Json(), "mcpServers"), Place(settings, Json(), None, with_hooks=True)]


def _codex(scope: Scope, project: Path) -> list[Place]:
    own = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")
    return [Place((own if scope is Scope.USER else project / ".codex") / "config.toml", Toml(), "mcp_servers")]


def _file(name: str) -> Callable[[Scope, Path], list[Place]]:
    """One JSON file, of the same name in the user's home and in a project."""
    return lambda scope, project: [
        Place((Path.home() if scope is Scope.USER else project) / name, Json(), "mcpServers")
    ]


def _vscode(scope: Scope, project: Path) -> list[Place]:
    if scope is Scope.PROJECT:
        return [Place(project / ".vscode" / "mcp.json", Json(), "servers")]
    if sys.platform == "darwin":
        own = Path.home() / "Library" / "Application Support"
    else:
        own = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return [Place(own / "Code" / "User" / "mcp.json", Json(), "servers")]


def _http(variable: str, url_key: str = "url", **more: str) -> Callable[[str, bool], dict[str, Any]]:
    """The entry of a server at a URL. It refers to the token by an environment variable: the token itself is never
    written to the file."""
    headers = {"headers": {"Authorization": f"Bearer {variable}"}}
    return lambda url, token: {**more, url_key: url, **(headers if token else {})}


def _stdio(process: dict[str, Any]) -> dict[str, Any]:
    return {"type": "stdio", **process}


CLIENTS = {
    client.name: client
    for client in (
        Client("claude-code", "Claude Code", _claude_code, _stdio, _http(f"${{{TOKEN}}}", type="http")),
        Client(
            "codex",
            "Codex",
            _codex,
            lambda process: {**process, "startup_timeout_sec": PATIENCE_SECONDS},
            lambda url, token: {"url": url, **({"bearer_token_env_var": TOKEN} if token else {})},
        ),
        Client("cursor", "Cursor", _file(".cursor/mcp.json"), lambda process: process, _http(f"${{env:{TOKEN}}}")),
        Client(
            "gemini",
            "Gemini CLI",
            _file(".gemini/settings.json"),
            lambda process: {**process, "timeout": PATIENCE_SECONDS * 1000},
            _http(f"${TOKEN}", "httpUrl"),
        ),
        Client("vscode", "VS Code", _vscode, _stdio, _http(f"${{env:{TOKEN}}}", type="http")),
    )
}
