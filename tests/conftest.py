"""Fixtures: one embedded PostgreSQL per test process, a fresh tenant per test, a clock that the test moves."""

import fcntl
import gc
import os
import random
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import certifi
import hypothesis
import psycopg
import pytest
from pydantic import SecretStr
from tests.support.layouts import bring_home_into_layout, bring_into_layout
from tests.support.own_store import BRISK, Row, own_database, reader, settings_for
from tests.support.replication import StreamingReplica
from typer.testing import CliRunner, Result

from memory_butler.adapters.cli.app import app
from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.ai.onnx_graph import cached_graph
from memory_butler.ai.weights import MODEL_FILE, resolve_weights
from memory_butler.models import Caller, Lineage, Principal, Role
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import EncryptionPolicy, EncryptionSettings, Settings, load_settings
from memory_butler.store.embedded.server import EmbeddedPostgres
from memory_butler.store.encryption.master_keys import new_key
from memory_butler.store.gate import migrate
from memory_butler.store.gate.database import Database
from memory_butler.store.gate.ids import id_maker
from memory_butler.store.gate.queries import Names

# How long an example takes is a matter of what else the machine does.
hypothesis.settings.register_profile("tests", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("tests")
# Every program that a test starts would compile the whole package anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
# Where the home is that others are copies of; the process that begins the tests tells those that run them.
MODEL_HOME = "TESTS_MODEL_HOME"
MEMORY_BYTES = 4 * 2**30
# Files that take long with few tests. They are begun first, so that in the end no core waits for one of them.
LONG = [
    *("test_vector_index_recall", "test_memory", "test_acting", "test_jobs", "test_memories_lists", "test_pages_look"),
    *("test_alone", "test_consolidation_page", "test_benchmarks", "test_sessions", "test_stdio", "test_timeline"),
    *("test_processes", "test_sweep_crash", "test_cli", "test_http", "test_graph", "test_system", "test_playground"),
    *("test_login", "test_durability", "test_demo", "test_embedded", "test_as_of", "test_examples", "test_wheel"),
    *("test_load_benchmark", "test_embedded_backup", "test_isolation", "test_contract", "test_state_machine"),
    *("test_consolidation_faults", "test_reference", "test_streaming", "test_doctor", "test_database"),
    *("test_lifecycle_story", "test_work", "test_migrations", "test_row_security", "test_retrieval_benchmarks"),
    *("test_house_rules", "test_tools_judge", "test_roles", "test_time_travel"),
]


def _scratch() -> Path:
    """Where everything is put that tests write. Databases are thousands of small files that soon go again: on a disk
    they were seen to take up to half of a test file's processor time. So it is memory, if that has room, programs may
    be run there, and nobody chose another place."""
    memory = Path("/dev/shm")
    is_fit = False
    if "TMPDIR" not in os.environ and memory.is_dir() and os.access(memory, os.W_OK):
        about = os.statvfs(memory)
        is_fit = about.f_bavail * about.f_frsize >= MEMORY_BYTES and not about.f_flag & os.ST_NOEXEC
    folder = Path(tempfile.mkdtemp(prefix="mb-tests-", dir=memory if is_fit else None))
    # A server that root starts has an account of its own.
    folder.chmod(0o755)
    return folder


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        tempfile.tempdir = os.environ["TMPDIR"] = str(_scratch())
        os.environ[MODEL_HOME] = tempfile.mkdtemp(prefix="model-")


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ["TMPDIR"], ignore_errors=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: LONG.index(item.path.stem) if item.path.stem in LONG else len(LONG))


def pytest_collection_finish() -> None:
    """What has been loaded by now stays until the end: it need not be gone through whenever memory is tidied."""
    gc.collect()
    gc.freeze()


@dataclass
class MovingClock:
    """A clock that stands still until it is moved."""

    now: datetime = field(default=START)

    def __call__(self) -> datetime:
        return self.now

    def move(self, **span: float) -> None:
        self.now += timedelta(**span)


# A store of a test has no process that waits to stop it.
os.environ["MEMORY_BUTLER_DATABASE__IDLE_STOP_MINUTES"] = "0"


@pytest.fixture(scope="session", autouse=True)
def one_authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nobody is trusted here for a certificate, and to read those of the whole world takes a client longer than a
    call."""
    end = "-----END CERTIFICATE-----\n"
    first, _, _ = Path(certifi.where()).read_text(encoding="utf-8").partition(end)
    file = tmp_path_factory.mktemp("authorities") / "one.pem"
    file.write_text(first + end, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(file))
        yield


@pytest.fixture(scope="session")
def home() -> Iterator[Path]:
    """The home folder of this test process; its server forgets nothing while it runs, and is quick for it."""
    folder = Path(tempfile.mkdtemp(prefix="mb-"))
    # Its write-ahead log takes room where it is, in memory, and nobody will need it.
    server = EmbeddedPostgres(folder, options={"fsync": "off", "full_page_writes": "off", "max_wal_size": "128MB"})
    server.ensure_running()
    yield folder
    server.stop()
    shutil.rmtree(folder, ignore_errors=True)


def _build(model: Path, home: Path) -> None:
    # Where the server's programs have to be copied, those that are there already do.
    if (home / "postgres").exists():
        subprocess.run(["cp", "-a", "--link", str(home / "postgres"), str(model)], check=True)
    server = EmbeddedPostgres(model, options={"fsync": "off"})
    server.ensure_running()
    migrate.upgrade(server.dsn("memory_app", "memory"), server.dsn("memory_owner", "memory"), Names())
    bring_home_into_layout(model)
    server.stop()
    precision = load_settings(home=home).embedding.precision
    weights = resolve_weights(None, home / "models", precision="float32")
    graph = cached_graph(home / "models", precision, lambda: weights.read(MODEL_FILE))
    (model / "models").mkdir(mode=0o700)
    (model / "models" / graph.name).hardlink_to(graph)


@pytest.fixture(scope="session")
def new_home(home: Path) -> Callable[[], Path]:
    """Make a home with a stopped store without a tenant, and with the model as it is run: a copy, which is there much
    sooner than a first start. Whichever test process is first to need one makes what all of them copy."""
    model = Path(os.environ[MODEL_HOME])
    with (model.parent / f"{model.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (model / "models").exists():
            _build(model, home)

    def make() -> Path:
        folder = Path(tempfile.mkdtemp(prefix="mb-"))
        for source in model.iterdir():
            linked = ["--link"] if source.name in ("postgres", "models") else ["--sparse=always"]
            subprocess.run(["cp", "-a", *linked, str(source), str(folder)], check=True)
        return folder

    return make


@pytest.fixture
def ready_store(new_home: Callable[[], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """A benchmark's own store is a copy of an empty one: how it is made is not what is measured."""
    monkeypatch.setattr("benchmarks.support.machine.new_home", new_home)


@pytest.fixture
def quick_store(ready_store: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same, and it waits for no disk: for benchmarks whose figures nobody looks at here."""

    def opened(home: Path, *, options: dict[str, str] | None = None) -> EmbeddedPostgres:
        return EmbeddedPostgres(home, options={"fsync": "off", "full_page_writes": "off", **(options or {})})

    monkeypatch.setattr("benchmarks.support.machine.EmbeddedPostgres", opened)


@pytest.fixture(scope="session")
def server(home: Path) -> EmbeddedPostgres:
    return EmbeddedPostgres(home)


@pytest.fixture(scope="session")
def replica(server: EmbeddedPostgres) -> Iterator[StreamingReplica]:
    """A streaming replica of the server of this test process; made when the first test needs it."""
    made = StreamingReplica(server)
    yield made
    made.discard()


@pytest.fixture(scope="session")
def settings(home: Path) -> Settings:
    return load_settings(home=home, mcp={"tools": "all"})


@pytest.fixture(scope="session")
async def shared_resources(settings: Settings) -> AsyncIterator[Resources]:
    async with open_resources(settings, embedder=FakeEmbedder()) as opened:
        await bring_into_layout(opened)
        yield opened


@pytest.fixture(scope="session")
async def shared_real_resources(settings: Settings) -> AsyncIterator[Resources]:
    async with open_resources(settings) as opened:
        await bring_into_layout(opened)
        yield opened


@pytest.fixture(scope="session")
async def shared_encrypted_resources(settings: Settings) -> AsyncIterator[Resources]:
    policies = {
        "whole_butlers": EncryptionPolicy(butlers=("vault", "vault-*")),
        "words": EncryptionPolicy(butlers=("hashed",), search="words"),
        "vectors": EncryptionPolicy(butlers=("meant",), search="vectors"),
    }
    encryption = EncryptionSettings(key=SecretStr(new_key()), policies=policies)
    async with open_resources(
        settings.model_copy(update={"encryption": encryption}), embedder=FakeEmbedder()
    ) as opened:
        yield opened


async def _migrated_database(server: EmbeddedPostgres, settings: Settings, *, plain: bool) -> str:
    name = f"t{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server.dsn("postgres", "postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} OWNER memory_owner")
    with psycopg.connect(server.dsn("postgres", name), autocommit=True) as inside:
        inside.execute("CREATE EXTENSION vector")
    urls = {
        "database_url": SecretStr(server.dsn("memory_app", name)),
        "owner_url": SecretStr(server.dsn("memory_owner", name)),
    }
    async with open_resources(settings.model_copy(update=urls), embedder=FakeEmbedder()) as opened:
        if not plain:
            await bring_into_layout(opened)
    return name


@pytest.fixture(scope="session")
async def template(server: EmbeddedPostgres, settings: Settings) -> str:
    """The name of a migrated database without a tenant; a copy of it is a new store within a moment."""
    return await _migrated_database(server, settings, plain=False)


@pytest.fixture(scope="session")
async def plain_template(server: EmbeddedPostgres, settings: Settings) -> str:
    """The same without partitions, whatever layout the tests run on."""
    return await _migrated_database(server, settings, plain=True)


@pytest.fixture
def clock() -> MovingClock:
    return MovingClock()


@pytest.fixture
def tenant() -> str:
    return f"t{uuid.uuid4().hex[:16]}"


def _own(resources: Resources, clock: MovingClock, tenant: str) -> Resources:
    own = resources.settings.model_copy(update={"tenant": tenant})
    ids = id_maker(random.Random(tenant))
    return replace(resources, settings=own, clock=clock, opened_at=clock.now, make_id=ids)


@pytest.fixture
def resources(shared_resources: Resources, clock: MovingClock, tenant: str) -> Resources:
    """A butler with a tenant of its own, a clock that stands still and an embedder without a model."""
    return _own(shared_resources, clock, tenant)


@pytest.fixture
def real_resources(shared_real_resources: Resources, clock: MovingClock, tenant: str) -> Resources:
    """The same with the real embedding model."""
    return _own(shared_real_resources, clock, tenant)


@pytest.fixture
def encrypted(shared_encrypted_resources: Resources, clock: MovingClock, tenant: str) -> Resources:
    """The same with a master key: it encrypts facts about health, and everything that the butler `vault` stores."""
    return _own(shared_encrypted_resources, clock, tenant)


@pytest.fixture
def own_store(server: EmbeddedPostgres, template: str) -> Iterator[str]:
    """The name of a database that only this test uses."""
    with own_database(server, template) as name:
        yield name


@pytest.fixture
async def alone(server: EmbeddedPostgres, own_store: str, clock: MovingClock) -> AsyncIterator[Resources]:
    """Resources on a store in which there is nobody else, for tests of what is the same for all tenants."""
    async with open_resources(
        settings_for(server, own_store, upkeep=BRISK), embedder=FakeEmbedder(), clock=clock
    ) as opened:
        yield opened


@pytest.fixture
def own_rows(server: EmbeddedPostgres, own_store: str) -> Callable[..., list[Row]]:
    """What a statement finds in that store, past row-level security."""
    return reader(server, own_store)


@pytest.fixture
def agent(tenant: str) -> Callable[..., Caller]:
    """A caller of the test's tenant that is no administrator."""

    def make(butler: str = "health", **lineage: str) -> Caller:
        return Caller(Principal(tenant, butler, Role.AGENT), Lineage(**lineage))

    return make


@pytest.fixture
def command(resources: Resources, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run `memory-butler` with these arguments inside this process, on the test's tenant and by its clock.

    Much quicker than a process of its own. In a test that is asynchronous it needs a thread of its own.
    """

    @asynccontextmanager
    async def open_the_same(settings: Settings) -> AsyncIterator[Resources]:
        database = Database.from_settings(resources.settings)
        try:
            await database.open()
            yield replace(resources, database=database)
        finally:
            await database.close()

    monkeypatch.setenv("MEMORY_BUTLER_HOME", str(resources.settings.home))
    monkeypatch.setattr("memory_butler.resources.open_resources", open_the_same)
    monkeypatch.setattr("memory_butler.adapters.telemetry.logs.configure_logging", lambda settings: None)

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(app, arguments)

    return run


@pytest.fixture
def owner(server: EmbeddedPostgres, shared_resources: Resources) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A connection as the superuser, past row-level security: to look, and to try what must be refused."""
    with psycopg.connect(server.dsn("postgres", "memory"), autocommit=True) as connection:
        yield connection


@pytest.fixture
def fresh_database(server: EmbeddedPostgres) -> Iterator[str]:
    """The name of an empty database with the vector extension, owned by the schema's owner."""
    name = f"d{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server.dsn("postgres", "postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} OWNER memory_owner")
        with psycopg.connect(server.dsn("postgres", name), autocommit=True) as inside:
            inside.execute("CREATE EXTENSION vector")
        yield name
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
