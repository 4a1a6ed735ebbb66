"""What `connect` writes for a port that is not the usual one, and entries that somebody made by hand."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from memory_butler.adapters.cli.app import app
from memory_butler.adapters.connect.entries import Json
from memory_butler.adapters.entry import _hook

OURS: dict[str, dict[str, Any]] = {
    "command": {"command": "/opt/tools/bin/memory-butler", "args": ["mcp"]},
    "uvx": {"command": "uvx", "args": ["memory-butler@0.12", "mcp", "--butler", "coder"]},
    "module": {"command": "/venv/bin/python", "args": ["-m", "memory_butler.adapters.entry", "mcp"]},
    "windows": {"command": "C:\\Tools\\memory-butler.exe", "args": ["mcp"]},
    "my-memory": {"type": "http", "url": "http://127.0.0.1:8150/mcp"},
}
OTHERS: dict[str, dict[str, Any]] = {
    "memory": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"]},
    "other": {"type": "http", "url": "http://127.0.0.1:3000/mcp"},
    "remote-memory": {"type": "http", "url": "https://example.org/mcp"},
    "serve": {"command": "memory-butler", "args": ["serve"]},
}


def found(value: dict[str, Any]) -> tuple[str, ...]:
    return Json().found(json.dumps(value), "mcpServers").by_hand


def test_entries_made_by_hand_are_recognised_by_what_they_start() -> None:
    """Under any name, for all projects or for one; other servers are not ours."""
    assert set(found({"mcpServers": OURS | OTHERS})) == OURS.keys()
    assert found({"projects": {"/srv/shop": {"mcpServers": {"mb": OURS["command"]}}}}) == ("mb in /srv/shop",)
    assert found({"mcpServers": {"memory-butler": OURS["command"]}}) == ()


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MEMORY_BUTLER_HOME", str(tmp_path / "store"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_status_names_them(account: Path) -> None:
    (account / ".claude.json").write_text(json.dumps({"mcpServers": {"mb": OURS["command"]}}))
    said = CliRunner().invoke(app, ["connect", "status"]).output
    assert "connected by hand: mb" in said
    listed = json.loads(CliRunner().invoke(app, ["connect", "status", "--json"]).output)
    assert listed["connections"][0]["by_hand"] == ["mb"]


def test_the_hooks_get_the_port_that_is_in_force(account: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the environment, which Claude Code may not have. Hooks know the usual one and that of the config file."""
    settings = account / ".claude" / "settings.json"

    def commands() -> list[str]:
        assert CliRunner().invoke(app, ["connect", "claude-code", "--yes"]).exit_code == 0
        groups = json.loads(settings.read_text())["hooks"].values()
        return [handler["command"] for group in groups for handler in group[0]["hooks"]]

    assert not any("--port" in command for command in commands())
    monkeypatch.setenv("MEMORY_BUTLER_PORT", "9001")
    written = commands()
    assert all(command.endswith(" --port 9001") for command in written)
    assert _hook(["--home", "/x", "hook", "session-end", "--port", "9001"]) == ("session-end", "/x", "9001")
    (account / "store").mkdir()
    (account / "store" / "config.toml").write_text("port = 9001\n")
    assert not any("--port" in command for command in commands())
