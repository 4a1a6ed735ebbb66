"""Consolidation: runs, what they proposed, and what became of it."""

from alembic import op

from memory_butler.store.migrations.bodies import run_body

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_body(op, "0004_consolidation")
