"""Likes, dislikes and preferences."""

import re
from datetime import datetime

from memory_butler.english.extraction.findings import Draft
from memory_butler.english.extraction.grammar.forms import Form, Reader
from memory_butler.english.extraction.grammar.values import cleaned, first_piece, items, value
from memory_butler.english.extraction.grammar.verbs import VerbPhrase
from memory_butler.english.text.word_sets import caseless, word_set

# Remarks about the conversation itself are no tastes.
_PASSING = caseless(
    r"(?:it|that|this|these|those|them|you|your|yours|him|her|me|us|how|what|when|where|why|everything|all of|"
    r"seeing you|talking|working with you|the (?:idea|way|look|sound|second|first|third|last|answer|suggestion|plan|"
    r"result|results|new|one|option|design|name|thought|fact|version|draft|approach|change|changes|color scheme|"
    r"feature|second)|option|being able|to (?:say|know|think|hear|admit)|for you|if|a (?:look|word|moment|second))\b"
)
_TO = re.compile(r"^to (?=\w)")
_OVER = caseless(r" (?:over|to|rather than|instead of|than|more than|versus|vs\.?) ")
_CALLED = re.compile(r"(?:to be|being) (?:called|addressed as|known as) (?P<name>[A-Z][\w'-]*(?: [A-Z][\w'-]*){0,2})")
_FOR = re.compile(r"^(?P<what>.+?) for (?P<topic>[\w -]{3,40})$")
_FOND = caseless(
    r"(?:(?:a |the )?(?:really |quite |very |so |pretty |super |more |also |always been |been |still |totally |big |"
    r"huge |great |massive |long-time |lifelong |avid |real |bit )*)(?:(?P<like>fan of|into|fond of|keen on|"
    r"obsessed with|crazy about|mad about|passionate about|in love with|interested in|addicted to|hooked on|lover of|"
    r"partial to|big on)|(?P<fear>scared of|afraid of|terrified of|frightened of|squeamish about)) (?P<v>.+)"
)
_PERSON = re.compile(
    r"(?:more of )?a (?:big |huge |real |total |bit of a )?(?P<v>[\w -]{3,30}?)[ -](?:person|lover|addict|enthusiast|"
    r"nerd|fan|buff|geek)$"
)
_ANY_PERSON = word_set("user nice good bad busy new kind different people private shy")
_NO_TASTE = word_set("you me it him her them this that us")


def likes(vp: VerbPhrase, now: datetime) -> list[Draft]:
    if vp.tense not in ("present", "perfect", "ongoing") or vp.modal or _PASSING.match(vp.rest):
        return []
    kind = "dislikes" if vp.negated else "likes"
    rest = re.sub(r"(?:very |so |too )?much\b.*|(?:at all)\b.*", "", vp.rest) if vp.negated else vp.rest
    return _tastes(vp, kind, rest)


_WHEN = re.compile(r"(?:it )?(?P<v>when (?!this|that|it\b|you\b).{6,80})")


# Notes are written by the assistant and read by the assistant: their "I" is "you" to whoever reads them.
_TO_YOU = {"i": "you", "i'm": "you're", "me": "you", "my": "your"}
_FROM_ME = re.compile(r"\b(?:I'm|I|me|my)\b")


def hates(vp: VerbPhrase, now: datetime) -> list[Draft]:
    if not vp.states("present", "perfect"):
        return []
    if when := _WHEN.match(vp.rest):
        what = when["v"] if vp.by_speaker else _FROM_ME.sub(lambda match: _TO_YOU[match[0].lower()], when["v"])
        return [Draft(vp.subject, "dislikes", cleaned(what), key=when["v"])]
    if _PASSING.match(vp.rest):
        return []
    return _tastes(vp, "dislikes", vp.rest)


def stands(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "Can't stand" and "can't bear"."""
    if vp.modal != "can" or not vp.negated or _PASSING.match(vp.rest):
        return []
    return _tastes(vp, "dislikes", vp.rest)


def _tastes(vp: VerbPhrase, kind: str, rest: str) -> list[Draft]:
    if vp.ended:
        return [Draft(vp.subject, "likes", f"no longer {_third(vp.verb)} {one}", key=one) for one in items(rest)]
    tastes = [_TO.sub("", one) for one in items(_TO.sub("", rest))]
    return [Draft(vp.subject, kind, one) for one in tastes if one.lower() not in _NO_TASTE]


def _third(verb: str) -> str:
    return verb[:-1] + "ies" if verb.endswith("y") else verb + "s"


def prefers(vp: VerbPhrase, now: datetime) -> list[Draft]:
    if vp.tense not in ("present", "perfect") or (vp.modal and vp.modal != "wish"):
        return []
    called = _CALLED.match(vp.rest)
    if called:
        return [Draft(vp.subject, "nickname", called["name"])]
    if vp.modal == "wish" and not vp.by_speaker:
        return []
    negative = re.match(r"not (?=to\b|having|being)", vp.rest)
    rest = vp.rest[negative.end() :] if negative else vp.rest
    if re.match(
        r"(?:it|that|this|not|them|the (?:first|second|third|last|former|latter)|option|if|when|you)\b", rest, re.I
    ):
        return []
    if negative:
        return [Draft(vp.subject, "prefers", f"not {value(rest)}", key=value(rest))]
    found = []
    for chosen in items(_kept_choice(rest)):
        one = chosen.replace("\x01", " rather than ").replace("\x02", " instead of ")
        what = _OVER.split(one, maxsplit=1)[0]
        topic = _FOR.match(one)
        found.append(Draft(vp.subject, "prefers", _TO.sub("", one), key=topic["topic"] if topic else _TO.sub("", what)))
    return [one for one in found if one.content.lower() not in _NO_TASTE]


def _kept_choice(rest: str) -> str:
    """A value may be cut at "rather than", but not in a choice between two."""
    return rest.replace(" rather than ", "\x01").replace(" instead of ", "\x02")


def rather(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "I'd rather get a summary than long paragraphs"."""
    if vp.modal != "wish" or not vp.by_speaker:
        return []
    if re.match(
        r"(?:not\b|be\b(?! (?:called|contacted|emailed|phoned|texted|reached))|go\b|you didn't|it|we|i\b|die|stay|"
        r"wait|do (?:it|that))",
        vp.rest,
        re.I,
    ):
        return []
    what = value(vp.rest.replace(" instead of ", " than ").replace(" rather than ", " than "))
    return [Draft(vp.subject, "prefers", re.sub(r"^you ", "", what), key=what.split(" than ")[0])]


def is_fond(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "A fan of", "into", "scared of", "a morning person"."""
    match = _FOND.match(vp.rest)
    if vp.tense in ("past", "former") or (match and _PASSING.match(match["v"])):
        return []
    if match and match["like"]:
        return _tastes(vp, "dislikes" if vp.negated else "likes", match["v"])
    if match:
        feared = [] if vp.negated else items(match["v"])
        return [Draft(vp.subject, "dislikes", f"{match['fear']} {one}", key=one) for one in feared]
    person = _PERSON.match(first_piece(vp.rest))
    if not person or person["v"].lower() in _ANY_PERSON:
        return []
    kind, content = ("dislikes", person["v"]) if vp.negated else ("likes", first_piece(vp.rest))
    return [Draft(vp.subject, kind, content, key=person["v"])]


def listens(vp: VerbPhrase, now: datetime) -> list[Draft]:
    match = re.match(r"to (?:a lot of |lots of |loads of |mostly |mainly |a ton of )(?P<v>.+)", vp.rest)
    if not match or not vp.states("present"):
        return []
    return [Draft(vp.subject, "likes", one) for one in items(match["v"]) if one.lower() not in _NO_TASTE]


def takes(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "I take my coffee black, two sugars"."""
    match = re.match(r"(?:my|his|her|their) (?P<v>coffee|tea|steak|eggs|whisky|espresso) (?P<how>.+)", vp.rest)
    if not match or not vp.states("present") or len(match["how"].split()) > 8:
        return []
    return [Draft(vp.subject, "prefers", f"{match['v']} {match['how']}", key=match["v"])]


def does_best(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "Learns best with pictures", "I work best in the mornings"."""
    match = re.match(
        r"(?:best|better) (?P<v>(?:with|at|in|by|when|alone|from|after|before|under|late|early)\b.*)", vp.rest
    )
    if not match or not vp.states("present"):
        return []
    return [Draft(vp.subject, "prefers", cleaned(f"{vp.word} {vp.rest}"), key=f"{vp.verb} best")]


# "Supports Everton": a club, not a proposal.
_SUPPORTS = Form(
    "likes", r"(?P<v>[A-Z]\w+(?: [A-Z]\w+){0,2})(?=$|[,;.]| (?:and|since|because|but)\b)", "{word} {v}", "{v}"
)
VERBS: dict[str, Reader] = {
    "support": _SUPPORTS, "listen": listens, "take": takes, "learn": does_best, "work": does_best, "study": does_best,
    "like": likes, "love": likes, "adore": likes, "enjoy": likes,
    "hate": hates, "dislike": hates, "despise": hates, "detest": hates, "loathe": hates,
    "stand": stands, "bear": stands, "tolerate": stands,
    "prefer": prefers, "favor": prefers, "favour": prefers, "rather": rather,
}  # fmt: skip
