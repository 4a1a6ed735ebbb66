"""The plugin for Claude Code says what the rest of the project says."""

import json
import tomllib
from pathlib import Path
from typing import Any

from memory_butler.adapters.connect.clients import HOOKS

ROOT = Path(__file__).parents[3]
PLUGIN = ROOT / "plugins" / "claude-code"


def read(name: str) -> Any:
    return json.loads((PLUGIN / name).read_text(encoding="utf-8"))


def test_the_plugin_has_the_version_of_the_project() -> None:
    """A release changes both."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert read(".claude-plugin/plugin.json")["version"] == project["version"]


def test_the_plugin_has_the_hooks_that_connecting_writes_down() -> None:
    """The same moments, commands and limits; where the program is missing, a session does not hear of it."""
    found = {event: groups[0]["hooks"][0] for event, groups in read("hooks/hooks.json")["hooks"].items()}
    wanted = {
        event: {"type": "command", "command": f"memory-butler hook {name} 2>/dev/null || true", "timeout": seconds}
        for event, (name, seconds) in HOOKS.items()
    }
    assert found == wanted


def test_the_marketplace_offers_the_plugin_beside_it() -> None:
    """Under its own name, with its server and its three commands."""
    (offered,) = read(".claude-plugin/marketplace.json")["plugins"]
    assert offered["name"] == read(".claude-plugin/plugin.json")["name"]
    assert (PLUGIN / offered["source"]).resolve() == PLUGIN
    assert read(".mcp.json")["mcpServers"] == {"memory-butler": {"command": "memory-butler", "args": ["mcp"]}}
    assert {path.stem for path in (PLUGIN / "commands").glob("*.md")} == {"remember", "recall", "forget"}
