"""The check-up: everything Memory Butler needs, one check at a time, each on its own so that all of them speak."""

import asyncio
import errno
import http.client
import json
import shutil
import socket
import stat
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from memory_butler.adapters.doctor_distiller import distiller
from memory_butler.errors import MemoryButlerError
from memory_butler.settings import Settings, load_settings

OLDEST_PYTHON = (3, 11)
Status = Literal["ok", "warning", "problem"]
LOW_DISK_BYTES = 1_000_000_000
NO_DISK_BYTES = 200_000_000
CLOCK_APART_SECONDS = 5.0
SANE_YEARS = range(2025, 2100)
ASK_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    status: Status
    message: str
    advice: str | None = None

    def as_dict(self) -> dict[str, str]:
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(slots=True)
class Patient:
    """What the checks have learned so far."""

    settings: Settings
    examination: Any = None
    revision: str | None = None
    unreachable: str | None = None
    model_found: bool = False
    clocks_apart_seconds: float = 0.0


Check = Callable[[Patient], Iterator[Finding]]


def examine(home: Path | None, show: Callable[[Finding], None]) -> list[Finding]:
    """Run every check, showing each finding as it is made."""
    findings: list[Finding] = []

    def add(finding: Finding) -> None:
        findings.append(finding)
        show(finding)

    add(_python())
    try:
        patient = Patient(load_settings(**({"home": home} if home else {})))
    except MemoryButlerError as problem:
        add(Finding("settings", "problem", problem.message, problem.recovery))
        return findings
    add(Finding("settings", "ok", "valid"))
    for name, check in CHECKS.items():
        for finding in isolated(name, check, patient):
            add(finding)
    return findings


def isolated(name: str, check: Check, patient: Patient) -> Iterator[Finding]:
    """A check that fails in a way of its own is a finding too, and the others still run."""
    try:
        yield from check(patient)
    except MemoryButlerError as problem:
        yield Finding(name, "problem", problem.message, _advice(problem, patient.settings.home))
    except Exception as fault:  # noqa: BLE001 (the boundary of a check; it is reported)
        advice = "This check could not be made; the others still count."
        yield Finding(name, "problem", f"{type(fault).__name__}: {fault}", advice)


def _advice(problem: MemoryButlerError, home: Path) -> str:
    """How to recover; "ask the doctor" is no advice from a doctor."""
    if problem.recovery == problem.default_recovery:
        return f"Put right what the message names; {home / 'logs'} may tell more."
    return problem.recovery


def _python() -> Finding:
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < OLDEST_PYTHON:
        return Finding("python", "problem", f"{found} is too old", "Install Python 3.11 or later and set up again.")
    return Finding("python", "ok", found)


def _home(patient: Patient) -> Iterator[Finding]:
    home = patient.settings.home
    if not home.exists():
        yield Finding("home", "warning", f"{home} is not there yet", "Nothing to do: the first start makes it.")
        return
    if not home.is_dir():
        yield Finding("home", "problem", f"{home} is not a folder", "Move it away, or set MEMORY_BUTLER_HOME.")
        return
    open_to_others = [str(path) for path in (home, *sorted(home.iterdir())) if _readable_by_others(path, home)]
    if open_to_others:
        paths = " ".join(open_to_others)
        yield Finding("home", "problem", f"other accounts can read {paths}", f"Run: chmod go-rw {paths}")
    else:
        yield Finding("home", "ok", f"{home}, readable by no other account")


def _readable_by_others(path: Path, home: Path) -> bool:
    """Only what is reachable counts: behind a home that nobody else can enter, an open file harms nobody.

    What root lends to the account that runs PostgreSQL belongs to that account's group.
    """
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        return False
    if path == home:
        return bool(status.st_mode & 0o066)
    return bool(status.st_mode & 0o006 and home.stat().st_mode & 0o001)


def _disk(patient: Patient) -> Iterator[Finding]:
    home = patient.settings.home
    folder = next(place for place in (home, *home.parents) if place.is_dir())
    free = shutil.disk_usage(folder).free
    said = f"{free / 1e9:.1f} GB free for {home}"
    if free < NO_DISK_BYTES:
        yield Finding("disk", "problem", said, "Free some space: the store needs at least 0.2 GB to work.")
    elif free < LOW_DISK_BYTES:
        yield Finding("disk", "warning", said, "Free some space soon, or move the home folder to a larger disk.")
    else:
        yield Finding("disk", "ok", said)


def _database(patient: Patient) -> Iterator[Finding]:
    from memory_butler.store.database import Database  # noqa: PLC0415 (what is broken there is this check's finding)
    from memory_butler.store.doctor import examine as ask  # noqa: PLC0415

    database = Database.from_settings(patient.settings)
    patient.unreachable = "the database cannot be reached"
    how = "your own"
    if database.embedded:
        was_there, ran = database.embedded.major is not None, database.embedded.is_running()
        database.embedded.ensure_running()
        how = "embedded, " + ("running" if ran else "started now" if was_there else "created and started now")
    try:
        patient.examination, patient.revision = ask(database.dsn(), database.names)
    except MemoryButlerError as problem:
        yield Finding("database", "problem", _driver_words(problem), _reach_advice(database.embedded is not None))
        return
    patient.clocks_apart_seconds = abs((patient.examination.clock - datetime.now(UTC)).total_seconds())
    patient.unreachable = None
    version = f"PostgreSQL {patient.examination.server_version_text.split()[0]}"
    if patient.examination.server_version < 150000:
        yield Finding("database", "problem", f"{version} is too old", "Use PostgreSQL 15 or later.")
    else:
        where = f", data in {database.embedded.data_dir}" if database.embedded else ""
        yield Finding("database", "ok", f"{version} ({how}){where}")


def _driver_words(problem: MemoryButlerError) -> str:
    """What the driver said: to the one who repairs it, its words are the best ones."""
    said = str(problem.__cause__ or problem.message).strip()
    return f"it cannot be used: {said.splitlines()[0] if said else problem.message}"


def _reach_advice(embedded: bool) -> str:
    if embedded:
        return "Run `memory-butler stop` and try again; the log is logs/postgres.log in the home folder."
    return "Check MEMORY_BUTLER_DATABASE_URL (host, port, user, password, database) and that the server is running."


def _vector(patient: Patient) -> Iterator[Finding]:
    found = patient.examination
    if found is None:
        yield _skipped("pgvector", patient)
    elif found.vector_installed is None and found.vector_available is None:
        yield Finding("pgvector", "problem", "not installed on the server", "Install pgvector 0.8 or later there.")
    elif (version := _numbers(found.vector_installed or found.vector_available)) < (0, 8):
        said = f"{'.'.join(map(str, version))} is too old"
        yield Finding("pgvector", "problem", said, "Install 0.8 or later, then run: ALTER EXTENSION vector UPDATE")
    elif found.vector_installed is None:
        advice = "Nothing to do if the database's owner may create it: the first start does."
        yield Finding("pgvector", "warning", f"{found.vector_available} is there, not yet in this database", advice)
    else:
        yield Finding("pgvector", "ok", found.vector_installed)


def _schema(patient: Patient) -> Iterator[Finding]:
    from memory_butler.store.migrate import HEAD  # noqa: PLC0415

    name = patient.settings.db_schema
    if patient.examination is None:
        yield _skipped("schema", patient)
    elif patient.revision is None:
        yield Finding("schema", "warning", f"{name!r} is not set up yet", "Nothing to do: the first use does it.")
    elif patient.revision == HEAD:
        yield Finding("schema", "ok", f"{name!r} is at revision {HEAD}, the newest")
    elif patient.revision > HEAD:
        said = f"{name!r} is at revision {patient.revision}; this version knows up to {HEAD}"
        yield Finding("schema", "problem", said, "Upgrade Memory Butler: a newer version has used this store.")
    else:
        said = f"{name!r} is at revision {patient.revision}, behind {HEAD}"
        yield Finding("schema", "warning", said, "Nothing to do: the next use migrates it.")


def _role(patient: Patient) -> Iterator[Finding]:
    found, role = patient.examination, patient.settings.app_role
    if found is None:
        yield _skipped("role", patient)
        return
    if found.role is None:
        yield Finding("role", "warning", f"{role} is not there yet", "Nothing to do: the first use makes it.")
        return
    wrong = {
        f"{role} is a superuser": (found.is_superuser, f"ALTER ROLE {role} NOSUPERUSER"),
        f"{role} passes by row-level security": (found.bypasses_rls, f"ALTER ROLE {role} NOBYPASSRLS"),
        f"{role} owns {found.owned_objects} objects": (found.owned_objects, f"REASSIGN OWNED BY {role} TO <the owner>"),
        f"we cannot work as {role}": (not found.may_become, f"GRANT {role} TO <the login role>"),
    }
    problems = {said: fix for said, (is_so, fix) in wrong.items() if is_so}
    for said, fix in problems.items():
        yield Finding("role", "problem", said, f"As a database administrator run: {fix};")
    if not problems:
        yield Finding("role", "ok", f"{role} is no superuser and owns nothing")


def _weights(patient: Patient) -> Iterator[Finding]:
    from memory_butler.ai.weights import MODEL_NAME, resolve_weights  # noqa: PLC0415

    settings = patient.settings
    found = resolve_weights(settings.embedding.folder, settings.home / "models", hub_url=None)
    found.verify()
    patient.model_found = True
    yield Finding("model weights", "ok", f"{MODEL_NAME} from the {found.source}, hash verified")


def _embedding(patient: Patient) -> Iterator[Finding]:
    if not patient.model_found:
        yield Finding("embedding", "warning", "not checked, because there are no model weights")
        return
    from memory_butler.ai.embedding import OnnxEmbedder  # noqa: PLC0415

    settings = patient.settings

    async def embed() -> tuple[float, float, int]:
        embedder = OnnxEmbedder(
            cache=settings.home / "models",
            weights_folder=settings.embedding.folder,
            precision=settings.embedding.precision,
            hub_url=None,
            threads=settings.embedding.threads,
        )
        try:
            await embedder.start()
            began = time.perf_counter()
            vector = await embedder.embed_query("Is the model there?")
            return time.perf_counter() - began, float((vector**2).sum()), len(vector)
        finally:
            await embedder.close()

    took, length, dimensions = asyncio.run(embed())
    if abs(length - 1) > 1e-3:
        advice = f"Remove {settings.home / 'models'}; it is made again."
        yield Finding("embedding", "problem", f"the model makes vectors of length {length:g}, not 1", advice)
    else:
        yield Finding(
            "embedding", "ok", f"the model makes vectors of {dimensions} numbers, {took * 1000:.0f} ms a text"
        )


def cross_encoder(folder: Path | None, repo: str | None, home: Path, threads: int = 2) -> Finding:
    """Whether the cross-encoder that the settings ask for is there and works. It is never downloaded for a check-up."""
    from memory_butler.ai.cross_encoder import CrossEncoder, CrossEncoderSource  # noqa: PLC0415

    source = CrossEncoderSource(folder, repo, hub_url=None)

    async def score() -> float:
        encoder = CrossEncoder(source, cache=home / "models", threads=threads)
        try:
            await encoder.start()
            began = time.perf_counter()
            await encoder.score("Is the model there?", ["The model is there."])
            return time.perf_counter() - began
        finally:
            await encoder.close()

    try:
        took = asyncio.run(score())
    except MemoryButlerError as problem:
        # Searches go on without it, so this is no reason to call the whole patient ill.
        return Finding("cross-encoder", "warning", problem.message, _advice(problem, home))
    return Finding("cross-encoder", "ok", f"{folder or repo} scores a text in {took * 1000:.0f} ms")


def _clock(patient: Patient) -> Iterator[Finding]:
    now = datetime.now(UTC)
    if now.year not in SANE_YEARS:
        yield Finding("clock", "problem", f"this machine thinks it is {now.date()}", "Set the clock, or start NTP.")
        return
    if patient.examination is None:
        yield Finding("clock", "ok", f"{now:%Y-%m-%d %H:%M} UTC (the database's was not asked)")
        return
    apart = patient.clocks_apart_seconds
    if apart > CLOCK_APART_SECONDS:
        said = f"this machine and the database are {apart:.0f} seconds apart"
        yield Finding("clock", "problem", said, "Let both take the time from NTP.")
    else:
        yield Finding("clock", "ok", f"{now:%Y-%m-%d %H:%M} UTC, the database agrees")


def _port(patient: Patient) -> Iterator[Finding]:
    host, port = patient.settings.host, patient.settings.port
    where = f"{host}:{port}"
    try:
        family, kind, proto, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except socket.gaierror:
        yield Finding("port", "problem", f"{host} is not an address of this machine", "Set the host to 127.0.0.1.")
        return
    with socket.socket(family, kind, proto) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
        except OSError as problem:
            if problem.errno == errno.EADDRINUSE and _is_ours(host, port):
                yield Finding("port", "ok", f"{where} is served by Memory Butler")
            else:
                reason = "is used by another program" if problem.errno == errno.EADDRINUSE else str(problem)
                advice = "Serve on another one: memory-butler serve --port 8151, or set MEMORY_BUTLER_PORT."
                yield Finding("port", "problem", f"{where} {reason}", advice)
            return
    yield Finding("port", "ok", f"{where} is free")


def _is_ours(host: str, port: int) -> bool:
    connection = http.client.HTTPConnection(host, port, timeout=ASK_SECONDS)
    try:
        connection.request("GET", "/health/live")
        answer = connection.getresponse()
        return answer.status == 200 and bool(json.loads(answer.read(10_000)).get("service") == "memory-butler")
    except (OSError, ValueError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _skipped(check: str, patient: Patient) -> Finding:
    return Finding(check, "warning", f"not checked, because {patient.unreachable or 'the database was not asked'}")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _cross_encoder(patient: Patient) -> Iterator[Finding]:
    """Only where the settings ask for one."""
    rerank = patient.settings.retrieval.rerank
    if rerank.method == "cross_encoder":
        chosen = rerank.cross_encoder
        yield cross_encoder(chosen.folder, chosen.repo, patient.settings.home, chosen.threads)


def _distiller(patient: Patient) -> Iterator[Finding]:
    yield Finding("distiller", *distiller(patient.settings.consolidation))


CHECKS: dict[str, Check] = {
    "home": _home,
    "disk": _disk,
    "database": _database,
    "pgvector": _vector,
    "schema": _schema,
    "role": _role,
    "model weights": _weights,
    "embedding": _embedding,
    "cross-encoder": _cross_encoder,
    "distiller": _distiller,
    "clock": _clock,
    "port": _port,
}
