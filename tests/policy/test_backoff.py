"""When an episode that could not be distilled is tried again."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_butler.policy.backoff import DEAD_AFTER, batch_size, retry_at

NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)
EPISODE = UUID(int=7)


@pytest.mark.parametrize(
    ("base", "sizes"),
    [(32, [32, 8, 2, 1, 1]), (200, [200, 50, 12, 1, 1]), (3, [3, 1, 1, 1, 1]), (1, [1, 1, 1, 1, 1])],
)
def test_a_batch_that_failed_is_tried_in_smaller_ones(base: int, sizes: list[int]) -> None:
    """Until the episode stands alone, before it is given up."""
    assert [batch_size(base, attempts) for attempts in range(DEAD_AFTER)] == sizes


@pytest.mark.parametrize(
    ("attempts", "minutes"), [(0, 5), (1, 5), (2, 10), (3, 20), (4, 40), (5, 80), (7, 320), (8, 360), (10**9, 360)]
)
def test_each_failure_doubles_the_wait(attempts: int, minutes: int) -> None:
    """From five minutes up to six hours, give or take a fifth."""
    waits = [(retry_at(NOW, attempts, UUID(int=number)) - NOW) / timedelta(minutes=minutes) for number in range(200)]
    assert 0.8 <= min(waits) < 0.85
    assert 1.15 < max(waits) <= 1.2


@given(st.integers(0, 1_000), st.uuids())
def test_the_wait_is_the_same_each_time_it_is_asked_for(attempts: int, episode: UUID) -> None:
    """Nothing but the failures and the episode decide."""
    assert retry_at(NOW, attempts, episode) == retry_at(NOW, attempts, episode)
    assert retry_at(NOW + timedelta(days=1), attempts, episode) - retry_at(NOW, attempts, episode) == timedelta(days=1)


def test_episodes_do_not_all_come_back_at_once() -> None:
    """Nor one of them always early."""
    assert len({retry_at(NOW, 1, UUID(int=number)) for number in range(100)}) == 100
    shares = {round((retry_at(NOW, attempts, EPISODE) - NOW) / timedelta(minutes=360), 6) for attempts in range(8, 40)}
    assert len(shares) > 20


@given(st.integers(1, 10_000), st.integers(-5, 100))
def test_there_is_always_one_to_try(base: int, attempts: int) -> None:
    """A batch is never empty and never larger than the settings allow."""
    assert 1 <= batch_size(base, attempts) <= base
