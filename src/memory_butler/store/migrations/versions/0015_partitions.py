"""Partitions: the functions that move the log and the episodes into monthly partitions."""

from alembic import op

from memory_butler.store.migrations.bodies import run_body

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_body(op, "0015_partitions")
