"""What was said earlier does not take the place of what was said later."""

from datetime import UTC, datetime, timedelta

import pytest

from memory_butler.policy.memories.observation_order import is_older, latest_evidence, observation_time

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("observed", "stored", "told"), [(-HOUR, HOUR, -HOUR), (HOUR, HOUR, HOUR), (9000 * HOUR, HOUR, HOUR)]
)
def test_an_episode_speaks_for_the_moment_it_was_observed(
    observed: timedelta, stored: timedelta, told: timedelta
) -> None:
    """But never for one after it was stored."""
    assert observation_time(NOON + observed, NOON + stored) == NOON + told


@pytest.mark.parametrize(
    ("created", "told", "is_distilled", "stands"),
    [
        (5, 1, True, 1),
        (5, 9, True, 9),
        (5, None, True, 5),
        (5, None, False, 5),
        (5, 1, False, 5),
        (5, 9, False, 9),
    ],
)
def test_a_fact_speaks_for_its_last_episode_or_its_own_time(
    created: int, told: int | None, is_distilled: bool, stands: int
) -> None:
    """A distilled one for when it was told, whenever it was written down; a stored one for when it was stored at
    least."""
    last = None if told is None else NOON + told * HOUR
    assert latest_evidence(NOON + created * HOUR, last, is_distilled=is_distilled) == NOON + stands * HOUR


@pytest.mark.parametrize(("told", "late"), [(-1, True), (0, False), (1, False)])
def test_only_what_was_told_before_is_late(told: int, late: bool) -> None:
    """What was told in the same moment, such as in the same episode, is not."""
    assert is_older(NOON + told * HOUR, NOON) is late
