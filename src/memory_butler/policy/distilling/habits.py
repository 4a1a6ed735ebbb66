"""What somebody does again and again."""

import re
from datetime import datetime

from memory_butler.policy.distilling.found import Draft
from memory_butler.policy.distilling.values import cleaned, first_piece
from memory_butler.policy.distilling.verbs import Said
from memory_butler.policy.distilling.words import spaced

_DAYS = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days"
OFTEN = re.compile(
    rf"\b(?:every|each)\s+(?:single\s+|other\s+|second\s+|few\s+)?\w+|\bon\s+(?:{_DAYS}|weekends|weekdays|"
    r"weeknights)\b|\bat weekends\b"
    r"|\b(?:once|twice|three times|four times|five times|\w+ times|\d+x|several times|\d+|an hour|\w+ "
    r"\w+)\s+(?:a|per|an|each)\s+(?:day|week|month|year|night|weekend)\b"
    rf"|\b(?:daily|weekly|nightly|monthly|{_DAYS})\b|\bin the (?:mornings|evenings|afternoons)\b|\bmost "
    r"(?:mornings|days|nights|evenings|weekends)\b"
    r"|\b(?:first thing in the morning|before (?:bed|work|breakfast|school|going to bed|lunch|dinner)|after "
    r"(?:work|dinner|lunch|school)|year-round|everywhere)\b",
    re.IGNORECASE,
)
_HABITUAL = spaced("""
commute meditate journal jog volunteer garden climb surf hike knit sew bike walk cycle
""")
_NO_HABIT = spaced("""
say think forget wonder feel hope know mean need want love like hate see find believe try be laugh get agree
remember seem sound appear happen look wish prefer enjoy hear understand end mention ask tell surprise thank let
matter fail keep
""")
_AT_TIME = re.compile(
    r"(?:up |to bed |to sleep )?(?:\w+,? )?(?:at|by|around|before|after)\s+(?:about |around "
    r")?(?:\d{1,2}(?:[:.]\d\d)?\s*(?:am|pm)?|noon|midnight|dawn|sunrise|\w+ (?:am|thirty|o'clock))\b",
    re.I,
)
_RISES = {"wake": "up", "get": "up", "go": "to bed", "rise": "", "start": "work", "finish": "work", "sleep": ""}

_NOT_HAD = re.compile(r"to\b|an? (?:[\w-]+ )?budget|.*\b(?:problems?|trouble|issues?|questions?|time|ideas?)\b")
_IN_A_GROUP = re.compile(
    r"\b(?:in|for|with|at) (?:an?|the|my|our|his|her|their) (?:[\w-]+ ){0,2}?(?:choir|band|orchestra|team|club|group|"
    r"quartet|league|shelter|food bank|hospice)\b"
)
_PASSING = re.compile(r"\b(?:you|your|it|this|that)\b")


def habits(said: Said, now: datetime) -> list[Draft]:
    """What somebody does again and again."""
    if said.tense not in ("present", "ongoing") or said.modal:
        return []
    whole = _whole(said)
    early = said.verb in _RISES and said.rest.startswith(_RISES[said.verb]) and _AT_TIME.match(said.rest)
    if early and not said.negated:
        return [Draft(said.subject, "habit", whole, key=f"{said.verb} {_RISES[said.verb]}")]
    if said.negated and not said.ended and not said.often and (not_done := _not_done(said)):
        return not_done
    if said.verb in _NO_HABIT or not _is_frequent(said):
        return []
    word = "no longer" if said.ended else said.often
    if said.negated and not said.ended and said.often != "never":
        word = "does not"
    return [Draft(said.subject, "habit", f"{word} {whole}".strip(), key=_key(said))]


_NEVER_DONE = re.compile(
    r"(?:(?:any )?(?:meetings?|calls?|video calls|phone calls|small talk|mondays|tuesdays|wednesdays|thursdays|"
    r"fridays|weekends|mornings|"
    r"evenings|overtime|social media|facebook|instagram|tiktok|christmas|birthdays)\b.{0,30})$",
    re.I,
)


def _not_done(said: Said) -> list[Draft]:
    """ "I don't do meetings before ten", "mum doesn't drive"."""
    if (said.verb == "do" and _NEVER_DONE.match(said.rest)) or (
        said.verb in ("drive", "cook", "swim") and not said.rest
    ):
        content = cleaned(f"does not {said.verb} {said.rest}")
        return [Draft(said.subject, "habit", content, key=f"{said.verb} {said.rest}")]
    return []


def _is_frequent(said: Said) -> bool:
    """Is it said how often, or is the verb one of things that people do again and again?"""
    if said.verb == "have" and _NOT_HAD.match(said.rest):
        return False
    if _PASSING.search(said.rest.lower().partition(",")[0]):
        return False
    if OFTEN.search(said.rest):
        return True
    if said.verb in ("sing", "dance", "act", "play", "row", "volunteer") and _IN_A_GROUP.search(said.rest):
        return said.tense == "present"
    if said.verb in ("fast", "pray", "nap") and re.match(r"(?:during|in|from|at|five)\b", said.rest):
        return said.tense == "present"
    return said.tense == "present" and bool(said.often not in ("", "hardly") or (said.verb in _HABITUAL and said.rest))


def _whole(said: Said) -> str:
    rest = re.sub(
        r"\s*,\s*(?:none|not|which|so|it's|its|and it|but|rain|no)\b.*|\s+(?:because|so that|which|but|though|"
        r"since|if)\b.*",
        "",
        said.phrase,
    )
    return cleaned(rest)


def _key(said: Said) -> str:
    words = OFTEN.split(said.rest)[0] or said.rest
    return f"{said.verb} {first_piece(words)}"
