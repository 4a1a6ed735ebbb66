"""A view of a text for detectors: one plain form for spellings that look alike, with the positions in the original.

Invisible characters are dropped. Full-width letters, digits of other scripts, dashes, quotes and spaces become their
ASCII form. Markers of earlier redactions become a filler that no detector matches.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache

# Invisible characters, which could hide a name.
INVISIBLE = "\u00ad\u034f\u061c\u180e\ufeff" + "".join(
    chr(code)
    for first, last in ((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x2064), (0x2066, 0x206F), (0xFE00, 0xFE0F))
    for code in range(first, last + 1)
)
MARKER = re.compile(r"\[redacted: [a-z0-9_]{1,40}\]")
FILLER = "\ue000"
_SPECIAL = {
    **dict.fromkeys(INVISIBLE, ""),
    **dict.fromkeys(
        "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "
    ),
    **dict.fromkeys("‐‑‒–—―−", "-"),
    **dict.fromkeys("‘’‚‛ʼ´", "'"),
    **dict.fromkeys("“”„‟«»「」『』", '"'),
}


@dataclass(frozen=True, slots=True)
class PlainView:
    """`text` is the plain form and `lower` its lower case, of the same length. `places` maps positions back."""

    text: str
    lower: str
    places: tuple[int, ...] | None

    def original(self, start: int, end: int) -> tuple[int, int]:
        """The span in the original text."""
        if self.places is None:
            return start, end
        return self.places[start], self.places[end - 1] + 1


def plain_view(text: str) -> PlainView:
    if "[redacted: " in text:
        text = MARKER.sub(lambda found: FILLER * len(found[0]), text)
    if text.isascii():
        return PlainView(text, text.lower(), None)
    characters: list[str] = []
    places: list[int] = []
    for place, char in enumerate(text):
        plain = char if char < "\x80" else _plain(char)
        if plain:
            characters.append(plain)
            places.append(place)
    plain_text = "".join(characters)
    lower = plain_text.lower()
    if len(lower) != len(plain_text):
        lower = "".join(one if len(one := char.lower()) == 1 else char for char in plain_text)
    return PlainView(plain_text, lower, tuple(places))


@cache
def _plain(char: str) -> str:
    if char in _SPECIAL:
        return _SPECIAL[char]
    if char.isdecimal():
        return str(unicodedata.decimal(char))
    compatible = unicodedata.normalize("NFKC", char)
    return compatible if len(compatible) == 1 else char
