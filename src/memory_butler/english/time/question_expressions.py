"""Time expressions of a question, and the event it counts from.

Careful rather than eager. A month, a season or a year counts only in a context that makes it one ("in May", "May
2023"), because a wrong window costs more than a missed one.
"""

import re
from dataclasses import dataclass, replace

from memory_butler.english.text.word_sets import caseless
from memory_butler.english.time.calendar import COUNT, MONTHS, WEEKDAY
from memory_butler.english.time.expressions import Expression, Kind, find_expressions, plain

# A question names its time in its first or last words. Text pasted in between has dates of its own.
EDGE_CHARACTERS = 300
MOST_EXPRESSIONS = 4
ANCHOR_WORDS = 8

_POSSESSIVE = re.compile(r"['’]\w")
_ORDINAL = caseless(r"\d(?:st|nd|rd|th)")
# After these a bare month or year is a time. *By* and *from* can precede a person named April.
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
_VERB_FOLLOWS = caseless(
    r"\s{1,8}(?:i|we|you|he|she|it|they|be|have|not|also|well|even|need|want|come|become|help|cause|take|get)\b"
)
_QUANTITY_FOLLOWS = caseless(
    r"\s{0,8}(?:%|[$€£]|(?:us\s{1,8})?dollars?|euros?|pounds?|bucks|usd|eur|gbp|people|steps|calories|kcal|words|miles|km|"
    r"kilomet\w+|met(?:er|re)s|feet|ft|users|rows|items|times|pages|lines|points|pieces|copies|hours|minutes|"
    r"seconds|ms|mb|gb|kg|grams?|square|sq|watts?|units|tokens|characters|requests|records|entries|percent)\b"
)
# "in Spring Boot", "at the Summer Olympics", "the March 15th issue": a name, not a time.
_NAME_FOLLOWS = re.compile(
    r"\s{1,8}(?:(?!I\b|I['’])[A-Z]|(?i:boot|framework|camps?|olympics|games|school|job|house|roll|rolls|cleaning|solstice"
    r"|issue|edition|release|version|collection|party|dinner|break|coat|jacket|dress|festival|fair|sale|market"
    r"|trees?|cards?|gifts?|presents?|carols?|cookies|decorations|movies?|songs?)\b)"
)
_HABIT_FOLLOWS = caseless(r"\s{1,8}(?:mornings|afternoons|evenings|nights)\b")
_HABIT_BEFORE = caseless(r"\b(?:every|each|usually|always|typical)\s+$")
# Without a year, a season or a weekday counts only in a question about the past.
_PAST = caseless(r"\b(?:did|was|were|had|been|have|has|went|got|took|made|saw|said|\w{2,}ed)\b|['’]ve\b")
# A request for advice is about the future, where there are no memories.
_ADVICE = caseless(r"\b(?:recommend\w*|suggest\w*|advice|ideas?|tips|(?:should|could|can|shall)\s+(?:i|we)|help\s+me"
                     r"|plan(?:ning)?)\b")  # fmt: skip
_ASKS_BACK = caseless(r"\bdid\b")

_OFFSET = re.compile(
    rf"(?<![\w-])(?:(?P<count>{COUNT}|the)\s+(?P<unit>day|week|month|year)s?|(?:the|last)\s+"
    rf"(?P<named>{WEEKDAY}|weekend))\s+(?:right\s+|just\s+)?$",
    re.IGNORECASE | re.ASCII,
)

_EVENT = caseless(
    r"(?<![\w'’-])(?P<direction>before|prior\s+to|after|since|until)\s+(?P<anchor>[^?.,;:!()\"\n]{3,120})"
)
_EVENT_STOPS = caseless(r"\s(?:when|while|but|and|or|did|do|does|has|have|had|was|were|is|are|what|how|who)\s.*")
_NO_EVENT_BEFORE = caseless(
    r"\b(?:(?:look|take|nam|model|chas|pattern|inquir|going)\w*|took|before\s+and|(?:how|too)\s+(?:long|soon))\s*$"
)
_NO_EVENT = caseless(
    r"(?:from|in|on|at|with|for|of|and|or|to|but|as|all|how|when|what|which|that|this|each|every|another|then|hours|"
    r"work|school|class|breakfast|lunch|dinner|bed|bedtime|sleep|sleeping|noon|midnight|sunset|sunrise|dark|it|now|one|"
    r"(?:i|you|we|they|he|she|it|there)['’]\w+|there|you)\b|\d"
)
# *Since* with a past verb, a gerund or a short noun ("since the move") names a time; otherwise mostly a reason.
_SINCE_THEN = caseless(
    r"(?:\S+\s+){0,4}?(?:\w{2,}ed|got|began|met|came|became|went|left|took|made|bought|lost|quit|gave|saw|sold|had)\b"
    r"|\w{2,}ing\b|(?!(?:i|you|we|they|he|she|it)\b)\S+(?:\s+\S+){0,2}$"
)
_MEASURES = caseless(r"\bhow\s+(?:long|(?:many|much)\s+(?:\w+\s+)?(?:time|hour|day|week|month|year)s?)\b")
_SMALL = frozenset(
    ("the", "his", "her", "its", "our", "your", "their", "she", "they", "for", "with", "from", "first", "was", "you")
)

_LOOSE = frozenset((Kind.MONTH, Kind.SEASON, Kind.HOLIDAY, Kind.WEEKDAY, Kind.WEEKEND))
_YEARLESS = _LOOSE | {Kind.DATE, Kind.SLASHED}


@dataclass(frozen=True, slots=True)
class Event:
    """A direction and the words that name an event: after | the wedding."""

    start: int
    end: int
    direction: str
    anchor: str


def question_expressions(text: str) -> list[Expression]:
    """The times that a question names in its first and last words; none if there are more than MOST_EXPRESSIONS."""
    found: list[Expression] = []
    for offset, piece in _edges(text):
        here: list[Expression] = []
        for candidate in find_expressions(piece):
            one = _with_context(piece, candidate, here[-1] if here else None)
            if not _is_time(piece, one):
                continue
            if here and one.start < here[-1].end:  # "on the Sunday", and then "the Sunday before 25 October"
                one = replace(one, start=here.pop().start)
            here.append(one)
        found += [replace(one, start=one.start + offset, end=one.end + offset) for one in here]
    return found if len(found) <= MOST_EXPRESSIONS else []


def _edges(text: str) -> list[tuple[int, str]]:
    """The first and the last EDGE_CHARACTERS of a text with their positions, cut between words."""
    if len(text) <= 2 * EDGE_CHARACTERS:
        return [(0, text)]
    first = text[:EDGE_CHARACTERS].rpartition(" ")[0]
    last = text[-EDGE_CHARACTERS:].partition(" ")[2]
    return [(0, first), (len(text) - len(last), last)]


def find_event(text: str) -> Event | None:
    """The first "before the move" of a question. Its date is known only once a memory of the move has been found."""
    if len(text) > 2 * EDGE_CHARACTERS or _MEASURES.search(text):
        return None
    for match in _EVENT.finditer(text):
        direction = plain(match["direction"])
        anchor = " ".join(_EVENT_STOPS.sub("", match["anchor"] + " ").split()[:ANCHOR_WORDS])
        preceding = text[: match.start()]
        repeated = preceding.split()[-1:] == anchor.split()[:1]  # day after day
        reason = direction == "since" and not _SINCE_THEN.match(anchor)
        if repeated or reason or _NO_EVENT.match(anchor) or _NO_EVENT_BEFORE.search(preceding):
            continue
        if any(len(word) > 2 and word.lower() not in _SMALL for word in anchor.split()):
            return Event(match.start(), match.end("direction"), direction, anchor)
    return None


def _with_context(text: str, it: Expression, before: Expression | None) -> Expression:
    """The expression without a link word that links to nothing, and with the offset in front of it."""
    if it.which == "this past":
        it = replace(it, which="past")
    elif it.which.endswith("coming"):
        return replace(it, which="", lead="", part="", the=False, start=it.core_start)
    if it.lead in _LINKS and (before is None or text[before.end : it.start].strip(" ,")):
        return replace(it, lead="", start=it.lead_end)
    if it.lead in ("before", "after"):
        near = max(0, it.start - 40)
        offset = _OFFSET.search(text[near : it.start])
        if offset:
            count_and_unit = (plain(offset["count"]), plain(offset["unit"] or offset["named"]))
            return replace(it, offset=count_and_unit, start=near + offset.start())
    return it


def _is_time(text: str, it: Expression) -> bool:  # noqa: PLR0911, PLR0912 (a table of kinds)
    """True if the expression is a time in this context, and not only a word that can be one."""
    rest = text[it.end : it.end + 40]
    if _POSSESSIVE.match(rest):
        return False
    if it.kind in _LOOSE and it.year is None and not it.which and not _PAST.search(text):
        return False
    to_come = it.which in ("this", "next") or it.core in ("today", "tonight", "tomorrow")
    if (to_come or (it.kind in _YEARLESS and it.year is None and not it.which)) and _is_wish(text):
        return False
    qualified = bool(it.which or it.part or it.year is not None or it.lead in _LINKS)
    match it.kind:
        case Kind.AHEAD | Kind.MONTHDAY:
            return False
        case Kind.ISO:
            return "t" not in it.core  # the timestamp of a pasted log line
        case Kind.MONTH:
            return _is_month(it, rest, qualified)
        case Kind.DATE:
            return _is_date(it, rest)
        case Kind.YEAR:
            is_year = it.core[:2] in ("19", "20") and bool(it.part or it.lead in _OF_YEARS)
            return is_year and not _QUANTITY_FOLLOWS.match(rest)
        case Kind.SEASON:
            apt = qualified or it.lead in ("in", "during", "since", "over", "throughout")
            return apt and not _NAME_FOLLOWS.match(rest) and not (it.name == "fall" and it.lead == "during")
        case Kind.HOLIDAY:
            return (qualified or it.lead in _OF_HOLIDAYS) and not _NAME_FOLLOWS.match(rest)
        case Kind.WEEKDAY:
            habit = _HABIT_FOLLOWS.match(rest) or _HABIT_BEFORE.search(text[: it.start])
            return bool(it.which or it.lead in ("on", "since")) and not habit and not _NAME_FOLLOWS.match(rest)
        case Kind.WEEKEND:
            return bool(it.which or (it.lead in ("over", "at", "during", "on") and it.the))
        case Kind.QUARTER:
            return qualified or it.lead in _TIMELY
        case Kind.SLASHED:
            return it.lead in ("on", "since", "until") and it.core != "24/7" and not rest.lstrip().startswith("of ")
        case Kind.DECADE:
            return it.the
        case Kind.CALENDAR:
            return bool(it.which)
        case _:
            return True


def _is_wish(text: str) -> bool:
    return bool(_ADVICE.search(text)) and not _ASKS_BACK.search(text)


def _is_month(it: Expression, rest: str, qualified: bool) -> bool:
    if it.year is not None:
        return not _QUANTITY_FOLLOWS.match(rest)
    if it.name not in MONTHS or _NAME_FOLLOWS.match(rest):
        return False
    if it.name in _VERBS and it.is_lower and _VERB_FOLLOWS.match(rest):
        return False
    if it.name not in _PEOPLE or qualified:
        return qualified or it.lead in _TIMELY
    return it.lead in _NOT_OF_PEOPLE and (it.lead not in ("before", "after") or bool(_CLAUSE_ENDS.match(rest)))


def _is_date(it: Expression, rest: str) -> bool:
    if it.year is not None:
        return True
    verb = it.name in _VERBS and it.is_lower
    day_first = not it.core.startswith(it.name)
    if _NAME_FOLLOWS.match(rest) or (verb and day_first and not _CLAUSE_ENDS.match(rest)):
        return False
    sure = it.lead in _DATED or _ORDINAL.search(it.core)
    return bool(sure) or not (verb or it.name not in MONTHS or _QUANTITY_FOLLOWS.match(rest))
