"""Connecting and disconnecting clients, on files as people have them."""

import json
import os
import stat
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from memory_butler.adapters.cli.app import app
from memory_butler.adapters.connect.clients import CLIENTS, Scope, Wish
from memory_butler.adapters.connect.files import BACKUP, apply, connecting, disconnecting
from memory_butler.errors import Conflict, MemoryButlerError

CLAUDE_SETTINGS = """\
{
  "permissions": { "allow": ["Bash(make test)"], "deny": [] },
  "hooks": {
    "SessionStart": [
      { "matcher": "startup", "hooks": [{ "type": "command", "command": "echo hello" }] }
    ],
    "Stop": [{ "hooks": [{ "type": "command", "command": "notify-send done" }] }]
  },
  "model": "opus"
}
"""
CLAUDE_JSON = (
    '{\n  "numStartups": 12,\n  "mcpServers": {},\n  "projects": {"/srv/shop": {"history": ["é", "\\u00e9", 1.0]}}\n}'
)
CODEX = """\
# my settings
model = "gpt-5"   # the usual
approval_policy = "on-request"

[mcp_servers.docs]  # documentation
command = "docs"
args = [
  "--all",  # [every.thing]
]
notes = '''
[mcp_servers.memory-butler]
this is only a text
'''

# projects I trust
[projects."/srv/shop"]
trust_level = "trusted"
"""
CURSOR = '{\r\n\t"mcpServers": {\r\n\t\t"files": {"command": "npx", "args": ["-y", "files"]}\r\n\t}\r\n}\r\n'
GEMINI = '{"ui":{"theme":"Dark"},"mcpServers":{"web":{"httpUrl":"https://example.org/mcp"}}}'
VSCODE = """\
{
    // servers for this machine
    "inputs": [],
    "servers": {
        "github": { "type": "http", "url": "https://example.org/mcp/" }, // work
    },
}
"""
TEXTS = {
    "claude-code": [CLAUDE_JSON, CLAUDE_SETTINGS],
    "codex": [CODEX],
    "cursor": [CURSOR],
    "gemini": [GEMINI],
    "vscode": [VSCODE],
}
EMPTY = {"claude-code": ["{}", "{}\n"], "codex": [""], "cursor": [""], "gemini": ["{\n}\n"], "vscode": ["{ }"]}
CASES = [(name, scope, texts[name]) for texts in (TEXTS, EMPTY) for name in CLIENTS for scope in Scope]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, and a project folder to stand in."""
    home, folder = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    folder.mkdir()
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("MEMORY_BUTLER_HOME", str(tmp_path / "a store"))
    monkeypatch.chdir(folder)
    return folder


def type_in(*arguments: str, given: str = "") -> Result:
    return CliRunner().invoke(app, arguments, input=given)


def paths(client: str, scope: Scope) -> list[Path]:
    return [place.path for place in CLIENTS[client].places(scope, Path.cwd())]


def lay_out(client: str, scope: Scope, texts: list[str]) -> dict[Path, bytes]:
    """The files of a client as they were before; returns every file with its bytes."""
    for path, text in zip(paths(client, scope), texts, strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return every_file()


def every_file() -> dict[Path, bytes]:
    roots = (Path(os.environ["HOME"]), Path.cwd())
    return {path: path.read_bytes() for root in roots for path in root.rglob("*") if path.is_file()}


def value_in(path: Path) -> Any:
    text = path.read_text()
    return tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)


@pytest.mark.parametrize(("client", "scope", "texts"), CASES)
def test_connecting_and_disconnecting_leaves_every_byte_as_it_was(
    project: Path, client: str, scope: Scope, texts: list[str]
) -> None:
    """Also a second time, over HTTP after stdio; a connection that is there is not made again."""
    before = lay_out(client, scope, texts)
    assert type_in("connect", client, "--scope", scope, "--yes").exit_code == 0
    connected = every_file()
    assert connected != before
    backups = {path: content for path, content in connected.items() if path.name.endswith(BACKUP)}
    assert sorted(backups.values()) == sorted(before.values())
    again = type_in("connect", client, "--scope", scope, "--yes")
    assert "nothing to change" in again.output
    assert every_file() == connected
    assert type_in("connect", client, "--scope", scope, "--http", "--yes").exit_code == 0
    assert "/mcp" in "".join(path.read_text() for path in paths(client, scope))
    assert type_in("disconnect", client, "--scope", scope, "--yes").exit_code == 0
    assert every_file() == before
    assert "nothing to change" in type_in("disconnect", client, "--scope", scope, "--yes").output


def test_a_backup_is_of_the_file_as_it_was_last_without_us(project: Path) -> None:
    """Also where an older one is there, and where the file speaks of us without having us."""
    (file,) = paths("cursor", Scope.USER)
    lay_out("cursor", Scope.USER, TEXTS["cursor"])
    type_in("connect", "cursor", "--yes")
    later = '{"mcpServers": {}, "lately": ["/srv/memory-butler", "memory_butler.py"]}'
    file.write_text(later)
    assert type_in("connect", "cursor", "--yes").exit_code == 0
    assert file.with_name(file.name + BACKUP).read_text() == later
    assert type_in("disconnect", "cursor", "--yes").exit_code == 0
    assert every_file() == {file: later.encode()}


@pytest.mark.parametrize("scope", Scope)
@pytest.mark.parametrize("client", CLIENTS)
def test_files_that_were_not_there_are_gone_again(project: Path, client: str, scope: Scope) -> None:
    """With the folders that were made for them."""
    assert type_in("connect", client, "--scope", scope, "--yes").exit_code == 0
    assert set(every_file()) == set(paths(client, scope))
    assert type_in("disconnect", client, "--scope", scope, "--yes").exit_code == 0
    assert every_file() == {}
    assert list(project.iterdir()) == []


def test_what_a_client_reads_afterwards(project: Path) -> None:
    """Each client finds the server in the words of its own documentation, and the home if it is not the usual one."""
    for client in CLIENTS:
        lay_out(client, Scope.USER, TEXTS[client])
        assert type_in("connect", client, "--yes").exit_code == 0
    servers, settings = map(value_in, paths("claude-code", Scope.USER))
    entry = servers["mcpServers"]["memory-butler"]
    assert entry["type"] == "stdio"
    assert entry["args"][-1] == "mcp"
    assert entry["env"] == {"MEMORY_BUTLER_HOME": os.environ["MEMORY_BUTLER_HOME"]}
    hooks = {event: groups[-1]["hooks"][0]["command"] for event, groups in settings["hooks"].items()}
    assert hooks["SessionStart"].endswith(f"--home '{os.environ['MEMORY_BUTLER_HOME']}' hook session-start")
    assert hooks["UserPromptSubmit"].endswith("hook user-prompt")
    assert hooks["PreCompact"].endswith("hook pre-compact")
    assert hooks["SessionEnd"].endswith("hook session-end")
    assert set(settings["hooks"]) == {"SessionStart", "UserPromptSubmit", "PreCompact", "SessionEnd", "Stop"}
    codex = value_in(paths("codex", Scope.USER)[0])
    assert codex["mcp_servers"]["memory-butler"].pop("startup_timeout_sec") > 10
    assert {**codex["mcp_servers"]["memory-butler"], "type": "stdio"} == entry
    assert codex["projects"] == {"/srv/shop": {"trust_level": "trusted"}}
    gemini = value_in(paths("gemini", Scope.USER)[0])["mcpServers"]["memory-butler"]
    assert gemini.pop("timeout") > 5000
    assert {**gemini, "type": "stdio"} == entry
    assert "// work" in paths("vscode", Scope.USER)[0].read_text()
    said = json.loads(type_in("connect", "status", "--json").output)["connections"]
    assert [row["client"] for row in said if row["server"]] == list(CLIENTS)
    assert {row["scope"] for row in said if row["server"] or row["hooks"]} == {"user"}
    assert type_in("connect", "status").output.count("connected") == len(CLIENTS)


@pytest.mark.parametrize(("host", "reached"), [("0.0.0.0", "127.0.0.1"), ("::", "[::1]"), ("192.0.2.7", "192.0.2.7")])
def test_a_server_that_listens_everywhere_is_reached_on_this_machine(
    project: Path, monkeypatch: pytest.MonkeyPatch, host: str, reached: str
) -> None:
    """`every address` is nowhere to connect to; any other address is taken as it is."""
    monkeypatch.setenv("MEMORY_BUTLER_SERVICE__AUTH", "required")
    monkeypatch.setenv("MEMORY_BUTLER_HOST", host)
    assert type_in("connect", "cursor", "--http", "--yes").exit_code == 0
    assert f"http://{reached}:8150/mcp" in paths("cursor", Scope.USER)[0].read_text()


def test_a_server_with_tokens_is_reached_with_the_token_of_the_environment(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The token itself is in no file."""
    monkeypatch.setenv("MEMORY_BUTLER_SERVICE__AUTH", "required")
    monkeypatch.setenv("MEMORY_BUTLER_TOKEN", "a-very-secret-token")
    for client in CLIENTS:
        assert type_in("connect", client, "--http", "--yes").exit_code == 0
    texts = [content.decode() for content in every_file().values()]
    assert sum("MEMORY_BUTLER_TOKEN" in text for text in texts) == len(CLIENTS)
    assert not any("a-very-secret-token" in text for text in texts)


def test_a_local_server_is_reached_with_its_token_only_where_it_is_needed(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs of the same account need none. With the rule `token`, the command says how to give it to the client."""
    plain = type_in("connect", "cursor", "--http", "--yes")
    assert plain.exit_code == 0
    assert "TOKEN" not in plain.output
    monkeypatch.setenv("MEMORY_BUTLER_SERVICE__LOCAL_ACCESS", "token")
    told = type_in("connect", "gemini", "--http", "--yes")
    assert told.exit_code == 0
    [line] = [line for line in told.output.splitlines() if "export MEMORY_BUTLER_TOKEN=" in line]
    file = Path(line.partition("$(cat ")[2].partition(")")[0].strip("'"))
    token = file.read_text().strip()
    assert len(token) > 40
    assert not any(token.encode() in content for content in every_file().values())
    assert "TOKEN" not in type_in("connect", "codex", "--yes").output


def test_only_our_entries_go_when_the_file_was_edited_meanwhile(project: Path) -> None:
    """What a person added, also next to our hooks, and what they changed, stays."""
    lay_out("claude-code", Scope.USER, TEXTS["claude-code"])
    assert type_in("connect", "claude-code", "--yes").exit_code == 0
    servers, settings = paths("claude-code", Scope.USER)
    edited = value_in(servers)
    edited["mcpServers"]["files"] = {"command": "files"}
    edited["numStartups"] = 13
    servers.write_text(json.dumps(edited, indent=2))
    changed = value_in(settings)
    changed["hooks"]["SessionStart"][1]["hooks"].append({"type": "command", "command": "echo mine"})
    changed["model"] = "sonnet"
    settings.write_text(json.dumps(changed, indent=4))
    assert type_in("disconnect", "claude-code", "--yes").exit_code == 0
    del edited["mcpServers"]["memory-butler"]
    assert value_in(servers) == edited
    left = value_in(settings)
    assert left["model"] == "sonnet"
    assert set(left["hooks"]) == {"SessionStart", "Stop"}
    commands = [handler["command"] for group in left["hooks"]["SessionStart"] for handler in group["hooks"]]
    assert commands == ["echo hello", "echo mine"]


def test_connecting_again_adds_the_hook_that_an_older_version_did_not_have(project: Path) -> None:
    """The others stay where they are, and disconnecting still restores every byte."""
    before = lay_out("claude-code", Scope.USER, TEXTS["claude-code"])
    client, place = CLIENTS["claude-code"], CLIENTS["claude-code"].places(Scope.USER, project)[1]
    assert type_in("connect", "claude-code", "--yes").exit_code == 0
    settings = paths("claude-code", Scope.USER)[1]
    entries = place.format.found(settings.read_text(), None)
    older = replace(entries, hooks={name: hook for name, hook in entries.hooks.items() if name != "UserPromptSubmit"})
    settings.write_text(place.format.with_entries(before[settings].decode(), older))
    assert "UserPromptSubmit" not in value_in(settings)["hooks"]
    assert "hook user-prompt" in type_in("connect", client.name, "--yes").output
    assert "hook user-prompt" in settings.read_text()
    assert type_in("disconnect", "claude-code", "--yes").exit_code == 0
    assert every_file() == before


def test_codex_tables_added_meanwhile_stay(project: Path) -> None:
    """Also one right after ours, with the remark above it."""
    lay_out("codex", Scope.USER, [CODEX])
    assert type_in("connect", "codex", "--yes").exit_code == 0
    path = paths("codex", Scope.USER)[0]
    path.write_text(path.read_text() + "\n# mine\n[tui]\ntheme = 'x'\n")
    assert type_in("disconnect", "codex", "--yes").exit_code == 0
    assert path.read_text() == CODEX + "\n# mine\n[tui]\ntheme = 'x'\n"


BROKEN = {
    "claude-code": b'{"mcpServers": {',
    "codex": b"model = \n",
    "cursor": b'["a list"]',
    "gemini": b"\xff\xfe{}",
    "vscode": b'{"servers": "none"}',
}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_broken_file_is_never_written_over(project: Path, client: str) -> None:
    """The error names the file, and not a byte changes."""
    path = paths(client, Scope.USER)[0]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(BROKEN[client])
    before = every_file()
    result = type_in("connect", client, "--yes")
    assert isinstance(result.exception, MemoryButlerError)
    assert str(path) in result.exception.message
    assert every_file() == before


def test_a_file_that_nobody_may_read_is_an_error(project: Path) -> None:
    """Here a folder stands in its place."""
    paths("cursor", Scope.USER)[0].mkdir(parents=True)
    result = type_in("connect", "cursor", "--yes")
    assert isinstance(result.exception, MemoryButlerError)
    assert "cannot be read" in result.exception.message


def test_an_entry_written_in_an_unusual_way_is_left_to_the_person(project: Path) -> None:
    """An inline table cannot be changed without changing more, so it is not."""
    before = lay_out("codex", Scope.USER, ['mcp_servers = { memory-butler = { command = "old" } }\n'])
    result = type_in("connect", "codex", "--yes")
    assert isinstance(result.exception, Conflict)
    assert every_file() == before


def test_the_change_is_shown_first(project: Path) -> None:
    """As a diff; a dry run and a no leave everything as it is."""
    before = lay_out("codex", Scope.USER, [CODEX])
    shown = type_in("connect", "codex", "--dry-run")
    assert "+[mcp_servers.memory-butler]" in shown.output
    assert "Nothing was changed." in shown.output
    refused = type_in("connect", "codex", given="n\n")
    assert refused.exit_code == 1
    assert "+[mcp_servers.memory-butler]" in refused.output
    assert every_file() == before
    assert type_in("connect", "codex", given="y\n").exit_code == 0
    assert every_file() != before


def test_links_and_permissions_stay(project: Path, tmp_path: Path) -> None:
    """A file that is kept elsewhere is changed there, and who may read it stays as it was."""
    real, link = tmp_path / "dotfiles.json", paths("cursor", Scope.USER)[0]
    real.write_text(CURSOR)
    real.chmod(0o640)
    link.parent.mkdir(parents=True)
    link.symlink_to(real)
    assert type_in("connect", "cursor", "--yes").exit_code == 0
    assert link.is_symlink()
    assert "memory-butler" in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_a_file_changed_between_showing_and_doing_is_left_alone(project: Path, tmp_path: Path) -> None:
    """Nobody's edit is written over."""
    lay_out("cursor", Scope.USER, [CURSOR])
    (change,) = connecting(CLIENTS["cursor"], Scope.USER, project, Wish(tmp_path))
    change.path.write_text('{"mcpServers": {"new": {}}}')
    with pytest.raises(Conflict):
        apply(change)
    assert change.path.read_text() == '{"mcpServers": {"new": {}}}'
    assert not any(change.is_needed for change in disconnecting(CLIENTS["cursor"], Scope.USER, project))


def test_an_unknown_client_is_named(project: Path) -> None:
    """With the ones that are known."""
    result = type_in("connect", "emacs")
    assert isinstance(result.exception, MemoryButlerError)
    assert "claude-code" in (result.exception.recovery or "")
