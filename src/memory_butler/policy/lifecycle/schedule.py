"""Schedule of the jobs of a shard: due times, overdue times and retry delays."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

# A due job starts within a tick or two; after this time it is reported as overdue.
GRACE = timedelta(minutes=15)
FIRST_RETRY = timedelta(minutes=5)
# Minimum time between two early starts.
EARLIEST = timedelta(minutes=1)


class JobState(StrEnum):
    """State of a job, from good to bad."""

    OK = "ok"
    NEVER = "never"
    OVERDUE = "overdue"
    FAILING = "failing"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHistory:
    """Runs of one job for one shard: the creation of the shard, the latest run, and the number of failures in a row.

    A run that was cut short failed because its worker died.
    """

    since: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    outcome: str | None = None
    cut_short: bool = False
    failures: int = 0


def retry_delay(failures: int, every: timedelta) -> timedelta:
    """Exponential backoff, limited by the interval of the job."""
    growth: int = 2 ** min(failures - 1, 20)
    return min(every, FIRST_RETRY * growth)


def due_at(history: RunHistory, every: timedelta) -> datetime:
    """The next time the job should run, however many runs were missed."""
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
    """Whether the backlog of a shard needs an early consolidation."""
    return backlog >= early_from or importance >= early_importance or expires_in <= near_expiry


def is_due(history: RunHistory, every: timedelta, now: datetime, *, pressing: bool = False) -> bool:
    """Whether to run the job now. An urgent backlog starts it early, except during the delay after a failure.

    A latest run more than one interval in the future was dated by a wrong clock.
    """
    due = due_at(history, every)
    if pressing and history.started_at is not None and history.outcome == "succeeded":
        due = min(due, history.started_at + EARLIEST)
    return history.started_at is None or due <= now or due - now > 2 * every


def overdue_by(history: RunHistory, every: timedelta, now: datetime) -> timedelta | None:
    """The delay of the job if it exceeds the grace period."""
    late = now - due_at(history, every)
    return late if late > GRACE else None


def job_state(history: RunHistory, every: timedelta, now: datetime) -> JobState:
    if history.started_at is None:
        return JobState.NEVER
    if _is_failing(history):
        return JobState.FAILING
    return JobState.OVERDUE if overdue_by(history, every, now) else JobState.OK


def _is_failing(history: RunHistory) -> bool:
    """One run that was cut short does not count; a job that is cut short again may kill its worker."""
    return history.failures > (1 if history.cut_short else 0)


def worst(standings: Iterable[JobState]) -> JobState:
    """The worst of several states; `NEVER` if there are none."""
    order = list(JobState)
    return max(standings, key=order.index, default=JobState.NEVER)
