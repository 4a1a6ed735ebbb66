"""An important episode queues its consolidation itself, so that it need not wait for the next check of the schedule."""

from memory_butler.metrics import trace_context
from memory_butler.models import NewEpisode, Stored
from memory_butler.resources import Resources
from memory_butler.store.gate.database import Transaction
from memory_butler.store.lifecycle import enqueue

CONSOLIDATION = "consolidation"


async def ask(resources: Resources, transaction: Transaction, new: NewEpisode, stored: Stored) -> None:
    """Queue the consolidation of the episode's butler in the transaction that stores it."""
    important = new.importance is not None and new.importance >= resources.settings.consolidation.early_importance
    if important and resources.distiller is not None and not stored.quarantine_reason:
        await enqueue.job(transaction, CONSOLIDATION, new.butler, trace_context.carrier())
