"""Purge: receipts of erased memories, and a hash chain over the events."""

from alembic import op

from memory_butler.store.migrations.bodies import run_body

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_body(op, "0011_purge")
