"""Review of proposals: list runs, show their items, approve and reject."""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from memory_butler.errors import Conflict, InvalidInput, NotFound
from memory_butler.models import Batch, Caller, EmptyEpisode, ItemKind, ItemResult
from memory_butler.models.unreadable import Unreadable
from memory_butler.operations.consolidation.apply import NumberedItem, prepare_items
from memory_butler.operations.consolidation.consolidate import apply_batch, run_trail
from memory_butler.operations.consolidation.proposal_targets import known_targets
from memory_butler.operations.lifecycle.job_status import shard_for
from memory_butler.operations.writing.admission import admit_text
from memory_butler.operations.writing.idempotency import Fingerprint, store_response, stored_response
from memory_butler.policy.access import visibility
from memory_butler.policy.consolidation.nothing_kept import nothing_kept
from memory_butler.policy.consolidation.stored_items import item_from_json
from memory_butler.policy.memories.validation import (
    FACT_CHARACTERS,
    RULE_CHARACTERS,
    clean_key,
    clean_text,
    optional_label,
)
from memory_butler.resources import Resources, on_replica
from memory_butler.store.browse import listings
from memory_butler.store.consolidation import runs as runs_store
from memory_butler.store.consolidation.runs import Run, Undone
from memory_butler.store.encryption.vault import KeyUnavailable
from memory_butler.store.gate.database import Row, Transaction

MAX_LIMIT = 200
# Outcomes of items that changed a memory, and states of items that can still be decided.
CHANGES = ("created", "superseded", "confirmed")
DECIDABLE = ("proposed", "approved", "rejected")
# Kinds of items that have words of their own.
EDITABLE = (ItemKind.FACT, ItemKind.UPDATE, ItemKind.RULE)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReview:
    """A run with the references of its episodes, its items, and how much of it was undone."""

    run: Run
    episodes: tuple[str, ...]
    lines: tuple[ItemResult, ...]
    undone: Undone | None
    nothing_kept: tuple[EmptyEpisode, ...] = ()

    @property
    def undecided(self) -> tuple[ItemResult, ...]:
        return tuple(line for line in self.lines if line.outcome == "proposed")

    def settled_by(self, places: Collection[int]) -> bool:
        """True if no item is undecided once the items at these places are decided."""
        return all(line.place in places for line in self.undecided)

    @property
    def can_undo(self) -> bool:
        """True if the run changed memories and not all of it was undone."""
        is_undone = self.undone is not None and self.undone.undone >= self.undone.changes
        return self.run.state == "applied" and any(line.outcome in CHANGES for line in self.lines) and not is_undone

    @property
    def can_distil_again(self) -> bool:
        """True if items were rejected and the episodes still exist."""
        decided = self.run.state in ("rejected", "applied")
        return decided and bool(self.episodes) and any(line.outcome == "rejected" for line in self.lines)


def parse_run(value: object) -> UUID:
    try:
        return UUID(str(value))
    except ValueError as problem:
        raise InvalidInput(
            f"{str(value)[:60]!r} is not the id of a run.", recovery="`memory-butler consolidate runs` lists them."
        ) from problem


@on_replica
async def runs(
    resources: Resources,
    caller: Caller | None = None,
    *,
    only_butler: str | None = None,
    state: str | None = None,
    limit: int = 20,
) -> list[Run]:
    """Returns the latest runs."""
    caller = resources.admin(caller, "see proposals and decide on them")
    async with resources.database.read(caller.principal.tenant) as transaction:
        limit = min(limit, MAX_LIMIT)
        return await listings.runs(transaction, butler=only_butler, state=state, after=None, limit=limit)


@on_replica
async def get_run(resources: Resources, run: str, caller: Caller | None = None) -> RunReview:
    caller = resources.admin(caller, "see proposals and decide on them")
    async with resources.database.read(caller.principal.tenant) as transaction:
        return await _load(resources, transaction, parse_run(run))


@on_replica
async def runs_awaiting_decision(
    resources: Resources, episodes: Collection[UUID], caller: Caller | None = None
) -> dict[UUID, UUID]:
    """Returns, of these episodes, those in a proposal that awaits review, with the id of its run. Any caller may ask
    this about visible episodes; only administrators may see the proposal."""
    caller = resources.allowed(caller, "list_memories")
    if len(episodes) > MAX_LIMIT:
        raise InvalidInput(
            f"{len(episodes)} episodes are more than the limit of {MAX_LIMIT}.", recovery="Pass fewer at a time."
        )
    async with resources.database.read(caller.principal.tenant) as transaction:
        return await runs_store.deciding(transaction, episodes, visibility.viewer(caller.principal))


async def decide(
    resources: Resources,
    run: str,
    caller: Caller | None = None,
    *,
    approve: Collection[int] | None = None,
    reject: Collection[int] | None = None,
    rest: str | None = None,
    idempotency_key: str | None = None,
) -> RunReview:
    """Approve or reject items of a waiting proposal by number; `rest` decides all others. Once all items are decided,
    the approved ones are applied and the episodes are marked as consolidated."""
    caller = resources.admin(caller, "see proposals and decide on them")
    run_id, key = parse_run(run), clean_key(idempotency_key)
    request = {"run": str(run_id), "approve": sorted(approve or ()), "reject": sorted(reject or ()), "rest": rest}
    digest = Fingerprint("decide", request)
    async with resources.database.read(caller.principal.tenant) as transaction:
        # Read once, both for the decision and for the comparison at the write, so that no change in between is missed.
        rows = await runs_store.items(transaction, run_id)
        review = await _load(resources, transaction, run_id, rows)
        if await stored_response(transaction, caller, key, digest, resources.clock()):
            return review
    decisions = _decisions(review, approve or (), reject or (), rest)
    approved = [_placed(row) for row in rows if decisions.get(row["place"], row["state"]) == "approved"]
    is_last = review.settled_by(decisions)
    shard = shard_for(caller, review.run.butler)
    work = None
    if is_last:
        known = await known_targets(resources, shard, [item.target for _, item in approved if item.target])
        tenant, butler = shard.principal.tenant, review.run.butler
        batch = Batch(butler=butler, episodes=(), texts={}, known=known, now=resources.clock(), tenant=tenant)
        work = await prepare_items(resources, batch, approved)
    now = resources.clock()
    async with resources.database.write(caller.principal.tenant, now, refs=len(approved)) as transaction:
        if await runs_store.items(transaction, run_id) != rows:
            raise Conflict(
                "Another user has decided on this proposal in the meantime.", recovery="Load it again, then decide."
            )
        for state in ("approved", "rejected"):
            places = [place for place, decided in decisions.items() if decided == state]
            if places:
                await runs_store.decide_items(transaction, run_id, places, state)
        if work is not None:
            final_state = "applied" if approved else "rejected"
            if not await runs_store.finish(transaction, run_id, final_state, now, from_state="waiting"):
                raise Conflict(
                    "Another user has decided on this proposal in the meantime.",
                    recovery="Load it again, then decide.",
                )
            outcomes = await apply_batch(resources, transaction, run_trail(resources, shard, now, run_id), work)
            await runs_store.put_items(transaction, run_id, outcomes.rows(), review.run.butler)
        await transaction.send("database.register_butler", butler=review.run.butler, now=now)
        # The decisions are stored with the run itself; a repeat returns the run.
        response = {"run": str(run_id)}
        await store_response(transaction, resources, caller, key=key, digest=digest, response=response, now=now)
        return await _load(resources, transaction, run_id)


async def edit(resources: Resources, run: str, place: int, content: str, caller: Caller | None = None) -> RunReview:
    """Change the words of an item that awaits a decision. It is decided on as it then reads."""
    caller = resources.admin(caller, "see proposals and decide on them")
    run_id = parse_run(run)
    async with resources.database.write(caller.principal.tenant, resources.clock()) as transaction:
        review = await _load(resources, transaction, run_id)
        row = next((one for one in await runs_store.items(transaction, run_id) if one["place"] == place), None)
        if row is None or row["kind"] not in EDITABLE or row["state"] not in DECIDABLE:
            raise InvalidInput(
                f"Item {place} of this run has no words that can be edited.",
                recovery="Edit a proposed fact, update or rule that awaits a decision.",
            )
        limit = RULE_CHARACTERS if row["kind"] == ItemKind.RULE else FACT_CHARACTERS
        admitted, _ = admit_text(resources, caller, content, limit)
        words = clean_text(admitted, "content", limit)
        item = {**row, "proposed": {**row["proposed"], "content": words}}
        if not await runs_store.edit_item(transaction, run_id, item, review.run.butler):
            raise Conflict("Another user has decided on this item in the meantime.", recovery="Load it again.")
        return await _load(resources, transaction, run_id)


def _decisions(
    review: RunReview, approve: Collection[int], reject: Collection[int], rest: str | None
) -> dict[int, str]:
    if review.run.state != "waiting":
        raise Conflict(
            f"This run is {review.run.state}; no item of it awaits a decision.",
            recovery=f"`memory-butler undo {review.run.id}` undoes what was applied."
            if review.run.state == "applied"
            else None,
        )
    open_places = {line.place for line in review.lines if line.outcome in DECIDABLE}
    unknown = sorted({*approve, *reject} - open_places)
    both = sorted(set(approve) & set(reject))
    if unknown or both:
        raise InvalidInput(
            f"Items {', '.join(map(str, both))} are both approved and rejected."
            if both
            else f"No item {', '.join(map(str, unknown))} of this run awaits a decision.",
            recovery="`memory-butler consolidate review RUN` shows the numbers.",
        )
    if rest not in (None, "approved", "rejected"):
        raise InvalidInput(f"rest is {rest!r}.", recovery="Pass approved or rejected, or leave it out.")
    decisions = dict.fromkeys(approve, "approved") | dict.fromkeys(reject, "rejected")
    if rest:
        decisions |= {line.place: rest for line in review.undecided if line.place not in decisions}
    return decisions


def _placed(row: Row) -> NumberedItem:
    content = row["proposed"].get("content")
    if isinstance(content, Unreadable):
        raise KeyUnavailable(f"Item {row['place']} cannot be approved: {content.because}. Nothing was changed.")
    return row["place"], item_from_json(row["proposed"])


async def _load(resources: Resources, transaction: Transaction, run: UUID, rows: list[Row] | None = None) -> RunReview:
    record = await runs_store.get(transaction, run)
    if record is None:
        raise NotFound(f"There is no run {run}.", recovery="`memory-butler consolidate runs` lists them.")
    eden = resources.settings.lifecycle_of(record.butler).eden
    episodes = await runs_store.batch(transaction, run, eden, resources.clock())
    lines = tuple(as_line(row) for row in (await runs_store.items(transaction, run) if rows is None else rows))
    has_ended = record.state in ("applied", "rejected")
    return RunReview(
        run=record,
        episodes=tuple(line.episode.ref for line in episodes),
        lines=lines,
        nothing_kept=nothing_kept([line.episode for line in episodes], lines) if has_ended else (),
        undone=await runs_store.undone(transaction, run),
    )


def as_line(row: Row) -> ItemResult:
    return ItemResult(
        place=row["place"],
        kind=ItemKind(row["kind"]),
        outcome=row["outcome"] if row["state"] == "applied" else row["state"],
        shown=row["proposed"],
        reason=optional_label(row["reason"], "reason"),
        said=row["said"],
        memory=f"{row['memory_type']}:{row['memory_id']}" if row["memory_id"] else None,
    )
