"""The warning text of an anti-pattern: "ANTI-PATTERN: Do NOT {rule}. This caused problems because: {feedback}."

| the rule | is shown as |
|---|---|
| an instruction that "Do NOT" can precede: "Retry at once." | Do NOT retry at once. |
| anything else: "Never deploy on Fridays.", "The tests can wait." | Do NOT follow the rule "Never deploy on Fridays". |
"""

import re
from collections.abc import Sequence

from memory_butler.english.text.word_sets import word_set

# A rule that begins with one of these words is no plain instruction, or "Do NOT" would change what it says.
_NO_VERB = word_set("""
a after all always an and any anything as at because before both but by don't during each either even every everyone
everything first for from he her his how however i if in it its just last my neither never next no nobody none nor not
nothing on once one only or our over please rather she since so some sometimes that the their then there these they
this those though to under unless until we what when whenever where whether which while who whoever why with without
you your
""")
# One of these words near the beginning shows a statement with a subject: "Green tea should steep for three minutes."
_FINITE = word_set("""
am are aren't can can't cannot could couldn't did does doesn't has hasn't is isn't may might must mustn't needs shall
should shouldn't was were will won't would wouldn't
""")
_FINITE_WITHIN = 5
_PLAIN_WORD = re.compile(r"[A-Za-z][a-z]*(?:-[a-z]+)*")


def warning(rule: str, reasons: Sequence[str]) -> str:
    """Returns the text that is shown instead of a rule that became an anti-pattern. The stored content is unchanged."""
    text = rule.strip().rstrip(".").rstrip()
    because = "; ".join(reasons) if reasons else "it was reported as harmful"
    instead = text[:1].lower() + text[1:] if _is_plain_instruction(text) else f"follow the rule {_quoted(text)}"
    return f"ANTI-PATTERN: Do NOT {instead}. This caused problems because: {because.rstrip('.')}."


def _is_plain_instruction(text: str) -> bool:
    """True if "Do NOT" can precede the text: one sentence that begins with a verb, as far as a word list can tell."""
    words = [word.strip(",;:()\"'").casefold().replace("’", "'") for word in text.split()]
    if not words or not _PLAIN_WORD.fullmatch(text.split(maxsplit=1)[0]) or words[0] in _NO_VERB:
        return False
    is_negated = words[0] == "do" and words[1:2] == ["not"]
    is_one_sentence = not re.search(r"[.!?;:]\s|[!?]$|\n", text)
    return is_one_sentence and not is_negated and _FINITE.isdisjoint(words[1:_FINITE_WITHIN])


def _quoted(text: str) -> str:
    return f"“{text}”" if '"' in text else f'"{text}"'
