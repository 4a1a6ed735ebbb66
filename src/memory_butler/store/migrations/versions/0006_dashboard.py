"""The dashboard: who is logged in."""

from alembic import op

from memory_butler.store.migrations.bodies import run_body

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_body(op, "0006_dashboard")
