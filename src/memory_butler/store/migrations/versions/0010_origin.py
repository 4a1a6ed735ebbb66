"""Origin: where a memory comes from, and the memories that wait for a decision."""

from alembic import op

from memory_butler.store.migrations.bodies import run_body

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_body(op, "0010_origin")
