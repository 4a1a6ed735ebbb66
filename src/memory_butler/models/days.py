"""Daily event counts, and snapshots of memory at the end of a day. Days are UTC."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime

from memory_butler.models.answers import Ranked


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """Event counts of a day by action (`created`, `confirmed`, `faded` …), and live memories by type at its end."""

    day: date
    happened: Mapping[str, int]
    in_use: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Consecutive days. `is_complete` is false while a long log is still being counted."""

    days: tuple[Day, ...]
    is_complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class DaySnapshot:
    """Memory at the end of a day and now, with the event counts since.

    `moment` is the end of that day, or now if it is today. `then` and `now` count memories by type and validity.
    """

    day: date
    moment: datetime
    first_day: date
    then: Mapping[str, Mapping[str, int]]
    now: Mapping[str, Mapping[str, int]]
    since: Mapping[str, int]
    is_complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PastResults:
    """Results of a search as of a past time, each with its current validity: `gone` if it was deleted."""

    results: tuple[tuple[Ranked, str], ...]
    degraded: tuple[str, ...] = ()
