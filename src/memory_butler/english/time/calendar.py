"""Calendar words, number words and calendar arithmetic: the one table behind everything that reads a time.

Questions, extracted events and grounding differ in what they accept and in the direction they search, not in the words.
"""

from datetime import datetime, timedelta

from memory_butler.english.text.word_sets import any_of

DAY = timedelta(days=1)
WEEK = 7 * DAY

MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
# First month of each meteorological season, northern hemisphere.
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
CARDINALS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
TENS = ("thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
ORDINALS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth",
)  # fmt: skip
COUNTS = {word: number for number, word in enumerate(CARDINALS)}
COUNTS |= {"a": 1, "an": 1, "couple": 2, "few": 3, "several": 4}
PARTS_OF_DAY = ("morning", "afternoon", "evening", "night")
# Average length in days.
UNIT_DAYS = {"hour": 1 / 24, "day": 1, "night": 1, "week": 7, "fortnight": 14, "month": 30.5, "year": 365.25}

# Regular expressions, for matching without regard to case.
MONTH = rf"(?:{any_of(MONTHS)}|{any_of((*(name[:3] for name in MONTHS if name != 'may'), 'sept'))}\b\.?)"
WEEKDAY = any_of(WEEKDAYS)
SEASON = any_of(SEASONS)
COUNT = rf"(?:(?:a\s+)?couple(?:\s+of)?|(?:a\s+)?few|several|an?|{any_of(CARDINALS[:15])}|\d{{1,3}})"
DAY_OF_MONTH = r"(?:0?[1-9]|[12]\d|3[01])(?!\d)(?:st|nd|rd|th)?"


def month_number(name: str) -> int:
    """1 to 12, for a month's name or abbreviation in lower case."""
    return next(number for number, month in enumerate(MONTHS, start=1) if month.startswith(name[:3]))


def count_of(words: str) -> int:
    """The number that a count in lower case names: "12", "a couple of", "three"."""
    return int(words) if words.isdigit() else COUNTS[words.removeprefix("a ").removesuffix(" of")]


def midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def month_after(moment: datetime) -> datetime:
    """The first day of the following month, at the same time of day."""
    return (moment.replace(day=1) + 32 * DAY).replace(day=1)


def shift(day: datetime, count: int, unit: str) -> datetime:
    """The day a number of units away. The 31st moves to the last day of a shorter month."""
    if unit not in ("month", "year"):
        return day + count * int(UNIT_DAYS[unit]) * DAY
    months = day.month - 1 + count * (12 if unit == "year" else 1)
    first = day.replace(year=day.year + months // 12, month=months % 12 + 1, day=1)
    return first.replace(day=min(day.day, (month_after(first) - DAY).day))


def weekday_before(moment: datetime, weekday: int) -> datetime:
    """The last such weekday before the moment's own day, at midnight."""
    return midnight(moment) - ((moment.weekday() - weekday - 1) % 7 + 1) * DAY


def monday_of(moment: datetime) -> datetime:
    """The first day of the moment's week, at midnight."""
    return midnight(moment) - moment.weekday() * DAY
