"""Consolidation runs: claims, proposals, outcomes, and the keys of distilled items."""

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from psycopg.types.json import Jsonb

from memory_butler.models import ConsolidationStatus, Origin, Usage
from memory_butler.settings import EdenTier
from memory_butler.store.encryption import tenant_keys
from memory_butler.store.encryption.hashes import by_stored
from memory_butler.store.encryption.texts import opened_item, sealed_item
from memory_butler.store.encryption.vault import CONTENT_HASH, ITEM_HASH
from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.memories.episodes import QueuedEpisode, first, in_line

LOST = "The worker was lost before it had finished."
MOST_ALIKE = 5_000
MOST_ABOUT = 500
MOST_RULES = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The record of one consolidation run."""

    id: UUID
    tenant_id: str
    butler: str
    distiller: str
    state: str
    claimed_at: datetime
    lease_until: datetime
    finished_at: datetime | None
    error: str | None
    episodes: int
    input_tokens: int
    output_tokens: int
    cost_microdollars: int
    request_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """Undone changes of a run, with the latest undo."""

    changes: int
    undone: int
    undone_at: datetime
    undone_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeStatus:
    """New consolidation status of an episode."""

    id: UUID
    status: ConsolidationStatus
    attempts: int
    error: str | None = None
    retry_at: datetime | None = None


class KnownFact(NamedTuple):
    """A live fact that a proposal may repeat or supersede."""

    id: UUID
    ref: str
    scope: str
    subject: str
    predicate: str
    valid_at: datetime | None
    content: str
    origin: str = Origin.AGENT


class KnownRule(NamedTuple):
    """A live rule that a proposal may repeat."""

    id: UUID
    ref: str
    content: str
    maturity: str
    origin: str = Origin.AGENT


async def close_lost(transaction: Transaction, butler: str, now: datetime) -> list[UUID]:
    """End expired claims; returns their ids."""
    return await transaction.column("runs.close_lost", butler=butler, now=now, error=LOST)


async def claimed(transaction: Transaction, butler: str) -> Row | None:
    return await transaction.one("runs.claimed", butler=butler)


async def account(transaction: Transaction, usage: Usage, **values: Any) -> None:
    """Record the cost of a dry run."""
    await transaction.send("runs.account", **asdict(usage), **values)


async def finish(
    transaction: Transaction,
    run: UUID,
    state: str,
    now: datetime,
    *,
    from_state: str = "claimed",
    error: str | None = None,
    usage: Usage = Usage(),  # noqa: B008 (frozen)
) -> bool:
    """End a run or let it wait for a decision. False: the worker has lost its claim and must not write anything."""
    row = await transaction.one(
        "runs.finish",
        run=run,
        state=state,
        now=now,
        from_state=from_state,
        error=error,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost_microdollars=usage.cost_microdollars,
    )
    return row is not None


async def get(transaction: Transaction, run: UUID) -> Run | None:
    row = await transaction.one("runs.get", run=run)
    return Run(**row) if row else None


async def undone(transaction: Transaction, run: UUID) -> Undone | None:
    """Return None if no change of the run is undone."""
    row = await transaction.one("runs.undone", run=run)
    return Undone(**row) if row and row["undone"] else None


async def batch(transaction: Transaction, run: UUID, eden: EdenTier, now: datetime) -> list[QueuedEpisode]:
    """The existing episodes of a run, in the order of the batch."""
    return [in_line(row) for row in await transaction.all("runs.batch", run=run, **first(eden, now))]


async def put_items(transaction: Transaction, run: UUID, items: Sequence[dict[str, Any]], butler: str) -> None:
    if items:
        items = [await sealed_item(transaction, run, item, butler) for item in items]
        await transaction.send("runs.put_items", run=run, items=Jsonb(items, dumps=_dumps))


async def decide_items(transaction: Transaction, run: UUID, places: Collection[int], state: str) -> None:
    await transaction.send("runs.decide_items", run=run, places=sorted(places), state=state)


async def edit_item(transaction: Transaction, run: UUID, item: Row, butler: str) -> bool:
    """Store other words for an item. False: it is decided and applied by now."""
    sealed = await sealed_item(transaction, run, item, butler)
    row = await transaction.one(
        "runs.edit_item", run=run, place=item["place"], proposed=Jsonb(sealed["proposed"], dumps=_dumps)
    )
    return row is not None


async def undecided(transaction: Transaction) -> int:
    """The number of items that await a decision."""
    return int((await transaction.row("runs.undecided"))["count"])


async def items(transaction: Transaction, run: UUID) -> list[Row]:
    return [opened_item(transaction, row) for row in await transaction.all("runs.items", run=run)]


async def known_keys(transaction: Transaction, keys: Collection[tuple[UUID, bytes]]) -> set[tuple[UUID, bytes]]:
    forms = await by_stored(transaction, {key for _, key in keys}, ITEM_HASH)
    stored = {key: form for form, key in forms.items()}
    asked = {*keys, *((episode, stored[key]) for episode, key in keys)}
    rows = await transaction.all("runs.known_keys", **_pairs(asked))
    return {(row["episode_id"], forms[bytes(row["key"])]) for row in rows}


async def keep_keys(transaction: Transaction, run: UUID, keys: Collection[tuple[UUID, bytes]]) -> None:
    forms = await by_stored(transaction, {key for _, key in keys}, ITEM_HASH)
    # The last form of a key is the keyed one, if the tenant has a key.
    stored = {key: form for form, key in forms.items()}
    await transaction.send("runs.keep_keys", run=run, **_pairs({(episode, stored[key]) for episode, key in keys}))


async def drop_keys(transaction: Transaction, episodes: Sequence[UUID]) -> None:
    await transaction.send("runs.drop_keys", episodes=list(episodes))


async def drop_losses(transaction: Transaction, episodes: Sequence[UUID]) -> None:
    """Delete the records of lost workers that had claimed these episodes."""
    await transaction.send("runs.drop_losses", episodes=list(episodes))


async def drop_needless_keys(transaction: Transaction, limit: int) -> int:
    """Delete the distilled keys of episodes that no longer exist."""
    return len(await transaction.all("runs.drop_needless_keys", limit=limit))


async def set_status(transaction: Transaction, verdicts: Sequence[EpisodeStatus]) -> None:
    await transaction.send(
        "runs.set_status",
        ids=[one.id for one in verdicts],
        statuses=[one.status for one in verdicts],
        attempts=[one.attempts for one in verdicts],
        errors=[one.error for one in verdicts],
        retries=[one.retry_at for one in verdicts],
    )


async def stored_hashes(transaction: Transaction, hashes: Collection[bytes], scopes: Sequence[str]) -> set[bytes]:
    forms = await by_stored(transaction, hashes, CONTENT_HASH)
    rows = await transaction.all("runs.stored_hashes", hashes=sorted(forms), scopes=list(scopes))
    return {forms[bytes(row["hash"])] for row in rows}


async def alike(
    transaction: Transaction, places: Collection[tuple[str, str]], predicates: Collection[str], scopes: Sequence[str]
) -> list[KnownFact]:
    """Live facts that a proposal may repeat, by subject and predicate class. Facts with the same predicate come first,
    so that the limit never cuts them off."""
    pairs = sorted(places)
    cursor = await transaction.send_for(
        lambda values: KnownFact(*values),
        "runs.alike",
        subjects=[subject for subject, _ in pairs],
        classes=[kind for _, kind in pairs],
        predicates=sorted(predicates),
        scopes=list(scopes),
        limit=MOST_ALIKE,
    )
    return await cursor.fetchall()


async def about(transaction: Transaction, subjects: Collection[str], scopes: Sequence[str]) -> list[KnownFact]:
    """The newest live facts about these subjects, in the order of storing."""
    cursor = await transaction.send_for(
        lambda values: KnownFact(*values),
        "runs.about",
        subjects=sorted(subjects),
        scopes=list(scopes),
        limit=MOST_ABOUT,
    )
    return list(reversed(await cursor.fetchall()))


async def stated_times(transaction: Transaction, facts: Collection[UUID]) -> list[Row]:
    """Return when facts were stored, and the latest observation time of their episodes."""
    return await transaction.all("runs.stated_times", ids=sorted(facts)) if facts else []


async def stated_times_of_rules(transaction: Transaction, rules: Collection[UUID]) -> list[Row]:
    """The same for rules."""
    return await transaction.all("runs.stated_times_of_rules", ids=sorted(rules)) if rules else []


async def rules_in(transaction: Transaction, scopes: Sequence[str], hashes: Collection[bytes]) -> list[KnownRule]:
    """Live rules that a proposal may repeat. Rules with the same content come first, so that the limit never cuts them
    off."""
    cursor = await transaction.send_for(
        lambda values: KnownRule(*values),
        "runs.rules_in",
        scopes=list(scopes),
        hashes=sorted(await by_stored(transaction, hashes, CONTENT_HASH)),
        limit=MOST_RULES,
    )
    return await cursor.fetchall()


async def named(transaction: Transaction, butler: str, ids: Sequence[UUID], refs: Sequence[str]) -> list[Row]:
    """Memories that a butler may see, by id or by reference."""
    return await transaction.all("runs.named", butler=butler, ids=list(ids), refs=list(refs))


async def spent(transaction: Transaction, since: datetime) -> Usage:
    row = await transaction.row("runs.spent", since=since)
    return Usage(input_tokens=row["tokens"], cost_microdollars=row["cost_microdollars"])


async def waiting_shards(transaction: Transaction, now: datetime, butler: str | None = None) -> list[Row]:
    locked = await tenant_keys.locked(transaction)
    return await transaction.all("runs.waiting_shards", now=now, butler=butler, locked=locked)


async def count_locked(transaction: Transaction, butler: str | None = None) -> int:
    """The number of pending episodes whose key is not available now."""
    locked = await tenant_keys.locked(transaction)
    return (await transaction.row("runs.count_locked", butler=butler, locked=locked))["episodes"] if locked else 0


async def empty_episodes(transaction: Transaction, butler: str | None, limit: int) -> list[Row]:
    """Consolidated episodes of which nothing was kept."""
    return await transaction.all("runs.empty_episodes", butler=butler, limit=limit)


async def count_empty(transaction: Transaction, butler: str | None) -> int:
    row = await transaction.one("runs.count_empty", butler=butler)
    return int(row["episodes"]) if row else 0


async def states(transaction: Transaction, since: datetime, butler: str | None) -> list[Row]:
    return await transaction.all("runs.states", since=since, butler=butler)


async def outcomes(transaction: Transaction, since: datetime, butler: str | None) -> list[Row]:
    return await transaction.all("runs.outcomes", since=since, butler=butler)


async def backlog(transaction: Transaction, now: datetime) -> list[Row]:
    return await transaction.all("runs.backlog", now=now)


async def deciding(transaction: Transaction, episodes: Collection[UUID], eyes: str | None) -> dict[UUID, UUID]:
    rows = await transaction.all("runs.deciding", episodes=list(episodes), eyes=eyes)
    return {row["episode"]: row["run"] for row in rows}


async def under_way(transaction: Transaction) -> int:
    return int((await transaction.row("runs.under_way"))["runs"])


async def spent_by_day(transaction: Transaction, since: datetime) -> list[Row]:
    return await transaction.all("runs.spent_by_day", since=since)


async def outcomes_of(transaction: Transaction, runs: Sequence[UUID]) -> list[Row]:
    return await transaction.all("runs.outcomes_of", runs=list(runs))


async def undone_of(transaction: Transaction, runs: Sequence[UUID]) -> set[UUID]:
    """Those of some runs with an undone change."""
    return set(await transaction.column("runs.undone_of", runs=list(runs)))


async def drop_old_runs(transaction: Transaction, butler: str, before: datetime, limit: int) -> int:
    return len(await transaction.all("runs.drop_old_runs", butler=butler, before=before, limit=limit))


def _pairs(keys: Collection[tuple[UUID, bytes]]) -> dict[str, Any]:
    ordered = sorted(keys)
    return {"episodes": [episode for episode, _ in ordered], "keys": [key for _, key in ordered]}


def _dumps(value: Any) -> str:
    return json.dumps(value, default=str, ensure_ascii=False)
