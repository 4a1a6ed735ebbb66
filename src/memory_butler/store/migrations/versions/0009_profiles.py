"""Profiles: how much a memory belongs to each kind of work."""

from alembic import op

from memory_butler.store.migrations.bodies import run_body

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_body(op, "0009_profiles")
