"""The service: tokens, operators' reads, and news of what was written."""

from alembic import op

from memory_butler.store.migrations.bodies import run_body

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_body(op, "0005_service")
