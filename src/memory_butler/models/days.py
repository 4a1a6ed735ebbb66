"""What happened day by day, and how memory stood at the end of a day. Days are those of UTC."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime

from memory_butler.models.answers import Ranked


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """How often each thing happened on a day (`created`, `confirmed`, `faded` …), and how many memories of each type
    were in use at its end."""

    day: date
    happened: Mapping[str, int]
    in_use: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Day after day without a gap. `is_complete` is false while a long log is still being counted."""

    days: tuple[Day, ...]
    is_complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class DayStanding:
    """How memory stood at the end of a day, how it stands now, and how often each thing has happened since.

    `moment` is the last of that day, or now if it is today; states are counted by type and validity.
    """

    day: date
    moment: datetime
    first_day: date
    then: Mapping[str, Mapping[str, int]]
    now: Mapping[str, Mapping[str, int]]
    since: Mapping[str, int]
    is_complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundThen:
    """What a search would have found at a moment, each with how it stands now: `gone` if it has been deleted."""

    results: tuple[tuple[Ranked, str], ...]
    degraded: tuple[str, ...] = ()
