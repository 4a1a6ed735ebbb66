"""The butlers of a tenant."""

from memory_butler.models.listings import ButlerSummary
from memory_butler.store.gate.database import Transaction


async def standings(transaction: Transaction, only: str | None) -> list[ButlerSummary]:
    return [ButlerSummary(**row) for row in await transaction.all("butlers.standings", only=only)]
