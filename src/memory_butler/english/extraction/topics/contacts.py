"""A replacement address or number: "my email is a@x.org, but use b@y.org instead"."""

from collections.abc import Sequence
from typing import NamedTuple

from memory_butler.english.extraction.findings import Draft
from memory_butler.english.extraction.grammar.coreference import Discourse
from memory_butler.english.extraction.topics.attributes import EMAIL, PHONE, contact_details
from memory_butler.english.text.word_sets import caseless

_INSTEAD = caseless(
    r"(?:^|[,;:.–—][ ]?| (?=but\b|so\b|please\b))(?:(?:but|so|and|please|kindly|just) )*(?:use|try) "
    rf"(?P<v>{EMAIL}|{PHONE}) instead(?=[ ]?(?:$|[.,;!)])| (?:from now on|now|please|going forward)\b)"
)
_OWN = caseless(rf"\b(?:I|my)\b.{{0,80}}?(?:\b(?:e-?mail|mail|address|phone|number|mobile|cell)\b|{EMAIL}|{PHONE})")
_SOMETIMES = caseless(r"\b(?:if|when|whenever|unless|until|in case|for|to)\b")


class Replacement(NamedTuple):
    """A replacement address or number, with the text before and after it."""

    before: str
    value: str
    after: str


def find_replacement(text: str) -> Replacement | None:
    match = _INSTEAD.search(text) if "instead" in text.lower() else None
    if match is None:
        return None
    return Replacement(text[: match.start()].strip(), match["v"], text[match.end() :].lstrip(" ,;.!"))


def replacement_facts(replacement: Replacement, drafts: Sequence[Draft], discourse: Discourse) -> list[Draft]:
    """The new address or number as a fact about the owner of the old one.

    The owner comes from `drafts`, the facts of the text before it, or from the previous sentence. Empty if the owner is
    unclear, or if the new value is for some occasions only ("if my email fails, use b@y.org instead").
    """
    found = []
    for new in contact_details("", replacement.value):
        owners = [draft.subject for draft in drafts if draft.kind == new.kind]
        if not owners and _OWN.search(replacement.before) and not _SOMETIMES.search(replacement.before):
            owners = [discourse.author]
        if not owners and not replacement.before:
            owners = [discourse.previous_contact_owners.get(new.kind, "")]
        found += [new._replace(subject=owner) for owner in owners[-1:] if owner]
    return found
