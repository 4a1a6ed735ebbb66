"""The period that a time expression names: a day, week, month, season or year, relative to a clock.

A date without a year lies in the given direction. Questions are about the past; a statement can announce the future.
"""

from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from memory_butler.english.time.calendar import (
    DAY,
    SEASONS,
    UNIT_DAYS,
    WEEK,
    WEEKDAYS,
    count_of,
    midnight,
    monday_of,
    month_after,
    shift,
    weekday_before,
)
from memory_butler.english.time.expressions import Expression, Kind

Direction = Literal["past", "future"]

# Month, first day, number of days. Easter and Thanksgiving move and are computed.
HOLIDAYS = {
    "christmas": (12, 24, 3),
    "christmas eve": (12, 24, 1),
    "halloween": (10, 31, 1),
    "valentine": (2, 14, 1),
    "new year eve": (12, 31, 1),
    "new year": (1, 1, 1),
}
# 29 February comes every four years, and every eight at the turn of most centuries.
LEAP_YEARS_APART = 8
# A season that began longer ago is over: a plan for it means next year's.
SEASON_OVER = 60 * DAY
_OVER = ("last", "previous", "past")
_DAY_WORDS = {"day before yesterday": -2, "yesterday": -1, "night": -1, "tomorrow": 1, "day after tomorrow": 2}


class Period(NamedTuple):
    """From `start` up to but not including `end`. Outside, closeness halves with each `softness`."""

    start: datetime
    end: datetime
    softness: timedelta


def periods_of(one: Expression, now: datetime, direction: Direction = "past") -> list[Period]:
    """The periods that an expression can mean, without its part ("early") and lead ("before")."""
    match one.kind:
        case Kind.SEASON | Kind.HOLIDAY | Kind.QUARTER:
            return _yearly(one, now, direction)
        case Kind.NUMERIC:
            # 8/5/2023 is a day in August or in May, depending on the writer's country: both.
            first, second = (int(number) for number in one.core.replace("/", ".").split(".")[:2])
            orders = [(second, first)] if "." in one.core else [(first, second), (second, first)]
            days = [
                _first_of(one.year or 0, now).replace(month=month, day=day)
                for month, day in dict.fromkeys(orders)
                if 1 <= month <= 12 and 1 <= day <= 31
            ]
            return [period(day, day + DAY) for day in days]
        case Kind.DECADE:
            first_day = _first_of(int(one.core[:4]), now)
            return [period(first_day, first_day.replace(year=first_day.year + 10))]
        case Kind.DATE | Kind.MONTH | Kind.YEAR | Kind.ISO | Kind.SLASHED:
            return [_until_last_day(one, _dated(one, now, direction))]
        case _:
            return [_relative(one, now, direction)]


def _relative(one: Expression, now: datetime, direction: Direction) -> Period:
    """Counted from the clock: yesterday, two weeks ago, last Friday, this month, the past three months."""
    match one.kind:
        case Kind.AGO:
            number, step = count_of(one.count), unit_length(one.unit)
            point = now - number * step if step < DAY else shift(midnight(now), -number, one.unit)
            return centred(point, step, number)
        case Kind.ROLLING:
            # "A few months" as a length of time reaches further back than as a date.
            few = 1.5 if "few" in one.count else 1
            return _up_to(now, count_of(one.count) * unit_length(one.unit) * few)
        case Kind.CALENDAR if one.which == "past" or (one.which == "last" and one.lead in ("in", "over", "within")):
            return _up_to(now, unit_length(one.core))
        case Kind.CALENDAR:
            step_count = -1 if one.which in _OVER else 1 if one.which == "next" else 0
            return calendar_period(shift(midnight(now), step_count, one.core), one.core)
        case Kind.DAY_WORD:
            return calendar_period(midnight(now) + _DAY_WORDS.get(one.core, 0) * DAY, "day")
        case _:
            return _weekdays(one, now, direction)


def _weekdays(one: Expression, now: datetime, direction: Direction) -> Period:
    """The nearest before or after today, unless it is this or the next one; the last weekend is over."""
    today = midnight(now)
    day, days = days_of(one.name)
    start = weekday_before(today, day)
    if one.which in ("this", "next"):
        start = today + (day - today.weekday() + (7 if one.which == "next" else 0)) * DAY
    elif direction == "future":
        start = today + ((day - today.weekday() - 1) % 7 + 1) * DAY
    elif one.which and start + days * DAY > today:
        start -= WEEK
    elif days == 2 and not one.which and today.weekday() == day:
        start = today
    return period(start, start + days * DAY)


def _dated(one: Expression, now: datetime, direction: Direction) -> Period:
    """A year, month or day. Without a year: the nearest in the direction; the *last* one is over, the *next* ahead."""
    found = _nearest(one, now, direction)
    if one.year is not None or one.kind not in (Kind.MONTH, Kind.DATE):
        return found
    if one.which in _OVER and found.end > now:
        return _nearest(one, found.start - DAY, direction)
    if (one.which == "next" and found.start <= now) or (one.which == "this" and found.start.year < now.year):
        return calendar_period(
            found.start.replace(year=found.start.year + 1), "month" if one.kind is Kind.MONTH else "day"
        )
    return found


def _nearest(one: Expression, now: datetime, direction: Direction) -> Period:
    month, day = one.month, one.day
    if one.kind is Kind.SLASHED:
        first, second = (int(number) for number in one.core.split("/"))
        month, day = (first, second) if first <= 12 else (second, first)
    unit = "year" if month is None else "month" if day is None else "day"
    if one.year is not None:
        return calendar_period(_first_of(one.year, now).replace(month=month or 1, day=day or 1), unit)
    step = 1 if direction == "future" else -1
    for year in range(now.year, now.year + step * (LEAP_YEARS_APART + 1), step):
        try:
            start = _first_of(year, now).replace(month=month or 1, day=day or 1)
        except ValueError:  # 29 February, or in no calendar
            continue
        if start == now or (start > now) == (direction == "future"):
            return calendar_period(start, unit)
    raise ValueError(one.core)


def _until_last_day(one: Expression, found: Period) -> Period:
    """The 11th to the 15th of a month."""
    if one.last_day is None or one.last_day <= found.start.day:
        return found
    return period(found.start, found.start.replace(day=one.last_day) + DAY)


def _yearly(one: Expression, now: datetime, direction: Direction) -> list[Period]:
    """Seasons, holidays and quarters: of a given year, or the nearest in the direction (the last one: that is over)."""
    if one.year is not None:
        # The winter of 2021 is the one that began in it or the one that ended in it.
        years = (one.year - 1, one.year) if one.name == "winter" else (one.year,)
        return [_in_year(one, year, now) for year in years]
    near = [_in_year(one, year, now) for year in range(now.year - 2, now.year + 2)]
    if direction == "future":
        return [found for found in near if found.start.year >= now.year and found.start >= now - SEASON_OVER][:1]
    if one.which == "next":
        return [found for found in near if found.start > now][:1]
    if one.which == "this":
        return [found for found in near if found.end > now][:1]
    return [found for found in near if (found.end if one.which in _OVER else found.start) <= now][-1:]


def _in_year(one: Expression, year: int, now: datetime) -> Period:
    first = _first_of(year, now)
    if one.kind is not Kind.HOLIDAY:
        month = SEASONS[one.name] if one.kind is Kind.SEASON else 3 * int(one.name) - 2
        start = first.replace(month=month)
        return period(start, month_after(start + 62 * DAY))
    name = one.name.replace("'", "").replace("’", "").replace("years", "year").replace("valentines", "valentine")
    name = name.removesuffix(" day")
    if name == "easter":
        start, days = _easter(first) - 2 * DAY, 4
    elif name == "thanksgiving":
        november = first.replace(month=11)
        start, days = november + ((3 - november.weekday()) % 7 + 21) * DAY, 4
    else:
        month, day, days = HOLIDAYS[name]
        start = first.replace(month=month, day=day)
    # A holiday is mentioned in the days around it.
    return Period(start, start + days * DAY, 4 * DAY)


def calendar_period(day: datetime, unit: str) -> Period:
    """The whole day, week, month or year that a day is in."""
    if unit == "year":
        first = day.replace(month=1, day=1)
        return period(first, first.replace(year=first.year + 1))
    if unit == "month":
        return period(day.replace(day=1), month_after(day))
    start = monday_of(day) if unit == "week" else day
    return period(start, start + (WEEK if unit == "week" else DAY))


def period(start: datetime, end: datetime) -> Period:
    """Softness is half the width, at least a day."""
    return Period(start, end, max((end - start) / 2, DAY))


def _up_to(now: datetime, length: timedelta) -> Period:
    """A length of time that ends with today."""
    return Period(midnight(now - length), midnight(now) + DAY, max(length / 4, DAY))


def centred(point: datetime, step: timedelta, number: int) -> Period:
    """One unit wide around a point a number of units away; the further away the softer, because people round."""
    if step < DAY:
        return Period(point - step / 2, point + step / 2, max(number * step / 4, step))
    day, half = midnight(point), step.days // 2 * DAY
    return Period(day - half, day + half + DAY, max(number * step / 4, step / 2, DAY))


def unit_length(unit: str) -> timedelta:
    """In whole days, or one hour."""
    return timedelta(hours=1) if unit == "hour" else int(UNIT_DAYS[unit]) * DAY


def days_of(name: str) -> tuple[int, int]:
    """The first weekday and the number of days."""
    return (5, 2) if name == "weekend" else (WEEKDAYS.index(name), 1)


def _first_of(year: int, now: datetime) -> datetime:
    return datetime(year, 1, 1, tzinfo=now.tzinfo)


def _easter(first: datetime) -> datetime:
    # Only a question about Easter pays for the import.
    from dateutil.easter import easter  # noqa: PLC0415

    found = easter(first.year)
    return first.replace(month=found.month, day=found.day)
