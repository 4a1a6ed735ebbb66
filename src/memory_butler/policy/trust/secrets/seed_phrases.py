"""Find the keys of wallets: seed phrases (12 to 24 short words, none of a usual sentence) and base58 keys."""

import hashlib
import re
from collections.abc import Iterator

from memory_butler.english.text.word_sets import word_set
from memory_butler.policy.trust.secrets.vendor_formats import Finding

_SIZES = frozenset({12, 15, 18, 21, 24})
_WORDS = re.compile(
    r"(?<![\w,;.-])[a-z]{3,8}(?:(?: |\n)(?:\d{1,2}[.)] ?)?[a-z]{3,8}(?![\w-])){11,40}(?![ ]?[a-z\d_,;-])"
)
_NUMBERED = re.compile(r"(?<!\w)1[.):] ?[a-z]{3,8}(?:[ ,;\n]{1,3}\d{1,2}[.):] ?[a-z]{3,8}(?!\w)){11,23}")
_COMMA = re.compile(r"(?<![\w-])[a-z]{3,8}(?:, ?[a-z]{3,8}(?![\w-])){11,23}(?![ ]?\w)")
_SENTENCE = word_set(
    """
    the and for are was were has have had not you your they them with from this that which when where what who
    how but his her its our their then than will would should could may might must into onto over been being
    does did done use used using also only very just like more most some any all each every here there these
    those per via between while because since until red green blue yellow black white one two three four five
    six alpha beta gamma delta epsilon monday tuesday january und der die das ist nicht mit von für les des
    une est pas pour dans que los las del por con
    """
)


def find_seed_phrases(text: str) -> Iterator[Finding]:
    if text.count(" ") + text.count("\n") < 11:
        return
    for pattern in (_WORDS, _NUMBERED):
        for found in pattern.finditer(text):
            words = re.findall(r"[a-z]+", found[0])
            if len(words) in _SIZES and len(set(words)) >= len(words) - 2 and not _SENTENCE.intersection(words):
                yield Finding(found.start(), found.end(), "seed_phrase")


_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
# A private key in wallet import format, or an extended private key.
_WALLET_KEY = re.compile(
    rf"(?<![A-Za-z0-9])(?:[5KLc9][{_BASE58}]{{50,51}}|[xyzt]prv[{_BASE58}]{{107,108}})(?![A-Za-z0-9])"
)


def find_wallet_keys(text: str) -> Iterator[Finding]:
    """Find private keys in base58, which carry a checksum."""
    for found in _WALLET_KEY.finditer(text):
        if _has_checksum(found[0]):
            yield Finding(found.start(), found.end(), "wallet_key")


def _has_checksum(text: str) -> bool:
    number = 0
    for char in text:
        number = 58 * number + _BASE58.index(char)
    data = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return hashlib.sha256(hashlib.sha256(data[:-4]).digest()).digest()[:4] == data[-4:]
