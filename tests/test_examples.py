"""The examples run as they stand."""

import os
import re
import shlex
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
    assert re.search(r"^Ana · favorite color: green \[fact:\w{4}\]$", first.stdout, re.MULTILINE)
    assert "# What I remember" in first.stdout and "of 200 tokens used" in first.stdout
    again = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)
    assert "(confirmed)" in again.stdout, again.stderr


def test_the_readme_shows_commands_with_their_output(new_home: Callable[[], Path]) -> None:
    """The example of the README prints what it shows; only the reference is another one."""
    example = re.search(r"```console\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert example
    shown = [block.partition("\n") for block in re.split(r"^\$ ", example[1], flags=re.MULTILINE)[1:]]
    assert len(shown) == 2
    home = new_home()
    environment = {**os.environ, "MEMORY_BUTLER_HOME": str(home), "PYTHONPATH": str(ROOT / "src")}
    entry = [sys.executable, "-c", "from memory_butler.adapters.entry import main; main()"]
    try:
        for command, _, output in shown:
            program, *arguments = shlex.split(command)
            assert program == ".venv/bin/memory-butler"
            ran = subprocess.run(
                [*entry, *arguments], capture_output=True, text=True, env=environment, timeout=120, check=False
            )
            assert ran.returncode == 0, ran.stderr
            masked = [re.sub(r"fact:\w{4}", "fact:REF", text) for text in (ran.stdout, output)]
            assert masked[0] == masked[1]
    finally:
        EmbeddedPostgres(home).stop()
        shutil.rmtree(home)
