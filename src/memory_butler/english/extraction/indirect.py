"""Tastes and intolerances with the thing as the subject: "coriander tastes like soap to me", "cats make me sneeze"."""

import re
from datetime import datetime

from memory_butler.english.extraction.findings import Draft
from memory_butler.english.extraction.grammar.coreference import Discourse
from memory_butler.english.extraction.grammar.values import cleaned
from memory_butler.english.extraction.grammar.word_lists import CONDITIONS
from memory_butler.english.text.word_sets import alternatives, caseless, word_set, words_in

_THING = (
    r"(?P<v>(?!(?:it|that|this|he|she|they|you|we|i|which|what|there|everything|nothing)\b)"
    r"(?:[\w'&-]+ ){0,3}?[\w'&-]+?)"
)
_WHO = r"(?P<who>me|us|him|her|them|the user|my \w+)"
_REPELS = caseless(
    rf"{_THING} (?:tastes?|smells?) (?:like|of|too|awful|horrible|disgusting|weird|off|gross)\b.* to {_WHO}$"
    rf"|{_THING.replace('<v>', '<v2>')} (?:disgusts?|bores?|annoys?|irritates?|scares?|terrif(?:y|ies)|depress(?:es)?|"
    rf"grosse?s? out|stress(?:es)? out|puts?) {_WHO.replace('<who>', '<who2>')}(?: (?:off|out|to death|silly))?$"
)
_HARMS = caseless(
    rf"{_THING} (?P<how>(?:does not|doesn't|do not|don't|never) (?:really )?(?:agree|sit well) with|disagrees? with|"
    rf"(?:really )?upsets?) {_WHO}(?:r|y|'s)?(?: stomach)?$|"
    rf"{_THING.replace('<v>', '<v2>')} (?P<how2>(?:always )?(?:makes?|"
    rf"gives?)) {_WHO.replace('<who>', '<who2>')} (?P<what>(?:really |very |bad |terrible |awful )?(?:sneeze|itch|ill|"
    r"sick|wheeze|bloated|nauseous|dizzy|cough|throw up|come out in (?:hives|a rash)|hives|a rash|rashes|headaches?|"
    r"a headache|heartburn|indigestion|stomach ?aches?|a stomach ?ache|cramps|nightmares|palpitations|"
    rf"{alternatives(CONDITIONS)}))$"
)
_TASTE = caseless(
    rf"{_THING} (?:is|are|'s|isn't|aren't|was) (?P<not>not |never )?(?:really |so much )?(?:my|his|her|their) "
    r"(?P<what>thing|cup of tea|jam|style|passion|idea of fun|weakness|comfort food|guilty pleasure|happy place|worst "
    r"nightmare|pet hate)$"
)
_STILL = caseless(r" (?:any ?more|at all|either|though|these days|now|lately)$")
_AGAINST = word_set("nightmare hate")
_PASSING = word_set("""
meeting error bug code test work build file answer question idea news message noise boss thought sound way rest exercise
""")


def indirect_statements(clause: str, discourse: Discourse, now: datetime) -> list[Draft]:
    """Likes, dislikes and intolerances with the thing as the subject."""
    clause = _STILL.sub("", clause)
    if match := _REPELS.match(clause):
        return _draft("dislikes", match["v"] or match["v2"], "", match["who"] or match["who2"], discourse)
    if match := _HARMS.match(clause):
        thing = match["v"] or match["v2"]
        effect = match["how"] or f"{match['how2']} them {match['what']}"
        effect = f"{effect} them" if match["how"] else effect
        return _draft("health", thing, f"{thing} {effect}", match["who"] or match["who2"], discourse)
    match = _TASTE.match(clause)
    if not match:
        return []
    negative = bool(match["not"]) or "n't" in clause or not _AGAINST.isdisjoint(words_in(match["what"]))
    return _draft("dislikes" if negative else "likes", match["v"], "", "me", discourse)


def _draft(kind: str, thing: str, content: str, word: str, discourse: Discourse) -> list[Draft]:
    thing = re.sub(
        r"^(?:(?:the (?:taste|smell|sound|sight|texture) of|too much|eating|drinking) )", "", thing, flags=re.I
    )
    head = thing.lower().split()
    if not head or head[-1] in _PASSING or head[0] in ("the", "this", "these", "those", "your"):
        return []
    who = _whom(word.lower(), discourse)
    return [Draft(who, kind, cleaned(content or thing), key=thing)] if who else []


def _whom(word: str, discourse: Discourse) -> str:
    if word in ("me", "us"):
        return discourse.author
    if word == "the user":
        return discourse.owner("user's")
    if word.startswith("my "):
        return ""
    return discourse.pronoun(word)
