"""Events and deadlines that are things rather than deeds: an interview, a funeral, a tax return."""

import re
from datetime import datetime

from memory_butler.english.extraction.findings import Draft
from memory_butler.english.extraction.grammar.verbs import FORMS
from memory_butler.english.extraction.topics.events import event_noun, tail_cut, timed, undated
from memory_butler.english.extraction.topics.habits import OFTEN
from memory_butler.english.text.word_sets import caseless, word_set, words_in
from memory_butler.english.time.event_dates import find_event_date

_THING_ON = re.compile(
    r"(?:(?P<owner>[Mm]y|[Oo]ur|[Hh]is|[Hh]er|[Tt]heir|(?:[Tt]he )?[Uu]ser's) |(?:[Tt]he|"
    r"[Aa]n?) )?(?P<what>(?:[\w'&./-]+ ){0,6}?[\w'&./-]+?)(?:'s(?= (?:on|at|in|planned|due|scheduled|booked|set|"
    r"next|this|tomorrow|today|tonight|the \d)\b)| (?:(?:is |are )?(?:expiring|ending|starting)|is|are|was|were|"
    r"will be|has been|got|takes place|starts|begins|ends|leaves|departs|arrives|lands|opens|closes|expires|happens|"
    r"got moved|moved|(?:has been |was |is )?(?:moved|rescheduled|postponed|scheduled|booked|set|planned|"
    r"pushed)(?: back)?(?: for| to)?)) (?P<rest>.+)"
)
_PASSIVE = re.compile(
    r"(?:stolen|cancelled|delivered|repaired|approved|rejected|born|towed|sold|broken into|damaged|lost)\b"
)
# "The new date is 3 October": of what?
_EMPTY = caseless(r"(?:new |next |latest )?(?:date|time|start|end|day)$")
_DATED = re.compile(r"\b20\d\d\b")
_DUE = caseless(r"(?:due|needed|expected)\b")
_CLOCK = caseless(r"\b(?:at|around|from) \d{1,2}(?:[:.]\d\d)?[ ]?(?:am|pm|a\.m\.|p\.m\.|o'clock)?(?= |,|$)")
_WAS = re.compile(r"\b(?:was|were)\b")
_RUNS = re.compile(r"\b(?:ends|expires|starts|begins|arrives|opens|closes|expiring|ending|starting)$")
_DUE_ON = caseless(
    r"(?P<what>(?:[\w'/-]+ ){0,6}?[\w'/-]+?)(?: deadline)?[ ]?(?:(?: |'s )(?:is |are )?due |"
    r" deadline[ ]?:[ ]?)(?P<rest>.+)"
)
_SEEN = caseless(
    r"(?:dentist|doctor|gp|vet|optician|physio|hairdresser|therapist|orthodontist|haircut)(?: appointment)? "
)
_PRAISED = caseless(
    r"(?:good|great|nice|long|short|quick|lovely|fun|productive|no|another|first)\b.*\b(?:today|tonight|yesterday)$"
)
# Without "my" or "our" it may be anybody's.
_SOMEBODYS = caseless(r"(?:the )?(?:wedding|funeral|christening|baptism|memorial|cremation|burial|hen do|stag do)\b")
_NOUNS = word_set("review interview call visit date start launch release")
_VERBAL = word_set("""
your luck happy have enjoy see thanks thank is are was were be been am i you we he she they it do does did can
could will would should may might must let please not no isn aren wasn weren won doesn didn hasn haven
""")
_DENIED = caseless(r"(?:not|no longer|never)\b")
# The day that replaces a cancelled one: "not on Tuesday but on Thursday", "moved from Tuesday to Thursday".
_MOVED = caseless(r"\b(?:moved|rescheduled|postponed|pushed)(?: back)?(?: from .+?)? to (?P<rest>.+)")
_INSTEAD = caseless(r"\bbut (?P<rest>.+)")


def is_somebodys(clause: str) -> bool:
    """True for a wedding or funeral without an owner: "wedding is 14 Feb in Izmir"."""
    return _SOMEBODYS.match(clause) is not None


def thing_on_a_day(clause: str, owner: str, now: datetime) -> list[Draft]:
    """ "The funeral is on Thursday", "my visa interview is in 10 days", "the application is due on 30 September"."""
    match = _THING_ON.match(clause)
    if not match or OFTEN.search(clause):
        return []
    if _PASSIVE.match(match["rest"]):
        return _undergone(clause, match, owner, now)
    what, before = match["what"], clause[: match.start("rest")].strip()
    moved = _MOVED.search(clause, match.end("what"))
    rest = moved["rest"] if moved else _still_holds(what, match["rest"], now)
    when = find_event_date(rest, now, "past" if _WAS.search(before) and not moved else "future")
    if not when or when.start > 30:
        return []
    if "deadline" in what.lower() or _DUE.match(rest):
        topic = re.sub(r"^deadline (?:for|on|of) (?:the )?", "", what, flags=re.I)
        return [Draft(owner, "deadline", what, key=topic, valid_at=when.day)]
    content = ""
    if (runs := _RUNS.search(before)) and (match["owner"] or (when.exact and runs[0] in ("expires", "ends"))):
        content = f"{what} {runs[0]}"
    elif _EMPTY.match(what):
        return []
    elif event_noun(what) and (when.exact or match["owner"] or _DATED.search(rest)):
        after = _CLOCK.search(rest, when.end)
        content = f"{what} {after[0].strip()}" if after else what
    return [Draft(owner, "event", content, valid_at=when.day)] if content else []


def _still_holds(what: str, rest: str, now: datetime) -> str:
    """The words after the verb, or those about the replacement day; empty if the day is denied."""
    if what.lower().endswith("n't"):
        return ""
    if not _DENIED.match(rest):
        return rest
    instead = _INSTEAD.search(rest)
    # "Not hard, but on Monday I will be tired" denies no day, and names none for it either.
    return instead["rest"] if instead and find_event_date(rest[: instead.start()], now, "future") else ""


_REGULAR = caseless(
    r"(?:(?P<owner>[Mm]y|[Oo]ur|[Hh]is|[Hh]er|[Tt]heir) |[Tt]he )?(?P<what>(?:[\w'-]+ ){0,2}?(?:rehearsals?|"
    r"practice|training|lessons?|classes|class|stand-?ups?|retro|sprint planning|team meeting|therapy|physio|tutoring|"
    r"choir|yoga|book club|bin collection|recycling|garden waste|office hours|visiting hours|1:1s?)) (?:is|are|"
    r"'s) (?P<when>.+)"
)


def regular_thing(clause: str, owner: str) -> list[Draft]:
    """ "Rehearsals are every Wednesday at 7", "visiting hours are 2 to 5"."""
    match = _REGULAR.match(clause)
    if not match or not (
        OFTEN.search(match["when"])
        or re.match(r"(?:from )?\d{1,2}(?::\d\d)?(?: ?[ap]m)? (?:to|-|until) \d", match["when"])
    ):
        return []
    return [Draft(owner, "habit", f"{match['what']} {tail_cut(match['when'])}", key=match["what"])]


def _undergone(clause: str, match: re.Match[str], owner: str, now: datetime) -> list[Draft]:
    """ "The user's laptop was stolen"."""
    when = find_event_date(match["rest"], now, "past")
    verb = clause[match.end("what") : match.start("rest")].strip()
    if not when or not match["owner"] or verb not in ("was", "were", "got", "has been"):
        return []
    content = tail_cut(f"{match['what']} {verb} {undated(match['rest'], when)}")
    return [Draft(owner, "event", content, valid_at=when.day)]


def bare_deadline(clause: str, owner: str, now: datetime) -> list[Draft]:
    """ "Tax return due 31 January", "Paper deadline: 15 May"."""
    words = words_in(clause)
    match = _DUE_ON.match(clause) if "due" in words or "deadline" in words else None
    when = find_event_date(match["rest"], now, "future") if match else None
    if match is None or when is None or when.start > 4:
        return []
    what = re.sub(r"^(?:my|our|the|his|her|their) ", "", match["what"], flags=re.I)
    return [Draft(owner, "deadline", what, valid_at=when.day)]


# An order for now: "show me my calendar for Tuesday".
_SHOWN = re.compile(r"(?:please )?\w+ (?:me|us)\b", re.IGNORECASE)


def bare_event(clause: str, owner: str, now: datetime) -> list[Draft]:
    """A note without a verb: "Second round in two weeks", "Review call with Hanneke next Monday at 11"."""
    noun = event_noun(clause) or _SEEN.match(clause)
    when = find_event_date(clause, now, "future") if noun else None
    if (
        noun is None
        or when is None
        or not when.exact
        or when.start < noun.end()
        or OFTEN.search(clause)
        or len(clause) > 90
    ):
        return []
    if _PRAISED.match(clause) or _SHOWN.match(clause):
        return []
    words = [word.lower() for word in re.findall(r"[\w']+", clause[: when.start])]
    if len(words) > 8 or any(
        FORMS.get(word, ("", ""))[1] in ("s", "past") or word.partition("'")[0] in _VERBAL for word in words
    ):
        return []
    if FORMS.get(words[0], ("", ""))[1] == "base" and words[0] not in _NOUNS:
        return []
    return [timed(owner, "event", clause, when)]
