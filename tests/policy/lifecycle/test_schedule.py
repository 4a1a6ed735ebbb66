"""When a job is due, when it is late, and how long a failed one is left alone."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_butler.policy.lifecycle.schedule import (
    FIRST_RETRY,
    GRACE,
    JobState,
    RunHistory,
    due_at,
    is_due,
    job_state,
    overdue_by,
    retry_delay,
    worst,
)

BORN = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
TINY = timedelta(microseconds=1)


def ran(outcome: str | None = "succeeded", *, cut_short: bool = False, failures: int = 0) -> RunHistory:
    """A daily job that began at the shard's birth and took a minute."""
    finished = BORN + MINUTE if outcome else None
    return RunHistory(
        since=BORN, started_at=BORN, finished_at=finished, outcome=outcome, cut_short=cut_short, failures=failures
    )


NEW = RunHistory(since=BORN)
RUNNING = ran(None)
DONE = ran()
FAILED = ran("failed", failures=1)
FAILED_TWICE = ran("failed", failures=2)
CUT_SHORT = ran("failed", cut_short=True, failures=1)
CUT_SHORT_TWICE = ran("failed", cut_short=True, failures=2)

TABLE: dict[str, tuple[RunHistory, timedelta, bool, JobState]] = {
    "a new shard, at once": (NEW, timedelta(0), True, JobState.NEVER),
    "a new shard, by another clock": (NEW, -HOUR, True, JobState.NEVER),
    "a new shard, much later": (NEW, 9 * DAY, True, JobState.NEVER),
    "done, a moment before its day is over": (DONE, DAY - TINY, False, JobState.OK),
    "done, when its day is over": (DONE, DAY, True, JobState.OK),
    "done, when it is as late as may be": (DONE, DAY + GRACE, True, JobState.OK),
    "done, when it is later": (DONE, DAY + GRACE + TINY, True, JobState.OVERDUE),
    "done, a month ago": (DONE, 30 * DAY, True, JobState.OVERDUE),
    "running": (RUNNING, HOUR, False, JobState.OK),
    "running for longer than a round": (RUNNING, DAY + HOUR, True, JobState.OVERDUE),
    "failed, before the retry": (FAILED, 6 * MINUTE - TINY, False, JobState.FAILING),
    "failed, at the retry": (FAILED, 6 * MINUTE, True, JobState.FAILING),
    "failed twice, when it would have been retried once": (FAILED_TWICE, 6 * MINUTE, False, JobState.FAILING),
    "failed twice, at the retry": (FAILED_TWICE, 11 * MINUTE, True, JobState.FAILING),
    "cut short, at once": (CUT_SHORT, MINUTE, True, JobState.OK),
    "cut short and left so": (CUT_SHORT, HOUR, True, JobState.OVERDUE),
    "cut short again, at once": (CUT_SHORT_TWICE, MINUTE, False, JobState.FAILING),
    "cut short again, at the retry": (CUT_SHORT_TWICE, 11 * MINUTE, True, JobState.FAILING),
    "dated in the near future by another clock": (DONE, -HOUR, False, JobState.OK),
    "dated in the far future by a wrong clock": (DONE, -DAY - TINY, True, JobState.OK),
}


@pytest.mark.parametrize(("history", "later", "due", "stands"), TABLE.values(), ids=TABLE)
def test_a_daily_job_by_its_history(history: RunHistory, later: timedelta, due: bool, stands: JobState) -> None:
    """Whether it runs now, and what is said of it, for every kind of history and at the boundaries."""
    now = BORN + later
    assert is_due(history, DAY, now) is due
    assert job_state(history, DAY, now) is stands


def test_retries_come_later_and_later_up_to_the_usual_round() -> None:
    """Five minutes, ten, twenty …; a job that fails for weeks is tried as often as one that works."""
    delays = [retry_delay(failures, DAY) for failures in range(1, 11)]
    assert delays[:4] == [FIRST_RETRY, 2 * FIRST_RETRY, 4 * FIRST_RETRY, 8 * FIRST_RETRY]
    assert delays[8:] == [21 * HOUR + 20 * MINUTE, DAY]
    assert retry_delay(10_000, DAY) == DAY
    assert retry_delay(1, MINUTE) == MINUTE


def test_how_late_a_job_is() -> None:
    """Counted from when it was due, once it is worth a word."""
    assert overdue_by(DONE, DAY, BORN + DAY + GRACE) is None
    assert overdue_by(DONE, DAY, BORN + DAY + 3 * HOUR) == 3 * HOUR
    assert overdue_by(NEW, DAY, BORN + 3 * HOUR) == 3 * HOUR


def test_the_worst_of_many_is_what_is_heard() -> None:
    """Failing is worse than overdue, that than never; of nothing it is said that it never ran."""
    assert worst([JobState.OK, JobState.OVERDUE, JobState.NEVER]) is JobState.OVERDUE
    assert worst([JobState.FAILING, JobState.OVERDUE]) is JobState.FAILING
    assert worst([JobState.OK, JobState.NEVER]) is JobState.NEVER
    assert worst([JobState.OK]) is JobState.OK
    assert worst([]) is JobState.NEVER


spans = st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=400))
intervals = st.timedeltas(min_value=timedelta(minutes=15), max_value=timedelta(days=7))


@st.composite
def histories(draw: st.DrawFn) -> RunHistory:
    started = BORN + draw(spans)
    outcome = draw(st.sampled_from([None, "succeeded", "failed"]))
    failures = draw(st.integers(1, 60)) if outcome == "failed" else draw(st.integers(0, 60)) if outcome is None else 0
    return RunHistory(
        since=BORN,
        started_at=started,
        finished_at=started + draw(spans) if outcome else None,
        outcome=outcome,
        cut_short=draw(st.booleans()) if outcome == "failed" else False,
        failures=failures,
    )


@given(histories(), intervals, spans)
def test_what_is_due_stays_due_until_it_runs(history: RunHistory, every: timedelta, later: timedelta) -> None:
    """Time alone never makes a due job undue, however long nobody looks."""
    assert is_due(history, every, due_at(history, every) + later)


@given(histories(), intervals)
def test_a_run_is_never_followed_by_another_at_once(history: RunHistory, every: timedelta) -> None:
    """After a run that was its own, a job is left alone: for a round if it worked, for a while if it failed."""
    if history.outcome != "failed":
        assert history.started_at and due_at(history, every) == history.started_at + every
    elif not history.cut_short:
        assert history.finished_at
        assert min(FIRST_RETRY, every) <= due_at(history, every) - history.finished_at <= every


@given(histories(), intervals, spans)
def test_catching_up_takes_one_run(history: RunHistory, every: timedelta, pause: timedelta) -> None:
    """However many rounds were missed, after one run that works the job is not due before the next round."""
    now = due_at(history, every) + pause
    again = RunHistory(since=BORN, started_at=now, finished_at=now, outcome="succeeded")
    assert not is_due(again, every, now)
    assert not is_due(again, every, now + every - TINY)


@given(st.integers(1, 200), intervals)
def test_more_failures_never_shorten_the_wait(failures: int, every: timedelta) -> None:
    """The delay grows with every failure in a row."""
    assert retry_delay(failures, every) <= retry_delay(failures + 1, every)


@given(histories(), intervals, spans)
def test_late_means_due(history: RunHistory, every: timedelta, later: timedelta) -> None:
    """Nothing is called overdue that a worker would not run."""
    now = BORN + later
    if job_state(history, every, now) is JobState.OVERDUE:
        assert is_due(history, every, now)
