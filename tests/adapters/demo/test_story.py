"""The demo tells its story on a real store and leaves nothing behind."""

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from memory_butler.adapters.demo import story

SOURCE = Path(__file__).parents[3] / "src"
COMMAND = [sys.executable, "-m", "memory_butler.adapters.cli.app", "demo"]


@pytest.fixture
def scratch() -> Iterator[Path]:
    """An own folder for temporary files; whatever the demo leaves there is found."""
    with tempfile.TemporaryDirectory(prefix="mb-demo-") as folder:
        yield Path(folder)


def environment(scratch: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMORY_BUTLER_")}
    # A store of one's own is set, and unreachable: the demo must not even look at it.
    own = {"MEMORY_BUTLER_HOME": "/nonexistent/home", "MEMORY_BUTLER_DATABASE_URL": "postgresql://127.0.0.1:1/none"}
    return {**kept, **own, "TMPDIR": str(scratch), "PYTHONPATH": str(SOURCE), "PYTHONUTF8": "1"}


def servers_under(folder: Path) -> list[int]:
    found = []
    for process in psutil.process_iter(["name", "cwd"]):
        if process.info["name"] == "postgres" and str(process.info["cwd"] or "").startswith(str(folder)):
            found.append(process.pid)
    return found


def test_the_story_is_told_and_nothing_is_left(scratch: Path) -> None:
    """All six chapters with what they promise, within 80 columns; store and server are gone."""
    done = subprocess.run(COMMAND, capture_output=True, text=True, env=environment(scratch), timeout=120, check=False)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    said = done.stdout
    assert [int(number) for number in re.findall(r"^(\d)  .*─", said, re.MULTILINE)] == [1, 2, 3, 4, 5, 6]
    assert all(len(line.rstrip()) <= 80 for line in said.splitlines()) and "\x1b" not in said
    assert re.search(r"\+ fact:\w+ Ana · works at: Olaria Sul", said) and "was: window, near the front" in said
    assert re.search(r"✓ fact:\w+ Ana · lives in: Lisbon", said) and "memory-butler undo" in said
    assert re.search(r"Where does fact:\w+ come from\? episode:\w+: “", said)
    old = re.search(r"supersedes\s+(fact:\w+)", said)
    assert old and re.search(rf"{old[1]}\s+Lisbon\s+superseded", said) and re.search(r"Porto\s+active", said)
    assert "→ anti-pattern" in said and "WARNING ANTI-PATTERN" in said
    used = re.search(r"(\d+) of (\d+) tokens used", said)
    assert used and int(used[1]) <= int(used[2])
    assert re.search(r"Left out: [\w:,\s]+,\s+because\s+the\s+token\s+budget\s+is\s+used up", said)
    assert "the same bytes" in said
    assert "adrenaline pen" in said[said.index("# What I remember") :], "a dinner is briefed with the allergy"
    assert list(scratch.iterdir()) == [] and servers_under(scratch) == []


def test_an_interrupted_story_leaves_nothing_either(scratch: Path) -> None:
    """Ctrl-C in the middle still removes the scratch store."""
    # It stands still while it is looked at: the story is over within a second, on a busy machine before it is seen.
    for _ in range(5):
        process = subprocess.Popen(
            COMMAND,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**environment(scratch), "PYTHONUNBUFFERED": "1"},
        )
        assert process.stdout and process.stdout.readline().startswith("Ana's travel agent")
        process.send_signal(signal.SIGSTOP)
        if servers_under(scratch):
            break
        process.send_signal(signal.SIGCONT)
        process.communicate(timeout=60)
    assert servers_under(scratch) != []
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGCONT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in said
    assert list(scratch.iterdir()) == [] and servers_under(scratch) == []


def test_a_polite_kill_is_like_an_interruption(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While there is a scratch store, SIGTERM removes it like Ctrl-C; afterwards it means what it meant before."""
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), story.scratch_home() as home:
        (home / "database").mkdir()
        signal.raise_signal(signal.SIGTERM)
    assert list(scratch.iterdir()) == []
    assert signal.getsignal(signal.SIGTERM) is before
