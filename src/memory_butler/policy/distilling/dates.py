"""When something happened or will happen: words of time read against the day of the episode, forward and back."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Literal, NamedTuple

Direction = Literal["past", "future"]
DAY = timedelta(days=1)

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
_COUNTS = {word: number for number, word in enumerate(_NUMBERS.split())} | {
    "a": 1,
    "an": 1,
    "a couple of": 2,
    "a couple": 2,
    "couple of": 2,
}

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_DAY = r"(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?(?![\d:.%])"
_WEEKDAY = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b"
_LONG_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day\b(?!s)"
_YEAR = r"(?:19|20)\d\d(?!\d)"
_COUNT = (
    r"(?:a\s+couple(?:\s+of)?|\d{1,3}|" + "|".join(sorted((w for w in _COUNTS if " " not in w), key=len)[::-1]) + ")"
)
_UNIT = r"(?:day|week|fortnight|month|year)"
_HOUR = r"(?:\s+(?:morning|afternoon|evening|night))?"

Reader = Callable[[dict[str, str], datetime, Direction], "tuple[datetime, bool] | None"]

_CUE = re.compile(
    r"\d|day\b|\bto(?:night|morrow)\b|\bthis\b|\bnext\b|\blast\b|\bago\b|\bin\b|\bsince\b|\bweek|\bthe \d|"
    r"\bmonth|\bend\b|\bspring|\bsummer|\bautumn|\bfall|\bwinter",
    re.IGNORECASE,
)
_TIME = re.compile(
    rf"""
    (?<![\w.@/$€£-])
    (?P<lead>(?:on|by|before|until|till|from|starting|since|around|about|at|in|due|for|of|,)\s+(?:the\s+)?)?
    (?:
      (?P<iso>(?P<iy>{_YEAR})-(?P<im>0[1-9]|1[0-2])-(?P<id>[0-3]\d))(?![\d-])
    | (?P<dotted>(?P<dd>[0-3]?\d)\.(?P<dm>[01]?\d)\.(?P<dy>{_YEAR})?)(?!\d)
    | (?P<slashed>(?P<sa>[0-3]?\d)/(?P<sb>[0-3]?\d)(?:/(?P<sy>{_YEAR}))?)(?![\d/])
    | (?:{_WEEKDAY},?\s+(?:the\s+)?)?
      (?P<day_month>(?:(?P<d0>{_DAY})\s*(?:-|–|to)\s*)?(?P<d1>{_DAY})(?:\s+of)?\s+(?P<m1>{_MONTH}))
      (?:,?\s+(?P<y1>{_YEAR}))?
    | (?:{_WEEKDAY},?\s+)?(?P<month_day>(?P<m2>{_MONTH})\s+(?:the\s+)?(?P<d2>{_DAY}))(?:,?\s+(?P<y2>{_YEAR}))?
    | (?P<before_yesterday>(?:the\s+)?day\s+before\s+yesterday)
    | (?P<after_tomorrow>(?:the\s+)?day\s+after\s+tomorrow)
    | (?P<yesterday>yesterday{_HOUR}|last\s+night)
    | (?P<tomorrow>tomorrow{_HOUR})
    | (?P<today>today|tonight|this\s+(?:morning|afternoon|evening))
    | (?P<from_weekday>a\s+week\s+(?:from|on)\s+(?P<wf>{_LONG_WEEKDAY}))
    | (?P<ago>(?P<ac>{_COUNT})\s+(?P<au>{_UNIT})s?\s+ago)
    | (?P<ahead>(?:in\s+)(?P<hc>{_COUNT})\s+(?P<hu>{_UNIT})s?(?:'\s+time)?(?!\s+of))
    | (?P<from_now>(?P<nc>{_COUNT})\s+(?P<nu>{_UNIT})s?\s+from\s+(?:now|today))
    | (?P<which>last|past|this\s+coming|this\s+past|this|next|coming)\s+
      (?:(?P<weekday>{_LONG_WEEKDAY})|(?P<weekend>weekend)|(?P<period>week|month|year)|(?P<of_year>{_MONTH}))
      (?:\s+on\s+(?P<period_day>{_LONG_WEEKDAY}))?{_HOUR}
    | (?:(?P<season_which>last|this|next|in\s+the|in|over\s+the|during\s+the)\s+)
      (?P<season>spring|summer|autumn|fall|winter)(?:\s+(?:of\s+)?(?P<season_year>{_YEAR}))?
    | (?P<bare_weekday>(?P<wb>{_LONG_WEEKDAY}){_HOUR})
    | (?P<the_day>(?<=the\s)(?P<td>(?:[12]?(?:1st|2nd|3rd)|[12]?[4-9]th|1[0-3]th|[23]0th|31st)))
      (?!\s+(?:floor|time|birthday|anniversary|century|grade|street|st\b|avenue|edition|draft|place|year|version|person
        |one|round|attempt|of\s+(?!the\s+month|this|next)))
      (?P<td_which>\s+of\s+(?:the|this|next)\s+month)?
    | (?P<ending>end\s+of\s+(?:(?:the|this|next)\s+(?P<ending_period>week|month|year)|(?P<ending_month>{_MONTH})))
    | (?P<month_year>(?P<m3>{_MONTH})\s+(?:of\s+)?(?P<y3>{_YEAR}))
    | (?P<month>(?P<m4>{_MONTH}))
    | (?P<year>(?P<y4>{_YEAR}))
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)


class Moment(NamedTuple):
    """A day that the text names, where it names it, and whether it is exact to the day."""

    day: datetime
    start: int
    end: int
    exact: bool
    lead: str


def moment_in(text: str, observed_at: datetime, direction: Direction) -> Moment | None:
    """The first time that the text names; a bare weekday or date lies in the given direction."""
    if not _CUE.search(text) and not _MONTH_CUE.search(text):
        return None
    best: Moment | None = None
    for match in _TIME.finditer(text):
        found = _day_of(match, _midnight(observed_at), direction)
        if found is None:
            continue
        day, exact = found
        lead = (match["lead"] or "").strip(" ,").lower().removesuffix(" the")
        one = Moment(day, match.start(), match.end(), exact, lead)
        if exact:
            return one
        best = best or one
    return best


_MONTH_CUE = re.compile(_MONTH, re.IGNORECASE)


def _day_of(match: re.Match[str], today: datetime, direction: Direction) -> tuple[datetime, bool] | None:
    named = {name: value for name, value in match.groupdict().items() if value is not None}
    try:
        for name, read in _READERS.items():
            if name in named:
                return read(named, today, direction)
    except (ValueError, OverflowError):
        return None
    return None


def _iso(m: dict[str, str], today: datetime, direction: Direction) -> tuple[datetime, bool]:
    return _date(int(m["iy"]), int(m["im"]), int(m["id"])), True


def _dotted(m: dict[str, str], today: datetime, direction: Direction) -> tuple[datetime, bool] | None:
    if "dy" not in m:
        return None
    return _date(int(m["dy"]), int(m["dm"]), int(m["dd"])), True


def _slashed(m: dict[str, str], today: datetime, direction: Direction) -> tuple[datetime, bool] | None:
    """With a year, month first unless that cannot be; without one a slash is too often a fraction or a ratio."""
    if "sy" not in m:
        return None
    first, second = int(m["sa"]), int(m["sb"])
    month, day = (first, second) if first <= 12 else (second, first)
    return _date(int(m["sy"]), month, day), True


def _day_month(m: dict[str, str], today: datetime, direction: Direction) -> tuple[datetime, bool]:
    return _in_year(m["m1"], m.get("d0") or m["d1"], m.get("y1"), today, direction), True


def _month_day(m: dict[str, str], today: datetime, direction: Direction) -> tuple[datetime, bool]:
    return _in_year(m["m2"], m["d2"], m.get("y2"), today, direction), True


def _shifted(days: int) -> Reader:
    return lambda m, today, direction: (today + days * DAY, True)


def _ago(m: dict[str, str], today: datetime, direction: Direction) -> tuple[datetime, bool]:
    return _moved(today, -_count(m["ac"]), m["au"]), m["au"].lower() == "day" or _count(m["ac"]) < 9


def _ahead(m: dict[str, str], today: datetime, direction: Direction) -> tuple[datetime, bool]:
    return _moved(today, _count(m["hc"]), m["hu"]), True


def _from_now(m: dict[str, str], today: datetime, direction: Direction) -> tuple[datetime, bool]:
    return _moved(today, _count(m["nc"]), m["nu"]), True


def _from_weekday(m: dict[str, str], today: datetime, direction: Direction) -> tuple[datetime, bool]:
    return _weekday(m["wf"], today, "future") + 7 * DAY, True


def _which(m: dict[str, str], today: datetime, direction: Direction) -> tuple[datetime, bool]:
    """Last, this or next: a weekday, the weekend's Saturday, a week's Monday, the first of a month or year."""
    which = m["which"].lower().split()[-1]
    step = {"last": -1, "past": -1, "next": 1}.get(which, 0)
    toward: Direction = "past" if step < 0 else direction if which == "this" else "future"
    monday = today - today.weekday() * DAY
    if "weekday" in m:
        next_week = monday + (7 + _weekday_number(m["weekday"])) * DAY
        return next_week if which == "next" else _weekday(m["weekday"], today, toward), True
    if "weekend" in m:
        return monday + (5 + 7 * step) * DAY, True
    if "of_year" in m:
        return _in_year(m["of_year"], "1", None, today, toward), False
    if "period_day" in m:
        return monday + (7 * step + _weekday_number(m["period_day"])) * DAY, True
    firsts = {
        "week": monday + 7 * step * DAY,
        "month": _moved(today.replace(day=1), step, "month"),
        "year": _date(today.year + step, 1, 1),
    }
    return firsts[m["period"].lower()], False


def _season(m: dict[str, str], today: datetime, direction: Direction) -> tuple[datetime, bool]:
    """Northern seasons, as the meteorologists begin them."""
    month = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}[m["season"].lower()]
    if "season_year" in m:
        return _date(int(m["season_year"]), month, 1), False
    which = m["season_which"].lower()
    toward: Direction = "past" if which == "last" else "future" if which == "next" else direction
    first = _date(today.year, month, 1)
    if which == "this":
        return first, False
    if toward == "past" and first > today:
        return first.replace(year=today.year - 1), False
    if toward == "future" and first < today - 60 * DAY:
        return first.replace(year=today.year + 1), False
    return first, False


def _bare_weekday(m: dict[str, str], today: datetime, direction: Direction) -> tuple[datetime, bool]:
    return _weekday(m["wb"], today, direction), True


def _the_day(m: dict[str, str], today: datetime, direction: Direction) -> tuple[datetime, bool]:
    number = int(re.sub(r"\D", "", m["td"]))
    first = today.replace(day=1)
    if "next" in m.get("td_which", "").lower() or (direction == "future" and number < today.day):
        first = _moved(first, 1, "month")
    elif direction == "past" and number > today.day:
        first = _moved(first, -1, "month")
    return first.replace(day=number), True


def _ending(m: dict[str, str], today: datetime, direction: Direction) -> tuple[datetime, bool]:
    """The last day of a week, month or year."""
    if "ending_month" in m:
        first = _in_year(m["ending_month"], "1", None, today.replace(day=1), direction)
        return _moved(first, 1, "month") - DAY, True
    ahead = int("next" in m["ending"].lower())
    if m["ending_period"].lower() == "week":
        return today + (6 - today.weekday() + 7 * ahead) * DAY, True
    if m["ending_period"].lower() == "month":
        return _moved(today.replace(day=1), 1 + ahead, "month") - DAY, True
    return _date(today.year + ahead, 12, 31), True


def _month_year(m: dict[str, str], today: datetime, direction: Direction) -> tuple[datetime, bool]:
    return _date(int(m["y3"]), _month_number(m["m3"]), 1), False


def _month(m: dict[str, str], today: datetime, direction: Direction) -> tuple[datetime, bool] | None:
    """Only with a word before it that makes it one: "may" is a verb and June a friend."""
    if not re.match(r"(?:in|by|since|until|till|from|before|around|starting|for|of)\b", m.get("lead", ""), re.I):
        return None
    if m["m4"][0].islower():
        return None
    return _in_year(m["m4"], "1", None, today, direction), False


def _year(m: dict[str, str], today: datetime, direction: Direction) -> tuple[datetime, bool] | None:
    if not re.match(r"(?:in|since|until|till|from|before|around|by)\b", m.get("lead", ""), re.I):
        return None
    return _date(int(m["y4"]), 1, 1), False


_READERS: dict[str, Reader] = {
    "iso": _iso,
    "dotted": _dotted,
    "slashed": _slashed,
    "day_month": _day_month,
    "month_day": _month_day,
    "before_yesterday": _shifted(-2),
    "after_tomorrow": _shifted(2),
    "yesterday": _shifted(-1),
    "tomorrow": _shifted(1),
    "today": _shifted(0),
    "from_weekday": _from_weekday,
    "ago": _ago,
    "ahead": _ahead,
    "from_now": _from_now,
    "which": _which,
    "season": _season,
    "bare_weekday": _bare_weekday,
    "the_day": _the_day,
    "ending": _ending,
    "month_year": _month_year,
    "month": _month,
    "year": _year,
}


def _date(year: int, month: int, day: int) -> datetime:
    return datetime(year, month, day, tzinfo=UTC)


def _midnight(moment: datetime) -> datetime:
    return _date(moment.year, moment.month, moment.day)


def _month_number(name: str) -> int:
    return _MONTHS.index(name[:3].lower()) + 1


def _weekday_number(name: str) -> int:
    return _DAYS.index(name[:3].lower())


def _weekday(name: str, today: datetime, direction: Direction) -> datetime:
    """The nearest one after or before today; today itself would have been called today."""
    ahead = (_weekday_number(name) - today.weekday() - 1) % 7 + 1
    return today + ahead * DAY if direction == "future" else today + (ahead - 7 if ahead < 7 else -7) * DAY


def _in_year(month: str, day: str, year: str | None, today: datetime, direction: Direction) -> datetime:
    number = int(re.sub(r"\D", "", day))
    if year is not None:
        return _date(int(year), _month_number(month), number)
    found = _date(today.year, _month_number(month), number)
    if direction == "future" and found < today:
        return found.replace(year=today.year + 1)
    if direction == "past" and found > today:
        return found.replace(year=today.year - 1)
    return found


def _count(words: str) -> int:
    text = " ".join(words.lower().split())
    return int(text) if text.isdigit() else _COUNTS[text]


def _moved(day: datetime, count: int, unit: str) -> datetime:
    """So many days, weeks, months or years away; the 31st of a shorter month is its last day."""
    match unit.lower():
        case "day":
            return day + count * DAY
        case "week":
            return day + 7 * count * DAY
        case "fortnight":
            return day + 14 * count * DAY
    months = day.month - 1 + count * (12 if unit.lower() == "year" else 1)
    first = day.replace(year=day.year + months // 12, month=months % 12 + 1, day=1)
    following = (first + 32 * DAY).replace(day=1)
    return first.replace(day=min(day.day, (following - DAY).day))
