"""The butlers of a tenant."""

from memory_butler.models.listings import ButlerStanding
from memory_butler.store.database import Session


async def standings(session: Session, only: str | None) -> list[ButlerStanding]:
    return [ButlerStanding(**row) for row in await session.all("butlers.standings", only=only)]
