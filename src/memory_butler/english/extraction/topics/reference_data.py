"""Reference data: codes and numbers, locations and prices of things, and the make of systems.

A password is kept only when somebody asks to have it remembered.
"""

import re
from datetime import datetime

from memory_butler.english.extraction.findings import Draft
from memory_butler.english.extraction.grammar.coreference import Discourse
from memory_butler.english.extraction.grammar.values import cleaned, first_piece
from memory_butler.english.text.word_sets import caseless, word_set
from memory_butler.english.time.calendar import WEEKDAY

_OWNER = r"(?:(?P<owner>[Mm]y|[Oo]ur|[Hh]is|[Hh]er|[Tt]heir|(?:[Tt]he )?[Uu]ser's) |[Tt]he )?"
_NUMBER = re.compile(
    rf"{_OWNER}(?P<noun>(?i:(?:gate|door|front door|garage|alarm|entry|building|locker|safe|parking|lift|bike lock|"
    r"lockbox) (?:code|pin|combination)|(?:account|membership|member|locker|policy|customer|loyalty|frequent flyer|"
    r"flat|apartment|room|seat|registration|reference|student|booking|reservation|case|patient|insurance|apt|licence|"
    r"license|tax|parking space) (?:number|no\.?|id)|(?:licen[cs]e|number) plate|(?:post|zip) ?code|postcode|iban|"
    r"bin day|pay ?day|rent|salary|mortgage|insurance|car insurance|home insurance|health insurance|council tax|"
    r"nursery fees|pension))(?P<where> (?:for|at|of|to) (?:[\w'-]+ ){0,2}[\w'-]+?)?(?: (?:is|'s|=|are) |"
    r"[ ]?:[ ]?|'s | )(?P<v>(?:the |on |with |about |around |€|£|\$)?.{1,60})"
)
_FIGURE = caseless(rf"\d|{WEEKDAY}|\bwith [A-Z]")
_KEPT_AT = re.compile(
    rf"{_OWNER}(?P<noun>(?i:spare keys?|spare car key|house keys?|car keys|first[- ]aid kit|passports?|fuse ?box|"
    r"stopcock|stop tap|birth certificates?|will|insurance papers|documents|charger|toolbox|fire extinguisher|router|"
    r"meter|water meter|christmas decorations|winter tyres)) (?:is|are|'s|lives?|hangs?) (?:kept |hidden |"
    r"always )?(?P<v>(?:under|behind|in|inside|with|at|on|next to|above|below|by) .{3,60})"
)
_SYSTEM = re.compile(
    r"(?P<owner>[Oo]ur|[Mm]y|(?:[Tt]he )?[Uu]ser's|[Tt]heir|[Tt]he) (?P<what>(?:(?P<which>staging|prod|production|"
    r"dev|test|testing|ci|main|build|web|mobile|internal|public|local|billing|payment|payments|customer|company|home|"
    r"legacy|new|team's?) ){0,2}(?P<noun>back ?end|front ?end|back-end|front-end|api|apis|app|website|site|database|"
    r"db|cluster|server|servers|repo|repository|monorepo|codebase|pipeline|ci|infra|infrastructure|stack|blog|service|"
    r"services|cache|queue|environment|instance|builds?|deploys?|docs|wiki|nas|homelab|feature flags|secrets|logs|"
    r"dashboards?|tickets|design files|data warehouse|warehouse|crm)) (?P<how>(?:is|are) (?:written in|"
    r"built (?:with|in|on)|based on|hosted (?:on|at|in|by)|deployed (?:to|on|with)|running on|on port|on|in|at|"
    r"managed (?:with|by)|called|a|an)|runs? (?:on|in)|lives? (?:in|at|on)|listens on|uses?|deploys? to|"
    r"go(?:es)? through|is|are) (?P<v>.+)"
)
# A technical value: a name, a version, a port, an address.
_TECHNICAL = re.compile(r"(?:port )?(?:[A-Z]\w|[\w.-]*\d|[a-z]+[.:/][\w/]|[a-z]+-[a-z]+-\d|https?:)")
_STATE = re.compile(
    r"(?:down|up|broken|slow|fast|failing|green|red|back|fine|ok|okay|ready|not|now down|too|very|so|really|still|"
    r"[A-Z]?[a-z]+ing)\b|(?:a|an) (?:mess|pain|disaster|nightmare)"
)
MOST_WORDS = 9
_LINKING = word_set("is are a an in on at to with by of")


def kept(clause: str, discourse: Discourse, now: datetime) -> list[Draft]:
    """The reference data of a clause."""
    if match := _NUMBER.match(clause):
        return _number(match, discourse)
    if match := _KEPT_AT.match(clause):
        owner = _owner(match, discourse)
        return [Draft(owner, "note", f"{match['noun']} {first_piece(match['v'])}", key=match["noun"])]
    match = _SYSTEM.match(clause)
    return _system(match, discourse) if match else []


def _owner(match: re.Match[str], discourse: Discourse) -> str:
    named = match["owner"] and match["owner"].lower() != "the"
    return discourse.owner(match["owner"]) if named else discourse.speaker


def _number(match: re.Match[str], discourse: Discourse) -> list[Draft]:
    value = first_piece(match["v"])
    if not _FIGURE.search(value) or len(value.split()) > MOST_WORDS:
        return []
    noun = cleaned(f"{match['noun']}{match['where'] or ''}")
    return [Draft(_owner(match, discourse), "note", f"{noun} {value}", key=noun)]


def _system(match: re.Match[str], discourse: Discourse) -> list[Draft]:
    """ "Our backend is written in Go", "the staging database is on port 5433"; "the server" alone has no owner."""
    if match["owner"].lower() == "the" and not match["which"] and not discourse.about_systems:
        return []
    value = cleaned(first_piece(match["v"]))
    if _STATE.match(value) or len(value.split()) > MOST_WORDS or not _TECHNICAL.match(value):
        return []
    if match["how"] in ("is at", "are at") and not re.search(r"[.:/\d]", value):
        return []
    what = match["what"].lower()
    discourse.about_systems = True
    return [
        Draft(_owner(match, discourse), "note", f"{what} {match['how']} {value}", key=f"{what} {_topic(match['how'])}")
    ]


def _topic(how: str) -> str:
    """The key under which a second statement about the same system replaces the first."""
    return " ".join(word for word in how.split() if word not in _LINKING)
