"""Migration of a schema: finds the schema of pgvector, creates the application role, runs the migrations."""

from importlib.resources import files
from typing import Any

import psycopg
from psycopg import sql

from memory_butler.errors import TargetUnavailable
from memory_butler.store.gate.queries import Names

# The newest revision: the highest number of a body in migrations/.
_BODIES = [file.name for file in files("memory_butler.store.migrations").iterdir() if file.name.endswith(".sql")]
HEAD = max(_BODIES)[:4]
# The name of the chain for a host, which may know several.
LABEL = "memory"
OLDEST_POSTGRES = 150000
OLDEST_VECTOR = (0, 8)
SEPARATE_SET = 160000


class StoreUpgraded(TargetUnavailable):
    """A newer version of Memory Butler has upgraded the store; this process is too old for it."""

    retryable = False
    default_recovery = "Restart this process with the newer version; nothing was changed or lost."


def revision(connection: psycopg.Connection[Any], schema: str) -> str | None:
    """Return the revision of a schema, or None if it was never migrated."""
    table = f"{sql.Identifier(schema).as_string()}.alembic_version"
    found = connection.execute("SELECT to_regclass(%s)", (table,)).fetchone()
    if not found or found[0] is None:
        return None
    row = connection.execute(
        sql.SQL("SELECT version_num FROM {}.alembic_version").format(sql.Identifier(schema))
    ).fetchone()
    return row[0] if row else None


def upgrade(dsn: str, owner_dsn: str, names: Names, connect_timeout: int = 5) -> str:
    """Migrate the schema to the newest revision if needed; returns the schema of pgvector."""
    # Through a pooler, each transaction may have another server connection: nothing is prepared.
    how: dict[str, Any] = {"connect_timeout": connect_timeout, "prepare_threshold": None}
    with psycopg.connect(dsn, **how) as connection:
        vector, found, login = _vector_schema(connection), revision(connection, names.schema), connection.info.user
    if found and found > HEAD:
        raise StoreUpgraded(f"The store is at revision {found}; this version of Memory Butler supports up to {HEAD}.")
    if vector and found == HEAD:
        return vector
    with psycopg.connect(owner_dsn, **how) as owner:
        # Processes that start at the same time take turns.
        owner.execute("SELECT pg_advisory_xact_lock(hashtext('memory set-up'))")
        _require_versions(owner)
        vector = _vector_schema(owner) or _install_vector(owner)
        _make_role(owner, names.app_role, login)
        _open_vector(owner, vector, names.app_role)
    migrate_to("head", owner_dsn, Names(schema=names.schema, app_role=names.app_role, vector=vector))
    return vector


def migrate_to(target: str, owner_dsn: str, names: Names) -> None:
    """Run the chain up to a revision, in one transaction and one process at a time."""
    from memory_butler.store.migrations import revisions  # noqa: PLC0415  (loads the queue, and rarely needed)

    target = HEAD if target == "head" else target
    # Without prepared statements, which a pooler could lose.
    with psycopg.connect(owner_dsn, prepare_threshold=None) as owner:
        owner.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (f"memory {names.schema}",))
        current = revision(owner, names.schema)
        if current is not None and current >= target:
            return
        try:
            revisions.run(owner, names, after=current, until=target)
        except psycopg.errors.InsufficientPrivilege as problem:
            raise TargetUnavailable(
                "The database account is not allowed to create the schema.",
                recovery="Run GRANT CREATE ON DATABASE <database> TO <account>, or set MEMORY_BUTLER_OWNER_URL"
                " to an account with that privilege.",
            ) from problem


def _vector_schema(connection: psycopg.Connection[Any]) -> str | None:
    row = connection.execute(
        "SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'"
    ).fetchone()
    return row[0] if row else None


def _install_vector(owner: psycopg.Connection[Any]) -> str:
    try:
        owner.execute("CREATE EXTENSION vector")
    except psycopg.Error as problem:
        raise TargetUnavailable(
            "The database has no pgvector extension.",
            recovery="Install pgvector 0.8 or later and, as a superuser in this database, run: CREATE EXTENSION vector",
        ) from problem
    installed = _vector_schema(owner)
    assert installed
    return installed


def _require_versions(owner: psycopg.Connection[Any]) -> None:
    if owner.info.server_version < OLDEST_POSTGRES:
        raise TargetUnavailable(
            f"The database is PostgreSQL {owner.info.server_version // 10000}; 15 or later is needed.",
            recovery="Point MEMORY_BUTLER_DATABASE_URL at a newer server, or leave it out to use the embedded one.",
        )
    row = owner.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
    if row and tuple(int(part) for part in row[0].split(".")[:2]) < OLDEST_VECTOR:
        raise TargetUnavailable(
            f"The database has pgvector {row[0]}; 0.8 or later is needed.",
            recovery="Install a newer pgvector, then run in this database: ALTER EXTENSION vector UPDATE",
        )


def _make_role(owner: psycopg.Connection[Any], role: str, login: str) -> None:
    """Create the application role and let the owner and the login account assume it."""
    name = sql.Identifier(role)
    # Since PostgreSQL 16, the creator of a role is a member without the right to SET ROLE.
    how = "SET" if owner.info.server_version >= SEPARATE_SET else "MEMBER"
    try:
        if owner.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone() is None:
            owner.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(name))
        for account in dict.fromkeys((owner.info.user, login)):
            member = owner.execute("SELECT pg_has_role(%s, %s, %s)", (account, role, how)).fetchone()
            if not member or not member[0]:
                owner.execute(sql.SQL("GRANT {} TO {}").format(name, sql.Identifier(account)))
    except psycopg.Error as problem:
        raise TargetUnavailable(
            f"The role {role}, which Memory Butler uses, cannot be created.",
            recovery=f"As an administrator run: CREATE ROLE {role} NOLOGIN; GRANT {role} TO <the login role>;",
        ) from problem


def _open_vector(owner: psycopg.Connection[Any], schema: str, role: str) -> None:
    """Grant the application role the use of pgvector's schema, which may be private."""
    usable = "SELECT has_schema_privilege(%s, %s, 'USAGE')"
    if owner.execute(usable, (role, schema)).fetchone() == (True,):
        return
    place = sql.Identifier(schema)
    try:
        owner.execute(sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(place, sql.Identifier(role)))
        granted = owner.execute(usable, (role, schema)).fetchone() == (True,)
    except psycopg.errors.InsufficientPrivilege:
        granted = False
    if not granted:
        raise TargetUnavailable(
            f"The role {role} is not allowed to use the schema {schema} of pgvector.",
            recovery=f"As its owner run: GRANT USAGE ON SCHEMA {place.as_string()} TO {role};",
        )
