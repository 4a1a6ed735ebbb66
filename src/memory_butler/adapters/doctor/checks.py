"""The checks of `memory-butler doctor`: everything Memory Butler needs. A failed check does not stop the others."""

import errno
import http.client
import json
import shutil
import socket
import stat
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from memory_butler.adapters.doctor.backup_check import check_backup
from memory_butler.adapters.doctor.encryption_check import check_encryption
from memory_butler.adapters.doctor.episode_checks import check_expiring
from memory_butler.adapters.doctor.findings import Check, CheckContext, Finding, advice_for
from memory_butler.adapters.doctor.model_checks import (
    check_cross_encoder,
    check_distiller,
    check_embedding,
    check_weights,
)
from memory_butler.adapters.doctor.replica_check import check_replicas
from memory_butler.adapters.doctor.upkeep_check import check_upkeep
from memory_butler.adapters.http.store_mark import STORE_HEADER, store_mark
from memory_butler.errors import MemoryButlerError
from memory_butler.settings import Settings, load_settings

MIN_PYTHON = (3, 11)
LOW_DISK_BYTES = 1_000_000_000
MIN_DISK_BYTES = 200_000_000
MAX_CLOCK_DIFFERENCE_SECONDS = 5.0
SANE_YEARS = range(2025, 2100)
REQUEST_SECONDS = 2.0


def examine(home: Path | None, show: Callable[[Finding], None]) -> list[Finding]:
    """Run every check and pass each finding to `show` as soon as it is known."""
    findings: list[Finding] = []

    def add(finding: Finding) -> None:
        findings.append(finding)
        show(finding)

    add(_python())
    try:
        context = CheckContext(load_settings(**({"home": home} if home else {})))
    except MemoryButlerError as problem:
        add(Finding("settings", "problem", problem.message, problem.recovery))
        return findings
    add(_settings(context.settings))
    for name, check in CHECKS.items():
        for finding in isolated(name, check, context):
            add(finding)
    return findings


def _settings(settings: Settings) -> Finding:
    if settings.warnings:
        advice = "Change config.toml or the environment variable; the old name still works in this version."
        return Finding("settings", "warning", " ".join(settings.warnings), advice)
    return Finding("settings", "ok", "valid")


def isolated(name: str, check: Check, context: CheckContext) -> Iterator[Finding]:
    """Run one check; turn an error of the check itself into a finding."""
    try:
        yield from check(context)
    except MemoryButlerError as problem:
        yield Finding(name, "problem", problem.message, advice_for(problem, context.settings.home))
    except Exception as fault:  # noqa: BLE001 (boundary of a check: the error is reported)
        advice = "This check failed to run; the other results are valid."
        yield Finding(name, "problem", f"{type(fault).__name__}: {fault}", advice)


def _python() -> Finding:
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < MIN_PYTHON:
        return Finding(
            "python", "problem", f"{found} is too old", "Install Python 3.11 or later, then reinstall Memory Butler."
        )
    return Finding("python", "ok", found)


def _home(context: CheckContext) -> Iterator[Finding]:
    home = context.settings.home
    if not home.exists():
        yield Finding("home", "warning", f"{home} does not exist yet", "Nothing to do: the first start creates it.")
        return
    if not home.is_dir():
        yield Finding("home", "problem", f"{home} is not a folder", "Move the file away, or set MEMORY_BUTLER_HOME.")
        return
    readable = [str(path) for path in (home, *sorted(home.iterdir())) if _readable_by_others(path, home)]
    if readable:
        paths = " ".join(readable)
        yield Finding("home", "problem", f"other accounts can read {paths}", f"Run: chmod go-rw {paths}")
    else:
        yield Finding("home", "ok", f"{home}, not readable by other accounts")


def _readable_by_others(path: Path, home: Path) -> bool:
    """Return True if other accounts can read the path. Files in a home that they cannot enter do not count.

    Group permissions do not count either: under root, the group is the account that runs PostgreSQL.
    """
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        return False
    if path == home:
        return bool(status.st_mode & 0o066)
    return bool(status.st_mode & 0o006 and home.stat().st_mode & 0o001)


def _disk(context: CheckContext) -> Iterator[Finding]:
    home = context.settings.home
    folder = next(place for place in (home, *home.parents) if place.is_dir())
    free = shutil.disk_usage(folder).free
    message = f"{free / 1e9:.1f} GB free for {home}"
    if free < MIN_DISK_BYTES:
        yield Finding("disk", "problem", message, "Free some space: the store needs at least 0.2 GB.")
    elif free < LOW_DISK_BYTES:
        yield Finding("disk", "warning", message, "Free some space, or move the home folder to a larger disk.")
    else:
        yield Finding("disk", "ok", message)


def _database(context: CheckContext) -> Iterator[Finding]:
    from memory_butler.store.gate.database import Database  # noqa: PLC0415 (an import error is this check's finding)
    from memory_butler.store.system.diagnostics import examine as run_diagnostics  # noqa: PLC0415

    database = Database.from_settings(context.settings)
    context.unreachable = "the database is not reachable"
    kind = "external"
    if database.embedded:
        existed, was_running = database.embedded.major is not None, database.embedded.is_running()
        database.embedded.ensure_running()
        kind = "embedded, " + ("running" if was_running else "started now" if existed else "created and started now")
    try:
        context.diagnostics, context.revision = run_diagnostics(database.dsn(), database.names)
    except MemoryButlerError as problem:
        yield Finding(
            "database", "problem", _driver_message(problem), _connection_advice(database.embedded is not None)
        )
        return
    context.clocks_apart_seconds = abs((context.diagnostics.clock - datetime.now(UTC)).total_seconds())
    context.unreachable = None
    version = f"PostgreSQL {context.diagnostics.server_version_text.split()[0]}"
    if context.diagnostics.server_version < 150000:
        yield Finding("database", "problem", f"{version} is too old", "Use PostgreSQL 15 or later.")
    else:
        where = f", data in {database.embedded.data_dir}" if database.embedded else ""
        yield Finding("database", "ok", f"{version} ({kind}){where}")


def _driver_message(problem: MemoryButlerError) -> str:
    """Return the driver's own message, which an administrator can act on."""
    lines = str(problem.__cause__ or "").strip().splitlines()
    return f"not available: {lines[0] if lines else problem.message}"


def _connection_advice(embedded: bool) -> str:
    if embedded:
        return "Run `memory-butler stop` and try again; the log is logs/postgres.log in the home folder."
    return "Check MEMORY_BUTLER_DATABASE_URL (host, port, user, password, database) and that the server is running."


def _vector(context: CheckContext) -> Iterator[Finding]:
    found = context.diagnostics
    if found is None:
        yield _skipped("pgvector", context)
    elif found.vector_installed is None and found.vector_available is None:
        yield Finding("pgvector", "problem", "not installed on the server", "Install pgvector 0.8 or later there.")
    elif (version := _numbers(found.vector_installed or found.vector_available)) < (0, 8):
        message = f"{'.'.join(map(str, version))} is too old"
        yield Finding("pgvector", "problem", message, "Install 0.8 or later, then run: ALTER EXTENSION vector UPDATE")
    elif found.vector_installed is None:
        advice = "Nothing to do if the owner of the database may create extensions: the first start creates it."
        yield Finding(
            "pgvector",
            "warning",
            f"{found.vector_available} is available, but not yet created in this database",
            advice,
        )
    else:
        yield Finding("pgvector", "ok", found.vector_installed)


def _schema(context: CheckContext) -> Iterator[Finding]:
    from memory_butler.store.gate.migrate import HEAD  # noqa: PLC0415

    name = context.settings.db_schema
    if context.diagnostics is None:
        yield _skipped("schema", context)
    elif context.revision is None:
        yield Finding("schema", "warning", f"{name!r} does not exist yet", "Nothing to do: the first use creates it.")
    elif context.revision == HEAD:
        yield Finding("schema", "ok", f"{name!r} is at revision {HEAD}, the newest")
    elif context.revision > HEAD:
        message = f"{name!r} is at revision {context.revision}; this version supports up to {HEAD}"
        yield Finding("schema", "problem", message, "Upgrade Memory Butler: a newer version has used this store.")
    else:
        message = f"{name!r} is at revision {context.revision}, behind {HEAD}"
        yield Finding("schema", "warning", message, "Nothing to do: the next use migrates it.")


def _role(context: CheckContext) -> Iterator[Finding]:
    found, role = context.diagnostics, context.settings.app_role
    if found is None:
        yield _skipped("role", context)
        return
    if found.role is None:
        yield Finding("role", "warning", f"{role} does not exist yet", "Nothing to do: the first use creates it.")
        return
    wrong = {
        f"{role} is a superuser": (found.is_superuser, f"ALTER ROLE {role} NOSUPERUSER"),
        f"{role} bypasses row-level security": (found.bypasses_rls, f"ALTER ROLE {role} NOBYPASSRLS"),
        f"{role} owns {found.owned_objects} objects": (found.owned_objects, f"REASSIGN OWNED BY {role} TO <the owner>"),
        f"the login role cannot assume {role}": (not found.may_become, f"GRANT {role} TO <the login role>"),
    }
    problems = {message: fix for message, (is_wrong, fix) in wrong.items() if is_wrong}
    for message, fix in problems.items():
        yield Finding("role", "problem", message, f"As a database administrator run: {fix};")
    if not problems:
        yield Finding("role", "ok", f"{role} is not a superuser and owns no objects")


def _clock(context: CheckContext) -> Iterator[Finding]:
    now = datetime.now(UTC)
    if now.year not in SANE_YEARS:
        yield Finding(
            "clock", "problem", f"the clock of this machine says {now.date()}", "Set the clock, or start NTP."
        )
        return
    if context.diagnostics is None:
        yield Finding("clock", "ok", f"{now:%Y-%m-%d %H:%M} UTC (not compared with the database)")
        return
    apart = context.clocks_apart_seconds
    if apart > MAX_CLOCK_DIFFERENCE_SECONDS:
        message = f"the clocks of this machine and of the database differ by {apart:.0f} seconds"
        yield Finding("clock", "problem", message, "Synchronise both with NTP.")
    else:
        yield Finding("clock", "ok", f"{now:%Y-%m-%d %H:%M} UTC, in sync with the database")


def _port(context: CheckContext) -> Iterator[Finding]:
    host, port = context.settings.host, context.settings.port
    where = f"{host}:{port}"
    try:
        family, kind, proto, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except socket.gaierror:
        yield Finding(
            "port", "problem", f"{host} is not an address of this machine", "Set MEMORY_BUTLER_HOST to 127.0.0.1."
        )
        return
    with socket.socket(family, kind, proto) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
        except OSError as problem:
            mark = _server_mark(host, port) if problem.errno == errno.EADDRINUSE else None
            if mark is not None and mark in ("", store_mark(context.settings.home)):
                yield Finding("port", "ok", f"{where} is served by Memory Butler")
            elif mark:
                message = f"{where} is served by a Memory Butler with another home folder than {context.settings.home}"
                advice = "Stop that server, or use another port: memory-butler serve --port 8151."
                yield Finding("port", "problem", message, advice)
            else:
                reason = "is in use by another program" if problem.errno == errno.EADDRINUSE else str(problem)
                advice = "Use another port: memory-butler serve --port 8151, or set MEMORY_BUTLER_PORT."
                yield Finding("port", "problem", f"{where} {reason}", advice)
            return
    yield Finding("port", "ok", f"{where} is free")


def _server_mark(host: str, port: int) -> str | None:
    """The mark of the store of a Memory Butler that answers there, if it says it; None for another program."""
    connection = http.client.HTTPConnection(host, port, timeout=REQUEST_SECONDS)
    try:
        connection.request("GET", "/health/live")
        response = connection.getresponse()
        is_ours = response.status == 200 and json.loads(response.read(10_000)).get("service") == "memory-butler"
        return response.getheader(STORE_HEADER, "") if is_ours else None
    except (OSError, ValueError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def _skipped(check: str, context: CheckContext) -> Finding:
    return Finding(check, "warning", f"not checked: {context.unreachable or 'the database was not checked'}")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


CHECKS: dict[str, Check] = {
    "home": _home,
    "disk": _disk,
    "database": _database,
    "pgvector": _vector,
    "schema": _schema,
    "role": _role,
    "replicas": check_replicas,
    "backup": check_backup,
    "model weights": check_weights,
    "embedding": check_embedding,
    "cross-encoder": check_cross_encoder,
    "distiller": check_distiller,
    "encryption": check_encryption,
    "episodes": check_expiring,
    "jobs": check_upkeep,
    "clock": _clock,
    "port": _port,
}
