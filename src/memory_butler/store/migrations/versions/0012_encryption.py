"""Encryption: the keys of the tenants."""

from alembic import op

from memory_butler.store.migrations.bodies import run_body

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_body(op, "0012_encryption")
