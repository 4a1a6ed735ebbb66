"""When a job is due, when it is late, and how long a failed one is left alone."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_butler.policy.schedule import (
    FIRST_RETRY,
    GRACE,
    History,
    Standing,
    due_at,
    is_due,
    overdue_by,
    retry_delay,
    standing,
    worst,
)

BORN = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
TINY = timedelta(microseconds=1)


def ran(outcome: str | None = "succeeded", *, cut_short: bool = False, failures: int = 0) -> History:
    """A daily job that began at the shard's birth and took a minute."""
    finished = BORN + MINUTE if outcome else None
    return History(
        since=BORN, started_at=BORN, finished_at=finished, outcome=outcome, cut_short=cut_short, failures=failures
    )


NEW = History(since=BORN)
RUNNING = ran(None)
DONE = ran()
FAILED = ran("failed", failures=1)
FAILED_TWICE = ran("failed", failures=2)
CUT_SHORT = ran("failed", cut_short=True, failures=1)
CUT_SHORT_TWICE = ran("failed", cut_short=True, failures=2)

TABLE: dict[str, tuple[History, timedelta, bool, Standing]] = {
    "a new shard, at once": (NEW, timedelta(0), True, Standing.NEVER),
    "a new shard, by another clock": (NEW, -HOUR, True, Standing.NEVER),
    "a new shard, much later": (NEW, 9 * DAY, True, Standing.NEVER),
    "done, a moment before its day is over": (DONE, DAY - TINY, False, Standing.OK),
    "done, when its day is over": (DONE, DAY, True, Standing.OK),
    "done, when it is as late as may be": (DONE, DAY + GRACE, True, Standing.OK),
    "done, when it is later": (DONE, DAY + GRACE + TINY, True, Standing.OVERDUE),
    "done, a month ago": (DONE, 30 * DAY, True, Standing.OVERDUE),
    "running": (RUNNING, HOUR, False, Standing.OK),
    "running for longer than a round": (RUNNING, DAY + HOUR, True, Standing.OVERDUE),
    "failed, before the retry": (FAILED, 6 * MINUTE - TINY, False, Standing.FAILING),
    "failed, at the retry": (FAILED, 6 * MINUTE, True, Standing.FAILING),
    "failed twice, when it would have been retried once": (FAILED_TWICE, 6 * MINUTE, False, Standing.FAILING),
    "failed twice, at the retry": (FAILED_TWICE, 11 * MINUTE, True, Standing.FAILING),
    "cut short, at once": (CUT_SHORT, MINUTE, True, Standing.OK),
    "cut short and left so": (CUT_SHORT, HOUR, True, Standing.OVERDUE),
    "cut short again, at once": (CUT_SHORT_TWICE, MINUTE, False, Standing.FAILING),
    "cut short again, at the retry": (CUT_SHORT_TWICE, 11 * MINUTE, True, Standing.FAILING),
    "dated in the near future by another clock": (DONE, -HOUR, False, Standing.OK),
    "dated in the far future by a wrong clock": (DONE, -DAY - TINY, True, Standing.OK),
}


@pytest.mark.parametrize(("history", "later", "due", "stands"), TABLE.values(), ids=TABLE)
def test_a_daily_job_by_its_history(history: History, later: timedelta, due: bool, stands: Standing) -> None:
    """Whether it runs now, and what is said of it, for every kind of history and at the boundaries."""
    now = BORN + later
    assert is_due(history, DAY, now) is due
    assert standing(history, DAY, now) is stands


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
    assert worst([Standing.OK, Standing.OVERDUE, Standing.NEVER]) is Standing.OVERDUE
    assert worst([Standing.FAILING, Standing.OVERDUE]) is Standing.FAILING
    assert worst([Standing.OK, Standing.NEVER]) is Standing.NEVER
    assert worst([Standing.OK]) is Standing.OK
    assert worst([]) is Standing.NEVER


spans = st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=400))
cadences = st.timedeltas(min_value=timedelta(minutes=15), max_value=timedelta(days=7))


@st.composite
def histories(draw: st.DrawFn) -> History:
    started = BORN + draw(spans)
    outcome = draw(st.sampled_from([None, "succeeded", "failed"]))
    failures = draw(st.integers(1, 60)) if outcome == "failed" else draw(st.integers(0, 60)) if outcome is None else 0
    return History(
        since=BORN,
        started_at=started,
        finished_at=started + draw(spans) if outcome else None,
        outcome=outcome,
        cut_short=draw(st.booleans()) if outcome == "failed" else False,
        failures=failures,
    )


@given(histories(), cadences, spans)
def test_what_is_due_stays_due_until_it_runs(history: History, every: timedelta, later: timedelta) -> None:
    """Time alone never makes a due job undue, however long nobody looks."""
    assert is_due(history, every, due_at(history, every) + later)


@given(histories(), cadences)
def test_a_run_is_never_followed_by_another_at_once(history: History, every: timedelta) -> None:
    """After a run that was its own, a job is left alone: for a round if it worked, for a while if it failed."""
    if history.outcome != "failed":
        assert history.started_at and due_at(history, every) == history.started_at + every
    elif not history.cut_short:
        assert history.finished_at
        assert min(FIRST_RETRY, every) <= due_at(history, every) - history.finished_at <= every


@given(histories(), cadences, spans)
def test_catching_up_takes_one_run(history: History, every: timedelta, pause: timedelta) -> None:
    """However many rounds were missed, after one run that works the job is not due before the next round."""
    now = due_at(history, every) + pause
    again = History(since=BORN, started_at=now, finished_at=now, outcome="succeeded")
    assert not is_due(again, every, now)
    assert not is_due(again, every, now + every - TINY)


@given(st.integers(1, 200), cadences)
def test_more_failures_never_shorten_the_wait(failures: int, every: timedelta) -> None:
    """The delay grows with every failure in a row."""
    assert retry_delay(failures, every) <= retry_delay(failures + 1, every)


@given(histories(), cadences, spans)
def test_late_means_due(history: History, every: timedelta, later: timedelta) -> None:
    """Nothing is called overdue that a worker would not run."""
    now = BORN + later
    if standing(history, every, now) is Standing.OVERDUE:
        assert is_due(history, every, now)
