"""The plugin for Claude Code says what the rest of the project says."""

import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from memory_butler.adapters.connect.clients import HOOKS
from memory_butler.adapters.mcp.catalog import TOOLS
from memory_butler.adapters.mcp.listing import CORE, STANDARD

ROOT = Path(__file__).parents[3]
PLUGIN = ROOT / "plugins" / "claude-code"
SCRIPT = "${CLAUDE_PLUGIN_ROOT}/bin/memory-butler"


def read(name: str) -> Any:
    return json.loads((PLUGIN / name).read_text(encoding="utf-8"))


def test_the_plugin_has_the_version_of_the_project() -> None:
    """A release changes both."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert read(".claude-plugin/plugin.json")["version"] == project["version"]


def test_the_plugin_has_the_hooks_that_connecting_writes_down() -> None:
    """The same moments, commands and limits, through the plugin's own start script."""
    found = {event: groups[0]["hooks"][0] for event, groups in read("hooks/hooks.json")["hooks"].items()}
    wanted = {
        event: {"type": "command", "command": f'sh "{SCRIPT}" hook {name}', "timeout": seconds}
        for event, (name, seconds) in HOOKS.items()
    }
    assert found == wanted


def test_the_marketplace_offers_the_plugin_beside_it() -> None:
    """Under its own name, with its server and its three commands."""
    (offered,) = read(".claude-plugin/marketplace.json")["plugins"]
    assert offered["name"] == read(".claude-plugin/plugin.json")["name"]
    assert (PLUGIN / offered["source"]).resolve() == PLUGIN
    server = {"command": "sh", "args": [SCRIPT, "mcp", "--tools", "standard"]}
    assert read(".mcp.json")["mcpServers"] == {"memory-butler": server}
    assert {path.stem for path in (PLUGIN / "commands").glob("*.md")} == {"remember", "recall", "forget"}


def script(path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The plugin's start script with nothing on the PATH but this folder and the system's basics."""
    variables = {"PATH": f"{path}:/usr/bin:/bin", "HOME": str(path)}
    command = ["sh", str(PLUGIN / "bin" / "memory-butler"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=variables, check=False)


@pytest.mark.parametrize("name", ["memory-butler", "uvx"])
def test_the_plugin_finds_the_program(tmp_path: Path, name: str) -> None:
    """On the PATH, in the usual folder for programs of a user, or by uvx."""
    for place in (tmp_path, tmp_path / ".local" / "bin"):
        place.mkdir(parents=True, exist_ok=True)
        program = place / name
        program.write_text('#!/bin/sh\necho "$0 $@"\n')
        program.chmod(0o755)
        said = script(tmp_path, "hook", "pre-compact").stdout.split()
        assert said[0] == str(program)
        assert said[-2:] == ["hook", "pre-compact"]
        program.unlink()


def test_without_the_program_a_session_says_so_once_and_goes_on(tmp_path: Path) -> None:
    begun = script(tmp_path, "hook", "session-start")
    assert begun.returncode == 0
    assert "uv tool install memory-butler" in json.loads(begun.stdout)["systemMessage"]
    ended = script(tmp_path, "hook", "session-end")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert script(tmp_path, "mcp").returncode == 127


def test_the_skill_names_tools_of_the_group_that_it_asks_for() -> None:
    """Marked where they are not in the smaller one; its name is that of its folder."""
    (path,) = (PLUGIN / "skills").glob("*/SKILL.md")
    text = path.read_text(encoding="utf-8")
    assert f"\nname: {path.parent.name}\n" in text
    assert "--tools standard" in text
    named = re.findall(r"`(memory_\w+)`(\*?)", text)
    assert {name for name, _ in named} <= STANDARD & TOOLS.keys()
    assert all((mark == "*") == (name not in CORE) for name, mark in named)
