"""Statistics: how often the database counts what a table holds."""

from alembic import op

from memory_butler.store.migrations.bodies import run_body

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_body(op, "0007_statistics")
