"""One way to reach somebody in place of another: "my email is a@x.org, but use b@y.org instead"."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from memory_butler.policy.distilling.attributes import EMAIL, PHONE, reached
from memory_butler.policy.distilling.found import Draft
from memory_butler.policy.distilling.scene import Scene

_INSTEAD = re.compile(
    r"(?:^|[,;:.–—]\s*|\s(?=but\b|so\b|please\b))(?:(?:but|so|and|please|kindly|just)\s+)*(?:use|try)\s+"
    rf"(?P<v>{EMAIL}|{PHONE})\s+instead(?=\s*(?:$|[.,;!)])|\s+(?:from now on|now|please|going forward)\b)",
    re.IGNORECASE,
)
_OWN = re.compile(
    rf"\b(?:I|my)\b.{{0,80}}?(?:\b(?:e-?mail|mail|address|phone|number|mobile|cell)\b|{EMAIL}|{PHONE})", re.I
)
_SOMETIMES = re.compile(r"\b(?:if|when|whenever|unless|until|in case|for|to)\b", re.I)


class Instead(NamedTuple):
    """What is to be used in the place of something, and what was said before and after it."""

    before: str
    given: str
    after: str


def used_instead(text: str) -> Instead | None:
    match = _INSTEAD.search(text) if "instead" in text.lower() else None
    if match is None:
        return None
    return Instead(text[: match.start()].strip(), match["v"], text[match.end() :].lstrip(" ,;.!"))


def in_its_place(instead: Instead, told: Sequence[Draft], scene: Scene) -> list[Draft]:
    """The new address or number, as theirs whose other one was just spoken of; nobody's, and not stored, if that is not
    plain or it is for some occasions only."""
    found = []
    for new in reached("", instead.given):
        holders = [one.subject for one in told if one.kind == new.kind]
        if not holders and _OWN.search(instead.before) and not _SOMETIMES.search(instead.before):
            holders = [scene.author]
        if not holders and not instead.before:
            holders = [scene.reached_before.get(new.kind, "")]
        found += [new._replace(subject=who) for who in holders[-1:] if who]
    return found
