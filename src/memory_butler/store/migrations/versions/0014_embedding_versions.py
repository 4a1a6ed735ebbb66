"""Embedding: vectors of any size, and several embedding versions side by side."""

from alembic import op

from memory_butler.store.migrations.bodies import run_body

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_body(op, "0014_embedding_versions")
