"""The built wheel is complete, and works outside the source tree."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_butler.store.embedded import EmbeddedPostgres

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "memory_butler"


@pytest.fixture(scope="module")
def workshop() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="mb-wheel-") as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def wheel(workshop: Path) -> Path:
    """The wheel, built from a copy so that nothing is left in the source tree and nothing stale gets in."""
    source = workshop / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, source / name)
    shutil.copytree(PACKAGE, source / "src" / "memory_butler", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(workshop / "dist")]
    built = subprocess.run([*command, str(source)], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return next((workshop / "dist").glob("memory_butler-*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, workshop: Path) -> Path:
    """A folder with the unpacked wheel, as an installer would lay it out."""
    target = workshop / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    return target


@pytest.fixture(scope="module")
def outside(installed: Path) -> Iterator[Callable[..., str]]:
    """Run Python in an empty folder with the wheel in front of everything else, on a home of its own."""
    home = Path(tempfile.mkdtemp(prefix="mb-wheel-home-"))
    elsewhere = Path(tempfile.mkdtemp(prefix="mb-wheel-cwd-"))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMORY_BUTLER_", "PYTHON"))}

    def run(*arguments: str) -> str:
        environment = {**kept, "PYTHONPATH": str(installed), "MEMORY_BUTLER_HOME": str(home), "PYTHONUTF8": "1"}
        done = subprocess.run(
            [sys.executable, *arguments], capture_output=True, text=True, env=environment, cwd=elsewhere, check=False
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
    assert {"memory_butler/store/sql/facts.sql", "memory_butler/store/migrations/0001_core.sql"} <= packed
    assert "memory_butler/store/migrations/versions/0001_core.py" in packed


def test_the_wheel_has_the_command(installed: Path) -> None:
    """Installing it gives `memory-butler`."""
    entry_points = next(installed.glob("memory_butler-*.dist-info")) / "entry_points.txt"
    assert "memory-butler = memory_butler.adapters.cli:main" in entry_points.read_text()


def test_the_wheel_works_outside_the_source_tree(installed: Path, outside: Callable[..., str]) -> None:
    """From an empty folder and an empty home it creates the store, migrates it, stores a fact and finds it."""
    where = outside("-c", "import memory_butler; print(memory_butler.__file__)").strip()
    assert Path(where).is_relative_to(installed)

    def cli(*arguments: str) -> Any:
        return json.loads(outside("-m", "memory_butler.adapters.cli", *arguments, "--json"))

    stored = cli("remember", "fact", "Ana", "favorite color", "green")
    found = cli("search", "Which colour does Ana like?", "--limit", "1")
    assert stored["outcome"] == "created" and found["results"][0]["ref"] == stored["ref"]
    assert outside("-m", "memory_butler.adapters.cli", "--version").startswith("memory-butler 0.")
