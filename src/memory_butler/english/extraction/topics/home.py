"""Homes: "lives in Rome", "moved to Lisbon", "rents a flat in Leith"."""

import re
from datetime import datetime

from memory_butler.english.extraction.findings import Draft
from memory_butler.english.extraction.grammar.forms import Form, Reader
from memory_butler.english.extraction.grammar.known_names import ORGANISATIONS, PLACES
from memory_butler.english.extraction.grammar.values import before_date, cleaned, first_piece
from memory_butler.english.extraction.grammar.verbs import VerbPhrase
from memory_butler.english.time.event_dates import find_event_date

# A home known only from renting gives way to a stated one.
RENTED = "rented"
BASED = re.compile(r"\b(?:based|living|located) (?:in|near|out of|outside) (?P<v>[^,;]+)")
_LIVES = re.compile(
    r"(?:(?:just |right |somewhere )?(?:in|at|near|outside|close to|by|around|on)|on the (?:outskirts|edge) "
    r"of|downtown|out in|up in|down in|over in|just outside(?: of)?|back in) (?P<v>.+)"
)
_WITHOUT = re.compile(
    r" (?:with|alone|and|together|as|near (?:my|the)|on (?:the|a)|since|for|at the moment|about|next to|"
    r"above|right)\b.*| by (?:myself|himself|herself|themselves)\b.*"
)
_MOVED = re.compile(
    r"(?:back |over |out |house |down |up |home |away )?(?:from (?P<old>[^,;]+?) )?(?:back )?(?:to|into|"
    r"over to) (?P<v>.+)|(?:out of|away from) (?P<left>[A-Z][^,;]+)"
)
_PLACELIKE = re.compile(
    r"(?:(?:the|central|north|south|east|west|northern|southern|eastern|western|downtown|upstate|"
    r"rural) )*[A-ZÀ-Þ]|an? (?:[\w-]+ ){0,3}(?:flat|apartment|house|studio|village|town|city|farm|cottage|"
    r"suburb|place|loft|condo|bungalow|houseboat|boat|van|cabin|neighbou?rhood|island)\b"
)


def place_in(text: str) -> str:
    place = first_piece(re.sub(r"[ ]?, (?=(?:on|in|at|with|near|right) )", ", \x00", text).split("\x00")[0])
    return cleaned(_WITHOUT.sub("", place))


_ALONE = re.compile(
    r"(?:on (?:my|his|her|their) own|alone|by (?:my|him|her|them)sel(?:f|ves)|together|full-time|"
    r"permanently) (?=in\b|near\b|at\b)"
)
_DWELLING = re.compile(
    r"(?:(?:an?|the|our|my|his|her|their) )?(?:[\w-]+ ){0,3}?(?:flat|apartment|house|studio|room|place|cottage|"
    r"bungalow|condo|duplex|loft|flatshare|houseshare|two-bed|one-bed) (?:down |up |out |just outside )?(?:in|near|"
    r"outside) (?P<v>[A-ZÀ-Þ].+)"
)
_CARE = re.compile(
    r"(?:now )?in an? (?:care home|nursing home|retirement home|hospice|flatshare|houseshare) (?:in|"
    r"near) (?P<v>[A-ZÀ-Þ].+)"
)


def rents(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "Rents a flat in Graz", "shares a house in Bristol": home, unless it is let to others or for a while."""
    match = _DWELLING.match(vp.rest)
    if not match or not vp.states("present", "ongoing", "perfect"):
        return []
    if re.search(
        r"\b(?:to (?:a|some|our|my)|for (?:a|the|two|three|our) (?:weeks?|weekend|month|holiday|summer)|out)\b", vp.rest
    ) or find_event_date(vp.rest, now, "future"):
        return []
    return [Draft(vp.subject, "lives_in", place_in(match["v"]), key=RENTED)]


def is_housed(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "Grandpa is in a care home in Hove"."""
    match = _CARE.match(vp.rest) if vp.tense == "present" and not vp.negated else None
    return [Draft(vp.subject, "lives_in", place_in(match["v"]))] if match else []


def lives(vp: VerbPhrase, now: datetime) -> list[Draft]:
    match = _LIVES.match(_ALONE.sub("", vp.rest))
    if not match or vp.modal or vp.tense in ("past", "future", "former"):
        return []
    place = place_in(match["v"])
    if not place or re.match(
        r"(?:the moment|fear|hope|peace|a bubble|denial|harmony|my head|there|here|the \w+ floor|floor \d|number \d)\b",
        place,
    ):
        return []
    if vp.ended:
        return [Draft(vp.subject, "lives_in", f"no longer lives in {place}")]
    if vp.negated:
        return []
    rest = _ALONE.sub("", vp.rest)
    near = "" if rest.startswith(("in ", "at ", "on ", "back in", "by ")) else rest[: match.start("v")]
    return [Draft(vp.subject, "lives_in", near + place)]


_BODY = re.compile(
    r"\b(?:Inc|Ltd|GmbH|AG|LLC|Corp|Labs?|Bank|Group|Robotics|Analytics|Systems|Software|Technologies)\b"
)
# A name without anything that says what it names.
_UNKNOWN = re.compile(r"[\w'-]+(?: [\w'-]+)?")
_AS_A_JOB = re.compile(r" as (?:an?|the|their|head|lead|chief|senior|junior) ")


def is_employer(place: str, old: str, rest: str) -> bool:
    """ "Moved from Google to Meta" is a change of jobs: one of the two is a company, or a job follows."""
    named = (place, old.strip())
    if any(one in PLACES for one in named):
        return False
    return any(one in ORGANISATIONS or _BODY.search(one) for one in named if one) or bool(_AS_A_JOB.search(rest))


def is_home(place: str, old: str) -> bool:
    """True for a place to live in. "Moved from vim to helix" and "moved from Zotero to Mendeley" are changes of tools:
    of two unknown names neither is known to be a place, and nobody writes only tools in lower case."""
    if any(one.title() in PLACES for one in (place, old) if one):
        return True
    return not (old and _UNKNOWN.fullmatch(place)) and bool(_PLACELIKE.match(place))


def moves(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """Moved to a place. "Is moving" is a plan, see events.py."""
    if not vp.states("past", "perfect"):
        return []
    match = _MOVED.match(vp.rest)
    if not match:
        return []
    if match["left"]:
        return [Draft(vp.subject, "lives_in", f"no longer lives in {before_date(match['left'], now)}")]
    place = place_in(before_date(match["v"], now))
    if is_employer(place, match["old"] or "", vp.rest):
        return [Draft(vp.subject, "works_at", re.split(r" (?:as|to work)\b", place)[0])]
    if re.search(
        r"\b(?:team|role|position|department|branch|folder|project|table|database|desk)\b", place
    ) or not is_home(place, match["old"] or ""):
        return []
    if inner := re.match(r"an? .*?\b(?:in|near) (?P<v>[A-ZÀ-Þ].*)", place):
        place = inner["v"]
    return [Draft(vp.subject, "lives_in", place)]


# "I stay in Bengaluru with my in-laws": a home if no time is given.
_STAYS = Form(
    "lives_in",
    r"(?:in|at) (?P<v>[A-ZÀ-Þ]\w+(?:,? [A-ZÀ-Þ]\w+)?)(?=$|,| with\b| and\b)",
    unless=("negated", "modal", "frequency"),
)
VERBS: dict[str, Reader] = {
    "rent": rents, "share": rents, "stay": _STAYS, "live": lives, "reside": lives, "settle": lives, "move": moves,
    "relocate": moves,
}  # fmt: skip
