"""Checks that a computation does not run away on hostile input, independent of how busy the machine is.

Times are CPU time of this thread. For growth the best of several tries counts: another process can only make a try
slower.
"""

import time
from collections.abc import Callable
from functools import partial

TRIES = 6
CLOCK_RESOLUTION_SECONDS = 0.01


def cpu_seconds(run: Callable[[], object]) -> float:
    start = time.thread_time()
    run()
    return time.thread_time() - start


def assert_linear(run: Callable[[int], object], small: int, large: int) -> None:
    """Fail if the time for `large` exceeds four times what linear growth from `small` allows. Sizes differ a little
    from try to try, so that no cache answers."""
    allowed = 4 * large / small
    ratios = []
    for extra in range(TRIES):
        base = max(cpu_seconds(partial(run, small + extra)), CLOCK_RESOLUTION_SECONDS)
        ratios.append(cpu_seconds(partial(run, large + extra)) / base)
        if ratios[-1] < allowed:
            return
    raise AssertionError(f"time grows {min(ratios):.0f}-fold from {small} to {large}; allowed is {allowed:.0f}-fold")


def assert_quick(run: Callable[[], object], limit_seconds: float) -> None:
    """Fail if the first run takes longer than the limit, which is ten times the usual time or more."""
    taken = cpu_seconds(run)
    assert taken < limit_seconds, f"took {taken:.2f} s of CPU time; allowed are {limit_seconds} s"
