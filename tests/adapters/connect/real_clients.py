"""The real clients, installed into a temporary folder, with a home of their own and no account: `make test-clients`.

Claude Code registers the server, finds it healthy, installs the plugin, and has a whole session with the hooks, in
which a stand-in answers for the model; Codex, Gemini CLI and the MCP Inspector follow. Everything is removed again.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from tests.adapters.connect import conformance, fresh_account

ROOT = Path(__file__).parents[3]
PLUGIN = ROOT / "plugins" / "claude-code"
PACKAGES = ["@anthropic-ai/claude-code", "@openai/codex", "@google/gemini-cli", "@modelcontextprotocol/inspector"]
PORT, ANSWER = 8159, "Done. The invoice test is fixed; it now uses a fixed clock."
KNOWN = "Tests run with make check."
RELEVANT = "Invoices go to Ana in Lisbon."
PROMPT = "Please fix the invoice test. We always use a fixed clock in tests."
INSTALL_SECONDS, STEP_SECONDS, READY_SECONDS = 900, 180, 60


class Failed(Exception):
    """A client did not do what was expected of it."""


class Stage:
    """A folder with the clients in it, and how to run them there."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.project = folder, folder / "project"
        self.home, self.store, self.bin = folder / "home", folder / "store", folder / "bin"
        for made in (self.project / ".git", self.home, self.bin, folder / "npm"):
            made.mkdir(parents=True)
        (self.project / ".git" / "config").write_text('[remote "origin"]\n\turl = git@example.org:acme/shop.git\n')
        program = self.bin / "memory-butler"
        start = f'PYTHONPATH="{ROOT / "src"}" exec "{sys.executable}" -m memory_butler.adapters.entry "$@"'
        program.write_text(f"#!/bin/sh\n{start}\n")
        program.chmod(0o755)
        path = os.pathsep.join([str(self.bin), str(folder / "npm" / "node_modules" / ".bin"), os.environ["PATH"]])
        kept = {name: os.environ[name] for name in ("LANG", "PYTHONPATH") if name in os.environ}
        if "PYTHONPATH" not in kept:
            kept["PYTHONPATH"] = str(ROOT / "src")
        network = {
            name: value for name, value in os.environ.items() if name.lower().startswith(("npm_", "http", "no_p"))
        }
        self.environment = {
            **network,
            **kept,
            "PATH": path,
            "HOME": str(self.home),
            "MEMORY_BUTLER_HOME": str(self.store),
            "MEMORY_BUTLER_PORT": str(PORT),
            # On a busy machine a server takes its time to start.
            "MCP_TIMEOUT": "120000",
            "DISABLE_TELEMETRY": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    def run(self, *command: str, seconds: int = STEP_SECONDS, **more: str) -> str:
        """The output of a command that must succeed."""
        done = subprocess.run(
            command,
            cwd=self.project,
            env={**self.environment, **more},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        if done.returncode:
            raise Failed(f"{' '.join(command[:4])} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def files(self) -> dict[str, bytes]:
        """What is in the clients' configuration files."""
        names = [".claude.json", ".claude/settings.json", ".codex/config.toml", ".gemini/settings.json"]
        paths = [self.home / name for name in names]
        return {str(path): path.read_bytes() for path in paths if path.exists()}


def expect(condition: bool, what: str, output: str = "") -> None:
    if not condition:
        raise Failed(f"{what}\n{output}")
    sys.stdout.write(f"  ok  {what}\n")
    sys.stdout.flush()


def claude_code(stage: Stage) -> None:
    sys.stdout.write(f"Claude Code {stage.run('claude', '--version').strip()}\n")
    stage.run("claude", "mcp", "add", "--scope", "user", "memory-butler", "--", "memory-butler", "mcp")
    got = stage.run("claude", "mcp", "get", "memory-butler")
    expect("Connected" in got, "`mcp add`, then `mcp get`: healthy", got)
    stage.run("claude", "mcp", "remove", "--scope", "user", "memory-butler")
    stage.run("memory-butler", "connect", "claude-code", "--yes")
    listed = stage.run("claude", "mcp", "list")
    expect("memory-butler" in listed and "Connected" in listed, "`connect`, then `mcp list`: healthy", listed)
    session(stage)
    stage.run("memory-butler", "disconnect", "claude-code", "--yes")
    left = stage.run("claude", "mcp", "list")
    expect("memory-butler" not in left, "`disconnect`: gone", left)
    expect(not any(b"memory-butler" in text for text in stage.files().values()), "no trace of it in any file")


def new_user(stage: Stage) -> None:
    sys.stdout.write("A new user of Claude Code\n")
    for happened, what, output in fresh_account.first_days(stage, standing_in):
        expect(happened, what, output)


def plugin(stage: Stage) -> None:
    for manifest in (PLUGIN, PLUGIN / ".claude-plugin" / "plugin.json"):
        checked = stage.run("claude", "plugin", "validate", str(manifest))
        expect(
            "passed" in checked and "warning" not in checked.lower(), f"`plugin validate` of {manifest.name}", checked
        )
    stage.run("claude", "plugin", "marketplace", "add", str(PLUGIN))
    stage.run("claude", "plugin", "install", "memory-butler@memory-butler")
    details = stage.run("claude", "plugin", "details", "memory-butler")
    wanted = (
        "forget",
        "recall",
        "remember",
        "SessionStart",
        "UserPromptSubmit",
        "PreCompact",
        "SessionEnd",
        "MCP servers (1)",
    )
    expect(all(word in details for word in wanted), "the plugin has its commands, hooks and server", details)
    listed = stage.run("claude", "mcp", "list")
    expect("plugin:memory-butler" in listed and "Connected" in listed, "the plugin's server is healthy", listed)
    session(stage)
    stage.run("claude", "plugin", "uninstall", "memory-butler")
    stage.run("claude", "plugin", "marketplace", "remove", "memory-butler")
    expect("memory-butler" not in stage.run("claude", "plugin", "list"), "the plugin is gone")


def session(stage: Stage) -> None:
    """A session with a stand-in for the model: what the memory says gets there, and what was done is remembered."""
    fact = {
        "subject": "shop",
        "predicate": "test_command",
        "content": KNOWN,
        "scope": "acme.shop",
    }
    with serving(stage), standing_in() as (address, requests):
        ask("store_fact", fact)
        ask("store_fact", {"subject": "invoices", "predicate": "recipient", "content": RELEVANT})
        said = stage.run("claude", "-p", PROMPT, ANTHROPIC_API_KEY="none", ANTHROPIC_BASE_URL=address)
        expect(ANSWER in said, "a session goes through", said)
        expect(any(KNOWN in request for request in requests), "its hook gave it the memory of the project")
        expect(any(RELEVANT in request for request in requests), "its hook gave it the memory for the first prompt")
        found = ask("search", {"query": "invoice test fixed clock", "types": ["episode"], "butler": "acme.shop"})
        expect("fixed clock" in json.dumps(found["results"]), "its hook kept what was done", json.dumps(found))


def codex(stage: Stage) -> None:
    sys.stdout.write(f"Codex {stage.run('codex', '--version').splitlines()[0]}\n")
    before = stage.files()
    stage.run("memory-butler", "connect", "codex", "--yes")
    listed = json.loads(_object(stage.run("codex", "mcp", "get", "memory-butler", "--json")))
    expect(listed["transport"]["args"][-1] == "mcp", "`connect`, then `mcp get`: registered")
    stage.run("memory-butler", "disconnect", "codex", "--yes")
    expect("memory-butler" not in stage.run("codex", "mcp", "list"), "`disconnect`: gone")
    expect(stage.files() == before, "its file is as it was")


def gemini(stage: Stage) -> None:
    sys.stdout.write(f"Gemini CLI {stage.run('gemini', '--version').splitlines()[0]}\n")
    before = stage.files()
    stage.run("memory-butler", "connect", "gemini", "--yes")
    trusted: dict[str, Any] = {"GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_API_KEY": "none"}
    listed = stage.run("gemini", "mcp", "list", **trusted)
    expect("memory-butler" in listed and "Connected" in listed, "`connect`, then `mcp list`: healthy", listed)
    stage.run("memory-butler", "disconnect", "gemini", "--yes")
    expect("memory-butler" not in stage.run("gemini", "mcp", "list", **trusted), "`disconnect`: gone")
    expect(stage.files() == before, "its file is as it was")


def inspector(stage: Stage) -> None:
    sys.stdout.write("MCP Inspector\n")
    said = stage.run("mcp-inspector", "--cli", "memory-butler", "mcp", "--method", "tools/list")
    names = {tool["name"] for tool in json.loads(_object(said))["tools"]}
    expect({"memory_context", "memory_search", "memory_store_fact"} <= names, f"lists {len(names)} tools")


def mcp_conformance(stage: Stage) -> None:
    sys.stdout.write(f"MCP conformance suite {conformance.VERSION}\n")
    modules = stage.folder / "npm" / "node_modules"
    with serving(stage):
        address = f"http://127.0.0.1:{PORT}/mcp"
        passed, failed = conformance.run(conformance.node_of(modules), modules, address, stage.folder / "conformance")
    expect(passed > 0 and not failed, f"{passed} checks pass, none fails that needs no fixture", "\n".join(failed))


def _object(output: str) -> str:
    return output[output.index("{") : output.rindex("}") + 1]


def ask(operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
    body = json.dumps(arguments).encode()
    address = f"http://127.0.0.1:{PORT}/api/v1/{operation}"
    with urlopen(Request(address, body, {"Content-Type": "application/json"}), timeout=30) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


@contextmanager
def serving(stage: Stage) -> Iterator[None]:
    """The server on this machine that the hooks ask."""
    command = [str(stage.bin / "memory-butler"), "serve", "--no-worker"]
    process = subprocess.Popen(command, env=stage.environment, stdout=subprocess.DEVNULL)
    try:
        until = time.monotonic() + READY_SECONDS
        while not _is_ready():
            if process.poll() is not None or time.monotonic() > until:
                raise Failed("the server did not get ready")
            time.sleep(0.2)
        yield
    finally:
        process.terminate()
        process.wait(timeout=30)


def _is_ready() -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{PORT}/health/ready", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@contextmanager
def standing_in() -> Iterator[tuple[str, list[str]]]:
    """A stand-in for the model: it gives one answer to everything and keeps what it was asked."""
    requests: list[str] = []

    class Model(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
            requests.append(asked)
            is_stream = bool(json.loads(asked).get("stream"))
            body = _stream() if is_stream else json.dumps(_message()).encode()
            self.send_response(200)
            self.send_header("content-type", "text/event-stream" if is_stream else "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Model) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", requests
        server.shutdown()


def _message(**other: Any) -> dict[str, Any]:
    usage = {"input_tokens": 5, "output_tokens": 5}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "stand-in", "usage": usage}
    text = [{"type": "text", "text": ANSWER}]
    return {**message, "content": text, "stop_reason": "end_turn", "stop_sequence": None, **other}


def _stream() -> bytes:
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": _message(content=[], stop_reason=None)},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": ANSWER}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()


def main() -> int:
    if not shutil.which("npm") or not shutil.which("node"):
        sys.stderr.write("Nothing was checked: Node.js and npm are needed to install the clients.\n")
        return 2
    folder = Path(tempfile.mkdtemp(prefix="mb-clients-"))
    stage = Stage(folder)
    steps: list[Callable[[Stage], None]] = [claude_code, new_user, plugin, codex, gemini, inspector, mcp_conformance]
    try:
        sys.stdout.write("Installing the clients …\n")
        sys.stdout.flush()
        given = os.environ.get("CLIENTS_FOLDER")
        if given:
            (folder / "npm" / "node_modules").symlink_to(Path(given).absolute() / "node_modules")
        else:
            install = [
                "npm",
                "install",
                "--no-audit",
                "--no-fund",
                "--prefix",
                str(folder / "npm"),
                *PACKAGES,
                *conformance.packages(),
            ]
            # Only here the person's own settings count: they say where packages come from.
            stage.run(*install, seconds=INSTALL_SECONDS, **os.environ)
        for step in steps:
            step(stage)
    except (Failed, subprocess.TimeoutExpired) as problem:
        sys.stderr.write(f"FAILED: {problem}\n")
        return 1
    finally:
        stop = [str(stage.bin / "memory-butler"), "stop"]
        subprocess.run(stop, env=stage.environment, stdout=subprocess.DEVNULL, check=False)
        shutil.rmtree(folder, ignore_errors=True)
    sys.stdout.write("All clients work.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
