"""What brackets tell of a person: "Priya (head of design at Northwind)", "Colin from HeatRight (01632 960983)"."""

import re
from collections.abc import Callable
from datetime import datetime

from memory_butler.policy.distilling.attributes import EMAIL, PHONE, reached
from memory_butler.policy.distilling.found import Draft
from memory_butler.policy.distilling.names import NAME, is_name
from memory_butler.policy.distilling.scene import Scene
from memory_butler.policy.distilling.verbs import FORMS, Said, read_phrase, word_at
from memory_butler.policy.distilling.words import spaced

Read = Callable[[Said, datetime], list[Draft]]

_ASIDE = re.compile(
    rf"(?P<name>{NAME})(?:'s)?(?: (?:from|at|of) (?P<org>[A-Z][\w&.-]*(?: [A-Z][\w&.-]*)?))? "
    rf"?\((?P<said>[^()]{{1,120}})\)"
)
_BESIDE = re.compile(
    rf"(?P<name>{NAME})(?: (?:from|at|of) [A-Z][\w&.-]*)?(?:,|:| -| –| on| at)\s*(?:(?i:phone|tel|mobile|cell|email|"
    rf"number)[ .:]+)?(?P<v>{EMAIL}|{PHONE})"
)
_REACHABLE = re.compile(r"@|\d\d")
_PIECES = re.compile(r"\s*[,;]\s*|\s+and\s+(?=[a-z]+s\b)")
_TELLING = spaced("""
works_as works_at lives_in from speaks studies diet allergic_to health age nationality likes dislikes pronouns
""")


def asides(text: str, scene: Scene, now: datetime, read: Read) -> list[Draft]:
    """What stands in brackets behind a name, and the number or address beside one."""
    found: list[Draft] = []
    if "(" in text:
        for match in _ASIDE.finditer(text):
            if is_name(match["name"]):
                found += _of(match, scene, now, read)
    if _REACHABLE.search(text):
        for match in _BESIDE.finditer(text):
            if is_name(match["name"]):
                found += reached(match["name"], match["v"])
    return found


def _of(match: re.Match[str], scene: Scene, now: datetime, read: Read) -> list[Draft]:
    name, said = match["name"], match["said"]
    contact = reached(name, said)
    if contact:
        return contact
    found: list[Draft] = []
    for piece in _PIECES.split(said)[:6]:
        is_verb = FORMS.get(word_at(piece, 0)[0], ("", ""))[1] == "s"
        own = read_phrase(piece if is_verb else f"is {piece}", name, told_by_speaker=False)
        found += [one for one in read(own, now) if one.kind in _TELLING] if own else []
    if name not in scene.known and all(one.kind == "age" for one in found):
        return []
    scene.known.add(name)
    return found
