"""Labels of exported chats, which have a time before or after the name: "[18:02] Dai: …", "Dai 18:02: …"."""

import re

from memory_butler.english.text.word_sets import caseless

STAMPED_CHARACTERS = 90
# More capitals are the level of a log: INFO, ERROR.
MAX_INITIALS = 3
_CLOCK = r"\d{1,2}(?:[:.h]\d\d){1,2}(?:[ \u202f]?[ap]\.?m\.?)?|\d{1,2}[ ]?[ap]\.?m\.?"
_DAY = r"\d{1,4}[./-]\d{1,2}(?:[./-]\d{1,4})?"
_WHEN = rf"(?:{_DAY},?[ T]{{1,2}})?(?:{_CLOCK})|{_DAY}"
_NAME = r"(?P<name>[^\W\d_][\w.'’-]{0,30}(?:[ ][^\W\d_][\w.'’-]{0,30}){0,2})"
_BEFORE = rf"(?:\[(?:{_WHEN})\]|\((?:{_WHEN})\)|(?:{_WHEN}))(?:[ ]?[-–—][ ]|[ ]{{0,2}})"
_AFTER = rf"(?:,?[ ]{{1,2}}(?:(?:at|um|à|a las)[ ])?(?:{_CLOCK})|[ ]{{0,2}}(?:\[(?:{_WHEN})\]|\((?:{_WHEN})\)))"
_COLON = r"\*{0,2}(?:[ ]?:\*{0,2}(?:[ ]{1,4}|$)|：[ ]?)"
_EARLY = _NAME.replace("name", "early")
_LABEL = caseless(rf"\*{{0,2}}(?:{_BEFORE}\*{{0,2}}{_NAME}(?:{_AFTER})?|{_EARLY}{_AFTER}){_COLON}")
# Programs write such stamps.
_LOGGED = re.compile(r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d")


def stamped_label(line: str) -> tuple[str, int] | None:
    """The name of a label with a time and where the words after it begin; None if the line has none."""
    if not any(letter.isdigit() for letter in line[:STAMPED_CHARACTERS]):
        return None
    match = _LABEL.match(line)
    if match is None or _LOGGED.match(line):
        return None
    name = match["name"] or match["early"]
    return None if name.isupper() and len(name) > MAX_INITIALS else (name, match.end())
