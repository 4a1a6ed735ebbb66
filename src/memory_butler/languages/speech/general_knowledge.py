"""What concerns nobody in particular: general knowledge, news, what a medium says, the state of a machine."""

import re

from memory_butler.english.extraction.grammar.noise import is_public
from memory_butler.english.text.word_sets import caseless
from memory_butler.languages.speech.cues import ALWAYS, FIRST_PERSON, OBLIGATION, RELATIONS, ROOT_CAUSES

_BIOGRAPHY = re.compile(
    r"(?:Also asked about |Asked about )?[A-Z]\w+ (?:(?:van|von|de|da|della|di|la) ){0,2}(?:[A-Z]\w+ ){0,2}"
    r"(?:was born in|was an? \w+ (?:who|that|and)|wrote|invented|composed|painted|"
    r"discovered|founded|died in|lived in|was married to [A-Z]|was the (?:first|last|only) \w+ (?:to|who|of))\b"
    r"|(?:The|the|A|An|a|an) [\w -]{2,40}? (?:was|were) (?:built|founded|invented|discovered|published|released|"
    r"signed) in \d{4}\b"
    r"|(?:A|One|The|a|one|the) (?:\w+ )?(?:study|survey|paper|poll) (?:from|by|of|in|found|shows|says)\b"
)
# What a medium says, and what concerns everybody.
_MEDIA = caseless(
    r"(?:(?:the|my|this|that|an?|their) (?:[\w-]+ )?(?:podcast|article|book|documentary|newsletter|horoscope|blog|"
    r"video|"
    r"speaker|lecturer|author|newspaper|magazine|report|website|pricing page|page|site|brochure|ad|advert|leaflet|"
    r"poster|"
    r"review|forum|post|headline|news)(?: (?:guest|host|section|article))?|according to (?:the|an?|this|"
    r"wikipedia)\b.{0,40}?)"
    r"(?:,| (?:said|says?|claims?|claimed|recommends?|recommended|advises|suggests?|argues?|tells|told|lists?|"
    r"reports?)\b)"
)
_NEWS = caseless(
    r"^(?:breaking|news)\b|\b(?:the|a) (?:mayor|minister|government|parliament|senate|court|police|governor|pope|"
    r"chancellor|council|striker|goalkeeper)\b.{0,30}\b(?:resigned|announced|said|ruled|voted|decided|arrested|"
    r"elected|"
    r"scored|warned|promised)\b|\b(?:won|lost|drew|beat \w+) \d{1,2}\s?[-–:]\s?\d{1,2}\b|\bscored (?:twice|a goal|"
    r"the \w+)"
)
_ADVERTISING = caseless(
    r"\b(?:click (?:here|the link|below)|unsubscribe|view (?:this (?:e-?mail )?)?in (?:your )?browser|"
    r"claim your|act now|"
    r"limited[- ]time|while (?:stocks|supplies) last|you(?:'ve| have) (?:been selected|won)|special offer|"
    r"use (?:the )?code|"
    r"\d{1,2} ?% off|order (?:now|today)|shop now|sign up (?:now|today)|top stor(?:y|ies)|weekly digest|"
    r"articles you may|jetzt (?:bestellen|sichern)|newsletter abbestellen|haz clic|cliquez ici|clicca qui|"
    r"clique aqui)\b"
)
_LONG_AGO = re.compile(r"\b(?:in|since|around|of) 1(?:[0-8]\d\d|9[0-3]\d)\b")
_STATUS = caseless(
    r"(?:the |our |my |this )?(?:[\w-]{2,16} )?(?:builds?|jobs?|pipelines?|deploy(?:ment)?s?|tests?|runs?|ci|checks?|"
    r"upload|download|import|export|migration|server|container|service|page|site|link|cache|disk|battery|update|"
    r"install(?:ation)?|sync|backup)\b.{0,40}?\b(?:fail(?:s|ed|ing)?|pass(?:es|ed|ing)?|succeeded|timed? ?out|broke|"
    r"crashed|hangs?|hung|restarted|finished|completed|done|running|started|stopped|red|green|up|down|slow|fast|full|"
    r"empty|stuck|lost|back|went|works?|loads?|loaded)\b"
)


def is_general(text: str) -> bool:
    if _MEDIA.match(text) or _ADVERTISING.search(text):
        return True
    if FIRST_PERSON.search(text) or RELATIONS.search(text):
        return is_public(text)
    return is_public(text) or bool(_BIOGRAPHY.match(text) or _LONG_AGO.search(text) or _NEWS.search(text))


def is_status(text: str) -> bool:
    """ "Build #412 failed: timeout": the state of a machine, unless it says what follows from it."""
    return bool(_STATUS.match(text)) and not any(cue.search(text) for cue in (ALWAYS, OBLIGATION, ROOT_CAUSES))
