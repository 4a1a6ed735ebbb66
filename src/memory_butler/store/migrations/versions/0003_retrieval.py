"""Retrieval: what a memory is found by besides its words and its meaning."""

from alembic import op

from memory_butler.store.migrations.bodies import run_body

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_body(op, "0003_retrieval")
