"""Facts in brackets after a name: "Priya (head of design at Northwind)", "Colin from HeatRight (01632 960983)"."""

import re
from datetime import datetime

from memory_butler.english.extraction.findings import Draft
from memory_butler.english.extraction.grammar.coreference import Discourse
from memory_butler.english.extraction.grammar.forms import Reader
from memory_butler.english.extraction.grammar.person_names import NAME, is_name
from memory_butler.english.extraction.grammar.verbs import FORMS, read_phrase, word_at
from memory_butler.english.extraction.topics.attributes import EMAIL, PHONE, contact_details
from memory_butler.english.text.word_sets import word_set

_ASIDE = re.compile(
    rf"(?P<name>{NAME})(?:'s)?(?: (?:from|at|of) (?P<org>[A-Z][\w&.-]*(?: [A-Z][\w&.-]*)?))? "
    rf"?\((?P<inner>[^()]{{1,120}})\)"
)
_BESIDE = re.compile(
    rf"(?P<name>{NAME})(?: (?:from|at|of) [A-Z][\w&.-]*)?(?:,|:| -| –| on| at)[ ]?(?:(?i:phone|tel|mobile|cell|email|"
    rf"number)[ .:]+)?(?P<v>{EMAIL}|{PHONE})"
)
_REACHABLE = re.compile(r"@|\d\d")
_PIECES = re.compile(r"[ ]?[,;][ ]?| and (?=[a-z]+s\b)")
_TELLING = word_set("""
works_as works_at lives_in from speaks studies diet allergic_to health age nationality likes dislikes pronouns
""")

_OTHER = re.compile(r"^(?:the |an)other (?=\w)")


def bracketed_facts(text: str, discourse: Discourse, now: datetime, read: Reader) -> list[Draft]:
    """Facts in brackets after a name, and the phone number or address next to one."""
    found: list[Draft] = []
    if "(" in text:
        for match in _ASIDE.finditer(text):
            if is_name(match["name"]):
                found += _of(match, discourse, now, read)
    if _REACHABLE.search(text):
        for match in _BESIDE.finditer(text):
            if is_name(match["name"]):
                found += contact_details(match["name"], match["v"])
    return found


def _of(match: re.Match[str], discourse: Discourse, now: datetime, read: Reader) -> list[Draft]:
    name, inner = match["name"], match["inner"]
    contact = contact_details(name, inner)
    if contact:
        return contact
    found: list[Draft] = []
    for piece in _PIECES.split(_OTHER.sub("", inner))[:6]:
        is_verb = FORMS.get(word_at(piece, 0)[0], ("", ""))[1] == "s"
        own = read_phrase(piece if is_verb else f"is {piece}", name, by_speaker=False)
        found += [one for one in read(own, now) if one.kind in _TELLING] if own else []
    if name not in discourse.known and all(one.kind == "age" for one in found):
        return []
    discourse.known.add(name)
    return found
