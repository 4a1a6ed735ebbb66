"""The day that a statement names for a past or future event, relative to the day of the episode."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import zip_longest
from typing import NamedTuple

from memory_butler.english.text.word_sets import any_of, caseless
from memory_butler.english.time.calendar import DAY, WEEK, WEEKDAYS, count_of, monday_of, shift
from memory_butler.english.time.expressions import Expression, Kind, find_expressions
from memory_butler.english.time.periods import Direction, periods_of

# A day, and whether it is exact to the day.
Dated = tuple[datetime, bool]

_LEAD = re.compile(
    r"(?<![\w.@/$€£-])(on|by|before|until|till|from|starting|since|around|about|at|in|due|for|of)\s+(?:the\s+)?$",
    re.IGNORECASE | re.ASCII,
)
_WEEKDAY = re.compile(
    rf"(?<![\w.@/$€£-]){any_of(name[:3] + f'(?:{name[3:]}|{name[3:-3]})?' for name in WEEKDAYS)},?\s+(?:the\s+)?$",
    re.IGNORECASE | re.ASCII,
)
_GAP = caseless(r",?\s+(?:the\s+)?")
# Before a bare month or year: "may" is a verb and June a friend, 2000 a price.
_BEFORE_MONTH = frozenset(["in", "by", "since", "until", "till", "from", "before", "around", "starting", "for", "of"])
_BEFORE_YEAR = frozenset(["in", "since", "until", "till", "from", "before", "around", "by"])
_OF_MONTH = caseless(r"\s{1,8}of\s{1,8}(the|this|next)\s{1,8}month")
_AT_CHRISTMAS = caseless(r"\b(?:christmas|xmas|advent)\b")
DECEMBER = 12
_A_WEEK = caseless(r"\ba\s+week\s+$")
_WITH_WHICH = frozenset((Kind.WEEKDAY, Kind.WEEKEND, Kind.CALENDAR, Kind.MONTH, Kind.SEASON, Kind.DAY_WORD))
_INEXACT = frozenset((Kind.CALENDAR, Kind.SEASON, Kind.MONTH, Kind.YEAR, Kind.DECADE))
_NO_DAY = frozenset((Kind.ROLLING, Kind.HOLIDAY, Kind.QUARTER, Kind.SLASHED))
_WITH_PART_OF_DAY = frozenset((Kind.WEEKDAY, Kind.WEEKEND, Kind.CALENDAR, Kind.DAY_WORD))


class EventDate(NamedTuple):
    """A day that a text names, the position of its words, and whether it is exact to the day."""

    day: datetime
    start: int
    end: int
    exact: bool
    lead: str


def find_event_date(text: str, observed_at: datetime, direction: Direction) -> EventDate | None:
    """The first exact day that a text names, else its first month or year. A bare weekday or date is in `direction`."""
    today = datetime(observed_at.year, observed_at.month, observed_at.day, tzinfo=UTC)
    best: EventDate | None = None
    before: Expression | None = None
    for it in _statement_expressions(text):
        start, lead = _opening(text, it)
        try:
            dated = _resolved(it, lead, today, direction)
        except (ValueError, OverflowError):  # in no calendar: 31 February
            dated = None
        if it.kind is Kind.WEEKDAY and not it.which and lead in ("on", "from"):
            if best and before and before.kind is Kind.CALENDAR and not text[before.end : start].strip():
                # "Next week on Tuesday".
                monday = monday_of(today) + _step(before) * WEEK
                return EventDate(monday + WEEKDAYS.index(it.name) * DAY, best.start, it.long_end, True, best.lead)
            if a_week := _A_WEEK.search(text[:start]):
                (friday,) = periods_of(it, today, "future")
                return EventDate(friday.start + WEEK, a_week.start(), it.end, True, "")
        before = it
        if dated is None:
            continue
        end = it.long_end if it.kind in _WITH_PART_OF_DAY else it.end
        found = EventDate(dated[0], start, end, dated[1], lead)
        if found.exact:
            return found
        best = best or found
    return best


def _statement_expressions(text: str) -> Iterator[Expression]:
    """The expressions, without the Friday of "Friday, 5 May" and with the month of "the 5th of next month"."""
    found = [it for it in find_expressions(text) if not text[: it.start].endswith("@")]
    for it, following in zip_longest(found, found[1:]):
        if it.kind is Kind.MONTHDAY and _AT_CHRISTMAS.search(text):
            # "Home for Christmas on the 22nd".
            yield replace(it, core=f"{it.core} christmas")
            continue
        if it.kind is Kind.MONTHDAY and (month := _OF_MONTH.match(text, it.end)):
            yield replace(it, which=month[1].lower(), end=month.end())
            continue
        is_of_date = it.kind is Kind.WEEKDAY and not it.which and following and following.kind is Kind.DATE
        if not (is_of_date and _GAP.fullmatch(text, it.end, following.core_start)):
            yield it


def _opening(text: str, it: Expression) -> tuple[int, str]:
    """Return the start of an expression and its leading preposition."""
    start = it.which_start if it.kind in _WITH_WHICH else it.core_start
    if _is_end(it):
        start = it.part_start
    elif it.kind is Kind.SEASON and not it.which and not it.part and it.lead in ("in", "over", "during"):
        return it.start, it.lead
    elif it.the and it.core.startswith("day "):
        start = it.lead_end
    elif it.kind is Kind.DATE and (weekday := _WEEKDAY.search(text, 0, start)):
        start = weekday.start()
    # A quotation between the preposition and the expression has been blanked out: the gap can be of any width.
    lead = _LEAD.search(text, 0, start)
    return (lead.start(), lead[1].lower()) if lead else (start, "")


def _is_end(it: Expression) -> bool:
    """ "End of May", "end of the month"; not "end of last week", which is just last week."""
    if not it.part.startswith("end of"):
        return False
    return it.kind is Kind.MONTH or (it.kind is Kind.CALENDAR and it.which in ("", "this", "next"))


def _resolved(it: Expression, lead: str, today: datetime, direction: Direction) -> Dated | None:
    if not _names_day(it, lead):
        return None
    if it.kind in (Kind.AGO, Kind.AHEAD):
        return _distant(it, today)
    if it.kind is Kind.MONTHDAY:
        return _monthday(it, today, direction), True
    bare, toward = _without_which(it, today, direction)
    periods = periods_of(bare, today.replace(day=1) if it.kind is Kind.MONTH and _is_end(it) else today, toward)
    if not periods:
        return None
    # 8/5/2023 is read as an American date. The winter of 2021 began in it.
    found = periods[0 if it.kind is Kind.NUMERIC else -1]
    if _is_end(it):
        return found.end - DAY, True
    return found.start, it.kind not in _INEXACT and not (it.kind is Kind.ISO and it.day is None)


def _names_day(it: Expression, lead: str) -> bool:
    """True if a statement can date an event with this expression."""
    match it.kind:
        case Kind.AGO | Kind.AHEAD:
            # "A few weeks" names no day.
            named = it.unit != "hour" and "few" not in it.count and it.count != "several"
        case Kind.WEEKEND:
            named = bool(it.which)
        case Kind.CALENDAR:
            # "The past year" is the twelve months until today, and no day in particular.
            named = it.which != "past" or it.core != "year"
        case Kind.SEASON:
            named = it.which in ("last", "this", "next") or lead == "in" or (lead in ("over", "during") and it.the)
        case Kind.MONTH:
            qualified = _is_end(it) or it.year is not None or bool(it.which)
            named = qualified or (lead in _BEFORE_MONTH and not it.is_lower)
        case Kind.YEAR | Kind.DECADE:
            named = it.core[:2] in ("19", "20") and lead in _BEFORE_YEAR
        case _:
            named = it.kind not in _NO_DAY
    return named


def _without_which(it: Expression, today: datetime, direction: Direction) -> tuple[Expression, Direction]:
    """ "Last May" is May in the direction of the past, "this Friday" just Friday."""
    step, which = _step(it), ""
    toward: Direction = direction if it.which in ("", "this") else "past" if step < 0 else "future"
    if it.kind in (Kind.CALENDAR, Kind.WEEKEND):
        which, toward = {-1: "last", 0: "this", 1: "next"}[step], "past"
    elif it.kind is Kind.WEEKDAY and step > 0:
        which = "next"
    year = today.year if it.kind is Kind.SEASON and it.which == "this" and it.year is None else it.year
    return replace(it, which=which, year=year, lead="", part="", last_day=None), toward


def _distant(it: Expression, today: datetime) -> Dated:
    """Two weeks ago, in ten days."""
    count = count_of(it.count)
    if it.kind is Kind.AHEAD:
        return shift(today, count, it.unit), True
    return shift(today, -count, it.unit), it.unit == "day" or count < 9


def _monthday(it: Expression, today: datetime, direction: Direction) -> datetime:
    """The 21st, of this or a neighbouring month."""
    number = int(re.sub(r"\D", "", it.core))
    first = today.replace(day=1)
    if _AT_CHRISTMAS.search(it.core):
        year = today.year + (direction == "future" and (12, number) < (today.month, today.day))
        return datetime(year - (direction == "past" and today.month < DECEMBER), DECEMBER, number, tzinfo=UTC)
    if it.which == "next" or (direction == "future" and number < today.day):
        first = shift(first, 1, "month")
    elif direction == "past" and number > today.day:
        first = shift(first, -1, "month")
    return first.replace(day=number)


def _step(it: Expression) -> int:
    return {"last": -1, "past": -1, "previous": -1, "next": 1}.get(it.which.split()[-1] if it.which else "", 0)
