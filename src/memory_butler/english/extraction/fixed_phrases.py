"""Fixed forms of speech that have no subject of their own: "call me Bo", "you can reach me on", "not a fan of"."""

import re
from datetime import datetime

from memory_butler.english.extraction.findings import Draft
from memory_butler.english.extraction.grammar.coreference import Discourse
from memory_butler.english.extraction.grammar.person_names import NAME, RELATION, is_name
from memory_butler.english.extraction.grammar.turns import USER
from memory_butler.english.extraction.grammar.values import first_piece
from memory_butler.english.extraction.grammar.verbs import read_phrase
from memory_butler.english.extraction.grammar.word_lists import DIETS
from memory_butler.english.extraction.topics.attributes import EMAIL, PHONE, contact_details
from memory_butler.english.extraction.topics.health import is_unwell
from memory_butler.english.extraction.topics.tastes import is_fond
from memory_butler.english.text.word_sets import alternatives, caseless

_CALL_ME = caseless(
    r"(?:(?:please|just|you can|everyone|everybody|people|ppl|folks|friends|my friends|most people|they|my \w+|but|"
    rf"feel free to) ){{0,2}}(?:just )?(?:also )?calls? me (?P<v>{NAME})(?=$|[,;.!]| (?:and|but|instead|"
    r"for|please|at|because)\b)"
)
_MYSELF = re.compile(rf"[Mm]yself (?P<v>{NAME})$")
_REACH = re.compile(
    rf"(?:.{{0,40}}\b)?(?i:reach|contact|email|e-mail|call|text|phone|ring|message|find) (?P<who>me|him|her|"
    rf"them|us|(?:my )?(?:{RELATION} )?{NAME}|my {RELATION}) (?:\w+ ){{0,3}}?(?:at|on|via|by|under|"
    rf"using) (?:(?:my|his|her|their) \w+ )?(?P<v>{EMAIL}|{PHONE})"
)
_SHORT_LIKE = caseless(
    r"(?:(?:really|also|definitely|big|huge) )*(?:not (?:really )?|never been )?(?:(?:a |the )?(?:really |"
    r"very |more |big |huge |massive )*(?:fan of|into|fond of|keen on|big on|allergic to))\b"
)
_LANGUAGE = re.compile(
    r"(?P<v>[A-Z]\w+) (?:is|'s) (?:(?P<who>my|his|her|their|the user's|user's) )(?:first|native|second|mother|"
    r"third) (?:language|tongue)"
)
_FAVORITE_IS = caseless(
    r"(?P<v>[A-Z][\w' -]{1,40}?) is (?:my|our|his|her|their|the user's) (?:all-time |absolute )?(?:favou?rite|"
    r"fave) (?P<thing>[\w-]+(?: [\w-]+)?)$"
)
_REACHED = re.compile(
    r"(?:.{0,30}\bway to (?:reach|contact|get hold of) (?P<me>me|him|her|us) is (?:by |via |at |on |through )?|"
    rf"(?P<whom>(?:[Tt]he )?[Uu]ser|I|[Hh]e|[Ss]he|[Tt]hey|{NAME})(?:'s| is|) (?:can be |are )?(?:best )?(?:reached|"
    rf"contacted|reachable) (?:at|on|via|by|through) )(?:\w+ )?(?P<v>{EMAIL}|{PHONE})"
)
_CARD = re.compile(
    rf"(?:[\w' ]{{3,40}}:[ ]?)?(?P<who>{NAME})(?:,|:| -| \()?[ ]?(?:(?:phone|tel|mobile|email|number|cell)[ "
    rf":]+)?(?P<v>{EMAIL}|{PHONE})"
)
_ALLERGIC = caseless(r"(?:\w+ )?allergic to ")
_REACH_BY = re.compile(
    rf"(?:.{{0,30}}\b)?(?i:(?:best|easiest|simplest|prefer(?:s|red)?|please|only)\b.{{0,25}}\b)(?:reach|contact|"
    rf"message|get hold of|ping|call|text) "
    rf"(?P<who>me|him|her|them|us|{NAME}) (?:is )?(?:on|via|by|through|over) "
    r"(?P<v>Signal|WhatsApp|Slack|Telegram|Teams|Discord|SMS|e-?mail|phone|text(?: message)?|Threema|iMessage|Matrix)\b"
)
_CARE = re.compile(
    r"(?:(?:[Mm]y|[Tt]he|[Oo]ur) )?(?:[Dd]octors?|GP|[Cc]ardiologist|[Pp]sychiatrist|[Dd]r\.? [A-Z]\w+)(?:'s| has|"
    r" have)? (?:(?:put|started) me on|prescribed(?: me)?) (?P<v>.+)"
)
# A note that is nothing but such a word.
_ALONE = re.compile(
    rf"(?:strict |mostly |also )?(?P<v>(?i:{alternatives(DIETS - {'sober', 'halal', 'kosher'})}|coeliac|celiac|"
    r"diabetic|lactose intolerant|left-handed|colou?r[- ]blind|dyslexic|pregnant))(?=$|,|;| and )"
)
_PRONOUNS = caseless(r"(?:pronouns:? )?(?P<v>(?:she|he|they)/(?:her|him|them)(?:/\w+)?)(?: pronouns)?(?=$|[,;.])")
_REACHABLE = re.compile(r"@|\d\d")
_ORIGIN = re.compile(r"(?:[Oo]riginally|[Ii]'m originally|[Bb]orn and raised) (?:from|in) (?P<v>[A-Z].*)")
_CHANGED = caseless(
    r"I(?:'ve| have)? (?:just |recently )?(?:changed|updated|switched) my (?:e-?mail|number|phone|phone "
    rf"number|email address|mobile)(?: address)? (?:to|:) (?P<v>{EMAIL}|{PHONE})"
)


def fixed_phrase_facts(clause: str, discourse: Discourse, now: datetime) -> list[Draft]:
    """The facts of a clause with a fixed form; empty for any other."""
    return (
        _called(clause, discourse)
        or _contacts(clause, discourse)
        or _care(clause, discourse)
        or _traits(clause, discourse)
        or _fondness(clause, discourse, now)
    )


def _called(clause: str, discourse: Discourse) -> list[Draft]:
    if (match := _MYSELF.match(clause)) and is_name(match["v"]):
        return [Draft(discourse.author, "name", match["v"])]
    match = _CALL_ME.match(clause)
    if not match or not match["v"][0].isupper() or not is_name(match["v"]):
        return []
    return [Draft(discourse.speaker, "nickname", match["v"])]


def _contacts(clause: str, discourse: Discourse) -> list[Draft]:
    """E-mail addresses and phone numbers: "you can reach me at a@x.org", "Anna: 020 7946 0812"."""
    if not _REACHABLE.search(clause):
        return []
    who = ""
    if match := _REACH.match(clause):
        named = re.search(rf"{NAME}$", match["who"])
        who = named[0] if named else _whom(match["who"], discourse)
    elif match := _REACHED.match(clause):
        who = _whom(match["me"] or match["whom"], discourse)
    elif (match := _CARD.match(clause)) and is_name(match["who"]):
        who = match["who"]
    elif match := _CHANGED.match(clause):
        who = discourse.speaker
    return contact_details(who, match["v"]) if match and who else []


def _care(clause: str, discourse: Discourse) -> list[Draft]:
    """Prescriptions, and the preferred means of contact."""
    if match := _CARE.match(clause):
        what = re.split(r" (?:and|but|because|for)\b", first_piece(match["v"]))[0]
        return [
            Draft(discourse.author, "health", f"on {what}", key=re.sub(r"^[\d.]+ ?(?:mg|mcg|ml)?(?: of)? ", "", what))
        ]
    match = _REACH_BY.match(clause)
    who = _whom(match["who"], discourse) if match else ""
    return [Draft(who, "prefers", match["v"], key="contact")] if match and who else []


def _whom(word: str, discourse: Discourse) -> str:
    lower = word.lower()
    if lower in ("me", "us", "i"):
        return discourse.speaker
    if lower.endswith("user"):
        return USER
    if lower in ("he", "she", "they", "him", "her", "them"):
        return discourse.pronoun(lower, pets=False)
    return f"{discourse.speaker}'s {lower.removeprefix('my ')}" if lower.startswith("my ") else word


def _traits(clause: str, discourse: Discourse) -> list[Draft]:
    """Pronouns, languages, favourites and origins in reverse order or alone: "Teal is my favourite colour"."""
    who = discourse.last
    if match := _PRONOUNS.match(clause):
        return [Draft(who, "pronouns", match["v"])]
    if match := _LANGUAGE.match(clause):
        owner = discourse.owner(match["who"])
        return [Draft(owner, "speaks", match["v"])] if owner else []
    if match := _FAVORITE_IS.match(clause):
        thing = re.sub(r"\W+", "_", match["thing"].lower().replace("colour", "color"))
        return [Draft(discourse.speaker, f"favorite_{thing}", match["v"])]
    match = _ORIGIN.match(clause)
    return [Draft(who, "from", first_piece(match["v"]))] if match else []


def _fondness(clause: str, discourse: Discourse, now: datetime) -> list[Draft]:
    """ "Not a fan of horror films", "allergic to cats": the verb left out."""
    if match := _ALONE.match(clause):
        vp = read_phrase(f"is {match['v']}", discourse.last)
        return is_unwell(vp, now) if vp else []
    vp = read_phrase(f"is {clause}", discourse.last) if _SHORT_LIKE.match(clause) else None
    if vp is None:
        return []
    if _ALLERGIC.match(vp.rest):
        return [] if vp.negated else is_unwell(vp, now)
    return is_fond(vp, now)
