"""The call log."""

from alembic import op

from memory_butler.store.migrations.bodies import run_body

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_body(op, "0018_call_log")
