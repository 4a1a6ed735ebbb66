"""Service levels, and figures of all tenants."""

from alembic import op

from memory_butler.store.migrations.bodies import run_body

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_body(op, "0017_service_levels")
