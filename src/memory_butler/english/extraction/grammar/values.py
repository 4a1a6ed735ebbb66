"""The value in a clause: cut where it ends, cleaned, and taken apart where it is a list."""

import re
from datetime import datetime

from memory_butler.english.text.word_sets import caseless
from memory_butler.english.time.event_dates import find_event_date

_CUT = re.compile(
    r"[ ]?(?:;| [–—-]{1,2} |—| (?:because|since|so(?! far)|but|which|who|whom|where|when|whenever|while|although|"
    r"though|if|unless|until|as (?:I|i|he|she|they|it|we)|and (?:I|i|he|she|they|we|it|one's)|thanks|btw|tbh|lol|haha|"
    r"fwiw|due to|thanks to|ever since|despite|instead of|rather than|not)\b|,[ ]?(?:not|and (?:I|i)|so|but|which|who|"
    r"though|thanks|because|since|usually|mostly|especially|including|preferably|just|only|hard|please|too|as)\b)"
)
_TRAIL = caseless(
    r"(?:[ ,]+(?:now|too|as well|a lot|very much|so much|these days|at the moment|right now|currently|btw|tbh|lol|"
    r"haha|though|anyway|actually|again|nowadays|for now|at present|the most|the best|more than anything|anymore|"
    r"any more|either|you know|to be honest|by the way|of course|please|there|here|ok|okay|for (?:\w+ ){1,3}(?:years|"
    r"months|weeks)(?: now)?|all the time|at all|ever|already|still|instead|yet|today|personally|in general|"
    r"like crazy|with a passion|since \w+(?: \d{4})?|xd|imo|imho|yay|finally|together|myself|recently|just|really|"
    r"then))+$|[ !.,;:()\"😀-🙏☀-➿🤀-🧿👍❤️]+$"
)
_LEADING = caseless(r"^[ ,:\"]+|^(?:both|either|that|the fact that) ")
_SERIES = re.compile(r"[ ]?,[ ]?(?:and|or|&)? |[ ]?,[ ]?| (?:and|&|or|as well as|plus|nor) ")
_PAIRS = caseless(
    r"\b(?:fish and chips|mac and cheese|rock and roll|rock & roll|salt and pepper|short and to the point|"
    r"peanut butter and jelly|black and white|drum and bass|gin and tonic|bed and breakfast|arts and crafts|"
    r"cheese and onion|research and development|track and field|back and forth|pros and cons|trial and error|"
    r"dungeons and dragons|food and wine|r and b|rhythm and blues|before and after|up and down|health and safety|"
    r"sales and marketing|design and technology)\b"
)
# A comma followed by a statement of its own: ", dogs are fine", ", never npm", ", text me".
_CONTRAST = caseless(
    r"^(?:never|not|no|none|only|just|except|unless|if|otherwise|else|then|always|usually|mostly|until|after|before)\b|"
    r"^[\w'-]+ (?:me|us|him|them)$|"
    r"\b(?:is|are|was|were|isn't|aren't|don't|doesn't|never|fine|ok|okay|only|not)\b"
)
_HELD = re.compile("\x00\\d+\x00")
MOST_ITEMS = 12
ITEM_WORDS = 9


def value(text: str) -> str:
    """One value, up to where the clause goes on to something else."""
    text = _LEADING.sub("", text)
    cut = _CUT.search(text)
    if cut and cut.start() > 0:
        text = text[: cut.start()]
    elif cut:
        return ""
    return cleaned(text)


def first_piece(text: str) -> str:
    """One value that a comma ends, unless a capital follows it as in "Portland, Oregon"."""
    text = value(text)
    for match in re.finditer(r", ", text):
        if not text[match.end() : match.end() + 1].isupper():
            return cleaned(text[: match.start()])
    return text


def cleaned(text: str) -> str:
    for _ in range(4):
        shorter = _TRAIL.sub("", text)
        if shorter == text:
            break
        text = shorter
    return text.strip(" ,;:–—")


def before_date(text: str, now: datetime) -> str:
    """The text up to the first past day that it names."""
    when = find_event_date(text, now, "past")
    return cleaned(text[: when.start]) if when else text


def items(text: str) -> list[str]:
    """The values of a list: "tea, coffee and fish and chips" are three."""
    whole = value(text)
    kept: dict[str, str] = {}

    def hold(match: re.Match[str]) -> str:
        kept[f"\x00{len(kept)}\x00"] = match[0]
        return f"\x00{len(kept) - 1}\x00"

    masked = _PAIRS.sub(hold, whole)
    found: list[str] = []
    for masked_piece in _SERIES.split(masked)[:MOST_ITEMS]:
        if found and _CONTRAST.search(masked_piece):
            break
        piece = _HELD.sub(lambda match: kept.get(match[0], match[0]), masked_piece)
        one = cleaned(_LEADING.sub("", piece))
        if one and any(letter.isalnum() for letter in one):
            found.append(one)
    return found if all(len(one.split()) <= ITEM_WORDS for one in found) else [whole]
