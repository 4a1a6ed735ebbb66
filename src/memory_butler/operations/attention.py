"""Attention: what somebody should look at, because it is stuck, late, about to be lost, or waits for a decision."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from memory_butler.butler import Butler
from memory_butler.models import EVERY_SCOPE, Caller, Fact, Rule
from memory_butler.operations import upkeep
from memory_butler.operations.upkeep import LateJob
from memory_butler.policy import reach
from memory_butler.policy.confidence import FADING_BELOW, anchor, falls_below
from memory_butler.store import attention as store
from memory_butler.store.attention import Line, Pile

IMPORTANT = 7
FADES_WITHIN = timedelta(days=7)
NEW_FOR = timedelta(days=14)
SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Fading:
    """An important fact, and when it fades or began to."""

    fact: Fact
    fades_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWarning:
    """A rule that became a warning, and when."""

    rule: Rule
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """The first few of each and how many there are. What only an administrator can put right is told to those; how
    the episodes in reach stand (`line`) to everybody."""

    fading: tuple[Fading, ...]
    fading_total: int
    warnings: tuple[NewWarning, ...]
    warnings_total: int
    at: datetime
    line: Line
    given_up: Pile
    proposals: Pile
    jobs: tuple[LateJob, ...]


async def attention(butler: Butler, caller: Caller | None = None) -> Attention:
    """Everything that the caller may see and that should not be left alone."""
    caller = caller or butler.local_caller()
    governs = caller.principal.role.governs
    reached = reach.readable(caller.principal, EVERY_SCOPE if governs else None, None)
    scopes = reached.scopes
    now = butler.clock()
    given_up = proposals = Pile(0, None)
    jobs: tuple[LateJob, ...] = ()
    async with butler.database.read(caller.principal.tenant) as session:
        facts, fading_total = await store.fading(
            session, scopes=scopes, importance=IMPORTANT, by=now + FADES_WITHIN, below=FADING_BELOW, limit=SHOWN
        )
        rules, warnings_total = await store.warnings(session, scopes=scopes, since=now - NEW_FOR, limit=SHOWN)
        line = await store.line(session, reached.butlers)
        if governs:
            given_up, proposals = await store.given_up(session), await store.proposals(session)
            jobs = await upkeep.late(session, butler.settings.upkeep.cadences(), now)
    return Attention(
        fading=tuple(Fading(fact=fact, fades_at=_fades_at(fact)) for fact in facts),
        fading_total=fading_total,
        warnings=tuple(NewWarning(rule=rule, since=since) for rule, since in rules),
        warnings_total=warnings_total,
        at=now,
        line=line,
        given_up=given_up,
        proposals=proposals,
        jobs=jobs,
    )


def _fades_at(fact: Fact) -> datetime | None:
    since = anchor(fact.created_at, fact.last_confirmed_at)
    return falls_below(FADING_BELOW, fact.confidence, fact.decay_rate, since)
