"""What can be undone, and where it leads: as near to what was before as the allowed transitions reach."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from memory_butler.models import LIVE, Maturity, MemoryType, Past, Standing, Validity
from memory_butler.policy.confidence import EXPIRED_BELOW, anchor, effective_confidence
from memory_butler.policy.lifecycle import may_follow

FADES_AGAIN = "It was fading before; it is active now, and the next sweep fades it again unless it is confirmed."
RENEWED = "It was renewed as if confirmed; otherwise the next sweep would expire it again."
TIME_ANEW = "Its time was over; it has its days anew, otherwise the next sweep would delete it."
BACK_TO_CANDIDATE = "It was more than a candidate before; a warning can only become that, and its evidence takes it up."
ONE_STEP = "It was proven before; it is established for now, as trust is earned a step at a time."


@dataclass(frozen=True, slots=True)
class Settled:
    """What a memory becomes. Everything else about it is as it was before the event."""

    validity: str
    maturity: str | None = None
    renews: bool = False
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unreachable:
    """The state before cannot be reached from the present one, nor anything like it."""

    reason: str


def settle(
    kind: MemoryType, stands: Standing, before: Standing | None, now: datetime, *, takes_back_confirmation: bool
) -> Settled | Unreachable:
    """Undo one event.

    `before` is how the event found the memory, which is nothing if it made it. `stands` is how the memory stands now:
    as the event left it, or as near to that as an earlier undo could get.
    """
    if before is None:
        return _nearest(kind, stands, Validity.RETRACTED, stands.maturity)
    waits, waited = stands.consolidation, before.consolidation
    if waits and waited and not may_follow(kind, "consolidation", waits, waited):
        return Unreachable(f"{waits} cannot become {waited}")
    found = _nearest(kind, stands, before.validity, before.maturity)
    if isinstance(found, Unreachable) or found.validity not in LIVE:
        return found
    if kind is MemoryType.EPISODE:
        over = stands.validity not in LIVE and before.expires_at is not None and before.expires_at <= now
        return Settled(found.validity, renews=True, remarks=(TIME_ANEW,)) if over and not before.pinned else found
    # Taking back a confirmation means that: what stays in use and loses one is left to decay.
    loses_confirmation = takes_back_confirmation and stands.validity in LIVE
    if not _must_renew(stands, before, found.maturity, now) or loses_confirmation:
        return found
    others = tuple(remark for remark in found.remarks if remark != FADES_AGAIN)
    return Settled(Validity.ACTIVE, found.maturity, renews=True, remarks=(*others, RENEWED))


def _nearest(kind: MemoryType, stands: Standing, validity: str, maturity: str | None) -> Settled | Unreachable:
    remarks = []
    if not may_follow(kind, "validity", stands.validity, validity):
        if validity != Validity.FADING:
            return Unreachable(f"{stands.validity} cannot become {validity}")
        validity = Validity.ACTIVE
        remarks.append(FADES_AGAIN)
    if stands.maturity and maturity and not may_follow(kind, "maturity", stands.maturity, maturity):
        is_warning = stands.maturity == Maturity.ANTI_PATTERN
        maturity = Maturity.CANDIDATE if is_warning else Maturity.ESTABLISHED
        remarks.append(BACK_TO_CANDIDATE if is_warning else ONE_STEP)
    return Settled(validity, maturity, remarks=tuple(remarks))


def _must_renew(stands: Standing, before: Standing, maturity: str | None, now: datetime) -> bool:
    """Would it be gone with the next sweep?"""
    if before.pinned or maturity == Maturity.ANTI_PATTERN:
        return False
    anchored_at = anchor(before.created_at, before.last_confirmed_at)
    worth = effective_confidence(before.confidence, before.decay_rate, anchored_at, now)
    return stands.validity == Validity.EXPIRED or worth < EXPIRED_BELOW


# The memory is no longer as the event left it.
CHANGED = "changed"


@dataclass(slots=True)
class Walk:
    """A walk back through events, newest first, that remembers what it decided on the way."""

    # Of each memory the newest event that stays: what is older cannot be undone either.
    stays: dict[UUID, int] = field(default_factory=dict)
    # Memories that go out of use by the undo, and so make room for others.
    leaving: set[UUID] = field(default_factory=set)

    def judge(self, pasts: Sequence[Past], now: datetime) -> tuple[list[tuple[Past, Settled]], list[tuple[Past, str]]]:
        """Which of the next events can be undone and what their memories become; which stay, and why."""
        outcomes = [(past, _outcome(past, now)) for past in pasts]
        reasons = self._obstacles(outcomes)
        undoing = [
            (past, settled) for past, settled in outcomes if isinstance(settled, Settled) and past.id not in reasons
        ]
        return undoing, [(past, reasons[past.id]) for past in pasts if past.id in reasons]

    def _obstacles(self, outcomes: Sequence[tuple[Past, Settled | Unreachable]]) -> dict[UUID, str]:
        """Why which events stay. One that stays may keep another's place, so it is asked until nothing changes."""
        reasons: dict[UUID, str] = {}
        while True:
            for past, settled in outcomes:
                if past.id not in reasons and isinstance(settled, Settled) and _leaves(past, settled):
                    self.leaving.add(past.entity_id)
            found = {}
            for past, settled in outcomes:
                why = None if past.id in reasons else self._obstacle(past, settled)
                if why:
                    found[past.id] = why
                    self.stays.setdefault(past.entity_id, past.seq)
                    self.leaving.discard(past.entity_id)
            if not found:
                return reasons
            reasons |= found

    def _obstacle(self, past: Past, settled: Settled | Unreachable) -> str | None:
        if past.seq <= self.stays.get(past.entity_id, -1):
            return CHANGED
        if isinstance(settled, Unreachable):
            return settled.reason
        if past.holder_id and past.holder_id not in self.leaving:
            return f"its place is taken by {past.holder_ref}"
        return None


def _outcome(past: Past, now: datetime) -> Settled | Unreachable:
    if not past.is_unchanged or past.stands is None:
        return Unreachable(CHANGED)
    if past.entity_type not in set(MemoryType):
        # Another name of a subject: it is in use or withdrawn, and time does nothing to it.
        return Settled(past.before.validity if past.before else Validity.RETRACTED)
    kind = MemoryType(past.entity_type)
    return settle(kind, past.stands, past.before, now, takes_back_confirmation=past.is_confirmation)


def _leaves(past: Past, settled: Settled) -> bool:
    return past.stands is not None and past.stands.validity in LIVE and settled.validity not in LIVE
