"""The windows of time that a question asks about, relative to the clock of the request."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from memory_butler.english.time.calendar import DAY, WEEK, WEEKDAYS, count_of, midnight, weekday_before
from memory_butler.english.time.expressions import Expression
from memory_butler.english.time.periods import (
    Period,
    calendar_period,
    centred,
    days_of,
    period,
    periods_of,
    unit_length,
)

# People mention events after they happened: time after a window counts half as much as time before it.
AFTERWARDS = 1 / 2


@dataclass(frozen=True, slots=True)
class Window:
    """From `start` up to but not including `end`; None is open. Outside, closeness halves with each `softness`."""

    start: datetime | None
    end: datetime | None
    softness: timedelta

    def closeness(self, moment: datetime) -> float:
        distance = timedelta(0)
        if self.start is not None and moment < self.start:
            distance = self.start - moment
        elif self.end is not None and moment >= self.end:
            distance = (moment - self.end) * AFTERWARDS
        return float(0.5 ** (distance / self.softness))

    def surrounds(self, other: "Window") -> bool:
        """True if the other window is a narrower part of this one; both must be closed."""
        if self == other or self.start is None or self.end is None or other.start is None or other.end is None:
            return False
        return self.start <= other.start and other.end <= self.end


def windows_of(one: Expression, now: datetime) -> list[Window]:
    """The windows of an expression, in the direction of the word before it. Several windows are alternatives."""
    periods = _periods(one, now)
    if one.offset is not None:
        # The event was then, or the memory of it dates from the named day.
        return [Window(*period) for named in periods for period in (_offset(one, named), named)]
    return [_directed(one.lead, period) for period in periods]


def window_between(one: Expression, following: Expression, now: datetime) -> list[Window]:
    """From the start of one to the end of the other; a start without a year is the last one before that end."""
    for last in _periods(following, now):
        for first in _periods(one, now if one.year else last.end - DAY):
            if first.start < last.end:
                return [Window(*period(first.start, last.end))]
    return []


def _directed(lead: str, period: Period) -> Window:
    match lead:
        case "before" | "prior to":
            return Window(None, period.start, period.softness)
        case "until" | "till" | "til" | "by":
            return Window(None, period.end, period.softness)
        case "since":
            return Window(period.start, None, period.softness)
        case "after":
            return Window(period.end, None, period.softness)
        case _:
            return Window(*period)


def _offset(one: Expression, named: Period) -> Period:
    """Two weeks before it, the Sunday before it, the day after it."""
    count, unit = one.offset or ("", "")
    earlier = one.lead == "before"
    if unit in WEEKDAYS or unit == "weekend":
        day, days = days_of(unit)
        start = weekday_before(named.start if earlier else named.end + WEEK, day)
        return period(start, start + days * DAY)
    step = unit_length(unit)
    if count == "the":
        return period(named.start - step, named.start) if earlier else period(named.end, named.end + step)
    number = count_of(count)
    return centred(named.start - number * step if earlier else named.end - DAY + number * step, step, number)


def _periods(one: Expression, now: datetime) -> list[Period]:
    return [_part(one.part, period) if one.part else period for period in periods_of(one, now)]


def _part(part: str, whole: Period) -> Period:
    """Early, mid and late are thirds; a half is a half; the second week is the eighth day to the fourteenth."""
    words = part.replace("-", " ").split()
    if words[:2] == ["week", "of"]:
        return calendar_period(whole.start, "week")
    if "week" in words:
        number = {"first": 0, "second": 1, "third": 2, "fourth": 3}.get(words[0])
        start = whole.end - WEEK if number is None else whole.start + number * WEEK
        return period(start, start + WEEK)
    width = whole.end - whole.start
    if width < 3 * DAY:
        return whole
    pieces = 2 if "half" in words else 3
    index = {"first": 0, "early": 0, "beginning": 0, "start": 0, "second": 1, "mid": 1, "middle": 1}.get(words[0], 2)
    bounds = [*(midnight(whole.start + width * number / pieces) for number in range(pieces)), whole.end]
    return period(bounds[index], bounds[index + 1])
