"""The embedded PostgreSQL, always with real servers. The same tests hold for root and for a person's account."""

import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import timeit
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from memory_butler.errors import TargetUnavailable
from memory_butler.store.embedded import server, upgrade
from memory_butler.store.embedded.account import Programs, bundled_programs, usable_programs
from memory_butler.store.embedded.home_folder import Home
from memory_butler.store.embedded.server import Cluster, EmbeddedPostgres

QUICK = {"fsync": "off"}
# The store alone: the package's front door brings in the language models, which is slow and writes caches.
CHILD = """
import sys, types
from pathlib import Path
sys.modules["memory_butler"] = types.ModuleType("memory_butler")
sys.modules["memory_butler"].__path__ = [sys.argv[2]]
from memory_butler.store.embedded.server import EmbeddedPostgres
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
def store(template: Path) -> Iterator[EmbeddedPostgres]:
    """A stopped store that contains one note. Tests share it, and leave it as they found it."""
    store = EmbeddedPostgres(template, options=QUICK)
    yield store
    store.stop()


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


def _programs(home: Path, major: int = server.TARGET_MAJOR) -> Programs:
    bundled = bundled_programs(major)
    assert bundled is not None
    return usable_programs(bundled, home, home / "database")


def _notes(store: EmbeddedPostgres) -> list[str]:
    with psycopg.connect(store.dsn("memory_owner", "memory")) as connection:
        return [row[0] for row in connection.execute("SELECT content FROM note ORDER BY content")]


def _child(home: Path, body: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD + body, str(home), str(Path(server.__file__).parents[2])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, **environment},
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
    assert store.major == server.TARGET_MAJOR
    with psycopg.connect(store.dsn("memory_owner", "memory")) as connection:
        assert connection.execute("SELECT embedding::text FROM agents.passage").fetchall() == [("[1,2]",)]
        flags = "rolcanlogin, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb"
        for role in ("memory_owner", "memory_app"):
            found = connection.execute(f"SELECT {flags} FROM pg_roles WHERE rolname = %s", [role])  # noqa: S608
            assert found.fetchone() == (True, False, False, False, False)
        owned = "SELECT FROM pg_shdepend WHERE refobjid = 'memory_app'::regrole AND deptype = 'o'"
        assert connection.execute(owned).fetchall() == []
        parsed = connection.execute("SELECT to_tsvector('simple', '„Müller“ — ÄRGER…') @@ 'müller & ärger'::tsquery")
        assert parsed.fetchone() == (True,), "typographic quotes are no part of a word"
        settings = {row[0]: row[1] for row in connection.execute("SELECT name, setting FROM pg_settings")}
    assert settings["listen_addresses"] == ""
    assert settings["data_checksums"] == "on"
    assert settings["dynamic_shared_memory_type"] == "mmap"
    assert settings["fsync"] == "off"


def test_a_running_store_is_found_in_no_time(store: EmbeddedPostgres) -> None:
    store.ensure_running()
    assert min(timeit.repeat(store.ensure_running, number=1, repeat=50)) < 0.010


def test_processes_may_create_the_store_at_the_same_instant(empty_home: Path) -> None:
    body = "print('here', flush=True); input(); store.ensure_running(); print(store.pid)"
    children = [_child(empty_home, body) for _ in range(3)]
    assert [child.stdout.readline() for child in children if child.stdout] == ["here\n"] * 3
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
    with psycopg.connect(store.dsn("memory_owner", "memory")) as connection:
        connection.execute("DELETE FROM note WHERE content = 'late'")


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


def test_nothing_is_written_outside_home(base: Path, empty_home: Path) -> None:
    elsewhere = [base / name for name in ("person", "temporary", "working")]
    for folder in elsewhere:
        folder.mkdir()
    person, temporary, working = map(str, elsewhere)
    body = f"import os; os.chdir({working!r}); store.ensure_running(); store.stop()"
    _said(_child(empty_home, body, HOME=person, TMPDIR=temporary))
    assert [list(folder.iterdir()) for folder in elsewhere] == [[], [], []]
    names = {path.name for path in empty_home.iterdir()}
    assert names - {"postgres", "opened-folders.json"} == {"database", "database.conf", "database.lock", "logs"}


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
    upgrade.provision(old)
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
    with caplog.at_level(logging.INFO, logger="memory_butler"):
        store.ensure_running()
    _assert_upgraded(store)
    assert str(store.home / "database.old-16") in caplog.text
    store.stop()
    store.ensure_running()
    _assert_upgraded(store)


def test_an_upgrade_that_fails_or_is_cut_short_leaves_the_old_store(
    base: Path, old_template: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = _copy(old_template, base / ("long name " * 10))
    with monkeypatch.context() as patch:
        patch.setattr(upgrade, "_address", _wrong_address)
        with pytest.raises(TargetUnavailable, match="is as it was"):
            store.ensure_running()
    assert not list(store.home.rglob("postmaster.pid"))
    old = Cluster(Home(store.home), "database")
    old.start(_programs(store.home, 16))
    assert _notes(store) == ["kept"]
    store.stop()

    child = _child(store.home, "store.ensure_running()")
    _until((store.data_dir / "postmaster.pid").exists)
    _killed(child)
    assert store.major == 16
    assert not store.is_running()
    store.ensure_running()
    _assert_upgraded(store)
    assert not list(store.home.glob("database.new-*"))


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


def test_the_log_cannot_grow_without_bound(store: EmbeddedPostgres) -> None:
    store.ensure_running()
    with store.log_file.open("ab") as log:
        log.write(b"x" * 11_000_000)
    store.ensure_running()
    assert store.log_file.stat().st_size == 0
    store.stop()
    assert "shut down" in store.log_file.read_text()


def test_options_are_quoted() -> None:
    text = upgrade.settings_text({"application_name": "it's \\ fine"})
    assert "application_name = 'it''s \\\\ fine'" in text
