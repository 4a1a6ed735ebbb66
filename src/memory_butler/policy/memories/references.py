"""Short references: a few characters, unique in the tenant, that an agent can copy reliably.

A reference is a permutation of the tenant's memory counter, so references never repeat and need no lookup. They lie far
apart: a mistyped one almost always names no memory rather than another one.
"""

import re

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
SHORTEST = 4
_MULTIPLIER = 2_654_435_761  # odd, hence a permutation modulo any power of two
_FORM = re.compile(rf"[{ALPHABET}]{{{SHORTEST},13}}")


def short_reference(count: int) -> str:
    """Returns the reference of the tenant's `count`-th memory: four characters for the first million, then five."""
    length, first = SHORTEST, 0
    while count - first >= 32**length:
        first += 32**length
        length += 1
    number = ((count - first) * _MULTIPLIER + 0x5BD1E) % 32**length
    characters = []
    for _ in range(length):
        number, digit = divmod(number, 32)
        characters.append(ALPHABET[digit])
    return "".join(reversed(characters))


def is_reference(text: str) -> bool:
    return bool(_FORM.fullmatch(text))
