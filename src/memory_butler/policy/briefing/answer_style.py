"""Recognition of rules and preferences about how to answer: they apply to all work.

Two signs suffice each: the domain profile is of the answer style and of little else, or the words say so. The words are
needed because the text of such a rule is often about other things, too: "Answer Ada like a text message, she reads it
on the train."
"""

import re
from collections.abc import Collection

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
# "Answer Ada …", "Explain things to me …", "Write for the user …". Not "Answer Ada's mails …".
_TO_SOMEBODY = re.compile(
    r"\b(?:answer|reply|respond|explain|write|talk|speak|report)(?:\s+(?:things|it|everything|code))?(?:\s+(?:to|for|with))?"
    r"\s+(?:the\s+)?(\w+)(?:\s+(\w+))?(?![\w'’])",
    re.IGNORECASE,
)
# "Every answer …", "Keep replies …", "Give Ada the answer …", "Answer in German". Not "answers to customers".
_ANSWERS = re.compile(
    r"\b(?:(?:every|all|any|your|long|short|the|keep|begin|start)\s+){1,3}(?:answers?|replies|reply|responses?|explanations?)\b"
    r"(?!\s+(?:to|for|from)\s)"
    r"|^(?:always\s+|please\s+)?(?:answer|reply|respond|explain)(?:\s+(?:in|with|without|briefly|shortly|first)\b|\W*$)",
    re.IGNORECASE,
)
# The layout of a text for the user.
_LAYOUT = re.compile(
    r"\b(?:bullet(?:s| points?)?|headings?|headlines|tables?|paragraphs?|lists|emojis?|pleasantries|waffle|preambles?"
    r"|jargon|abbreviations|(?:first|one|short|few) (?:lines?|sentences?)|whole sentences|plain(?:ly)?|small talk"
    r"|filler|up ?front|up top)\b",
    re.IGNORECASE,
)
MIN_LAYOUT_WORDS = 2
# Texts for others, and other documents.
_OTHER_TEXTS = re.compile(
    r"\b(?:e-?mails?|mails?|letters?|messages?|posts?|captions?|newsletters?|commits?|code|minutes|invoices?|quotes?|recipes?"
    r"|tickets?|slack|customers?|clients?|guests?|suppliers?|pupils?|students?|colleagues?|relatives|reports?|papers?)\b",
    re.IGNORECASE,
)
_STYLE_PREDICATE = re.compile(
    r"\b(?:answers?|answering|repl(?:y|ies)|responses?|explanations?|(?:communication|conversation) style|verbosity)\b",
    re.IGNORECASE,
)


def is_unconditional(hit: Hit, profile: StoredProfile | None, task: Task) -> bool:
    """True for a rule or a preference of the user about how to answer."""
    if hit.type is MemoryType.FACT:
        predicate = as_words(hit.predicate_label or "")
        is_style = bool(_STYLE_PREDICATE.search(predicate)) and not _OTHER_TEXTS.search(predicate)
        return is_style and task.is_about_user(hit)
    if hit.type is not MemoryType.RULE or hit.maturity == Maturity.ANTI_PATTERN:
        return False
    return says_how_to_answer(hit.content, task.user_names) or (profile is not None and _is_of_style(profile, task))


def says_how_to_answer(text: str, user_names: Collection[str]) -> bool:
    """True if a rule says how texts for the user look."""
    for match in _TO_SOMEBODY.finditer(text):
        first, both = match[1].casefold(), " ".join(filter(None, match.groups()))
        if first in USER_WORDS or name_key(match[1]) in user_names or name_key(both) in user_names:
            return True
    if _OTHER_TEXTS.search(text):
        return False
    return bool(_ANSWERS.search(text)) or len(_LAYOUT.findall(text)) >= MIN_LAYOUT_WORDS


def _is_of_style(profile: StoredProfile, task: Task) -> bool:
    place = task.domains.index(ANSWER_STYLE)
    others = (*profile[:place], *profile[place + 1 :])
    return bool(profile[place] > STYLE_FROM and max(others, default=0.0) < STYLE_LEAD * profile[place])
