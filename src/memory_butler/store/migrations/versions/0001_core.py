"""The core tables."""

from alembic import op

from memory_butler.store.migrations.bodies import run_body

revision = "0001"
down_revision = None
branch_labels = ("memory",)
depends_on = None


def upgrade() -> None:
    run_body(op, "0001_core")
