"""The lifecycle, and the queue of its jobs."""

from alembic import op

from memory_butler.store.migrations.bodies import install_queue, run_body

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_body(op, "0002_lifecycle")
    install_queue(op)
