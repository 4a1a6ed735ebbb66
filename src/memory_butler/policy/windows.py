"""What an expression of time means: the window that it opens, understood against the clock of the request.

`dateparser` reads dates and distances; what it does not know (seasons, holidays, thirds of a month, weekends) stands
in the small tables here. Without a year, a date is the latest that has begun: people ask about what has been.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from memory_butler.policy.time_words import Expression, Kind

DAY = timedelta(days=1)
WEEK = 7 * DAY
UNITS = {"hour": timedelta(hours=1), "day": DAY, "week": WEEK, "month": 30 * DAY, "year": 365 * DAY}
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_VAGUE = {"a": 1, "an": 1, "couple": 2, "few": 3, "several": 4}
# Northern, as meteorologists count them: the first month of each.
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
# Month, first day, number of days. Easter and Thanksgiving move and are computed.
HOLIDAYS = {
    "christmas": (12, 24, 3),
    "christmas eve": (12, 24, 1),
    "halloween": (10, 31, 1),
    "valentine": (2, 14, 1),
    "new year eve": (12, 31, 1),
    "new year": (1, 1, 1),
}
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
# Things are told after they happened: time after a window counts half as much as time before it.
AFTERWARDS = 1 / 2
_OVER = ("last", "previous", "past")


@dataclass(frozen=True, slots=True)
class Window:
    """From start up to, not including, end; None where it is open. Outside, closeness halves with each softness."""

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
        """Is the other one, closed as this one is, a narrower part of it?"""
        if self == other or self.start is None or self.end is None or other.start is None or other.end is None:
            return False
        return self.start <= other.start and other.end <= self.end


class Stretch(NamedTuple):
    """A window before anybody said before, after, since or until."""

    start: datetime
    end: datetime
    softness: timedelta


def windows_of(one: Expression, now: datetime) -> list[Window]:
    """The windows of an expression, in the direction that the word before it gives; several are alternatives."""
    found = _stretches(one, now)
    if one.offset is not None:
        # It was then, or it was told on the day that is named.
        return [Window(*stretch) for named in found for stretch in (_offset(one, named), named)]
    return [_aimed(one.lead, stretch) for stretch in found]


def window_between(one: Expression, following: Expression, now: datetime) -> list[Window]:
    """From the start of one to the end of the other; a start without a year is the last one before that end."""
    for last in _stretches(following, now):
        for first in _stretches(one, now if one.year else last.end - DAY):
            if first.start < last.end:
                return [Window(*_stretch(first.start, last.end))]
    return []


def _aimed(lead: str, stretch: Stretch) -> Window:
    match lead:
        case "before" | "prior to":
            return Window(None, stretch.start, stretch.softness)
        case "until" | "till" | "til" | "by":
            return Window(None, stretch.end, stretch.softness)
        case "since":
            return Window(stretch.start, None, stretch.softness)
        case "after":
            return Window(stretch.end, None, stretch.softness)
        case _:
            return Window(*stretch)


def _offset(one: Expression, named: Stretch) -> Stretch:
    """Two weeks before it, the Sunday before it, the day after it."""
    count, unit = one.offset or ("", "")
    earlier = one.lead == "before"
    if unit in WEEKDAYS or unit == "weekend":
        day, days = _days_of(unit)
        start = _weekday_before(named.start if earlier else named.end + WEEK, day)
        return _stretch(start, start + days * DAY)
    step = UNITS[unit]
    if count == "the":
        return _stretch(named.start - step, named.start) if earlier else _stretch(named.end, named.end + step)
    number = _number(count)
    return _centred(named.start - number * step if earlier else named.end - DAY + number * step, step, number)


def _stretches(one: Expression, now: datetime) -> list[Stretch]:
    return [_part(one.part, stretch) if one.part else stretch for stretch in _whole(one, now)]


def _whole(one: Expression, now: datetime) -> list[Stretch]:
    match one.kind:
        case Kind.SEASON | Kind.HOLIDAY | Kind.QUARTER:
            return _yearly(one, now)
        case Kind.NUMERIC:
            # 8/5 is a day in August or in May, depending on who writes it: both.
            orders = ("DMY",) if "." in one.core else ("MDY", "DMY")
            return [_calendar(one.core, now, order=order) for order in orders if _is_possible(one.core, order)]
        case Kind.DECADE:
            first = _first_of(int(one.core[:4]), now)
            return [_stretch(first, first.replace(year=first.year + 10))]
        case Kind.DATE | Kind.MONTH | Kind.YEAR | Kind.ISO | Kind.SLASHED:
            return [_until_day(one, _of_which_year(one, now))]
        case _:
            return [_counted(one, now)]


def _counted(one: Expression, now: datetime) -> Stretch:
    """What is counted from the clock: yesterday, two weeks ago, last Friday, this month, the past three months."""
    match one.kind:
        case Kind.AGO:
            number, step = _number(one.count or ""), UNITS[one.unit or ""]
            point = now - number * step if step < DAY else _read(f"{number} {one.unit}s ago", now, relative=True)[0]
            return _centred(point, step, number)
        case Kind.ROLLING:
            # "A few months" as a length of time reaches further back than as a date.
            few = 1.5 if "few" in (one.count or "") else 1
            return _up_to(now, _number(one.count or "") * UNITS[one.unit or ""] * few)
        case Kind.CALENDAR if one.which == "past" or (one.which == "last" and one.lead in ("in", "over", "within")):
            return _up_to(now, UNITS[one.core])
        case Kind.CALENDAR:
            return _calendar(f"{one.which.replace('previous', 'last')} {one.core}", now, relative=True)
        case Kind.DAY_WORD:
            words = {"night": "yesterday", "tonight": "today"}.get(one.core, one.core.removeprefix("the "))
            return _calendar("today" if one.which == "this" else words, now, relative=True)
        case _:
            return _weekdays(one, now)


def _weekdays(one: Expression, now: datetime) -> Stretch:
    """The latest before today, unless it is this or the next one; the last weekend is over."""
    today = _midnight(now)
    day, days = _days_of(one.name)
    start = _weekday_before(today, day)
    if one.which in ("this", "next"):
        start = today + (day - today.weekday() + (7 if one.which == "next" else 0)) * DAY
    elif one.which and start + days * DAY > today:
        start -= WEEK
    elif days == 2 and not one.which and today.weekday() == day:
        start = today
    return _stretch(start, start + days * DAY)


def _of_which_year(one: Expression, now: datetime) -> Stretch:
    """A month or day without a year is the latest that has begun; the *last* one is over, the *next* one to come."""
    found = _calendar(one.core, now)
    if one.year is not None or one.kind not in (Kind.MONTH, Kind.DATE):
        return found
    if one.which in _OVER and found.end > now:
        return _calendar(one.core, found.start - DAY)
    if (one.which == "next" and found.start <= now) or (one.which == "this" and found.start.year < now.year):
        start = found.start.replace(year=found.start.year + 1)
        return _stretch(start, _after(start, "month" if one.kind is Kind.MONTH else "day"))
    return found


def _until_day(one: Expression, found: Stretch) -> Stretch:
    """The 11th to the 15th of a month."""
    if one.last_day is None or one.last_day <= found.start.day:
        return found
    return _stretch(found.start, found.start.replace(day=one.last_day) + DAY)


def _yearly(one: Expression, now: datetime) -> list[Stretch]:
    """Seasons, holidays and quarters: of a given year, or the latest that has begun (the last one: that is over)."""
    if one.year is not None:
        # The winter of 2021 is the one that began in it or the one that ended in it.
        years = (one.year - 1, one.year) if one.name == "winter" else (one.year,)
        return [_in_year(one, year, now) for year in years]
    near = [_in_year(one, year, now) for year in range(now.year - 2, now.year + 2)]
    if one.which == "next":
        return [found for found in near if found.start > now][:1]
    if one.which == "this":
        return [found for found in near if found.end > now][:1]
    return [found for found in near if (found.end if one.which in _OVER else found.start) <= now][-1:]


def _in_year(one: Expression, year: int, now: datetime) -> Stretch:
    first = _first_of(year, now)
    if one.kind is not Kind.HOLIDAY:
        month = SEASONS[one.name] if one.kind is Kind.SEASON else 3 * int(one.name) - 2
        start = first.replace(month=month)
        return _stretch(start, _after(start + 62 * DAY, "month"))
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
    # What is said of a holiday is said in the days around it.
    return Stretch(start, start + days * DAY, 4 * DAY)


def _part(part: str, whole: Stretch) -> Stretch:
    """Early, mid and late are thirds; a half is a half; the second week is the eighth day to the fourteenth."""
    words = part.replace("-", " ").split()
    if words[:2] == ["week", "of"]:
        monday = whole.start - whole.start.weekday() * DAY
        return _stretch(monday, monday + WEEK)
    if "week" in words:
        number = {"first": 0, "second": 1, "third": 2, "fourth": 3}.get(words[0])
        start = whole.end - WEEK if number is None else whole.start + number * WEEK
        return _stretch(start, start + WEEK)
    width = whole.end - whole.start
    if width < 3 * DAY:
        return whole
    pieces = 2 if "half" in words else 3
    index = {"first": 0, "early": 0, "beginning": 0, "start": 0, "second": 1, "mid": 1, "middle": 1}.get(words[0], 2)
    bounds = [*(_midnight(whole.start + width * number / pieces) for number in range(pieces)), whole.end]
    return _stretch(bounds[index], bounds[index + 1])


def _stretch(start: datetime, end: datetime) -> Stretch:
    """Soft by half its width, a day at least."""
    return Stretch(start, end, max((end - start) / 2, DAY))


def _up_to(now: datetime, length: timedelta) -> Stretch:
    """A length of time that ends with today."""
    return Stretch(_midnight(now - length), _midnight(now) + DAY, max(length / 4, DAY))


def _centred(point: datetime, step: timedelta, number: int) -> Stretch:
    """So many units away: one unit wide, and the softer the further away, because people round."""
    if step < DAY:
        return Stretch(point - step / 2, point + step / 2, max(number * step / 4, step))
    day, half = _midnight(point), step.days // 2 * DAY
    return Stretch(day - half, day + half + DAY, max(number * step / 4, step / 2, DAY))


def _number(count: str) -> int:
    if count.isdigit():
        return int(count)
    words = count.removeprefix("a ").removesuffix(" of")
    return _VAGUE.get(words) or _NUMBERS.index(words) + 1


def _is_possible(numbers: str, order: str) -> bool:
    first, second = (int(part) for part in numbers.replace("/", ".").split(".")[:2])
    month, day = (first, second) if order == "MDY" else (second, first)
    return 1 <= month <= 12 and 1 <= day <= 31


def _days_of(name: str) -> tuple[int, int]:
    """The first day of the week that is meant, and how many."""
    return (5, 2) if name == "weekend" else (WEEKDAYS.index(name), 1)


def _weekday_before(moment: datetime, weekday: int) -> datetime:
    """The last such weekday before the moment's own day."""
    return _midnight(moment) - ((moment.weekday() - weekday - 1) % 7 + 1) * DAY


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _first_of(year: int, now: datetime) -> datetime:
    return datetime(year, 1, 1, tzinfo=now.tzinfo)


def _after(start: datetime, period: str) -> datetime:
    """Where the day, week, month or year of a moment ends."""
    if period == "year":
        return start.replace(year=start.year + 1)
    if period == "month":
        return (start.replace(day=1) + 32 * DAY).replace(day=1)
    return start + (WEEK if period == "week" else DAY)


def _calendar(phrase: str, now: datetime, *, relative: bool = False, order: str = "MDY") -> Stretch:
    """The day, week, month or year that a phrase names, whole."""
    point, period = _read(phrase, now, relative=relative, order=order)
    start = _midnight(point)
    if period == "week":
        start -= start.weekday() * DAY
    elif period in ("month", "year"):
        start = start.replace(day=1, month=start.month if period == "month" else 1)
    return _stretch(start, _after(start, period))


def _read(phrase: str, now: datetime, *, relative: bool = False, order: str = "MDY") -> tuple[datetime, str]:
    """The point in time that a phrase names, and how exactly: day, week, month or year."""
    found = _parsed(phrase, _midnight(now).replace(tzinfo=None), relative, order)
    if found is None:
        raise ValueError(phrase)
    return found[0].replace(tzinfo=now.tzinfo), found[1]


@lru_cache(maxsize=512)
def _parsed(phrase: str, today: datetime, relative: bool, order: str) -> tuple[datetime, str] | None:
    # Its words and zones take a fifth of a second to load, which only a question with a time in it has to pay.
    from dateparser.date import DateDataParser  # noqa: PLC0415

    settings = {
        "RELATIVE_BASE": today,
        "PREFER_DATES_FROM": "past",
        "TIMEZONE": "UTC",
        "RETURN_AS_TIMEZONE_AWARE": False,
        "DATE_ORDER": order,
        "PARSERS": ["relative-time" if relative else "absolute-time"],
    }
    found = DateDataParser(languages=["en"], settings=settings).get_date_data(phrase)
    return (found.date_obj, found.period) if found.date_obj else None


def _easter(first: datetime) -> datetime:
    from dateutil.easter import easter  # noqa: PLC0415

    found = easter(first.year)
    return first.replace(month=found.month, day=found.day)
