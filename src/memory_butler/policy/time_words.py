"""Where a question speaks of time, and in what form: patterns only, no calendar.

Careful rather than eager. A month, a season or a year counts only in the company that makes it one ("in May", "May
2023"), because a wrong moment costs more than a missed one: "may" is a verb, June a friend, 2000 a price.
"""

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache

# A question says when in its first or last words. What is pasted in between has dates of its own.
EDGE_CHARACTERS = 300
MOST_EXPRESSIONS = 4

_MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?)"
)
_YEAR = r"(?:19|20)\d\d(?![\d%])"
_DAY = r"(?:0?[1-9]|[12]\d|3[01])(?!\d)(?:st|nd|rd|th)?"
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_UNIT = r"(?:hour|day|week|month|year)"
_COUNT = (
    r"(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\d{1,3}"
    r"|(?:a\s+)?couple(?:\s+of)?|(?:a\s+)?few|several)"
)
_TO = r"(?:\s*[-–]\s*|\s+(?:to|and|until|through)\s+)"
_OF_YEAR = rf"(?:,?\s*(?:of\s+|in\s+)?(?P<{{0}}_year>{_YEAR}))"

# Most questions have none of these and are done with; the whole pattern is compiled for the first that has one.
_CUE = re.compile(
    r"\d{4}|\d/\d|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|spring|summer|autumn|fall|winter|christmas|easter"
    r"|thanksgiving|halloween|new\s|valentine|q[1-4]|week|last|this|next|past|previous|yesterday|to(?:day|night|morrow)"
    r"|on\s|since\s)|\bago\b",
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
    (?P<which>(?:last|this|next|previous|past)\s+)?
    (?:
      (?P<day_word>(?:the\s+)?day\s+before\s+yesterday|yesterday|today|tonight|tomorrow|(?<=last\s)night
        |(?<=this\s)(?:morning|afternoon|evening))
    | (?P<ago>(?P<ago_count>{_COUNT})\s+(?P<ago_unit>{_UNIT})s?\s+ago)
    | (?P<rolling>(?<=last\s|past\s)(?P<rolling_count>{_COUNT})\s+(?P<rolling_unit>{_UNIT})s?)
    | (?P<iso>{_YEAR}-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?(?!-?\w))
    | (?P<numeric>\d{{1,2}}(?P<mark>[./])\d{{1,2}}(?P=mark)(?:19|20)\d\d(?![./-]?\d))
    | (?P<slashed>\d{{1,2}}/\d{{1,2}}(?![/\w%]))
    | (?P<date>(?:
          (?P<dm_day>{_DAY})(?:{_TO}(?P<dm_last>{_DAY}))?(?:\s+of)?\s+(?P<dm_month>{_MONTH})
        | (?P<md_month>{_MONTH})\s+(?:the\s+)?(?P<md_day>{_DAY})(?:{_TO}(?P<md_last>{_DAY}))?)
        {_OF_YEAR.format("date")}?)
    | (?P<month>(?P<month_name>{_MONTH}){_OF_YEAR.format("month")}?)
    | (?P<season>(?P<season_name>spring|summer|autumn|fall|winter){_OF_YEAR.format("season")}?)
    | (?P<holiday>(?P<holiday_name>christmas\s+eve|christmas|easter|thanksgiving|halloween|new\s+year['’]?s?\s+eve
        |new\s+year['’]?s?(?:\s+day)?|valentine['’]?s?\s+day)(?:\s+(?:day|weekend)\b)?{_OF_YEAR.format("holiday")}?)
    | (?P<quarter>q(?P<quarter_name>[1-4]){_OF_YEAR.format("quarter")}?)
    | (?P<decade>(?:19|20)\d0['’]?s)
    | (?P<year>{_YEAR})
    | (?P<weekday>{_WEEKDAY})
    | (?P<weekend>weekend)
    | (?P<calendar>(?<=last\s|this\s|next\s|past\s)(?:week|month|year)|(?<=previous\s)(?:week|month|year))
    )
    (?!\w|-\w|['’]\w|[.,:/]\d)
    """


@cache
def _expressions() -> re.Pattern[str]:
    return re.compile(_PATTERN, re.IGNORECASE | re.VERBOSE | re.ASCII)


_ABBREVIATED = re.compile(r"(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.?$", re.IGNORECASE)
_ORDINAL = re.compile(r"\d(?:st|nd|rd|th)", re.IGNORECASE)
# After these a bare month or year is a time; a person can be painted *by* and a gift come *from* April.
_NOT_OF_PEOPLE = frozenset(
    ("in", "since", "until", "til", "till", "during", "between", "around", "throughout", "before", "after")
)
_TIMELY = _NOT_OF_PEOPLE | {"by", "from", "over", "within"}
_DATED = _NOT_OF_PEOPLE | {"on", "by", "from", "prior to"}
_LINKS = frozenset(("and", "or", "to", "through"))
_OF_YEARS = _TIMELY | _LINKS | {"as of"}
_OF_HOLIDAYS = _NOT_OF_PEOPLE | {"at", "on", "over"}
_VERBS = frozenset(("may", "march"))
_PEOPLE = frozenset(("april", "may", "june", "august"))
_CLAUSE_ENDS = re.compile(r"\s*(?:[?.,;:!)]|$|\s(?:and|or|of)\b)")
_VERB_FOLLOWS = re.compile(
    r"\s+(?:i|we|you|he|she|it|they|be|have|not|also|well|even|need|want|come|become|help|cause|take|get)\b", re.I
)
_QUANTITY_FOLLOWS = re.compile(
    r"\s*(?:%|[$€£]|(?:us\s+)?dollars?|euros?|pounds?|bucks|usd|eur|gbp|people|steps|calories|kcal|words|miles|km|"
    r"kilomet\w+|met(?:er|re)s|feet|ft|users|rows|items|times|pages|lines|points|pieces|copies|hours|minutes|"
    r"seconds|ms|mb|gb|kg|grams?|square|sq|watts?|units|tokens|characters|requests|records|entries|percent)\b",
    re.IGNORECASE,
)
# "in Spring Boot", "at the Summer Olympics", "the March 15th issue": a name, not a time.
_NAME_FOLLOWS = re.compile(
    r"\s+(?:(?!I\b|I['’])[A-Z]|(?i:boot|framework|camps?|olympics|games|school|job|house|roll|rolls|cleaning|solstice"
    r"|issue|edition|release|version|collection|party|dinner|break|coat|jacket|dress|festival|fair|sale|market"
    r"|trees?|cards?|gifts?|presents?|carols?|cookies|decorations|movies?|songs?)\b)"
)
_HABIT_FOLLOWS = re.compile(r"\s+(?:mornings|afternoons|evenings|nights)\b", re.I)
_HABIT_BEFORE = re.compile(r"\b(?:every|each|usually|always|typical)\s+$", re.I)
# Without its year a season or a weekday is a time of the past only in a question about the past.
_PAST = re.compile(r"\b(?:did|was|were|had|been|have|has|went|got|took|made|saw|said|\w{2,}ed)\b|['’]ve\b", re.I)
# A wish for advice is about what is to come, and memories are not to be found there.
_ADVICE = re.compile(r"\b(?:recommend\w*|suggest\w*|advice|ideas?|tips|(?:should|could|can|shall)\s+(?:i|we)|help\s+me"
                     r"|plan(?:ning)?)\b", re.I)  # fmt: skip
_ASKS_BACK = re.compile(r"\bdid\b", re.I)

_OFFSET = re.compile(
    rf"(?<![\w-])(?:(?P<count>{_COUNT}|the)\s+(?P<unit>day|week|month|year)s?|(?:the|last)\s+"
    rf"(?P<named>{_WEEKDAY}|weekend))\s+(?:right\s+|just\s+)?$",
    re.IGNORECASE | re.ASCII,
)

_EVENT = re.compile(
    r"(?<![\w'’-])(?P<direction>before|prior\s+to|after|since|until)\s+(?P<anchor>[^?.,;:!()\"\n]{3,120})",
    re.IGNORECASE,
)
_EVENT_STOPS = re.compile(
    r"\s(?:when|while|but|and|or|did|do|does|has|have|had|was|were|is|are|what|how|who)\s.*", re.I
)
_NO_EVENT_BEFORE = re.compile(
    r"\b(?:(?:look|take|nam|model|chas|pattern|inquir|going)\w*|took|before\s+and|(?:how|too)\s+(?:long|soon))\s*$",
    re.IGNORECASE,
)
_NO_EVENT = re.compile(
    r"(?:from|in|on|at|with|for|of|and|or|to|but|as|all|how|when|what|which|that|this|each|every|another|then|hours|work|school|class|breakfast|lunch|dinner|bed|"
    r"bedtime|sleep|sleeping|noon|midnight|sunset|sunrise|dark|it|now|one|"
    r"(?:i|you|we|they|he|she|it|there)['’]\w+|there|you)\b|\d",
    re.IGNORECASE,
)
# *Since* gives a time with a past verb, a gerund or a short noun ("since the move"); otherwise mostly a reason.
_SINCE_THEN = re.compile(
    r"(?:\S+\s+){0,4}?(?:\w{2,}ed|got|began|met|came|became|went|left|took|made|bought|lost|quit|gave|saw|sold|had)\b"
    r"|\w{2,}ing\b|(?!(?:i|you|we|they|he|she|it)\b)\S+(?:\s+\S+){0,2}$",
    re.IGNORECASE,
)
_MEASURES = re.compile(r"\bhow\s+(?:long|(?:many|much)\s+(?:\w+\s+)?(?:time|hour|day|week|month|year)s?)\b", re.I)
_SMALL = frozenset(
    ("the", "his", "her", "its", "our", "your", "their", "she", "they", "for", "with", "from", "first", "was", "you")
)
ANCHOR_WORDS = 8


class Kind(StrEnum):
    """What an expression is made of; each is a group of the pattern."""

    DAY_WORD = "day_word"
    AGO = "ago"
    ROLLING = "rolling"
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


_LOOSE = frozenset((Kind.MONTH, Kind.SEASON, Kind.HOLIDAY, Kind.WEEKDAY, Kind.WEEKEND))
_YEARLESS = _LOOSE | {Kind.DATE, Kind.SLASHED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """One expression of time and the words around it that bear on it, all in lower case."""

    start: int
    end: int
    kind: Kind
    core: str
    name: str
    year: int | None
    last_day: int | None
    count: str | None
    unit: str | None
    lead: str
    part: str
    which: str
    offset: tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class Event:
    """A direction and the words of what happened: after | the wedding."""

    start: int
    end: int
    direction: str
    anchor: str


def find_expressions(text: str) -> list[Expression]:
    """The expressions of time in the first and last words of a text, in order; none if there are suspiciously many."""
    found: list[Expression] = []
    for offset, piece in _edges(text):
        here: list[Expression] = []
        for match in _expressions().finditer(piece) if _CUE.search(piece) else ():
            one = _expression(piece, match, here[-1] if here else None)
            if not _is_time(piece, match, one):
                continue
            if here and one.start < here[-1].end:  # "on the Sunday", and then "the Sunday before 25 October"
                one = replace(one, start=here.pop().start)
            here.append(one)
        found += [replace(one, start=one.start + offset, end=one.end + offset) for one in here]
    return found if len(found) <= MOST_EXPRESSIONS else []


def _edges(text: str) -> list[tuple[int, str]]:
    """The parts of a text that are looked at and where they begin, cut between words."""
    if len(text) <= 2 * EDGE_CHARACTERS:
        return [(0, text)]
    first = text[:EDGE_CHARACTERS].rpartition(" ")[0]
    last = text[-EDGE_CHARACTERS:].partition(" ")[2]
    return [(0, first), (len(text) - len(last), last)]


def find_event(text: str) -> Event | None:
    """The first "before the move" of a text, whose words say when only once the move itself has been found."""
    if len(text) > 2 * EDGE_CHARACTERS or _MEASURES.search(text):
        return None
    for match in _EVENT.finditer(text):
        direction = " ".join(match["direction"].lower().split())
        anchor = " ".join(_EVENT_STOPS.sub("", match["anchor"] + " ").split()[:ANCHOR_WORDS])
        said = text[: match.start()]
        again = said.split()[-1:] == anchor.split()[:1]  # day after day
        reason = direction == "since" and not _SINCE_THEN.match(anchor)
        if again or reason or _NO_EVENT.match(anchor) or _NO_EVENT_BEFORE.search(said):
            continue
        if any(len(word) > 2 and word.lower() not in _SMALL for word in anchor.split()):
            return Event(match.start(), match.end("direction"), direction, anchor)
    return None


def _expression(text: str, match: re.Match[str], before: Expression | None) -> Expression:
    kind = next(kind for kind in Kind if match[kind.value])
    groups = match.groupdict()
    year = groups.get(f"{kind}_year") or (match["year"] if kind is Kind.YEAR else None)
    lead, start, offset = _plain(match["lead"]), match.start(), None
    if lead in _LINKS and (before is None or text[before.end : start].strip(" ,")):
        lead, start = "", match.end("lead") + 1  # nothing that it could link to
    if lead in ("before", "after"):
        near = max(0, start - 40)
        ahead = _OFFSET.search(text[near:start])
        if ahead:
            offset = (_plain(ahead["count"]), _plain(ahead["unit"] or ahead["named"]))
            start = near + ahead.start()
    name = _plain(groups.get(f"{kind}_name") or match["dm_month"] or match["md_month"] or match[kind.value]).rstrip(".")
    core, last_day = _plain(match[kind.value]), match["dm_last"] or match["md_last"]
    if kind is Kind.DATE:
        core = f"{_digits(match['dm_day'] or match['md_day'])} {name} {year or ''}".strip()
    return Expression(
        start=start,
        end=match.end(),
        kind=kind,
        core=core,
        name=name,
        year=int(year) if year else None,
        last_day=_digits(last_day) if last_day else None,
        count=_plain(groups.get(f"{kind}_count")) or None,
        unit=_plain(groups.get(f"{kind}_unit")) or None,
        lead=lead,
        part=_plain(match["part"]),
        which=_plain(match["which"]),
        offset=offset,
    )


def _plain(words: str | None) -> str:
    return " ".join((words or "").lower().split())


def _digits(day: str) -> int:
    return int("".join(filter(str.isdigit, day)))


def _is_time(text: str, match: re.Match[str], it: Expression) -> bool:  # noqa: PLR0911, PLR0912 (a table of kinds)
    """Is this a time here, or only a word that can be one?"""
    rest = text[it.end : it.end + 40]
    if it.kind in _LOOSE and it.year is None and not it.which and not _PAST.search(text):
        return False
    to_come = it.which in ("this", "next") or it.core in ("today", "tonight", "tomorrow")
    if (to_come or (it.kind in _YEARLESS and it.year is None and not it.which)) and _is_wish(text):
        return False
    company = bool(it.which or it.part or it.year is not None or it.lead in _LINKS)
    match it.kind:
        case Kind.MONTH:
            return _is_month(match, it, rest, company)
        case Kind.DATE:
            return _is_date(match, it, rest)
        case Kind.YEAR:
            return bool(it.part or it.lead in _OF_YEARS) and not _QUANTITY_FOLLOWS.match(rest)
        case Kind.SEASON:
            apt = company or it.lead in ("in", "during", "since", "over", "throughout")
            return apt and not _NAME_FOLLOWS.match(rest) and not (it.name == "fall" and it.lead == "during")
        case Kind.HOLIDAY:
            return (company or it.lead in _OF_HOLIDAYS) and not _NAME_FOLLOWS.match(rest)
        case Kind.WEEKDAY:
            habit = _HABIT_FOLLOWS.match(rest) or _HABIT_BEFORE.search(text[: it.start])
            return bool(it.which or it.lead in ("on", "since")) and not habit and not _NAME_FOLLOWS.match(rest)
        case Kind.WEEKEND:
            return bool(it.which or (it.lead in ("over", "at", "during", "on") and match["the"]))
        case Kind.QUARTER:
            return company or it.lead in _TIMELY
        case Kind.SLASHED:
            return it.lead in ("on", "since", "until") and it.core != "24/7" and not rest.lstrip().startswith("of ")
        case Kind.DECADE:
            return match["the"] is not None
        case _:
            return True


def _is_wish(text: str) -> bool:
    return bool(_ADVICE.search(text)) and not _ASKS_BACK.search(text)


def _is_month(match: re.Match[str], it: Expression, rest: str, company: bool) -> bool:
    if it.year is not None:
        return not _QUANTITY_FOLLOWS.match(rest)
    if _ABBREVIATED.search(it.name) or _NAME_FOLLOWS.match(rest):
        return False
    if it.name in _VERBS and match["month_name"].islower() and _VERB_FOLLOWS.match(rest):
        return False
    if it.name not in _PEOPLE or company:
        return company or it.lead in _TIMELY
    return it.lead in _NOT_OF_PEOPLE and (it.lead not in ("before", "after") or bool(_CLAUSE_ENDS.match(rest)))


def _is_date(match: re.Match[str], it: Expression, rest: str) -> bool:
    if it.year is not None:
        return True
    verb = it.name in _VERBS and (match["dm_month"] or match["md_month"]).islower()
    if _NAME_FOLLOWS.match(rest) or (verb and match["dm_month"] and not _CLAUSE_ENDS.match(rest)):
        return False
    sure = it.lead in _DATED or _ORDINAL.search(match["date"])
    return bool(sure) or not (verb or _ABBREVIATED.search(it.name) or _QUANTITY_FOLLOWS.match(rest))
