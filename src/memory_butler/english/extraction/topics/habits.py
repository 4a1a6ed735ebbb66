"""Habits: "runs every morning", "never drinks coffee", "commutes by bike"."""

import re
from datetime import datetime

from memory_butler.english.extraction.findings import Draft
from memory_butler.english.extraction.grammar.values import cleaned, first_piece
from memory_butler.english.extraction.grammar.verbs import VerbPhrase
from memory_butler.english.text.word_sets import caseless, word_set
from memory_butler.english.time.calendar import WEEKDAY

_DAYS = f"{WEEKDAY}s"
OFTEN = caseless(
    rf"\b(?:every|each) (?:single |other |second |few )?\w+|\bon (?:{_DAYS}|weekends|weekdays|"
    r"weeknights)\b|\bat weekends\b|\b(?:once|twice|three times|four times|five times|\w+ times|\d+x|several times|"
    r"\d+|an hour|\w+ \w+) (?:a|per|an|each) (?:day|week|month|year|night|weekend)\b|\b(?:daily|weekly|nightly|"
    rf"monthly|{_DAYS})\b|\bin the (?:mornings|evenings|afternoons)\b|\bmost (?:mornings|days|nights|evenings|"
    r"weekends)\b|\b(?:first thing in the morning|before (?:bed|work|breakfast|school|going to bed|lunch|dinner)|"
    r"after (?:work|dinner|lunch|school)|year-round|everywhere)\b"
)
_HABITUAL = word_set("commute meditate journal jog volunteer garden climb surf hike knit sew bike walk cycle")
_NO_HABIT = word_set("""
say think forget wonder feel hope know mean need want love like hate see find believe try be laugh get agree
remember seem sound appear happen look wish prefer enjoy hear understand end mention ask tell surprise thank let
matter fail keep
""")
_AT_TIME = caseless(
    r"(?:up |to bed |to sleep )?(?:\w+,? )?(?:at|by|around|before|after) (?:about |around "
    r")?(?:\d{1,2}(?:[:.]\d\d)?[ ]?(?:am|pm)?|noon|midnight|dawn|sunrise|\w+ (?:am|thirty|o'clock))\b"
)
_RISES = {"wake": "up", "get": "up", "go": "to bed", "rise": "", "start": "work", "finish": "work", "sleep": ""}

_NOT_HAD = re.compile(r"to\b|an? (?:[\w-]+ )?budget|.*\b(?:problems?|trouble|issues?|questions?|time|ideas?)\b")
_IN_A_GROUP = re.compile(
    r"\b(?:in|for|with|at) (?:an?|the|my|our|his|her|their) (?:[\w-]+ ){0,2}?(?:choir|band|orchestra|team|club|group|"
    r"quartet|league|shelter|food bank|hospice)\b"
)
_PASSING = re.compile(r"\b(?:you|your|it|this|that)\b")


# "I finish at 3, Thursdays 6.30, Fridays off": a timetable is no single habit.
_TIMETABLE = caseless(
    r"\d.{0,30},.{0,12}\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b.{0,60}\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
)


def habits(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """Habits: "runs every morning", "never drinks coffee", "commutes by bike"."""
    if vp.tense not in ("present", "ongoing") or vp.modal:
        return []
    if _TIMETABLE.search(vp.phrase):
        return []
    whole = _whole(vp)
    early = vp.verb in _RISES and vp.rest.startswith(_RISES[vp.verb]) and _AT_TIME.match(vp.rest)
    if early and not vp.negated:
        return [Draft(vp.subject, "habit", whole, key=f"{vp.verb} {_RISES[vp.verb]}")]
    if vp.negated and not vp.ended and not vp.frequency and (not_done := _not_done(vp)):
        return not_done
    if vp.verb in _NO_HABIT or not _is_frequent(vp):
        return []
    word = "no longer" if vp.ended else vp.frequency
    if vp.negated and not vp.ended and vp.frequency != "never":
        word = "does not"
    return [Draft(vp.subject, "habit", f"{word} {whole}".strip(), key=_key(vp))]


_NEVER_DONE = caseless(
    r"(?:(?:any )?(?:meetings?|calls?|video calls|phone calls|small talk|mondays|tuesdays|wednesdays|thursdays|"
    r"fridays|weekends|mornings|"
    r"evenings|overtime|social media|facebook|instagram|tiktok|christmas|birthdays)\b.{0,30})$"
)


def _not_done(vp: VerbPhrase) -> list[Draft]:
    """ "I don't do meetings before ten", "mum doesn't drive"."""
    if (vp.verb == "do" and _NEVER_DONE.match(vp.rest)) or (vp.verb in ("drive", "cook", "swim") and not vp.rest):
        content = cleaned(f"does not {vp.verb} {vp.rest}")
        return [Draft(vp.subject, "habit", content, key=f"{vp.verb} {vp.rest}")]
    return []


def _is_frequent(vp: VerbPhrase) -> bool:
    """Is it said how often, or is the verb one of things that people do again and again?"""
    if vp.verb == "have" and _NOT_HAD.match(vp.rest):
        return False
    if _PASSING.search(vp.rest.lower().partition(",")[0]):
        return False
    if OFTEN.search(vp.rest):
        return True
    if vp.verb in ("sing", "dance", "act", "play", "row", "volunteer") and _IN_A_GROUP.search(vp.rest):
        return vp.tense == "present"
    if vp.verb in ("fast", "pray", "nap") and re.match(r"(?:during|in|from|at|five)\b", vp.rest):
        return vp.tense == "present"
    return vp.tense == "present" and bool(vp.frequency not in ("", "hardly") or (vp.verb in _HABITUAL and vp.rest))


def _whole(vp: VerbPhrase) -> str:
    rest = re.sub(
        r"[ ]?,[ ]?(?:none|not|which|so|it's|its|and it|but|rain|no)\b.*| (?:because|so that|which|but|though|"
        r"since|if)\b.*",
        "",
        vp.phrase,
    )
    return cleaned(rest)


def _key(vp: VerbPhrase) -> str:
    words = OFTEN.split(vp.rest)[0] or vp.rest
    return f"{vp.verb} {first_piece(words)}"
