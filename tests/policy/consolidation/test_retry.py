"""What a failure makes of an episode, when it is tried again, and with whom."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_butler.policy.consolidation.retry import DEAD_AFTER, after_failure, batch_size, next_batch_size, retry_at

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
    ("before", "is_alone", "can_work", "status", "event", "waits"),
    [
        (0, False, True, "pending", "set_back", False),
        (0, True, True, "pending", "set_back", True),
        (3, False, True, "pending", "set_back", False),
        (3, True, True, "pending", "set_back", True),
        (4, False, True, "dead_letter", "dead_lettered", False),
        (4, True, True, "dead_letter", "dead_lettered", False),
        (7, True, True, "dead_letter", "dead_lettered", False),
        (0, True, False, "failed", "failed", False),
        (4, True, False, "failed", "failed", False),
        (0, False, False, "pending", "set_back", False),
        (4, False, False, "dead_letter", "dead_lettered", False),
    ],
)
def test_what_a_failure_makes_of_an_episode(
    before: int, *, is_alone: bool, can_work: bool, status: str, event: str, waits: bool
) -> None:
    """In company it is tried again at once, alone after a while, five times in all; what can never work fails at once,
    as soon as it is known whose fault it is."""
    failed = after_failure(EPISODE, before, NOW, is_alone=is_alone, can_work=can_work)
    assert (failed.status, failed.event, failed.attempts) == (status, event, before + 1)
    assert failed.retry_at == (retry_at(NOW, before + 1, EPISODE) if waits else None)


@pytest.mark.parametrize(
    ("failures", "number"),
    [
        ([], 0),
        ([0], 1),
        ([0] * 32, 32),
        ([0, 0, 1, 0], 2),
        ([1] * 32, 8),
        ([1] * 8 + [0] * 24, 2),
        ([2] * 32, 2),
        ([3, 3], 1),
        ([9, 0], 1),
    ],
)
def test_those_in_line_go_with_their_like(failures: list[int], number: int) -> None:
    """What failed before does not take down what did not, nor the other way round."""
    assert next_batch_size(failures) == number


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
