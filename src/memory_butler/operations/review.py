"""Review: proposals that wait for a person's decision, and what is decided."""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from memory_butler.butler import Butler
from memory_butler.errors import Conflict, InvalidInput, NotFound, PermissionDenied
from memory_butler.models import Batch, Caller, ItemKind, Line
from memory_butler.operations.applying import Placed, prepared
from memory_butler.operations.consolidate import finish_batch, marks_of
from memory_butler.operations.look_up import known_targets
from memory_butler.operations.once import fingerprint, first_answer, keep_answer
from memory_butler.operations.upkeep import shard_for
from memory_butler.policy import reach
from memory_butler.policy.admission import optional_label
from memory_butler.policy.proposals import item_from
from memory_butler.policy.roles import check_role
from memory_butler.store import consolidation
from memory_butler.store.consolidation import Run, Undone
from memory_butler.store.database import Row, Session

MOST = 200
# What an item came to that changed a memory, and what one may still be decided on as.
CHANGES = ("created", "superseded", "confirmed")
DECIDABLE = ("proposed", "approved", "rejected")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """A run, its episodes by reference, how its items stand, and whether it was taken back."""

    run: Run
    episodes: tuple[str, ...]
    lines: tuple[Line, ...]
    undone: Undone | None

    @property
    def undecided(self) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.outcome == "proposed")

    def settled_by(self, places: Collection[int]) -> bool:
        """Whether nothing is open any more when the items at these places are decided."""
        return all(line.place in places for line in self.undecided)

    @property
    def can_undo(self) -> bool:
        """Whether there is something of it that stands and could be taken back."""
        is_gone = self.undone is not None and self.undone.undone >= self.undone.changes
        return self.run.state == "applied" and any(line.outcome in CHANGES for line in self.lines) and not is_gone

    @property
    def can_distil_again(self) -> bool:
        """Whether something of it was rejected whose episodes are still there."""
        decided = self.run.state in ("rejected", "applied")
        return decided and bool(self.episodes) and any(line.outcome == "rejected" for line in self.lines)


def parse_run(given: object) -> UUID:
    try:
        return UUID(str(given))
    except ValueError as problem:
        raise InvalidInput(
            f"{str(given)[:60]!r} is not the id of a run.", recovery="`memory-butler consolidate runs` lists them."
        ) from problem


async def runs(
    butler: Butler,
    caller: Caller | None = None,
    *,
    only_butler: str | None = None,
    state: str | None = None,
    limit: int = 20,
) -> list[Run]:
    """The latest runs."""
    caller = _admin(butler, caller)
    async with butler.database.read(caller.principal.tenant) as session:
        return await consolidation.runs(session, butler=only_butler, state=state, limit=min(limit, MOST))


async def show(butler: Butler, run: str, caller: Caller | None = None) -> Reviewed:
    """A run with its items."""
    caller = _admin(butler, caller)
    async with butler.database.read(caller.principal.tenant) as session:
        return await _load(butler, session, parse_run(run))


async def deciding(butler: Butler, episodes: Collection[UUID], caller: Caller | None = None) -> dict[UUID, UUID]:
    """Of some episodes those that are part of a proposal which awaits a decision, each with the run that proposed it.
    Anybody may know this of what they may see; what is proposed is an administrator's to look at."""
    caller = caller or butler.local_caller()
    check_role(caller.principal, "list_memories")
    if len(episodes) > MOST:
        raise InvalidInput(f"These are more than {MOST} episodes.", recovery="Ask for fewer at a time.")
    async with butler.database.read(caller.principal.tenant) as session:
        return await consolidation.deciding(session, episodes, reach.eyes(caller.principal))


async def decide(
    butler: Butler,
    run: str,
    caller: Caller | None = None,
    *,
    approve: Collection[int] | None = None,
    reject: Collection[int] | None = None,
    rest: str | None = None,
    idempotency_key: str | None = None,
) -> Reviewed:
    """Approve or reject items of a waiting proposal, by their numbers; `rest` is what happens to the others, if it is
    to be decided now. When all are decided, what was approved is applied and the episodes are consolidated."""
    caller = _admin(butler, caller)
    wanted, key = parse_run(run), optional_label(idempotency_key, "idempotency_key")
    asked = {"run": str(wanted), "approve": sorted(approve or ()), "reject": sorted(reject or ()), "rest": rest}
    digest = fingerprint("decide", asked)
    async with butler.database.read(caller.principal.tenant) as session:
        # Once, for what is decided and for what is compared when it is written: nothing may come between.
        rows = await consolidation.items(session, wanted)
        seen = await _load(butler, session, wanted, rows)
        if await first_answer(session, caller, key, digest, butler.clock()):
            return seen
    decisions = _decisions(seen, approve or (), reject or (), rest)
    approved = [_placed(row) for row in rows if decisions.get(row["place"], row["state"]) == "approved"]
    is_last = seen.settled_by(decisions)
    shard = shard_for(caller, seen.run.butler)
    work = None
    if is_last:
        known = await known_targets(butler, shard, [item.target for _, item in approved if item.target])
        batch = Batch(butler=seen.run.butler, episodes=(), texts={}, known=known, now=butler.clock())
        work = await prepared(butler, batch, approved)
    now = butler.clock()
    async with butler.database.write(caller.principal.tenant, now, refs=len(approved)) as session:
        if await consolidation.items(session, wanted) != rows:
            raise Conflict(
                "Somebody else has decided on this proposal in the meantime.", recovery="Look at it again, then decide."
            )
        for state in ("approved", "rejected"):
            places = [place for place, decided in decisions.items() if decided == state]
            if places:
                await consolidation.decide_items(session, wanted, places, state)
        if work is not None:
            ends_as = "applied" if approved else "rejected"
            if not await consolidation.finish(session, wanted, ends_as, now, from_state="waiting"):
                raise Conflict("Somebody else has decided on this proposal in the meantime.")
            done = await finish_batch(butler, session, marks_of(butler, shard, now, wanted), work)
            await consolidation.put_items(session, wanted, done.rows())
        await session.send("database.register_butler", butler=seen.run.butler, now=now)
        # What is decided stands in the run itself: a repeat is shown the run.
        decided = {"run": str(wanted)}
        await keep_answer(session, butler, caller, key=key, digest=digest, response=decided, now=now)
        return await _load(butler, session, wanted)


def _decisions(seen: Reviewed, approve: Collection[int], reject: Collection[int], rest: str | None) -> dict[int, str]:
    if seen.run.state != "waiting":
        raise Conflict(
            f"This run is {seen.run.state}; nothing of it awaits a decision.",
            recovery=f"memory-butler undo {seen.run.id} takes back what was applied."
            if seen.run.state == "applied"
            else None,
        )
    open_places = {line.place for line in seen.lines if line.outcome in DECIDABLE}
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
        raise InvalidInput("`rest` is approved, rejected or nothing.")
    decisions = dict.fromkeys(approve, "approved") | dict.fromkeys(reject, "rejected")
    if rest:
        decisions |= {line.place: rest for line in seen.undecided if line.place not in decisions}
    return decisions


def _placed(row: Row) -> Placed:
    return row["place"], item_from(row["proposed"])


async def _load(butler: Butler, session: Session, run: UUID, rows: list[Row] | None = None) -> Reviewed:
    found = await consolidation.get(session, run)
    if found is None:
        raise NotFound("There is no such run.", recovery="`memory-butler consolidate runs` lists them.")
    eden = butler.settings.lifecycle_of(found.butler).eden
    episodes = await consolidation.batch(session, run, eden, butler.clock())
    lines = await consolidation.items(session, run) if rows is None else rows
    return Reviewed(
        run=found,
        episodes=tuple(line.episode.ref for line in episodes),
        lines=tuple(as_line(row) for row in lines),
        undone=await consolidation.undone(session, run),
    )


def as_line(row: Row) -> Line:
    return Line(
        place=row["place"],
        kind=ItemKind(row["kind"]),
        outcome=row["outcome"] if row["state"] == "applied" else row["state"],
        shown=row["proposed"],
        reason=optional_label(row["reason"], "reason"),
        said=row["said"],
        memory=f"{row['memory_type']}:{row['memory_id']}" if row["memory_id"] else None,
    )


def _admin(butler: Butler, caller: Caller | None) -> Caller:
    caller = caller or butler.local_caller()
    if not caller.principal.role.governs:
        raise PermissionDenied(
            "Only an administrator may look at proposals and decide on them.",
            recovery="Ask the person who looks after this store.",
        )
    return caller
