"""Times on the command line."""

from datetime import datetime, timedelta

import pytest

from memory_butler.adapters.cli.times import parse_time
from memory_butler.errors import InvalidInput


def test_days_and_words_are_times_of_this_machine() -> None:
    """A day begins at its start, and ends where the next one begins."""
    today = datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    assert parse_time("today", "--since") == today
    assert parse_time("yesterday", "--since") == today - timedelta(days=1)
    assert parse_time("yesterday", "--until", end=True) == today
    day = parse_time("2026-03-01", "--since")
    assert day and (day.day, day.hour, day.tzinfo is not None) == (1, 0, True)
    assert parse_time("2026-03-01", "--until", end=True) == day + timedelta(days=1)
    exact = parse_time("2026-03-01T09:30:00+01:00", "--since")
    assert exact and exact.isoformat() == "2026-03-01T09:30:00+01:00"
    assert parse_time(None, "--since") is None


def test_other_words_are_refused_with_examples() -> None:
    with pytest.raises(InvalidInput, match="--since 'soonish' is not a time") as refused:
        parse_time("soonish", "--since")
    assert "yesterday" in refused.value.recovery
