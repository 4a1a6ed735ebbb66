"""Projections: memories by state."""

from alembic import op

from memory_butler.store.migrations.bodies import run_body

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_body(op, "0013_projections")
