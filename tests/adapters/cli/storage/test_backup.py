"""The commands for backups, as a person types them."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.archives import ArchivedStore, archived_store, numbers_in
from typer.testing import CliRunner, Result

from memory_butler.adapters.cli.app import app
from memory_butler.adapters.cli.storage.backup import rehearsed
from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.errors import Conflict, InvalidInput
from memory_butler.models import NewFact
from memory_butler.operations.transfer.recovery_drill import DrillReport
from memory_butler.operations.writing import remember
from memory_butler.resources import open_resources

Type = Callable[..., Result]


@pytest.fixture(scope="module")
def store(new_home: Callable[[], Path]) -> Iterator[ArchivedStore]:
    async def fill(made: ArchivedStore) -> None:
        async with open_resources(made.settings, embedder=FakeEmbedder()) as resources:
            await remember.fact(resources, NewFact(subject="Anna", predicate="color", content="Anna likes green."))

    with archived_store(new_home) as made:
        asyncio.run(fill(made))
        yield made


@pytest.fixture
def type_in(store: ArchivedStore, monkeypatch: pytest.MonkeyPatch) -> Type:
    monkeypatch.setattr("memory_butler.adapters.telemetry.logs.configure_logging", lambda settings: None)
    return lambda *arguments: CliRunner().invoke(app, ["--home", str(store.settings.home), *arguments])


def test_a_backup_is_made_and_not_restored_over_a_store(store: ArchivedStore, type_in: Type, tmp_path: Path) -> None:
    """The file is made while the store runs; restoring it over that store is refused, under both names."""
    file = tmp_path / "backup.tar.gz"
    made = type_in("backup", str(file), "--json")
    assert json.loads(made.stdout) == {"path": str(file), "bytes": file.stat().st_size}
    for command in ("restore-backup", "restore"):
        result = type_in(command, str(file))
        assert isinstance(result.exception, Conflict), result.output
    assert isinstance(type_in("restore-backup", str(file), "--to", "2026-01-01T00:00:00Z").exception, InvalidInput)
    assert store.server.is_running()


def test_a_store_goes_back_to_a_moment_and_is_verified(store: ArchivedStore, type_in: Type) -> None:
    """Archive, write, archive, restore to the moment between: the later write is gone, the log matches."""
    folder = str(store.folder)
    first = type_in("backup", folder, "--continuous", "--once")
    assert first.output == f"{folder} is up to date: 1 base backup. A base backup was made.\n"
    moment = store.write()
    store.write()
    again = type_in("backup", folder, "--continuous", "--once", "--json")
    assert json.loads(again.stdout) == {"archive": folder, "base_backups": 1, "made": False}
    restored = type_in("restore-backup", folder, "--to", moment.isoformat(), "--replace")
    assert restored.exit_code == 0, restored.output
    assert "The last change in it is of" in restored.output
    assert "1 tenant matches its log (1 events)." in restored.output
    assert numbers_in(store.settings.home) == [1]
    ended = type_in("backup", folder, "--continuous", "--end")
    assert "has ended" in ended.output


def test_wrong_options_are_refused(store: ArchivedStore, type_in: Type) -> None:
    """Each with what to do instead."""
    for arguments, said in (
        (("backup",), "The file is missing"),
        (("backup", "-"), "cannot go to stdout"),
        (("backup", "x", "--once"), "belong to a continuous backup"),
        (("backup", "--continuous"), "folder of the archive is missing"),
        (("backup", "--continuous", str(store.settings.home / "archive")), "is in the home folder"),
        (("backup", "--continuous", str(store.settings.home.parent)), "is not empty"),
        (("restore-backup", str(store.folder), "--to", "someday"), "is not a"),
    ):
        problem = type_in(*arguments).exception
        assert isinstance(problem, InvalidInput), arguments
        assert said in problem.message


def test_the_command_archives_until_it_is_stopped(store: ArchivedStore) -> None:
    """It says what it does, survives the death of the database and of its receiver, and ends on a signal."""
    command = [sys.executable, "-m", "memory_butler.adapters.cli.app", "--home", str(store.settings.home)]
    with subprocess.Popen(
        [*command, "backup", "--continuous", str(store.folder)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        try:
            assert "Archiving into" in process.stdout.readline()
            said = [process.stdout.readline(), process.stdout.readline()]
            assert "A new part of the archive begins" in said[0]
            assert "Base backup" in said[1]
            pid = store.server.pid
            assert pid
            os.kill(pid, signal.SIGKILL)
            trouble = process.stdout.readline()
            assert "is not received" in trouble or "cannot be backed up now" in trouble
            store.server.ensure_running()
            assert any("The archive continues." in line for line in process.stdout)
        finally:
            process.send_signal(signal.SIGTERM)
    assert process.returncode == 0


def test_an_archive_is_tried_by_a_command(store: ArchivedStore, type_in: Type, tmp_path: Path) -> None:
    """It prints the recovery time and what the archive lacks, and leaves nothing behind."""
    tmp_path.chmod(0o755)
    type_in("backup", str(store.folder), "--continuous", "--once")
    done = type_in("drill", "recovery", str(store.folder), "--scratch", str(tmp_path))
    assert done.exit_code == 0, done.output
    assert "(RTO). Last change:" in done.output
    assert "The archive has every event of the running store." in done.output
    assert list(tmp_path.iterdir()) == []


def test_the_result_of_a_drill_is_told() -> None:
    """With the lost writes, RPO and RTO."""
    report = DrillReport(acknowledged=1200, lost=2, rpo_seconds=0.25, rto_seconds=1.5, halfway_wrong=0, tenants=[])
    assert rehearsed(report).splitlines() == [
        "1,200 writes acknowledged, then the data folder was lost; 2 lost.",
        "RPO 0.250 s (age of the oldest lost write), RTO 1.5 s (from the loss to the first answer).",
        "Restore to a moment halfway: 0 writes wrong.",
    ]
