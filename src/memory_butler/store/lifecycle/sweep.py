"""Reads and changes of a sweep in one shard, many rows at a time."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self
from uuid import UUID

from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.retrieval import search_index
from memory_butler.store.trust import purging

# Before every id and every moment: the start of a scan.
FIRST_ID = UUID(int=0)
FIRST_MOMENT = datetime(1, 1, 1, tzinfo=UTC)


async def last_event_before(transaction: Transaction, before: datetime) -> datetime | None:
    """The time of the tenant's last event before a time."""
    last: datetime | None = (await transaction.row("sweep.last_event_before", before=before))["last"]
    return last


@dataclass(frozen=True, slots=True)
class Scanned:
    """A bounded scan: the number of rows it covered, the last of them, and the rows that may be due."""

    rows_scanned: int
    last: UUID | None
    rows: list[Row]


@dataclass(frozen=True, slots=True)
class Planned:
    """Changes that a dry run plans. Every later scan gets them, so the arrays are serialized once."""

    ids: str = "{}"
    grades: str = "{}"
    rates: str = "{}"

    @classmethod
    def of(cls, changes: Sequence[tuple[UUID, str, float]]) -> Self:
        """Ids, planned states (a permanence class, a maturity, or a word for removed), and their decay rates."""
        return cls(*("{" + ",".join(str(value) for value in column) + "}" for column in zip(*changes, strict=True)))

    def params(self) -> dict[str, Any]:
        return {"planned_ids": self.ids, "planned_grades": self.grades, "planned_rates": self.rates}


@dataclass(frozen=True, slots=True, kw_only=True)
class TierOf:
    """One tier of one butler: its members, the protected ones, and the last use up to which a member is stale."""

    butler: str
    permanences: Sequence[str]
    maturities: Sequence[str]
    protected_permanences: Sequence[str]
    protected_maturities: Sequence[str]
    stale_since: datetime | None

    def params(self, planned: Planned) -> dict[str, Any]:
        return {
            "butler": self.butler,
            "permanences": list(self.permanences),
            "maturities": list(self.maturities),
            "protected_permanences": list(self.protected_permanences),
            "protected_maturities": list(self.protected_maturities),
            **planned.params(),
        }


async def butlers(transaction: Transaction) -> list[str]:
    return await transaction.column("sweep.butlers")


def _scanned(rows: list[Row]) -> Scanned:
    return Scanned(rows[0]["scanned"], rows[0]["last"], [row for row in rows if row["id"] is not None])


async def used_facts(transaction: Transaction, **where: Any) -> Scanned:
    return _scanned(await transaction.all("sweep.used_facts", **where))


async def promote_facts(transaction: Transaction, rates: Mapping[UUID, tuple[str, float]], **options: Any) -> None:
    await transaction.send(
        "sweep.promote_facts",
        ids=list(rates),
        permanences=[permanence for permanence, _ in rates.values()],
        decay_rates=[rate for _, rate in rates.values()],
        **options,
    )


async def rules_with_evidence(transaction: Transaction, **where: Any) -> Scanned:
    return _scanned(await transaction.all("sweep.rules_with_evidence", **where))


async def mature_rules(transaction: Transaction, maturities: Mapping[UUID, str], now: datetime) -> None:
    await transaction.send("sweep.mature_rules", ids=list(maturities), maturities=list(maturities.values()), now=now)


async def by_confidence(transaction: Transaction, planned: Planned, **where: Any) -> Scanned:
    return _scanned(await transaction.all("sweep.by_confidence", **where, **planned.params()))


async def outdated_rates(transaction: Transaction, planned: Planned, **where: Any) -> Scanned:
    return _scanned(await transaction.all("sweep.outdated_rates", **where, **planned.params()))


async def set_decay_rates(transaction: Transaction, rates: Mapping[UUID, float]) -> None:
    await transaction.send("sweep.set_decay_rates", ids=list(rates), decay_rates=list(rates.values()))


async def set_validity(transaction: Transaction, ids: Collection[UUID], validity: str) -> None:
    await transaction.send("sweep.set_validity", ids=list(ids), validity=validity)


async def measure_tier(transaction: Transaction, tier: TierOf, planned: Planned) -> Row:
    return await transaction.row("sweep.measure_tier", stale_since=tier.stale_since, **tier.params(planned))


async def least_used(transaction: Transaction, tier: TierOf, planned: Planned, **where: Any) -> list[Row]:
    return await transaction.all("sweep.least_used", stale_since=tier.stale_since, **where, **tier.params(planned))


async def still_unused(transaction: Transaction, tier: TierOf, ids: Collection[UUID], until: datetime) -> set[UUID]:
    rows = await transaction.all("sweep.still_unused", ids=list(ids), until=until, **tier.params(Planned()))
    return {row["id"] for row in rows}


async def count_episodes(transaction: Transaction, butler: str, removed: Collection[UUID]) -> int:
    return int((await transaction.row("sweep.count_episodes", butler=butler, removed=list(removed)))["held"])


async def oldest_consolidated(
    transaction: Transaction, butler: str, removed: Collection[UUID], **where: Any
) -> list[Row]:
    return await transaction.all("sweep.oldest_consolidated", butler=butler, removed=list(removed), **where)


async def still_consolidated(transaction: Transaction, ids: Collection[UUID]) -> set[UUID]:
    return set(await transaction.column("sweep.still_consolidated", ids=list(ids)))


async def insert_tombstones(
    transaction: Transaction, ids: Collection[UUID], reason: str, now: datetime
) -> dict[UUID, dict[str, Any]]:
    """Insert a tombstone for each episode; returns them by episode for the events."""
    rows = await transaction.all("sweep.insert_tombstones", ids=list(ids), reason=reason, now=now)
    return {row["episode_id"]: row["tombstone"] for row in rows}


async def delete_episodes(transaction: Transaction, ids: Collection[UUID]) -> None:
    """Delete episodes with their texts and index entries, and their words from their events, which must be written
    before."""
    await search_index.clear(transaction, list(ids))
    await purging.scrub_events(transaction, ids)
    await transaction.send("sweep.delete_episodes", ids=list(ids))


async def drop_keys(transaction: Transaction, rows: Sequence[Row], now: datetime) -> int:
    """Delete these keys; returns the number of deleted ones."""
    butlers, keys = [row["butler"] for row in rows], [row["key"] for row in rows]
    return len(await transaction.all("sweep.drop_keys", butlers=butlers, keys=keys, now=now))
