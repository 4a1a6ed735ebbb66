"""Recognises time expressions in English text: one grammar for questions, extracted events and grounding.

The recogniser says where an expression is and which parts it has. Its users (`question_expressions`, `event_dates`,
`mentioned_days`) decide what it means, and whether it is a time at all: "may" is a verb, June a friend, 2000 a price.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from memory_butler.english.text.word_sets import any_of
from memory_butler.english.time.calendar import (
    COUNT,
    DAY_OF_MONTH,
    MONTH,
    MONTHS,
    ORDINALS,
    PARTS_OF_DAY,
    SEASON,
    SEASONS,
    UNIT_DAYS,
    WEEKDAY,
    month_number,
)


class Kind(StrEnum):
    """Form of an expression; each is a group of the pattern."""

    DAY_WORD = "day_word"
    AGO = "ago"
    ROLLING = "rolling"
    AHEAD = "ahead"
    ISO = "iso"
    NUMERIC = "numeric"
    SLASHED = "slashed"
    DATE = "date"
    MONTH = "month"
    SEASON = "season"
    HOLIDAY = "holiday"
    QUARTER = "quarter"
    DECADE = "decade"
    YEAR = "year"
    WEEKDAY = "weekday"
    WEEKEND = "weekend"
    CALENDAR = "calendar"
    MONTHDAY = "monthday"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """One time expression and the words around it that bear on it, in lower case.

    "in early May 2023": lead `in`, part `early`, kind MONTH, name `may`, year 2023.
    """

    kind: Kind
    start: int
    lead_end: int
    part_start: int
    which_start: int
    core_start: int
    end: int
    # After the part of day that follows: "Friday evening".
    long_end: int
    lead: str
    the: bool
    part: str
    which: str
    core: str
    # Name of the month, season, holiday, weekday or quarter.
    name: str
    # The month was written without a capital.
    is_lower: bool
    year: int | None
    month: int | None
    day: int | None
    last_day: int | None
    count: str
    unit: str
    # "Two weeks" in "two weeks before 5 May", as count and unit.
    offset: tuple[str, str] | None = None


_YEAR = r"(?:18|19|20|21)\d\d(?![\d%])"
_UNIT = any_of(unit for unit in UNIT_DAYS if unit != "night")
_DAY = rf"{DAY_OF_MONTH}(?!%|[:.]\d)"
_MONTH = rf"{MONTH}(?![a-z_])"
_TO = r"(?:\s*[-–&]\s*|\s+(?:to|and|until|through)\s+(?:the\s+)?)"
_PERIOD = "(?:week|month|year)"


def _of_year(kind: Kind) -> str:
    return rf"(?:,?\s*(?:of\s+|in\s+)?(?P<{kind}_year>{_YEAR}))"


# A text with none of these has no expression; the pattern itself is compiled for the first text that has one.
_CUE = re.compile(
    rf"\d|\b(?:{'|'.join(name[:3] for name in MONTHS)}|{'|'.join(SEASONS)}|christmas|easter|thanksgiving|halloween"
    r"|new\s|valentine|q[1-4]|yesterday|to(?:day|night|morrow))|day\b|(?:day|week|month|year|fortnight|hour)s?\b|weekend"
    r"|\b(?:last|this)\s",
    re.IGNORECASE | re.ASCII,
)
_PATTERN = rf"""
    (?<![\w$€£'’/.-])
    (?:(?P<lead>before|prior\s+to|after|since|until|till?|by|between|from|in|on|at|during|over|around|throughout|within
        |through|to|and|or|as\s+of|for)\s+)?
    (?P<the>the\s+)?
    (?P<part>(?:early|mid|late)(?:\s+in|\s*-)?\s+|mid-?
        |(?:beginning|start|middle|end|(?:first|second)\s+half)\s+of\s+(?:the\s+)?
        |(?:first|second|third|fourth|last)\s+week\s+(?:of|in)\s+|week\s+of\s+)?
    (?P<which>(?:last|past|previous|this\s+coming|this\s+past|this|next|coming)\s+)?
    (?:
      (?P<day_word>day\s+before\s+yesterday|day\s+after\s+tomorrow|yesterday|today|tonight|tomorrow|(?<=last\s)night
        |(?<=this\s)(?:morning|afternoon|evening))
    | (?P<ago>(?P<ago_count>{COUNT})\s+(?P<ago_unit>{_UNIT})s?\s+ago)
    | (?P<rolling>(?<=last\s|past\s)(?P<rolling_count>{COUNT})\s+(?P<rolling_unit>{_UNIT})s?)
    | (?P<ahead>(?:(?<=in\s)(?P<ahead_count>{COUNT})\s+(?P<ahead_unit>{_UNIT})s?(?:'\s+time)?(?!\s+of)
        |(?P<now_count>{COUNT})\s+(?P<now_unit>{_UNIT})s?\s+from\s+(?:now|today)))
    | (?P<iso>(?P<iso_year>{_YEAR})-(?P<iso_month>0[1-9]|1[0-2])(?:-(?P<iso_day>0[1-9]|[12]\d|3[01])
        (?:T\d\d:[\d:.]*\dZ?)?)?(?![\d-]))
    | (?P<numeric>\d{{1,2}}(?P<mark>[./])\d{{1,2}}(?P=mark)(?P<numeric_year>(?:19|20)\d\d)(?![./-]?\d))
    | (?P<slashed>\d{{1,2}}/\d{{1,2}}(?![/\w%]))
    | (?P<date>(?:
          (?P<dm_day>{_DAY}|{any_of(ORDINALS)}(?=\s+of\s))(?:{_TO}(?P<dm_last>{_DAY}))?(?:\s+of)?\s+(?P<dm_month>{_MONTH})
        | (?P<md_month>{_MONTH})\s+(?:the\s+)?(?P<md_day>{_DAY})(?:{_TO}(?P<md_last>{_DAY}))?)
        {_of_year(Kind.DATE)}?)
    | (?P<month>(?P<month_name>{_MONTH}){_of_year(Kind.MONTH)}?)
    | (?P<season>(?P<season_name>{SEASON}){_of_year(Kind.SEASON)}?)
    | (?P<holiday>(?P<holiday_name>christmas\s+eve|christmas|easter|thanksgiving|halloween|new\s+year['’]?s?\s+eve
        |new\s+year['’]?s?(?:\s+day)?|valentine['’]?s?\s+day)(?:\s+(?:day|weekend)\b)?{_of_year(Kind.HOLIDAY)}?)
    | (?P<quarter>q(?P<quarter_name>[1-4]){_of_year(Kind.QUARTER)}?)
    | (?P<decade>(?:19|20)\d0['’]?s)
    | (?P<year>{_YEAR})
    | (?P<weekday>{WEEKDAY})
    | (?P<weekend>weekend)
    | (?P<calendar>(?:(?<=last\s|this\s|next\s|past\s)|(?<=previous\s)|(?<=coming\s)|(?<=\bend\sof\sthe\s)){_PERIOD})
    | (?P<monthday>(?<=the\s)(?:[12]?(?:1st|2nd|3rd)|[12]?[4-9]th|1[0-3]th|[23]0th|31st)(?!\s+(?:floor|time|birthday
        |anniversary|century|grade|street|st\b|avenue|edition|draft|place|year|version|person|one|round|attempt
        |of\s+(?!the\s+month|this|next))))
    )
    (?!\w|-\w|[.,:/]\d)
    (?P<hour>\s+{any_of(PARTS_OF_DAY)}s?\b)?
    """


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile(_PATTERN, re.IGNORECASE | re.VERBOSE | re.ASCII)


def find_expressions(text: str) -> Iterator[Expression]:
    """Every candidate in order. The caller keeps those that are times in their context."""
    if _CUE.search(text):
        for match in _pattern().finditer(text):
            yield _expression(match)


def _expression(match: re.Match[str]) -> Expression:
    groups = match.groupdict()
    kind = next(kind for kind in Kind if groups[kind])
    written = groups.get(f"{kind}_name") or groups["dm_month"] or groups["md_month"] or groups[kind]
    name = plain(written).rstrip(".")
    is_month = kind in (Kind.MONTH, Kind.DATE)
    core_start = match.start(kind)
    which_start = match.start("which") if groups["which"] else core_start
    return Expression(
        kind=kind,
        start=match.start(),
        lead_end=match.end("lead") + 1 if groups["lead"] else match.start(),
        part_start=match.start("part") if groups["part"] else which_start,
        which_start=which_start,
        core_start=core_start,
        end=match.start("hour") if groups["hour"] else match.end(),
        long_end=match.end(),
        lead=plain(groups["lead"]),
        the=bool(groups["the"]),
        part=plain(groups["part"]),
        which=plain(groups["which"]),
        core=plain(groups[kind]),
        name=name,
        is_lower=is_month and written.islower(),
        year=_integer(groups.get(f"{kind}_year") or (groups["year"] if kind is Kind.YEAR else None)),
        month=month_number(name) if is_month else _integer(groups["iso_month"]),
        day=_integer(groups["dm_day"] or groups["md_day"] or groups["iso_day"]),
        last_day=_integer(groups["dm_last"] or groups["md_last"]),
        count=plain(groups.get(f"{kind}_count") or groups["now_count"]),
        unit=plain(groups.get(f"{kind}_unit") or groups["now_unit"]),
    )


def plain(words: str | None) -> str:
    """Lower case with single spaces; empty for None."""
    return " ".join((words or "").lower().split())


def _integer(text: str | None) -> int | None:
    if not text:
        return None
    word = text.lower()
    return ORDINALS.index(word) + 1 if word in ORDINALS else int("".join(filter(str.isdigit, word)))
