"""Visible text: removes characters that people do not see or that change how other text is shown.

Removed: control characters and terminal escapes, bidirectional controls, zero-width characters, tag characters and
variation selectors. Kept, because writing needs them: line breaks and tabs; joiners inside emoji and between letters of
scripts that join (Persian, Indic); emoji presentation; the tags of regional flags.
"""

import re
import unicodedata

# Escape sequences of terminals, whole.
_ESCAPE = re.compile("\x1b(?:\\[[0-?]{0,40}[ -/]{0,10}[@-~]|\\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\\\)|[@-Z\\\\-_])?")
_LINE_BREAK = re.compile("\r(?!\n)|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_INVISIBLE = (
    "\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
_SUSPECT = re.compile(f"[\x0b\x0c{_INVISIBLE}\u2028\u2029]|\r(?!\n)")
_FLAG = "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f"
_RUN = re.compile(f"{_FLAG}|[{_INVISIBLE}]+")
_JOINERS = "\u200c\u200d"
_PRESENTATION = "\ufe0e\ufe0f"
_KEYCAPS = frozenset("0123456789#*")
_SKIN = range(0x1F3FB, 0x1F400)
# Letters before these take no joiners: Latin, Greek, Cyrillic, Armenian, Hebrew.
FIRST_JOINING = 0x0600
_JAMO = range(0x1100, 0x1200)


def visible_text(text: str) -> str:
    """The text without hidden characters. Most texts have none and are returned as they are."""
    if not _SUSPECT.search(text):
        return text
    text = _LINE_BREAK.sub("\n", _ESCAPE.sub("", text))
    return _RUN.sub(lambda found: _kept(text, found), text)


def _kept(text: str, found: re.Match[str]) -> str:
    """The characters of a run of invisible ones that are needed where they are."""
    run = found[0]
    if run[0] == "\U0001f3f4" or "\r" in run:
        return run
    before = text[found.start() - 1] if found.start() else ""
    after = text[found.end()] if found.end() < len(text) else ""
    kept = ""
    if run[0] in _PRESENTATION and _takes_presentation(before):
        kept, run = run[0], run[1:]
    if run == "\u200d" and _is_pictograph(before) and _is_pictograph(after):
        return kept + run
    if run and len(run) == 1 and run in _JOINERS and _joins(before) and _joins(after):
        return kept + run
    if run in ("\u115f", "\u1160") and (_in(before, _JAMO) or _in(after, _JAMO)):
        return kept + run
    return kept


def _takes_presentation(char: str) -> bool:
    return bool(char) and (char in _KEYCAPS or char in "‼⁉ℹ〰〽" or unicodedata.category(char) in ("So", "Sm"))


def _is_pictograph(char: str) -> bool:
    return bool(char) and (unicodedata.category(char) in ("So", "Sm") or _in(char, _SKIN))


def _joins(char: str) -> bool:
    return bool(char) and ord(char) >= FIRST_JOINING and unicodedata.category(char)[0] in "LM"


def _in(char: str, codes: range) -> bool:
    return bool(char) and ord(char) in codes
