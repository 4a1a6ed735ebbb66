"""Recognition of rules and preferences about how to answer: they apply to all work.

Two signs suffice each: the domain profile is of the answer style and of little else, or the words say so. The words are
needed because the text of such a rule is often about other things, too: "Answer Ada like a text message, she reads it
on the train."
"""

import re
from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

from memory_butler.english.text.names import name_key
from memory_butler.english.text.normalize import as_words
from memory_butler.models import Hit, Maturity, MemoryType
from memory_butler.policy.briefing.domains import ANSWER_STYLE, StoredProfile
from memory_butler.policy.briefing.task import Task

# A rule is about how to answer if every other domain has less than this share of its activation: "answer customers in
# Portuguese" is about customers.
STYLE_LEAD = 0.6
STYLE_FROM = 0.4
USER_WORDS = frozenset({"me", "user"})
CACHED_TEXTS = 4096
# "Answer Ada …", "Explain things to me …", "Write for the user …". Not "Answer Ada's mails …".
_TO_SOMEBODY = re.compile(
    r"\b(?:answer|reply|respond|explain|write|talk|speak|report)(?:\s+(?:things|it|everything|code))?(?:\s+(?:to|for|with))?"
    r"\s+(?:the\s+)?(\w+)(?:\s+(\w+))?(?![\w'’])",
    re.IGNORECASE,
)
# "Every answer …", "Keep replies …", "Give Ada the answer …", "Answer in German". Not "answers to customers".
_ANSWERS = re.compile(
    r"\b(?:(?:every|all|any|your|long|short|the|keep|begin|start)\s+){1,3}(?:answers?|replies|reply|responses?|explanations?)\b"
    r"(?!\s+(?:to|for|from)\s+(?!(?:a few|at most|one|two|three|four|five|\d+|the point)\b))"
    r"|^(?:always\s+|please\s+)?(?:answer|reply|respond|explain)(?:\s+(?:in|with|without|briefly|shortly|first)\b|\W*$)",
    re.IGNORECASE,
)
# The layout of a text for the user.
_LAYOUT = re.compile(
    r"\b(?:bullet(?:s| points?)?|headings?|headlines|tables?|paragraphs?|lists|emojis?|pleasantries|waffle|preambles?"
    r"|jargon|abbreviations|(?:first|one|two|three|four|five|short|few) (?:lines?|sentences?)|whole sentences"
    r"|plain(?:ly)?|small talk|filler|up ?front|up top|short|brief(?:ly)?|terse|concise|symbols|praise|at most"
    r"|(?:what|the|most important|numbers?|answer|conclusion|code) (?:\w+ ){0,2}first)\b",
    re.IGNORECASE,
)
MIN_LAYOUT_WORDS = 2
# Texts for others, and other documents.
_OTHER_TEXTS = re.compile(
    r"\b(?:e-?mails?|mails?|letters?|messages?|posts?|captions?|newsletters?|commits?|code|minutes|invoices?|quotes?|recipes?"
    r"|functions?|methods?|names?|titles?|subjects?|tickets?|slack|customers?|clients?|guests?|suppliers?|pupils?|students?|colleagues?|relatives|reports?|papers?)\b",
    re.IGNORECASE,
)
_STYLE_PREDICATE = re.compile(
    r"\b(?:answers?|answering|repl(?:y|ies)|responses?|explanations?|(?:communication|conversation) style|verbosity)\b",
    re.IGNORECASE,
)


def is_unconditional(hit: Hit, profile: StoredProfile | None, task: Task) -> bool:
    """True for a rule or a preference of the user about how to answer."""
    if hit.type is MemoryType.FACT:
        return _is_about_style(hit.predicate_label or "") and task.is_about_user(hit)
    if hit.type is not MemoryType.RULE or hit.maturity == Maturity.ANTI_PATTERN:
        return False
    return says_how_to_answer(hit.content, task.user_names) or (profile is not None and _is_of_style(profile, task))


@lru_cache(CACHED_TEXTS)
def _is_about_style(predicate: str) -> bool:
    words = as_words(predicate)
    return bool(_STYLE_PREDICATE.search(words)) and not _OTHER_TEXTS.search(words)


def says_how_to_answer(text: str, user_names: Collection[str]) -> bool:
    """True if a rule says how texts for the user look."""
    found = _style_of(text)
    return found.is_for_user or not found.addressees.isdisjoint(user_names) or found.is_about_answers


class _Style(NamedTuple):
    """Cues about answers in the words of a rule."""

    is_for_user: bool
    addressees: frozenset[str]
    """The name keys of those whom it tells to answer."""
    is_about_answers: bool


@lru_cache(CACHED_TEXTS)
def _style_of(text: str) -> _Style:
    """Cached, because every briefing looks at the same rules."""
    orders = list(_TO_SOMEBODY.finditer(text))
    return _Style(
        is_for_user=any(order[1].casefold() in USER_WORDS for order in orders),
        addressees=frozenset(
            name_key(name) for order in orders for name in (order[1], " ".join(filter(None, order.groups())))
        ),
        is_about_answers=not _OTHER_TEXTS.search(text)
        and (bool(_ANSWERS.search(text)) or len(_LAYOUT.findall(text)) >= MIN_LAYOUT_WORDS),
    )


def _is_of_style(profile: StoredProfile, task: Task) -> bool:
    place = task.domains.index(ANSWER_STYLE)
    if not profile[place] > STYLE_FROM:
        return False
    others = (*profile[:place], *profile[place + 1 :])
    return bool(max(others, default=0.0) < STYLE_LEAD * profile[place])
