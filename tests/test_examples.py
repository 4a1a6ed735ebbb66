"""The examples run as they stand."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_butler.store.embedded import EmbeddedPostgres

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
