"""Recognises duplicates by their words alone.

Idle words, punctuation, case and contractions make no difference. Everything else does: a number, a name, "not",
"always" or "never", and the order. So two opposites are never the same, and two wordings of one thought may differ.
"""

import hashlib
import json
import re
import unicodedata
from functools import lru_cache
from uuid import UUID

from memory_butler.english.text.normalize import normal_name
from memory_butler.english.text.stems import stem
from memory_butler.english.text.stop_words import FILLERS
from memory_butler.models import Item

_APOSTROPHES = str.maketrans("’‘ʼ´`", "'''''")
_CONTRACTED = re.compile(
    r"\b(?:(can)'?t|(wo)n'?t|(?:(do|does|did|is|are|was|were|has|have|had|must)n'?t)"
    r"|(would|could|should|ai|need|might|sha)n't|(can)not)\b",
    re.IGNORECASE,
)
_SHORT = re.compile(r"\b(i'm|(?:it|he|she|that|there|what|who|where|here)'s|\w+'re|\w+'ve|\w+'ll)\b", re.IGNORECASE)
_FULL = {"'m": " am", "'s": " is", "'re": " are", "'ve": " have", "'ll": " will"}
_WHOLE = {"wo": "will", "ai": "is", "sha": "shall"}
# A minus in front of a number is part of it, and a point or colon inside one.
_TOKEN = re.compile(r"(?<![\w.])[-−]?\d+(?:[.,:/-]\d+)*|[^\W_]+(?:[^\W\d_]|\d)*|_|[^\w\s]")
# Marks that only divide; every other sign may be the one that matters: "C" and "C++", "5 %", "< 3".
_DIVIDING = frozenset(".,;:!?…'\"“”„«»‹›()[]{}-‐‑‒–—―·•*_`~^|。，、；：！？「」『』（）")

# A rule is for whoever acts, whether it says so or not.
_ADDRESSED = frozenset(["you", "we", "i", "one"])


# Known memories are compared again with every batch.
@lru_cache(maxsize=8192)
def significant_words(text: str) -> tuple[str, ...]:
    """The words that matter, in their order: the same for two texts that say the same."""
    plain = unicodedata.normalize("NFKC", text.translate(_APOSTROPHES)).translate(_APOSTROPHES)
    found = _TOKEN.findall(_SHORT.sub(_in_full, _CONTRACTED.sub(_negated, plain)))
    tokens = [token for token in found if token not in _DIVIDING]
    last = len(tokens) - 1
    kept = [token.casefold() for place, token in enumerate(tokens) if not _is_idle(token, place, last)]
    return tuple(kept or [unicodedata.normalize("NFC", text.casefold()).strip()])


def same_rule(one: str, other: str) -> bool:
    """Do two rules ask for the same? "Before you commit" is "before committing"."""
    return _rule_stems(one) == _rule_stems(other)


@lru_cache(maxsize=8192)
def _rule_stems(rule: str) -> tuple[str, ...]:
    return tuple(stem(word) for word in significant_words(rule) if word not in _ADDRESSED)


def same_fact_content(one: str, other: str) -> bool:
    """Do two facts about the same property say the same?"""
    return significant_words(one) == significant_words(other)


def item_words(item: Item) -> tuple[object, ...]:
    """The content of an item, apart from its proposer and evidence."""
    return (
        item.kind.value,
        normal_name(item.subject),
        normal_name(item.predicate),
        list(significant_words(item.content)),
        item.valid_at.isoformat() if item.valid_at else None,
        str(item.target) if item.target else None,
    )


def item_key(item: Item, episode_id: UUID) -> bytes:
    """Hash that identifies an item from an episode."""
    return hashlib.sha256(json.dumps([*item_words(item), str(episode_id)]).encode()).digest()


def _is_idle(token: str, place: int, last: int) -> bool:
    """Nothing idle ends a text, and a capital may be a name: "vitamin A" is more than "vitamin"."""
    return place < last and token.casefold() in FILLERS and (place == 0 or token.islower())


def _negated(match: re.Match[str]) -> str:
    verb = next(part for part in match.groups() if part)
    return f"{_WHOLE.get(verb.casefold(), verb)} not"


def _in_full(match: re.Match[str]) -> str:
    word, mark, ending = match[0].rpartition("'")
    return word + _FULL[(mark + ending).casefold()]
