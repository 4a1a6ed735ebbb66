"""How a revision runs its `.sql` body: as it stands, inside the migration's transaction."""

from typing import Any

from alembic import context

from memory_butler.store.queries import Names, migration_body


def run_body(op: Any, body: str) -> None:
    names = context.config.attributes.get("memory_names", Names())
    op.get_bind().connection.driver_connection.execute(migration_body(body, names))
