"""The built wheel is complete, and works outside the source tree."""

import json
import os
import queue
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

import pytest
from tools.packages import client, model, program
from tools.packages.sizes import closure, sizes

from memory_butler.ai.domains import SHIPPED_VECTORS, load_domains, phrase_digest, phrases_of, shipped_vectors
from memory_butler.ai.embedding import OnnxEmbedder
from memory_butler.ai.onnx_graph import graph_name
from memory_butler.ai.weights import READY_GRAPH, READY_PACKAGE
from memory_butler.store.embedded.server import EmbeddedPostgres

ROOT = Path(__file__).parents[1]
# No program of a test reaches the network: every proxy and the hub are a closed port.
NO_NETWORK = {f"{name}_PROXY": "http://127.0.0.1:9" for name in ("HTTP", "HTTPS", "ALL")} | {
    "HF_ENDPOINT": "http://127.0.0.1:9"
}
ANSWER_SECONDS = 120.0
HOME_LIMIT_BYTES = 80e6
CLIENT_LIMIT_BYTES = 30e6
# 390 MB with the versions of constraints.txt; the bytecode that pip writes is not counted.
PLAIN_LIMIT_BYTES = 400e6
PACKAGE = ROOT / "src" / "memory_butler"


@pytest.fixture(scope="module")
def workshop() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="mb-wheel-") as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def wheels(workshop: Path) -> dict[str, Path]:
    """The wheels of the program, its model and its client."""
    dist = workshop / "dist"
    return {"program": program.build(dist), "model": model.build(dist), "client": client.build(dist)}


@pytest.fixture(scope="module")
def wheel(wheels: dict[str, Path]) -> Path:
    return wheels["program"]


def _installed(venv: Path, wheels: list[Path], name: str) -> Path:
    """An empty venv with these wheels installed by pip. What they require is linked from the environment of the tests,
    and nothing else: an import that is not declared fails."""
    # Ours installs into it: to give it a pip of its own takes longer than everything else here.
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True, capture_output=True)
    pip = [sys.executable, "-m", "pip", "--python", str(venv / "bin" / "python")]
    command = [*pip, "install", "--quiet", "--no-deps", "--no-index", *map(str, wheels)]
    subprocess.run(command, check=True, capture_output=True)
    packages = next((venv / "lib").glob("python*/site-packages"))
    here = Path(sysconfig.get_path("purelib"))
    required = _requirements(packages, name)
    tops = {Path(file).parts[0] for one in required for file in one.files or () if Path(file).parts[0] != ".."}
    for top in tops - {"__pycache__"}:
        if not (packages / top).exists():
            (packages / top).symlink_to(here / top)
    return venv / "bin"


def _requirements(packages: Path, name: str) -> list[Distribution]:
    found = closure(name, [str(packages), *sys.path])
    return [one for one in found.values() if Path(str(one.locate_file(""))) != packages]


@pytest.fixture(scope="module")
def bin_folder(wheels: dict[str, Path], workshop: Path) -> Path:
    return _installed(workshop / "venv", [wheels["program"], wheels["model"]], "memory-butler")


@pytest.fixture(scope="module")
def outside(bin_folder: Path) -> Iterator[Callable[..., str]]:
    """Run a program of the venv in an empty folder, on a home of its own."""
    home = Path(tempfile.mkdtemp(prefix="mb-wheel-home-"))
    elsewhere = Path(tempfile.mkdtemp(prefix="mb-wheel-cwd-"))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMORY_BUTLER_", "PYTHON"))}

    def run(program: str, *arguments: str) -> str:
        environment = {**kept, **NO_NETWORK, "MEMORY_BUTLER_HOME": str(home), "PYTHONUTF8": "1"}
        done = subprocess.run(
            [str(bin_folder / program), *arguments],
            capture_output=True,
            text=True,
            env=environment,
            cwd=elsewhere,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    yield run
    EmbeddedPostgres(home).stop()
    shutil.rmtree(home, ignore_errors=True)
    shutil.rmtree(elsewhere)


def test_every_file_of_the_package_is_in_the_wheel(wheel: Path) -> None:
    """Code, SQL, migrations, prompts and py.typed: what is in the source is in the wheel, and nothing more."""
    wanted = {
        path.relative_to(PACKAGE.parent).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("memory_butler/")}
    assert packed == wanted
    assert "memory_butler/py.typed" in packed
    assert {"memory_butler/store/memories/facts.sql", "memory_butler/store/migrations/0001_core.sql"} <= packed
    dashboard = ("assets/dashboard.css", "assets/icon.svg", "components/timestamp.js")
    pages = {f"memory_butler/adapters/dashboard/{name}" for name in dashboard}
    assert pages <= packed


def test_the_wheel_works_in_an_empty_venv_outside_the_source_tree(
    bin_folder: Path, outside: Callable[..., str]
) -> None:
    """Its command, from an empty folder and an empty home, makes the store, migrates it, stores a fact, finds it."""
    where = outside("python", "-c", "import memory_butler; print(memory_butler.__file__)").strip()
    assert Path(where).is_relative_to(bin_folder.parent)

    def cli(*arguments: str) -> Any:
        return json.loads(outside("memory-butler", *arguments, "--json"))

    stored = cli("remember", "fact", "Ana", "favorite color", "green")
    found = cli("search", "Which colour does Ana like?", "--limit", "1")
    assert stored["outcome"] == "created" and found["results"][0]["ref"] == stored["ref"]
    assert outside("memory-butler", "--version").startswith("memory-butler 0.")


def test_a_plain_installation_stays_small(bin_folder: Path) -> None:
    """The files of the program and of all it requires; what only some use or only developers need is no part of it."""
    packages = next((bin_folder.parent / "lib").glob("python*/site-packages"))
    rows = sizes("memory-butler", [str(packages), *sys.path])
    names = {row.name.lower() for row in rows}
    assert {"numpy", "onnxruntime", "nicegui", "fastmcp", "memory-butler-model"} <= names
    assert not names & {"onnx", "torch", "sqlalchemy", "alembic", "pydantic-ai-slim", "opentelemetry-sdk", "pytest"}
    assert sum(row.files_bytes for row in rows) <= PLAIN_LIMIT_BYTES


def test_the_model_package_holds_the_graph_and_every_phrase(wheels: dict[str, Path], workshop: Path) -> None:
    """The first start builds no graph and embeds none of our phrases; a second build gives the same bytes."""
    folder = workshop / "model"
    with zipfile.ZipFile(wheels["model"]) as archive:
        archive.extractall(folder)
    assert graph_name("int8") == READY_GRAPH.name
    assert shipped_vectors("of another model", folder / READY_PACKAGE) == {}
    version = OnnxEmbedder(cache=folder, hub_url=None).version.digest
    shipped = shipped_vectors(version, folder / READY_PACKAGE)
    assert {phrase_digest(phrase) for phrase in phrases_of(load_domains({}))} == set(shipped)
    assert (folder / READY_PACKAGE / SHIPPED_VECTORS).stat().st_size < 4e6


def test_the_first_mcp_call_in_an_empty_home_answers_without_network(bin_folder: Path) -> None:
    """As an MCP client starts it: no model is built or fetched, and the first call waits for the new store."""
    home = Path(tempfile.mkdtemp(prefix="mb-wheel-home-")) / "new"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMORY_BUTLER_", "PYTHON"))}
    environment = {**kept, **NO_NETWORK, "MEMORY_BUTLER_HOME": str(home), "PYTHONUTF8": "1"}
    command = [str(bin_folder / "memory-butler"), "mcp"]
    with subprocess.Popen(
        command, env=environment, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as server:
        try:
            assert server.stdin and server.stdout
            arguments = {"subject": "user", "predicate": "allergic_to", "content": "peanuts"}
            initialize = {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "t", "version": "1"},
            }
            for message in (
                {"id": 1, "method": "initialize", "params": initialize},
                {"method": "notifications/initialized"},
                {"id": 2, "method": "tools/call", "params": {"name": "memory_store_fact", "arguments": arguments}},
            ):
                server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
                server.stdin.flush()
            answer = _answer(server, 2)
            assert not answer["result"].get("isError"), answer
            assert "created" in answer["result"]["content"][0]["text"]
            assert not list((home / "models").iterdir())
        finally:
            server.stdin.close()
            server.wait(30)
            EmbeddedPostgres(home).stop()
    size = sum(file.lstat().st_blocks * 512 for file in home.rglob("*"))
    shutil.rmtree(home.parent, ignore_errors=True)
    assert size <= HOME_LIMIT_BYTES


def _answer(server: subprocess.Popen[bytes], wanted: int) -> Any:
    """The answer with this id; fails after a limit that the slowest first start does not reach."""
    lines: queue.Queue[bytes] = queue.Queue()
    assert server.stdout
    threading.Thread(target=lambda out: [lines.put(line) for line in out], args=(server.stdout,), daemon=True).start()
    deadline = time.monotonic() + ANSWER_SECONDS
    while True:
        message = json.loads(lines.get(timeout=deadline - time.monotonic()))
        if message.get("id") == wanted:
            return message


def test_the_client_package_calls_a_server_without_the_engine(wheels: dict[str, Path], workshop: Path) -> None:
    """It is small, imports with its one dependency, and says what to install for a store in process."""
    python = _installed(workshop / "client", [wheels["client"]], "memory-butler-client") / "python"
    code = (
        "from memory_butler import Memory, AsyncMemory\n"
        "from memory_butler.client import MemoryClient\n"
        "remote = Memory('http://127.0.0.1:9', token='t')\n"
        "try:\n    Memory().search('x')\nexcept Exception as problem:\n    print(problem.recovery)\n"
        "try:\n    remote.search('x')\nexcept Exception as problem:\n    print(type(problem).__name__)\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, cwd="/", env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert "pip install memory-butler" in done.stdout and "TargetUnavailable" in done.stdout
    packages = next((workshop / "client" / "lib").glob("python*/site-packages"))
    rows = sizes("memory-butler-client", [str(packages)])
    assert sum(row.files_bytes + row.bytecode_bytes for row in rows) <= CLIENT_LIMIT_BYTES
