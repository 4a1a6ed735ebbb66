"""The examples run as they stand."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memory_butler.store.embedded.server import EmbeddedPostgres

ROOT = Path(__file__).parents[1]


@pytest.fixture
def empty_home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="mb-example-"))
    yield folder
    EmbeddedPostgres(folder).stop()
    shutil.rmtree(folder, ignore_errors=True)


def test_the_first_memory_in_python(empty_home: Path) -> None:
    """The quickstart stores, finds and briefs, starting from nothing; run again, it confirms."""
    environment = {**os.environ, "MEMORY_BUTLER_HOME": str(empty_home), "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, str(ROOT / "examples" / "first_memory.py")]
    first = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)
    assert first.returncode == 0, first.stderr
    assert re.search(r"^stored fact:\w{4} \(created\)$", first.stdout, re.MULTILINE)
    assert "found 'green' with score" in first.stdout
    assert "# What I remember" in first.stdout and "of 200 tokens used" in first.stdout
    again = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)
    assert "(confirmed)" in again.stdout, again.stderr


def test_the_readme_speaks_python_that_runs(new_home: Callable[[], Path]) -> None:
    """The program in the README, as it is printed there, finds what it stored and briefs with it."""
    program = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert program
    home = new_home()
    environment = {**os.environ, "MEMORY_BUTLER_HOME": str(home), "PYTHONPATH": str(ROOT / "src")}
    try:
        ran = subprocess.run(
            [sys.executable, "-c", program[1]],
            capture_output=True,
            text=True,
            env=environment,
            timeout=120,
            check=False,
        )
    finally:
        EmbeddedPostgres(home).stop()
        shutil.rmtree(home)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("peanuts, badly\n# What I remember\n## Facts\n- user · allergic to peanuts")
