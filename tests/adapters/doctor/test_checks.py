"""The check-up finds what is wrong, says what to do, and works when things are broken."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import psycopg
import pytest
from benchmarks.support.served import free_port
from tests.adapters.conftest import Run
from tests.support.service import on_loopback

from memory_butler.adapters.doctor import checks
from memory_butler.adapters.doctor.checks import examine
from memory_butler.adapters.doctor.findings import CheckContext, Finding
from memory_butler.adapters.http.store_mark import STORE_HEADER, store_mark
from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.resources import Resources
from memory_butler.settings import load_settings
from memory_butler.store.embedded.server import EmbeddedPostgres
from memory_butler.store.gate import migrate
from memory_butler.store.gate.queries import Names

SOURCE = Path(__file__).parents[3] / "src"
Findings = dict[str, list[Finding]]


@pytest.fixture(autouse=True)
def quiet_port(monkeypatch: pytest.MonkeyPatch) -> int:
    """A port that is free, so that what else runs on this machine does not matter."""
    port = free_port()
    monkeypatch.setenv("MEMORY_BUTLER_PORT", str(port))
    return port


@pytest.fixture
def check(home: Path) -> Callable[..., Findings]:
    """Run the check-up and return its findings by check."""

    def run(folder: Path = home) -> Findings:
        found: Findings = {}
        for finding in examine(folder, lambda finding: None):
            found.setdefault(finding.check, []).append(finding)
        return found

    return run


def only(found: Findings, name: str) -> Finding:
    assert len(found[name]) == 1
    return found[name][0]


def problems(found: Findings) -> set[str]:
    return {finding.check for findings in found.values() for finding in findings if finding.status == "problem"}


def test_a_healthy_store_has_nothing_to_report(check: Callable[..., Findings], shared_resources: Resources) -> None:
    """Every check is made, but those of what is not configured, and every one is well."""
    found = check()
    assert set(found) == {"python", "settings", *checks.CHECKS} - {"cross-encoder", "replicas", "backup"}
    assert {finding.status for findings in found.values() for finding in findings} == {"ok"}
    assert "PostgreSQL 18" in only(found, "database").message and "running" in only(found, "database").message
    assert only(found, "pgvector").message.startswith("0.8")
    assert "hash verified" in only(found, "model weights").message
    assert "384 dimensions" in only(found, "embedding").message


def test_a_deprecated_setting_is_a_warning(check: Callable[..., Findings], monkeypatch: pytest.MonkeyPatch) -> None:
    """The old name still works, and the doctor says what to change."""
    monkeypatch.setenv("MEMORY_BUTLER_RETRIEVAL__WEIGHTS__RELEVANCE", "0.4")
    finding = only(check(), "settings")
    assert (finding.status, "retrieval.weights.fit" in finding.message) == ("warning", True)


def test_every_problem_comes_with_what_to_do(
    check: Callable[..., Findings], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Several things broken at once are all reported, each with advice, and the password is not."""
    monkeypatch.setenv("MEMORY_BUTLER_DATABASE_URL", "postgresql://nobody:s3cret@127.0.0.1:1/none")
    monkeypatch.setenv("MEMORY_BUTLER_EMBEDDING__FOLDER", str(tmp_path))
    for name in ("model.safetensors", "tokenizer.json"):
        (tmp_path / name).write_bytes(b"not the model")
    found = check()
    assert problems(found) == {"database", "model weights"}
    assert all(f.advice for findings in found.values() for f in findings if f.status == "problem")
    assert "MEMORY_BUTLER_DATABASE_URL" in (only(found, "database").advice or "")
    assert "sha256" in only(found, "model weights").message
    assert {only(found, name).status for name in ("pgvector", "schema", "role", "embedding")} == {"warning"}
    assert only(found, "clock").status == "ok"
    assert "s3cret" not in str(found)


def test_a_server_that_was_never_set_up_is_no_problem(
    check: Callable[..., Findings], server: EmbeddedPostgres, fresh_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty database of one's own is told from a broken one."""
    monkeypatch.setenv("MEMORY_BUTLER_DATABASE_URL", server.dsn("memory_owner", fresh_database))
    found = check()
    assert not problems(found)
    assert only(found, "schema").status == "warning" and "does not exist yet" in only(found, "schema").message


def test_a_schema_from_the_future_is_a_problem(
    check: Callable[..., Findings], server: EmbeddedPostgres, fresh_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that a newer version has migrated asks for an upgrade of the program."""
    dsn = server.dsn("memory_owner", fresh_database)
    migrate.upgrade(dsn, dsn, Names())
    with psycopg.connect(dsn) as connection:
        connection.execute("UPDATE memory.alembic_version SET version_num = '9999'")
    monkeypatch.setenv("MEMORY_BUTLER_DATABASE_URL", dsn)
    finding = only(check(), "schema")
    assert finding.status == "problem" and "Upgrade Memory Butler" in (finding.advice or "")


def test_a_program_role_that_may_too_much_is_a_problem(
    check: Callable[..., Findings],
    shared_resources: Resources,
    server: EmbeddedPostgres,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A superuser, who also owns things and passes by row-level security, is refused on all counts."""
    monkeypatch.setenv("MEMORY_BUTLER_APP_ROLE", "postgres")
    monkeypatch.setenv("MEMORY_BUTLER_DATABASE_URL", server.dsn("postgres", "memory"))
    said = " ".join(f"{finding.message} {finding.advice}" for finding in check()["role"])
    assert "NOSUPERUSER" in said and "NOBYPASSRLS" in said


def test_an_owner_of_the_tables_is_a_problem(
    check: Callable[..., Findings],
    shared_resources: Resources,
    server: EmbeddedPostgres,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Row-level security would not bind the role that owns the tables."""
    monkeypatch.setenv("MEMORY_BUTLER_APP_ROLE", "memory_owner")
    monkeypatch.setenv("MEMORY_BUTLER_DATABASE_URL", server.dsn("memory_owner", "memory"))
    finding = only(check(), "role")
    assert finding.status == "problem" and "owns" in finding.message


@pytest.mark.parametrize("mode", [0o750, 0o704, 0o777])
def test_a_home_that_others_can_read_is_a_problem(tmp_path: Path, mode: int) -> None:
    """Any right to read or write for another account is found, with the command that closes it."""
    tmp_path.chmod(mode)
    finding = next(checks._home(CheckContext(load_settings(home=tmp_path))))
    assert finding.status == "problem" and finding.advice == f"Run: chmod go-rw {tmp_path}"
    tmp_path.chmod(0o700)
    assert next(checks._home(CheckContext(load_settings(home=tmp_path)))).status == "ok"


def test_a_home_that_others_can_enter_must_not_hold_open_files(tmp_path: Path) -> None:
    """Behind a home that can be traversed, a file readable by everybody is found."""
    tmp_path.chmod(0o711)
    (tmp_path / "config.toml").write_text("")
    (tmp_path / "config.toml").chmod(0o644)
    finding = next(checks._home(CheckContext(load_settings(home=tmp_path))))
    assert finding.status == "problem" and "config.toml" in finding.message


def test_little_disk_is_a_warning_and_none_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left on the disk is judged against what the store needs."""
    context = CheckContext(load_settings(home=tmp_path / "not" / "yet"))
    assert next(checks._disk(context)).message.endswith(str(context.settings.home))
    for limit, status in (("LOW_DISK_BYTES", "warning"), ("MIN_DISK_BYTES", "problem")):
        monkeypatch.setattr(checks, limit, 10**18)
        assert next(checks._disk(context)).status == status


def test_clocks_that_disagree_are_a_problem(tmp_path: Path) -> None:
    """More than a few seconds between this machine and the database would reorder history."""
    context = CheckContext(load_settings(home=tmp_path), diagnostics=object(), clocks_apart_seconds=4)
    assert next(checks._clock(context)).status == "ok"
    context.clocks_apart_seconds = 90
    assert "differ by 90 seconds" in next(checks._clock(context)).message


class _Stranger(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"a page of another program")

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture
def stranger(quiet_port: int) -> Iterator[None]:
    """Another program on our port."""
    server = HTTPServer(("127.0.0.1", quiet_port), _Stranger)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield
    server.shutdown()
    thread.join()
    server.server_close()


class _OtherHome(_Stranger):
    """A Memory Butler whose home folder is another one."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header(STORE_HEADER, store_mark(Path("/another/home")))
        self.end_headers()
        self.wfile.write(b'{"status": "live", "service": "memory-butler"}')


def test_the_server_of_another_home_is_not_ours(home: Path, quiet_port: int) -> None:
    """It answers as a Memory Butler would, and holds other memories."""
    with HTTPServer(("127.0.0.1", quiet_port), _OtherHome) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            finding = next(checks._port(CheckContext(load_settings(home=home))))
        finally:
            server.shutdown()
            thread.join()
    assert finding.status == "problem" and "another home folder" in finding.message
    assert "--port" in (finding.advice or "")


def test_a_port_that_another_program_uses_is_a_problem(home: Path, stranger: None) -> None:
    """It is in use, and it is not us."""
    finding = next(checks._port(CheckContext(load_settings(home=home))))
    assert finding.status == "problem" and "--port" in (finding.advice or "")


async def test_a_port_that_we_use_is_well(resources: Resources, home: Path) -> None:
    """A running server is recognised by its answer."""
    async with on_loopback(LazyResources.already_open(resources)) as door:
        context = CheckContext(load_settings(home=home, port=door.port))
        [finding] = await asyncio.to_thread(list, checks._port(context))
    assert (finding.status, finding.message) == ("ok", f"127.0.0.1:{door.port} is served by Memory Butler")


def test_a_check_that_breaks_does_not_stop_the_others(
    check: Callable[..., Findings], shared_resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault inside one check is a finding of that check."""

    def broken(context: CheckContext) -> Iterator[Finding]:
        raise ZeroDivisionError("oh")
        yield

    monkeypatch.setitem(checks.CHECKS, "disk", broken)
    found = check()
    assert problems(found) == {"disk"} and "ZeroDivisionError" in only(found, "disk").message
    assert only(found, "port").status == "ok"


def test_the_command_says_it_line_by_line_and_by_exit_code(
    home: Path, shared_resources: Resources, inside: Run
) -> None:
    """✓, ! and ✗ with advice for people, JSON for programs, exit code 1 if anything is wrong."""
    command = [sys.executable, "-m", "memory_butler.adapters.cli.app", "--home", str(home), "doctor"]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    well = subprocess.run([*command, "--json"], capture_output=True, text=True, env=environment, check=False)
    assert well.returncode == 0 and json.loads(well.stdout)["ok"] is True, well.stdout
    own = {name: value for name, value in environment.items() if name.startswith("MEMORY_BUTLER_")}
    broken = {**own, "MEMORY_BUTLER_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}
    ill = inside(broken, "--home", str(home), "doctor", code=1)
    assert ill.stderr == ""
    lines = ill.stdout.splitlines()
    assert any(line.startswith("✓ python: 3") for line in lines)
    assert any(line.startswith("✗ database: ") for line in lines) and any(line.startswith("! role") for line in lines)
    assert any(line.lstrip().startswith("→ ") for line in lines)
    invalid = inside({**own, "MEMORY_BUTLER_PORT": "none"}, "--home", str(home), "doctor", "--json", code=1)
    assert json.loads(invalid.stdout)["checks"][-1]["check"] == "settings"
