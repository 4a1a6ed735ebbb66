"""Spells out what people abbreviate when they type: "msg mum abt tmrw" is "message mum about tomorrow".

The embedding model and the domain words know the long forms better. Abbreviations with another common meaning ("r",
"doc", "sat" alone) are left alone.
"""

import re

_LONG = {
    "2day": "today",
    "2moro": "tomorrow",
    "2nite": "tonight",
    "abt": "about",
    "appt": "appointment",
    "approx": "approximately",
    "atm": "at the moment",
    "b4": "before",
    "bday": "birthday",
    "brekkie": "breakfast",
    "cuz": "because",
    "gonna": "going to",
    "gotta": "have to",
    "hols": "holidays",
    "hrs": "hours",
    "insta": "Instagram",
    "l8": "late",
    "l8r": "later",
    "meds": "medicines",
    "mins": "minutes",
    "mtg": "meeting",
    "msg": "message",
    "msgs": "messages",
    "mths": "months",
    "nite": "night",
    "pic": "picture",
    "pics": "pictures",
    "pls": "please",
    "plz": "please",
    "ppl": "people",
    "qty": "quantity",
    "rly": "really",
    "rn": "right now",
    "smth": "something",
    "smt": "something",
    "sth": "something",
    "thru": "through",
    "thx": "thanks",
    "tmr": "tomorrow",
    "tmrw": "tomorrow",
    "tomoz": "tomorrow",
    "tomorow": "tomorrow",
    "tommorow": "tomorrow",
    "tonite": "tonight",
    "u": "you",
    "ur": "your",
    "urself": "yourself",
    "veg": "vegetables",
    "wanna": "want to",
    "whats": "what is",
    "wheres": "where is",
    "whos": "who is",
    "whens": "when is",
    "hows": "how is",
    "wk": "week",
    "wks": "weeks",
    "wknd": "weekend",
    "w/": "with",
    "w/o": "without",
    "xmas": "Christmas",
    "yday": "yesterday",
    "yest": "yesterday",
    "yr": "year",
    "yrs": "years",
    "tue": "Tuesday",
    "tues": "Tuesday",
    "weds": "Wednesday",
    "wed": "Wednesday",
    "thu": "Thursday",
    "thur": "Thursday",
    "thurs": "Thursday",
    "fri": "Friday",
}
# "Sat" and "sun" are days after these words only.
_DAY = re.compile(
    r"\b(on|this|next|last|every|till?|until|by|for|from|before|after|to)(\s{1,3})(sat|sun)\b(?!\w)", re.IGNORECASE
)
_DAYS = {"sat": "Saturday", "sun": "Sunday"}
# Not a part of a path, an address, an option or a number with a unit.
_WORD = re.compile(r"(?<![\w./@#$'’-])(?:w/o?(?=\s)|[a-z0-9]{1,9}(?![\w/@'’(]|\.\w|-\w))")


def spelled_out(text: str) -> str:
    """The text with its abbreviations in lower case spelled out."""
    text = _DAY.sub(lambda found: f"{found[1]}{found[2]}{_DAYS[found[3].casefold()]}", text)
    return _WORD.sub(lambda found: _LONG.get(found[0], found[0]), text)
