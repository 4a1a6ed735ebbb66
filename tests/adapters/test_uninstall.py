"""Uninstalling removes what it lists, and nothing else."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from memory_butler.adapters.connect.clients import CLIENTS, Scope, Wish
from memory_butler.adapters.connect.files import apply, connecting
from memory_butler.adapters.uninstall import plan, remove
from memory_butler.errors import Conflict, InvalidInput
from memory_butler.settings import Settings, load_settings
from memory_butler.store.embedded.server import EmbeddedPostgres


@pytest.fixture
def used_home(tmp_path: Path) -> Settings:
    """A home as Memory Butler leaves it, without a running server."""
    home = tmp_path / "home"
    for name in ("database/base", "models", "logs", "postgres/18"):
        (home / name).mkdir(parents=True)
    (home / "database" / "PG_VERSION").write_text("18\n")
    (home / "database.lock").touch()
    (home / "models" / "minilm-53aa51172d14-g1.onnx").write_bytes(b"x" * 2000)
    (home / "logs" / "memory-butler.log").write_text("a line\n")
    return load_settings(home=home)


def test_everything_of_ours_goes(used_home: Settings) -> None:
    """A home that holds nothing else is gone afterwards, folder and all."""
    planned = plan(used_home)
    assert "2.0 kB" in planned.in_words() and "pip uninstall" in planned.in_words()
    remove(used_home, planned)
    assert not used_home.home.exists()


def test_what_is_not_ours_stays(used_home: Settings) -> None:
    """A person's own file in the home, or beside ours in a folder of it, is named and kept."""
    mine = [used_home.home / "thesis.txt", used_home.home / "models" / "my-model.bin"]
    for path in mine:
        path.write_text("mine")
    planned = plan(used_home)
    assert all(str(path) in planned.in_words() for path in mine)
    remove(used_home, planned)
    assert [path.read_text() for path in mine] == ["mine", "mine"]
    assert sorted(path.name for path in used_home.home.iterdir()) == ["models", "thesis.txt"]


@pytest.mark.parametrize("name", ["models", "logs", "postgres", "config.toml"])
def test_a_link_is_removed_and_what_it_points_to_stays(used_home: Settings, tmp_path: Path, name: str) -> None:
    """Nothing outside the home is touched, wherever a link leads."""
    outside = tmp_path / "outside"
    outside.mkdir()
    kept = outside / "minilm-precious.onnx"
    kept.write_text("precious")
    shutil.rmtree(used_home.home / name, ignore_errors=True)
    (used_home.home / name).symlink_to(outside)
    remove(used_home, plan(used_home))
    assert kept.read_text() == "precious" and not used_home.home.exists()


def test_clients_that_would_start_it_again_are_named(
    used_home: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each with the command that ends it; without any there is no such line."""
    monkeypatch.setenv("HOME", str(tmp_path / "account"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    assert not any("disconnect" in line for line in plan(used_home).stays)
    for change in connecting(CLIENTS["claude-code"], Scope.USER, tmp_path, Wish(used_home.home, None, port=None)):
        apply(change)
    named = [line for line in plan(used_home).stays if "`memory-butler disconnect claude-code`" in line]
    assert [Path(line.split(" in ")[1].partition(":")[0]).name for line in named] == [".claude.json", "settings.json"]


def test_a_folder_that_was_never_a_home_is_refused(tmp_path: Path) -> None:
    """Another program's folder is not removed, even if it has a config.toml, models and logs."""
    for name in ("models", "logs"):
        (tmp_path / name).mkdir()
    (tmp_path / "config.toml").write_text("")
    with pytest.raises(InvalidInput, match="is not a home folder"):
        plan(load_settings(home=tmp_path))
    with pytest.raises(InvalidInput, match="nothing to remove"):
        plan(load_settings(home=tmp_path / "absent"))


@pytest.fixture
def running_home(new_home: Callable[[], Path]) -> Iterator[Path]:
    folder = new_home()
    server = EmbeddedPostgres(folder, options={"fsync": "off"})
    server.ensure_running()
    yield folder
    server.stop()
    shutil.rmtree(folder, ignore_errors=True)


def test_the_command_asks_then_stops_the_database_and_removes_the_home(running_home: Path) -> None:
    """Without a yes nothing happens; with --yes the server is stopped and the home is gone."""
    command = [sys.executable, "-m", "memory_butler.adapters.cli.app", "--home", str(running_home), "uninstall"]
    asked = subprocess.run(command, input="n\n", capture_output=True, text=True, check=False)
    assert asked.returncode == 1 and str(running_home / "database") in asked.stdout
    assert EmbeddedPostgres(running_home).is_running()
    server = psutil.Process(EmbeddedPostgres(running_home).pid)
    done = subprocess.run([*command, "--yes"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "Deleted." in done.stdout, done.stderr
    assert not running_home.exists()
    _, alive = psutil.wait_procs([server], timeout=10)
    # Where nobody collects the dead, as in some containers, a stopped process stays on the list as a zombie.
    assert all(process.status() == psutil.STATUS_ZOMBIE for process in alive)


def test_a_store_in_use_is_refused_and_parent_folders_get_their_rights_back(tmp_path: Path) -> None:
    """A server that runs would make an empty store again. As root, the folders above were opened for the account."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    before = closed.stat()
    home = closed / "home"
    server = EmbeddedPostgres(home, options={"fsync": "off"})
    server.ensure_running()
    settings = load_settings(home=home)
    with psycopg.connect(server.dsn("memory_app", "memory"), application_name="memory-butler serve"):
        with pytest.raises(Conflict, match="memory-butler serve"):
            remove(settings, plan(settings))
        command = [sys.executable, "-m", "memory_butler.adapters.cli.app", "--home", str(home), "uninstall"]
        asked = subprocess.run(command, input="", capture_output=True, text=True, check=False)
        assert asked.returncode == 1 and asked.stdout == "" and "1 connection (memory-butler serve)" in asked.stderr
        assert server.is_running()
    remove(settings, plan(settings))
    after = closed.stat()
    assert not home.exists()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
