"""Rules of undo: the state that a memory returns to, or the nearest one that the allowed transitions reach."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from memory_butler.models import LIVE, Maturity, MemoryState, MemoryType, UndoCandidate, Validity
from memory_butler.policy.lifecycle.confidence import DecayRules, anchor, effective_confidence, fact_rate, rule_rate
from memory_butler.policy.lifecycle.transitions import may_follow

FADES_AGAIN = "It was fading before. It is active now; unless it is confirmed, the next sweep fades it again."
RENEWED = "It was confirmed again, because the next sweep would have expired it."
RETENTION_RESTARTED = "Its retention period had ended and starts again, because the next sweep would have deleted it."
BACK_TO_CANDIDATE = "It was established or proven before, but a warning can only be reset to candidate."
ONE_STEP = "It was proven before. It is established now, because a rule is promoted one step at a time."


@dataclass(frozen=True, slots=True)
class Resolution:
    """The state after an undo. All other fields are as before the event."""

    validity: str
    maturity: str | None = None
    renews: bool = False
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unreachable:
    """The state before the event cannot be reached from the current one."""

    reason: str


def resolve(
    kind: MemoryType,
    current: MemoryState,
    before: MemoryState | None,
    now: datetime,
    rules: DecayRules,
    *,
    takes_back_confirmation: bool,
) -> Resolution | Unreachable:
    """Resolve the undo of one event.

    `before` is the state before the event, None if the event created the memory. `current` is the current state: the
    state after the event, or the nearest one that an earlier undo could reach.
    """
    if before is None:
        return _nearest(kind, current, Validity.RETRACTED, current.maturity)
    status, status_before = current.consolidation, before.consolidation
    if status and status_before and not may_follow(kind, "consolidation", status, status_before):
        return Unreachable(f"{status} cannot become {status_before}")
    resolution = _nearest(kind, current, before.validity, before.maturity)
    if isinstance(resolution, Unreachable) or resolution.validity not in LIVE:
        return resolution
    if kind is MemoryType.EPISODE:
        ended = current.validity not in LIVE and before.expires_at is not None and before.expires_at <= now
        restarted = Resolution(resolution.validity, renews=True, remarks=(RETENTION_RESTARTED,))
        return restarted if ended and not before.pinned else resolution
    # Undoing a confirmation lets a memory decay that stays in use, so it is not renewed.
    loses_confirmation = takes_back_confirmation and current.validity in LIVE
    if not _must_renew(current, before, resolution.maturity, now, rules) or loses_confirmation:
        return resolution
    others = tuple(remark for remark in resolution.remarks if remark != FADES_AGAIN)
    return Resolution(Validity.ACTIVE, resolution.maturity, renews=True, remarks=(*others, RENEWED))


def _nearest(kind: MemoryType, current: MemoryState, validity: str, maturity: str | None) -> Resolution | Unreachable:
    remarks = []
    if not may_follow(kind, "validity", current.validity, validity):
        if validity != Validity.FADING:
            return Unreachable(f"{current.validity} cannot become {validity}")
        validity = Validity.ACTIVE
        remarks.append(FADES_AGAIN)
    if current.maturity and maturity and not may_follow(kind, "maturity", current.maturity, maturity):
        is_warning = current.maturity == Maturity.ANTI_PATTERN
        maturity = Maturity.CANDIDATE if is_warning else Maturity.ESTABLISHED
        remarks.append(BACK_TO_CANDIDATE if is_warning else ONE_STEP)
    return Resolution(validity, maturity, remarks=tuple(remarks))


def _must_renew(
    current: MemoryState, before: MemoryState, maturity: str | None, now: datetime, rules: DecayRules
) -> bool:
    """True if the next sweep would expire the memory."""
    if before.pinned or maturity == Maturity.ANTI_PATTERN:
        return False
    anchored_at = anchor(before.created_at, before.last_confirmed_at)
    worth = effective_confidence(before.confidence, rate_in_force(before, rules), anchored_at, now)
    return current.validity == Validity.EXPIRED or worth < rules.expired_below


def rate_in_force(state: MemoryState, rules: DecayRules) -> float:
    """The decay rate that a restored fact or rule gets: that of the current settings, not of the restored event."""
    return fact_rate(state.permanence, rules) if state.permanence else rule_rate(rules)


# Events that an undo leaves alone: a decay rate follows the settings.
EXEMPT_ACTION = "rate_changed"
# The memory changed after the event.
CHANGED = "changed"


@dataclass(slots=True)
class UndoWalk:
    """Decisions about events from the newest to the oldest; later decisions depend on earlier ones."""

    # Decay rates and thresholds by butler.
    rules_of: Callable[[str], DecayRules]
    # The newest event of each memory that is not undone: older ones cannot be undone either.
    stays: dict[UUID, int] = field(default_factory=dict)
    # Memories that the undo takes out of use. Others can take their place.
    leaving: set[UUID] = field(default_factory=set)

    def decide(
        self, candidates: Sequence[UndoCandidate], now: datetime
    ) -> tuple[list[tuple[UndoCandidate, Resolution]], list[tuple[UndoCandidate, str]]]:
        """Returns the events that can be undone with the resulting states, and the others with the reason."""
        outcomes = [(candidate, _outcome(candidate, now, self.rules_of(candidate.butler))) for candidate in candidates]
        reasons = self._obstacles(outcomes)
        undoing = [
            (candidate, resolution)
            for candidate, resolution in outcomes
            if isinstance(resolution, Resolution) and candidate.id not in reasons
        ]
        return undoing, [(candidate, reasons[candidate.id]) for candidate in candidates if candidate.id in reasons]

    def _obstacles(self, outcomes: Sequence[tuple[UndoCandidate, Resolution | Unreachable]]) -> dict[UUID, str]:
        """The reason for each event that is not undone. Such an event may block another, so repeat until stable."""
        reasons: dict[UUID, str] = {}
        while True:
            for candidate, resolution in outcomes:
                if (
                    candidate.id not in reasons
                    and isinstance(resolution, Resolution)
                    and _leaves(candidate, resolution)
                ):
                    self.leaving.add(candidate.entity_id)
            blocked = {}
            for candidate, resolution in outcomes:
                reason = None if candidate.id in reasons else self._obstacle(candidate, resolution)
                if reason:
                    blocked[candidate.id] = reason
                    self.stays.setdefault(candidate.entity_id, candidate.seq)
                    self.leaving.discard(candidate.entity_id)
            if not blocked:
                return reasons
            reasons |= blocked

    def _obstacle(self, candidate: UndoCandidate, resolution: Resolution | Unreachable) -> str | None:
        if candidate.seq <= self.stays.get(candidate.entity_id, -1):
            return CHANGED
        if isinstance(resolution, Unreachable):
            return resolution.reason
        if candidate.holder_id and candidate.holder_id not in self.leaving:
            same = candidate.entity_type == MemoryType.RULE
            return f"{candidate.holder_ref} {'has the same content' if same else 'is now the current value'}"
        return None


def _outcome(candidate: UndoCandidate, now: datetime, rules: DecayRules) -> Resolution | Unreachable:
    if not candidate.is_unchanged or candidate.current is None:
        return Unreachable(CHANGED)
    if candidate.entity_type not in set(MemoryType):
        # An alias is in use or withdrawn. It does not decay.
        return Resolution(candidate.before.validity if candidate.before else Validity.RETRACTED)
    kind = MemoryType(candidate.entity_type)
    return resolve(
        kind, candidate.current, candidate.before, now, rules, takes_back_confirmation=candidate.is_confirmation
    )


def _leaves(candidate: UndoCandidate, resolution: Resolution) -> bool:
    return candidate.current is not None and candidate.current.validity in LIVE and resolution.validity not in LIVE
