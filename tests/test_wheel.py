"""The built wheel is complete, and works outside the source tree."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_butler.store.embedded.server import EmbeddedPostgres

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
def bin_folder(wheel: Path, workshop: Path) -> Path:
    """An empty venv with the wheel installed by pip. Its dependencies are borrowed from this one, the package is not:
    a folder that a .pth file names is searched, but what that folder itself links to (the source tree) is not."""
    venv = workshop / "venv"
    # Ours installs into it: to give it a pip of its own takes longer than everything else here.
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True, capture_output=True)
    pip = [sys.executable, "-m", "pip", "--python", str(venv / "bin" / "python")]
    command = [*pip, "install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(command, check=True, capture_output=True)
    packages = next((venv / "lib").glob("python*/site-packages"))
    (packages / "borrowed.pth").write_text(f"{sysconfig.get_path('purelib')}\n{sysconfig.get_path('platlib')}\n")
    return venv / "bin"


@pytest.fixture(scope="module")
def outside(bin_folder: Path) -> Iterator[Callable[..., str]]:
    """Run a program of the venv in an empty folder, on a home of its own."""
    home = Path(tempfile.mkdtemp(prefix="mb-wheel-home-"))
    elsewhere = Path(tempfile.mkdtemp(prefix="mb-wheel-cwd-"))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMORY_BUTLER_", "PYTHON"))}

    def run(program: str, *arguments: str) -> str:
        environment = {**kept, "MEMORY_BUTLER_HOME": str(home), "PYTHONUTF8": "1"}
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
