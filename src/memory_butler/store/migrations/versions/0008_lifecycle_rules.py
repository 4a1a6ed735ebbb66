"""Lifecycle rules: decay rates move from the schema to the settings."""

from alembic import op

from memory_butler.store.migrations.bodies import run_body

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_body(op, "0008_lifecycle_rules")
