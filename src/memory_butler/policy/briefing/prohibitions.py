"""Recognition of rules that forbid something or ask for a consent."""

import re

_PROHIBITION = re.compile(
    r"\b(?:never|nothing|nobody|no one|don'?t|do not|must ?n[o']t|may not|cannot|can't|not allowed|forbidden|under no"
    r"|without (?:an? |the |my |his |her |their )?(?:ask|approv|consent|permission|review|sign|written)\w*"
    r"|only (?:after|with|if|once)|(?:\w+ )?(?:says?|said) yes|ask \w+|check with|approv\w+|sign\w*[ -]off|permission"
    r"|show \w+ \w+ \w+ before|before (?:it|he|she|they|i|anything|sending) )\b",
    re.IGNORECASE,
)


def is_prohibition(text: str) -> bool:
    """True for a rule that forbids something or asks for a consent."""
    return bool(_PROHIBITION.search(text))
