"""When a job is due for a shard, when it is late, and how long a failed one is left alone."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

# A job that is due is begun within a tick or two; later than this somebody should know.
GRACE = timedelta(minutes=15)
FIRST_RETRY = timedelta(minutes=5)
# What presses is not begun again sooner than this.
EARLIEST = timedelta(minutes=1)


class Standing(StrEnum):
    """How a job stands; the later ones are worse."""

    OK = "ok"
    NEVER = "never"
    OVERDUE = "overdue"
    FAILING = "failing"


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What is recorded of one job for one shard: since when there is a shard, the latest run, and how many runs up to
    it failed in a row. A run that was cut short has failed for a reason that is not its own."""

    since: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    outcome: str | None = None
    cut_short: bool = False
    failures: int = 0


def retry_delay(failures: int, every: timedelta) -> timedelta:
    """Twice as long after each failure in a row, and never longer than the job is usually left alone."""
    growth: int = 2 ** min(failures - 1, 20)
    return min(every, FIRST_RETRY * growth)


def due_at(history: History, every: timedelta) -> datetime:
    """The moment from which the job should run. However many runs were missed, there is one such moment."""
    if history.started_at is None:
        return history.since
    if history.outcome != "failed":
        return history.started_at + every
    ended_at = history.finished_at or history.started_at
    return ended_at + retry_delay(history.failures, every) if _is_failing(history) else ended_at


def is_pressing(
    *,
    backlog: int,
    importance: int,
    expires_in: timedelta,
    early_from: int,
    early_importance: int,
    near_expiry: timedelta,
) -> bool:
    """Does what waits for a shard's consolidation need it before its time?"""
    return backlog >= early_from or importance >= early_importance or expires_in <= near_expiry


def is_due(history: History, every: timedelta, now: datetime, *, pressing: bool = False) -> bool:
    """Whether to run it now. What presses need not wait its time, but a failed run is left alone as long as ever. A
    latest run that lies further ahead than one round was dated by a wrong clock."""
    due = due_at(history, every)
    if pressing and history.started_at is not None and history.outcome == "succeeded":
        due = min(due, history.started_at + EARLIEST)
    return history.started_at is None or due <= now or due - now > 2 * every


def overdue_by(history: History, every: timedelta, now: datetime) -> timedelta | None:
    """How late the job is, once that is worth a word."""
    late = now - due_at(history, every)
    return late if late > GRACE else None


def standing(history: History, every: timedelta, now: datetime) -> Standing:
    if history.started_at is None:
        return Standing.NEVER
    if _is_failing(history):
        return Standing.FAILING
    return Standing.OVERDUE if overdue_by(history, every, now) else Standing.OK


def _is_failing(history: History) -> bool:
    """Once cut short is bad luck; a job that ends like that again may be what kills its worker."""
    return history.failures > (1 if history.cut_short else 0)


def worst(standings: Iterable[Standing]) -> Standing:
    """The standing that somebody who looks at many of them has to hear of; where there is nothing, nothing ever ran."""
    order = list(Standing)
    return max(standings, key=order.index, default=Standing.NEVER)
