"""What a sweep looks for in one shard, and what it does to what it finds, many rows at a time."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self
from uuid import UUID

from memory_butler.store import search_index
from memory_butler.store.database import Row, Session

# Before every id and every moment: where a walk begins.
FIRST_ID = UUID(int=0)
FIRST_MOMENT = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Looked:
    """A bounded look: how many rows it covered, the last of them, and those worth a thought."""

    scanned: int
    last: UUID | None
    rows: list[Row]


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What a rehearsal has found and not done. It goes with every look, so its arrays are written down once."""

    ids: str = "{}"
    grades: str = "{}"
    rates: str = "{}"

    @classmethod
    def of(cls, found: Sequence[tuple[UUID, str, float]]) -> Self:
        """Ids, what they become (a permanence, a maturity, or a word for being gone), and how fast that decays."""
        return cls(*("{" + ",".join(str(value) for value in column) + "}" for column in zip(*found, strict=True)))

    def params(self) -> dict[str, Any]:
        return {"foreseen_ids": self.ids, "foreseen_grades": self.grades, "foreseen_rates": self.rates}


@dataclass(frozen=True, slots=True, kw_only=True)
class TierOf:
    """One tier of one butler: what belongs to it, what of that is protected, and since when the unused is stale."""

    butler: str
    permanences: Sequence[str]
    maturities: Sequence[str]
    protected_permanences: Sequence[str]
    protected_maturities: Sequence[str]
    stale_since: datetime | None

    def params(self, foreseen: Foreseen) -> dict[str, Any]:
        return {
            "butler": self.butler,
            "permanences": list(self.permanences),
            "maturities": list(self.maturities),
            "protected_permanences": list(self.protected_permanences),
            "protected_maturities": list(self.protected_maturities),
            **foreseen.params(),
        }


async def butlers(session: Session) -> list[str]:
    return [row["butler"] for row in await session.all("sweep.butlers")]


def _looked(rows: list[Row]) -> Looked:
    return Looked(rows[0]["scanned"], rows[0]["last"], [row for row in rows if row["id"] is not None])


async def used_facts(session: Session, **where: Any) -> Looked:
    return _looked(await session.all("sweep.used_facts", **where))


async def promote_facts(session: Session, rates: Mapping[UUID, tuple[str, float]], **given: Any) -> None:
    await session.send(
        "sweep.promote_facts",
        ids=list(rates),
        permanences=[permanence for permanence, _ in rates.values()],
        decay_rates=[rate for _, rate in rates.values()],
        **given,
    )


async def judged_rules(session: Session, **where: Any) -> Looked:
    return _looked(await session.all("sweep.judged_rules", **where))


async def mature_rules(session: Session, maturities: Mapping[UUID, str], now: datetime) -> None:
    await session.send("sweep.mature_rules", ids=list(maturities), maturities=list(maturities.values()), now=now)


async def decayed(session: Session, foreseen: Foreseen, **where: Any) -> Looked:
    return _looked(await session.all("sweep.decayed", **where, **foreseen.params()))


async def set_validity(session: Session, ids: Collection[UUID], validity: str) -> None:
    await session.send("sweep.set_validity", ids=list(ids), validity=validity)


async def measure_tier(session: Session, tier: TierOf, foreseen: Foreseen) -> Row:
    row = await session.one("sweep.measure_tier", stale_since=tier.stale_since, **tier.params(foreseen))
    assert row
    return row


async def least_used(session: Session, tier: TierOf, foreseen: Foreseen, **where: Any) -> list[Row]:
    return await session.all("sweep.least_used", stale_since=tier.stale_since, **where, **tier.params(foreseen))


async def still_unused(session: Session, tier: TierOf, ids: Collection[UUID], until: datetime) -> set[UUID]:
    rows = await session.all("sweep.still_unused", ids=list(ids), until=until, **tier.params(Foreseen()))
    return {row["id"] for row in rows}


async def expired_episodes(session: Session, **where: Any) -> list[Row]:
    return await session.all("sweep.expired_episodes", **where)


async def count_episodes(session: Session, butler: str, gone: Collection[UUID]) -> int:
    row = await session.one("sweep.count_episodes", butler=butler, gone=list(gone))
    assert row
    return int(row["held"])


async def oldest_consolidated(session: Session, butler: str, gone: Collection[UUID], **where: Any) -> list[Row]:
    return await session.all("sweep.oldest_consolidated", butler=butler, gone=list(gone), **where)


async def still_consolidated(session: Session, ids: Collection[UUID]) -> set[UUID]:
    return {row["id"] for row in await session.all("sweep.still_consolidated", ids=list(ids))}


async def bury(session: Session, ids: Collection[UUID], reason: str, now: datetime) -> dict[UUID, dict[str, Any]]:
    """Leave a tombstone for each episode; returns what their events keep of them."""
    rows = await session.all("sweep.bury", ids=list(ids), reason=reason, now=now)
    return {row["episode_id"]: row["tombstone"] for row in rows}


async def delete_episodes(session: Session, ids: Collection[UUID]) -> None:
    """The rows, their words, and everything they were found by. Their events must be written before."""
    await search_index.clear(session, list(ids))
    await session.send("sweep.delete_episodes", ids=list(ids))


async def old_keys(session: Session, **where: Any) -> list[Row]:
    return await session.all("sweep.old_keys", **where)


async def drop_keys(session: Session, rows: Sequence[Row], now: datetime) -> int:
    """Forget these keys; returns how many there were left to forget."""
    butlers, keys = [row["butler"] for row in rows], [row["key"] for row in rows]
    return len(await session.all("sweep.drop_keys", butlers=butlers, keys=keys, now=now))
