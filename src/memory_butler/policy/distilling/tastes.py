"""Likes, dislikes and preferences."""

import re
from datetime import datetime

from memory_butler.policy.distilling.found import Draft
from memory_butler.policy.distilling.values import cleaned, first_piece, items, value
from memory_butler.policy.distilling.verbs import Said
from memory_butler.policy.distilling.words import spaced

# What somebody likes in passing, about the talk itself, is no taste.
_PASSING = re.compile(
    r"(?:it|that|this|these|those|them|you|your|yours|him|her|me|us|how|what|when|where|why|everything|all of|"
    r"seeing you|talking|"
    r"working with you|the (?:idea|way|look|sound|second|first|third|last|answer|suggestion|plan|result|"
    r"results|new|one|option|"
    r"design|name|thought|fact|version|draft|approach|change|changes|color scheme|feature|second)|option|"
    r"being able|to (?:say|know|think|hear|admit)|for you|if|a (?:look|word|moment|second))\b",
    re.IGNORECASE,
)
_TO = re.compile(r"^to\s+(?=\w)")
_OVER = re.compile(r"\s+(?:over|to|rather than|instead of|than|more than|versus|vs\.?)\s+", re.IGNORECASE)
_CALLED = re.compile(r"(?:to be|being) (?:called|addressed as|known as)\s+(?P<name>[A-Z][\w'-]*(?: [A-Z][\w'-]*){0,2})")
_FOR = re.compile(r"^(?P<what>.+?) for (?P<topic>[\w -]{3,40})$")
_FOND = re.compile(
    r"(?:(?:a |the )?(?:really |quite |very |so |pretty |super |more |also |always been |been |still |totally "
    r"|big |huge |great |massive |"
    r"long-time |lifelong |avid |real |bit )*)"
    r"(?:(?P<like>fan of|into|fond of|keen on|obsessed with|crazy about|mad about|passionate about|in love "
    r"with|interested in|"
    r"addicted to|hooked on|lover of|partial to|big on)|(?P<fear>scared of|afraid of|terrified of|frightened of|"
    r"squeamish about))\s+(?P<v>.+)",
    re.IGNORECASE,
)
_PERSON = re.compile(
    r"(?:more of )?a (?:big |huge |real |total |bit of a )?(?P<v>[\w -]{3,30}?)[ -](?:person|lover|addict|enthusiast|"
    r"nerd|"
    r"fan|buff|geek)$"
)
_ANY_PERSON = spaced("user nice good bad busy new kind different people private shy")
_NO_TASTE = spaced("""
you me it him her them this that us
""")


def likes(said: Said, now: datetime) -> list[Draft]:
    if said.tense not in ("present", "perfect", "ongoing") or said.modal or _PASSING.match(said.rest):
        return []
    kind = "dislikes" if said.negated else "likes"
    rest = re.sub(r"(?:very |so |too )?much\b.*|(?:at all)\b.*", "", said.rest) if said.negated else said.rest
    return _tastes(said, kind, rest)


_WHEN = re.compile(r"(?:it )?(?P<v>when (?!this|that|it\b|you\b).{6,80})")


# Notes are written by the assistant and read by the assistant: their "I" is "you" to whoever reads them.
_TO_YOU = {"i": "you", "i'm": "you're", "me": "you", "my": "your"}
_FROM_ME = re.compile(r"\b(?:I'm|I|me|my)\b")


def hates(said: Said, now: datetime) -> list[Draft]:
    if said.tense not in ("present", "perfect") or said.modal or said.negated:
        return []
    if when := _WHEN.match(said.rest):
        what = when["v"] if said.told_by_speaker else _FROM_ME.sub(lambda match: _TO_YOU[match[0].lower()], when["v"])
        return [Draft(said.subject, "dislikes", cleaned(what), key=when["v"])]
    if _PASSING.match(said.rest):
        return []
    return _tastes(said, "dislikes", said.rest)


def stands(said: Said, now: datetime) -> list[Draft]:
    """ "Can't stand" and "can't bear"."""
    if said.modal != "can" or not said.negated or _PASSING.match(said.rest):
        return []
    return _tastes(said, "dislikes", said.rest)


def _tastes(said: Said, kind: str, rest: str) -> list[Draft]:
    if said.ended:
        return [Draft(said.subject, "likes", f"no longer {_third(said.verb)} {one}", key=one) for one in items(rest)]
    tastes = [_TO.sub("", one) for one in items(_TO.sub("", rest))]
    return [Draft(said.subject, kind, one) for one in tastes if one.lower() not in _NO_TASTE]


def _third(verb: str) -> str:
    return verb[:-1] + "ies" if verb.endswith("y") else verb + "s"


def prefers(said: Said, now: datetime) -> list[Draft]:
    if said.tense not in ("present", "perfect") or (said.modal and said.modal != "wish"):
        return []
    called = _CALLED.match(said.rest)
    if called:
        return [Draft(said.subject, "nickname", called["name"])]
    if said.modal == "wish" and not said.told_by_speaker:
        return []
    negative = re.match(r"not\s+(?=to\b|having|being)", said.rest)
    rest = said.rest[negative.end() :] if negative else said.rest
    if re.match(
        r"(?:it|that|this|not|them|the (?:first|second|third|last|former|latter)|option|if|when|you)\b", rest, re.I
    ):
        return []
    if negative:
        return [Draft(said.subject, "prefers", f"not {value(rest)}", key=value(rest))]
    found = []
    for chosen in items(_kept_choice(rest)):
        one = chosen.replace("\x01", " rather than ").replace("\x02", " instead of ")
        what = _OVER.split(one, maxsplit=1)[0]
        topic = _FOR.match(one)
        found.append(
            Draft(said.subject, "prefers", _TO.sub("", one), key=topic["topic"] if topic else _TO.sub("", what))
        )
    return [one for one in found if one.content.lower() not in _NO_TASTE]


def _kept_choice(rest: str) -> str:
    """A value may be cut at "rather than", but not in a choice between two."""
    return rest.replace(" rather than ", "\x01").replace(" instead of ", "\x02")


def rather(said: Said, now: datetime) -> list[Draft]:
    """ "I'd rather get a summary than long paragraphs"."""
    if said.modal != "wish" or not said.told_by_speaker:
        return []
    if re.match(
        r"(?:not\b|be\b(?! (?:called|contacted|emailed|phoned|texted|reached))|go\b|you didn't|it|we|i\b|die|stay|"
        r"wait|do (?:it|that))",
        said.rest,
        re.I,
    ):
        return []
    what = value(said.rest.replace(" instead of ", " than ").replace(" rather than ", " than "))
    return [Draft(said.subject, "prefers", re.sub(r"^you ", "", what), key=what.split(" than ")[0])]


def is_fond(said: Said, now: datetime) -> list[Draft]:
    """ "A fan of", "into", "scared of", "a morning person"."""
    match = _FOND.match(said.rest)
    if said.tense in ("past", "former") or (match and _PASSING.match(match["v"])):
        return []
    if match and match["like"]:
        return _tastes(said, "dislikes" if said.negated else "likes", match["v"])
    if match:
        feared = [] if said.negated else items(match["v"])
        return [Draft(said.subject, "dislikes", f"{match['fear']} {one}", key=one) for one in feared]
    person = _PERSON.match(first_piece(said.rest))
    if not person or person["v"].lower() in _ANY_PERSON:
        return []
    kind, content = ("dislikes", person["v"]) if said.negated else ("likes", first_piece(said.rest))
    return [Draft(said.subject, kind, content, key=person["v"])]


def supports(said: Said, now: datetime) -> list[Draft]:
    """ "Supports Everton": a club, not a proposal."""
    match = re.match(r"(?P<v>[A-Z]\w+(?: [A-Z]\w+){0,2})(?=$|[,;.]| (?:and|since|because|but)\b)", said.rest)
    if not match or said.tense != "present" or said.modal or said.negated:
        return []
    return [Draft(said.subject, "likes", f"{said.phrase.split()[0]} {match['v']}", key=match["v"])]


def listens(said: Said, now: datetime) -> list[Draft]:
    match = re.match(r"to (?:a lot of |lots of |loads of |mostly |mainly |a ton of )(?P<v>.+)", said.rest)
    if not match or said.tense != "present" or said.modal or said.negated:
        return []
    return [Draft(said.subject, "likes", one) for one in items(match["v"]) if one.lower() not in _NO_TASTE]


def takes(said: Said, now: datetime) -> list[Draft]:
    """ "I take my coffee black, two sugars"."""
    match = re.match(r"(?:my|his|her|their) (?P<v>coffee|tea|steak|eggs|whisky|espresso) (?P<how>.+)", said.rest)
    if not match or said.tense != "present" or said.modal or said.negated or len(match["how"].split()) > 8:
        return []
    return [Draft(said.subject, "prefers", f"{match['v']} {match['how']}", key=match["v"])]


def does_best(said: Said, now: datetime) -> list[Draft]:
    """ "Learns best with pictures", "I work best in the mornings"."""
    match = re.match(
        r"(?:best|better) (?P<v>(?:with|at|in|by|when|alone|from|after|before|under|late|early)\b.*)", said.rest
    )
    if not match or said.tense != "present" or said.modal or said.negated:
        return []
    return [Draft(said.subject, "prefers", cleaned(f"{said.phrase.split()[0]} {said.rest}"), key=f"{said.verb} best")]


VERBS = {
    "support": supports, "listen": listens, "take": takes, "learn": does_best, "work": does_best, "study": does_best,
    "like": likes, "love": likes, "adore": likes, "enjoy": likes,
    "hate": hates, "dislike": hates, "despise": hates, "detest": hates, "loathe": hates,
    "stand": stands, "bear": stands, "tolerate": stands,
    "prefer": prefers, "favor": prefers, "favour": prefers, "rather": rather,
}  # fmt: skip
