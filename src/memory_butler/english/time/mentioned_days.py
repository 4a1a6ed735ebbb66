"""Checks whether an episode's text supports a day that a proposal claims.

A cheap check of a computed date, not a calendar of its own. The text supports a day if it contains

| in the text | and the day is |
|---|---|
| a day of a month ("8 June", "March 20, 2026") | that one, in the named year or within a year |
| a month alone, or with a year ("in January") | in that month, in the named year or within a year |
| a date in figures (2026-03-20, 20/3) | that one, in any order of day and month |
| a day of some month ("on the 21st") | that one, at most a month and a half away |
| a year and no month ("in 2019") | in that year |
| a weekday | one of those, at most two weeks away |
| a number of days, weeks, months or years | about that far away |
| any other time word ("yesterday", "next month") | as near as the word allows |

Time words count from the day the episode was observed, give or take a day because of time zones. The observed day needs
a time word as well: nothing is dated with the present moment only because it was said then.
"""

import re
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from memory_butler.english.text.word_sets import any_of
from memory_butler.english.time.calendar import COUNT, SEASONS, UNIT_DAYS, WEEKDAYS, count_of
from memory_butler.english.time.expressions import Kind, find_expressions

# Largest distance of a day without a year, of "the 21st" and of a weekday.
YEARLESS_DAYS, MONTHLESS_DAYS, WEEKDAY_DAYS = 370, 45, 15
_PAST, _COMING = r"(?:last|past|previous|earlier)", r"(?:next|coming|following|upcoming)"
# Time words, and how many days before and after the observed day they can reach.
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
        (f"{any_of(SEASONS)}|christmas|easter|new year|thanksgiving|halloween|this year", -370, 370),
        (f"{_PAST} year", -731, 0),
        (f"{_COMING} year", 0, 731),
    )
)
_FIGURES = re.compile(r"(?<![\d.-])(\d{1,4})([-/.])(\d{1,2})(?:\2(\d{1,4}))?(?![\d-])")
_YEAR = re.compile(r"(?<![\d.,€$£])(?:18|19|20|21)\d\d(?![\d%])")
_ORDINAL = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)\b|\bthe (\d{1,2})\b(?!:)")
_SPAN = re.compile(
    rf"\b(?P<count>{COUNT}) (?P<unit>{any_of(unit for unit in UNIT_DAYS if unit != 'hour')})s?\b"
    r"(?P<ago>'?(?: time)? (?:ago|earlier|back)\b)?"
)
_ALSO_WORDS = ("may", "march", "mar")


class _MonthDays(NamedTuple):
    """Days of a month that a text names: None for the whole month, no year for the nearest one."""

    month: int
    days: range | None
    year: int | None

    def includes(self, day: date, distance: int) -> bool:
        if self.month != day.month or (self.days is not None and day.day not in self.days):
            return False
        return abs(distance) <= YEARLESS_DAYS if self.year is None else self.year == day.year


def supports_day(day: date, text: str, observed: date) -> bool:
    """True if a text in lower case, observed on that day, supports a claim about `day`."""
    distance = (day - observed).days
    named = list(_named(text))
    if any(one.includes(day, distance) for one in named) or _is_in_figures(day, distance, text):
        return True
    if not named:
        if any(int(year) == day.year for year in _YEAR.findall(text)):
            return True
        days = {int(one or other) for one, other in _ORDINAL.findall(text)}
        if day.day in days and abs(distance) <= MONTHLESS_DAYS:
            return True
    return _is_relative(day, distance, text)


def _named(text: str) -> Iterator[_MonthDays]:
    for it in find_expressions(text):
        if it.kind is Kind.DATE and it.month and it.day:
            yield _MonthDays(it.month, range(it.day, (it.last_day or it.day) + 1), it.year)
        elif it.kind is Kind.MONTH and it.month:
            # "may" and "march" are months only in a context that makes them one. "Or may not" is none.
            lead = it.lead not in ("", "and", "or")
            context = lead or it.which or it.part or it.year or text[: it.core_start].endswith("of ")
            if context or it.name not in _ALSO_WORDS:
                yield _MonthDays(it.month, None, it.year)


def _is_in_figures(day: date, distance: int, text: str) -> bool:
    for first, _, second, third in _FIGURES.findall(text):
        written = sorted(int(part) for part in (first, second, third) if part)
        if written == sorted((day.month, day.day)) and abs(distance) <= YEARLESS_DAYS:
            return True
        if any(written == sorted((year, day.month, day.day)) for year in (day.year, day.year % 100)):
            return True
    return False


def _is_relative(day: date, distance: int, text: str) -> bool:
    weekday = WEEKDAYS[day.weekday()]
    if abs(distance) <= WEEKDAY_DAYS and re.search(rf"\b(?:{weekday}s?|{weekday[:3]}|{weekday[:4]})\b", text):
        return True
    for match in _SPAN.finditer(text):
        length = UNIT_DAYS[match["unit"]]
        away = count_of(match["count"]) * length
        slack = 1 + (0 if length == 1 else length * 0.6)
        signs = (-1,) if match["ago"] else (-1, 1)
        if any(abs(distance - sign * away) <= slack for sign in signs):
            return True
    return any(earliest <= distance <= latest and words.search(text) for words, earliest, latest in REACHES)
