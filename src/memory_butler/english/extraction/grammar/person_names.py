"""Recognises names of people and pets, as opposed to places, companies and things."""

import re
from functools import lru_cache

from memory_butler.english.extraction.grammar.known_names import FAMOUS, NOT_CALLED, ORGANISATIONS, PLACES
from memory_butler.english.extraction.grammar.verbs import FORMS
from memory_butler.english.extraction.grammar.word_lists import EVENTS, NATIONALITIES, NOT_NAMES, PETS, RELATIONS
from memory_butler.english.text.word_sets import alternatives, word_set

PIECE = r"(?:(?:van|von|de|da|del|der|den|di|la|le|bin|al|el|O')[ '])?[A-ZÀ-ÖØ-ÞĀĆČĐĘĞİŁŃŌŚŞŠŪŹŻŽ][\w'-]*(?<!'s)(?<!')"
TITLE = (
    r"(?:Dr|Mr|Mrs|Ms|Prof|Professor|Doctor|Aunt|Auntie|Uncle|Sister|Father|Coach|Frau|Herr|Grandma|Grandpa|Granny|"
    r"Nana)\.?[ ]"
)
NAME = rf"(?:{TITLE})?{PIECE}(?:[ -]{PIECE}){{0,2}}"
_ADJECTIVE = (
    r"(?:(?:older|younger|little|big|elder|eldest|youngest|oldest|middle|twin|best|old|good|close|new|current|former|"
    r"late|dear|first|second|ex|baby|only|own|whole|identical|biological|adopted|foster|long-term|direct|immediate|"
    r"previous|primary|family|great|closest|oldest|childhood|school|work|college|uni|next-door|upstairs|downstairs|"
    r"lovely|wonderful|teenage|amazing|beloved|sweet|personal|lab|thesis|phd|private|local|usual|regular|favourite|"
    r"favorite)[ -])"
)
RELATION = rf"{_ADJECTIVE}{{0,2}}(?:{alternatives(RELATIONS)})"
PET = rf"(?:[\w-]+[ ]){{0,2}}?(?:{alternatives(PETS)})"
OWNERS = r"(?i:my|our|his|her|their|the user's|user's)"

# Talked, Debugging; but Fred, Ahmed and Ming are people.
_ACTED = re.compile(
    r"^(?!(?:Fred|Ted|Ned|Jed|Alfred|Winifred|Jared|Ahmed|Mohammed|Mohamed|Muhammed|Wilfred|Manfred|Siegfried|"
    r"Hamed|Waleed|Khaled|Saeed|Majed|Sting|Ming|Jing|Ling|Xing|Ying|Qing|Ping)$)(?:\w{2,}ed|\w{3,}ing)$"
)
_TITLED = re.compile(rf"^{TITLE}")
_ACRONYM = re.compile(r"^[A-Z][A-Z\d]{2,}s?$")
_NAMES_THAT_ARE_VERBS = word_set("Mark Will Grace Faith Bill Rob Pat Drew Hope Rose Jack Sue Chase Wade")
# Names that are also a month or a helping verb: they name a person if a verb in the third person follows.
_VERB_AFTER = re.compile(
    r"(?:Will|May|April|June|August|Don|Les|Sam|Rose|Hope|Grace)(?: [A-Z][\w'-]*)?(?:'s)? (?:\w+ly |also |now |still |"
    r"just |never |always |really )?(?P<verb>[\w']+)"
)
_SUBJECT_VERBS = word_set("is isn't was wasn't has hasn't doesn't didn't can't won't will can")
# Last words of names of companies and institutions.
_BODIES = word_set("""
Inc Ltd GmbH AG LLC Corp Corporation Company Group Bank University College School Hospital Clinic Institute Council
Airport Station Street Road Avenue Lane Square Park Support Team Labs Robotics Analytics Systems Software Technologies
Partners Ventures Capital Foundation Club City Airlines Airways Insurance Energy Media Studio Studios Hotel
Restaurant Conference Festival Project API App Cloud Server Office United Rovers
""")


@lru_cache(maxsize=512)
def is_name(text: str) -> bool:
    """True if these capitalised words can be the name of a person or pet."""
    untitled = _TITLED.sub("", text)
    words = untitled.split()
    first = words[0].rstrip(".") if words else ""
    if first.endswith("n't") or _ACTED.search(first) or first.lower() in RELATIONS or _ACRONYM.match(first):
        return False
    if (
        first.lower() in EVENTS
        or first in NOT_NAMES
        or first.split("'")[0] in NOT_NAMES
        or untitled.casefold() in NATIONALITIES
    ):
        return False
    if untitled in PLACES or untitled in ORGANISATIONS or first in ORGANISATIONS or first in NOT_CALLED:
        return False
    if len(words) > 1 and words[-1] in _BODIES:
        return False
    return first.lower() not in FORMS or first in _NAMES_THAT_ARE_VERBS


def shown_by_verb(text: str) -> bool:
    """True if a name that is also a word stands before a verb in the third person: "Will works at Ocado"."""
    match = _VERB_AFTER.match(text)
    if match is None:
        return False
    verb = match["verb"].lower()
    return verb in _SUBJECT_VERBS or FORMS.get(verb, ("", ""))[1] in ("s", "past")


def is_titled(name: str) -> bool:
    return _TITLED.match(name) is not None


def is_famous(name: str) -> bool:
    """Statements about a famous person are general knowledge and say nothing about the user."""
    return name in FAMOUS
