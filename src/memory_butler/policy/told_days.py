"""Whether a day can be told from what an episode says.

A cheap check of what somebody calculated, not a calendar of its own. A day can be told if the text says

| in the text | and the day is |
|---|---|
| a day of a month ("8 June", "March 20, 2026") | that one, in the year that is named or within a year |
| a month alone, or with a year ("in January") | in that month, in the year that is named or within a year |
| a date in figures (2026-03-20, 20/3) | that one, whichever way round it is written |
| a day of some month ("on the 21st") | that one, at most a month and a half away |
| a year and no month ("in 2019") | in that year |
| a weekday | one of those, at most two weeks away |
| a number of days, weeks, months or years | about so far away |
| any other word of time ("yesterday", "next month") | as near as the word allows |

Words of time count from when the episode was observed, give or take a day because of time zones. The day it was
observed on needs a word as well: nothing is dated with the present moment only because it was said then.
"""

import re
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

MONTH_NAMES = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
WEEKDAY_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = [name[:3] for name in MONTH_NAMES]
UNIT_DAYS = {"day": 1.0, "night": 1.0, "week": 7.0, "fortnight": 14.0, "month": 30.5, "year": 365.25}
COUNTS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "a": 1, "an": 1, "couple of": 2, "few": 3,
}  # fmt: skip
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
# How far away a day may be that has no year, is only "the 21st", or only a weekday.
YEARLESS_DAYS, MONTHLESS_DAYS, WEEKDAY_DAYS = 370, 45, 15
_PAST, _COMING = r"(?:last|past|previous|earlier)", r"(?:next|coming|following|upcoming)"
# Words of time, and from how many days before to how many days after the day may lie.
REACHES = tuple(
    (re.compile(rf"\b(?:{words})\b"), earliest, latest)
    for words, earliest, latest in (
        ("today|tonight|now|right away|this (?:morning|afternoon|evening)", -1, 1),
        ("hours? ago|minutes? ago|earlier", -2, 0),
        ("in an? hour|in \\w+ hours", 0, 2),
        ("yesterday|last night|overnight", -2, 0),
        ("tomorrow|tmrw|tmr", 0, 2),
        ("day before", -3, 0),
        ("day after", 0, 3),
        ("weekend|this week", -9, 9),
        (f"{_PAST} weekend|the other day|few days ago|couple of days ago", -10, 1),
        (f"{_COMING} weekend|in a few days", -1, 15),
        (f"{_PAST} week", -15, 0),
        (f"{_COMING} week", 0, 15),
        ("just|recently|lately|newly|weeks ago", -31, 1),
        ("soon|about to|shortly|in (?:a few|some|several) weeks", -1, 62),
        ("(?:this|end of the) month", -31, 31),
        (f"{_PAST} month|months ago", -93, 1),
        (f"{_COMING} month|in (?:a few )?months", -1, 93),
        ("quarter|semester|term|q[1-4]", -185, 185),
        ("spring|summer|autumn|fall|winter|christmas|easter|new year|thanksgiving|halloween|this year", -370, 370),
        (f"{_PAST} year", -731, 0),
        (f"{_COMING} year", 0, 731),
    )
)
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_DAY = rf"(?:\d{{1,2}}(?![\d:])(?:st|nd|rd|th)?|{'|'.join(ORDINALS)})"
_TO = r"\s*(?:[-–&]|to|and|until)\s*(?:the\s+)?"
_OF_YEAR = r"(?:,?\s+(?:of\s+|in\s+)?(?P<{}>(?:18|19|20|21)\d\d)(?!\d))?"
_DATED = re.compile(
    rf"\b(?P<from>{_DAY})(?:{_TO}(?P<until>{_DAY}))?\s+(?:of\s+)?(?P<month>{_MONTH}){_OF_YEAR.format('year')}"
    rf"|\b(?P<month_first>{_MONTH})\s+(?:the\s+)?(?P<from_last>{_DAY})(?:{_TO}(?P<until_last>{_DAY}))?"
    rf"{_OF_YEAR.format('year_last')}"
)
# "may" and "march" are months only in the company that makes them one.
_ALONE = re.compile(
    rf"(?P<lead>\b(?:in|of|by|since|until|till|from|last|next|this|early|late|mid|during|for|on|to)[ -])?"
    rf"\b(?P<month>{_MONTH}){_OF_YEAR.format('year')}"
)
_FIGURES = re.compile(r"(?<![\d.-])(\d{1,4})([-/.])(\d{1,2})(?:\2(\d{1,4}))?(?![\d-])")
_YEAR = re.compile(r"(?<![\d.,€$£])(?:18|19|20|21)\d\d(?![\d%])")
_ORDINAL = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)\b|\bthe (\d{1,2})\b(?!:)")
_SPAN = re.compile(
    rf"\b(?P<count>\d{{1,4}}|{'|'.join(COUNTS)}) (?P<unit>{'|'.join(UNIT_DAYS)})s?\b"
    r"(?P<ago>'?(?: time)? (?:ago|earlier|back)\b)?"
)


class _Named(NamedTuple):
    """Days of a month that a text names: none for the whole month, no year for the nearest one."""

    month: int
    days: range | None
    year: int | None


def can_be_told(day: date, text: str, observed: date) -> bool:
    """Does the text, which was observed on that other day, give reason to say this day? The text is in lower case."""
    distance = (day - observed).days
    named = list(_named(text))
    if any(_is_it(one, day, distance) for one in named) or _is_in_figures(day, distance, text):
        return True
    if not named:
        if any(int(year) == day.year for year in _YEAR.findall(text)):
            return True
        days = {int(one or other) for one, other in _ORDINAL.findall(text)}
        if day.day in days and abs(distance) <= MONTHLESS_DAYS:
            return True
    return _is_relative(day, distance, text)


def _named(text: str) -> Iterator[_Named]:
    rest = text
    for match in _DATED.finditer(text):
        month = match["month"] or match["month_first"]
        first, last = (match["from"], match["until"]) if match["month"] else (match["from_last"], match["until_last"])
        year = match["year"] or match["year_last"]
        days = range(_day(first), _day(last or first) + 1)
        yield _Named(MONTHS.index(month[:3]) + 1, days, int(year) if year else None)
        rest = rest.replace(match[0], " ")
    for match in _ALONE.finditer(rest):
        if match["lead"] or match["year"] or match["month"] not in ("may", "march", "mar"):
            yield _Named(MONTHS.index(match["month"][:3]) + 1, None, int(match["year"]) if match["year"] else None)


def _day(written: str) -> int:
    return ORDINALS.index(written) + 1 if written in ORDINALS else int(re.sub(r"\D", "", written))


def _is_it(named: _Named, day: date, distance: int) -> bool:
    if named.month != day.month or (named.days is not None and day.day not in named.days):
        return False
    return abs(distance) <= YEARLESS_DAYS if named.year is None else named.year == day.year


def _is_in_figures(day: date, distance: int, text: str) -> bool:
    for first, _, second, third in _FIGURES.findall(text):
        written = sorted(int(part) for part in (first, second, third) if part)
        if written == sorted((day.month, day.day)) and abs(distance) <= YEARLESS_DAYS:
            return True
        if any(written == sorted((year, day.month, day.day)) for year in (day.year, day.year % 100)):
            return True
    return False


def _is_relative(day: date, distance: int, text: str) -> bool:
    weekday = WEEKDAY_NAMES[day.weekday()]
    if abs(distance) <= WEEKDAY_DAYS and re.search(rf"\b(?:{weekday}s?|{weekday[:3]}|{weekday[:4]})\b", text):
        return True
    for match in _SPAN.finditer(text):
        count = COUNTS.get(match["count"]) or int(match["count"])
        away = count * UNIT_DAYS[match["unit"]]
        slack = 1 + (0 if match["unit"] in ("day", "night") else UNIT_DAYS[match["unit"]] * 0.6)
        signs = (-1,) if match["ago"] else (-1, 1)
        if any(abs(distance - sign * away) <= slack for sign in signs):
            return True
    return any(earliest <= distance <= latest and words.search(text) for words, earliest, latest in REACHES)
