"""Fill templates with generated values, so that no secret is written in the repository.

A template marks each secret by `«…»`. In a template `|` is removed, which keeps the prefixes of vendors apart, and
`{x20}` stands for 20 generated characters: d digits, h hexadecimal, a lower case and digits, A upper case and digits,
x letters and digits, b base64, u base64 for URLs, l lower-case letters, U upper-case letters. `{name}` calls a maker.
"""

import hashlib
import random
import re
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_LETTERS = string.ascii_letters + string.digits
_CLASSES = {
    "d": string.digits,
    "h": "0123456789abcdef",
    "a": string.ascii_lowercase + string.digits,
    "A": string.ascii_uppercase + string.digits,
    "x": _LETTERS,
    "b": _LETTERS + "+/",
    "u": _LETTERS + "-_",
    "l": string.ascii_lowercase,
    "U": string.ascii_uppercase,
}
_HOLE = re.compile(r"\{([a-z]{3,}|[a-zA-Z])(\d*)\}")
_SECRET = re.compile(r"«(.*?)»", re.DOTALL)
_WORDS = [
    "abandon",
    "ability",
    "able",
    "about",
    "above",
    "absent",
    "absorb",
    "abstract",
    "absurd",
    "abuse",
    "access",
    "accident",
    "account",
    "accuse",
    "achieve",
    "acid",
    "acoustic",
    "acquire",
    "across",
    "act",
    "action",
    "actor",
    "actress",
    "actual",
    "adapt",
    "add",
    "addict",
    "address",
    "adjust",
    "admit",
    "adult",
    "advance",
    "advice",
    "aerobic",
    "affair",
    "afford",
    "afraid",
    "again",
    "age",
    "agent",
    "agree",
    "ahead",
    "aim",
    "air",
    "airport",
    "aisle",
    "alarm",
    "album",
    "alcohol",
    "alert",
]


@dataclass(frozen=True, slots=True)
class Case:
    """A text with the secrets in it; a look-alike has none."""

    kind: str
    text: str
    secrets: tuple[str, ...]
    held_out: bool


def case(kind: str, template: str, salt: str = "") -> Case:
    """Fill a template. The same template always belongs to the same half, and gives the same text for the same salt."""
    digest = hashlib.sha256(template.encode()).digest()
    chance = random.Random(digest + salt.encode())
    filled = _HOLE.sub(lambda hole: _fill(hole[1], int(hole[2] or 0), chance), unescaped(template.replace("|", "")))
    secrets = tuple(_SECRET.findall(filled))
    return Case(kind, _SECRET.sub(r"\1", filled), secrets, held_out=digest[0] % 2 == 0)


def unescaped(template: str) -> str:
    return template.replace("\\\\", "\0").replace("\\n", "\n").replace("\0", "\\")


def _fill(name: str, size: int, chance: random.Random) -> str:
    if len(name) == 1:
        body = [chance.choice(_CLASSES[name]) for _ in range(size)]
        if size >= 8 and name in "xaAub":
            body[1], body[size // 2], body[-2] = "7", "4", "9"
            body[0] = chance.choice(string.ascii_lowercase if name == "a" else string.ascii_uppercase)
        return "".join(body)
    return _MAKERS[name](chance)


def _digits(chance: random.Random, size: int) -> list[int]:
    return [chance.randrange(10) for _ in range(size)]


def _card(chance: random.Random) -> str:
    digits = [4, *_digits(chance, 14)]
    doubled = [2 * one - 9 * (one > 4) if place % 2 == 0 else one for place, one in enumerate(digits)]
    return "".join(map(str, [*digits, -sum(doubled) % 10]))


def _spaced_card(chance: random.Random) -> str:
    number = _card(chance)
    return " ".join(number[start : start + 4] for start in range(0, 16, 4))


def _bad_card(chance: random.Random) -> str:
    number = _card(chance)
    return number[:-1] + str((int(number[-1]) + 5) % 10)


def _iban(chance: random.Random) -> str:
    body = "37040044" + "".join(map(str, _digits(chance, 10)))
    return f"DE{98 - int(body + '131400') % 97:02}{body}"


def _cpf(chance: random.Random) -> str:
    digits = _digits(chance, 9)
    for size in (10, 11):
        total = sum((size - place) * digit for place, digit in enumerate(digits))
        digits.append((10 * total) % 11 % 10)
    text = "".join(map(str, digits))
    return f"{text[:3]}.{text[3:6]}.{text[6:9]}-{text[9:]}"


def _dni(chance: random.Random) -> str:
    number = chance.randrange(10_000_000, 99_999_999)
    return f"{number}{'TRWAGMYFPDXBNJZSQVHLCKE'[number % 23]}"


def _insee(chance: random.Random) -> str:
    year, month = chance.randrange(50, 99), chance.randrange(1, 13)
    body = f"2{year}{month:02}75{chance.randrange(100, 600)}{chance.randrange(900):03}"
    return f"{body}{97 - int(body) % 97:02}"


def _steuer_id(chance: random.Random) -> str:
    digits = chance.sample(range(1, 10), 9)
    digits.insert(5, digits[0])
    product = 10
    for digit in digits:
        total = (digit + product) % 10 or 10
        product = 2 * total % 11
    return "".join(map(str, digits)) + str((11 - product) % 10)


def _aadhaar(chance: random.Random) -> str:
    table = [[(i + j) % 5 if i < 5 and j < 5 else 0 for j in range(10)] for i in range(10)]
    for i in range(10):
        for j in range(10):
            low_i, low_j = i % 5, j % 5
            if i < 5:
                table[i][j] = (low_i + low_j) % 5 + (5 if j >= 5 else 0)
            else:
                table[i][j] = (low_i - low_j) % 5 + (0 if j >= 5 else 5)
    step = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4]
    rows = [list(range(10))]
    for _ in range(7):
        rows.append([rows[-1][step[digit]] for digit in range(10)])
    digits = [chance.randrange(2, 10), *_digits(chance, 10)]
    total = 0
    for place, digit in enumerate(reversed(digits), start=1):
        total = table[total][rows[place % 8][digit]]
    last = next(digit for digit in range(10) if table[total][digit] == 0)
    text = "".join(map(str, [*digits, last]))
    return f"{text[:4]} {text[4:8]} {text[8:]}"


def _codice(chance: random.Random) -> str:
    body = f"RSSMRA{chance.randrange(50, 99)}A{chance.randrange(1, 29):02}H501"
    odd = dict(zip("0123456789", (1, 0, 5, 7, 9, 13, 15, 17, 19, 21), strict=True))
    order = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
    odd |= dict(zip(string.ascii_uppercase, order, strict=True))
    even = {char: int(char) if char.isdigit() else ord(char) - 65 for char in odd}
    total = sum(odd[char] if place % 2 == 0 else even[char] for place, char in enumerate(body))
    return body + chr(65 + total % 26)


def _pem(chance: random.Random) -> str:
    lines = ["".join(chance.choice(_CLASSES["b"]) for _ in range(64)) for _ in range(5)]
    return "\n".join(lines)


def _seed(chance: random.Random) -> str:
    return " ".join(chance.sample(_WORDS, 12))


def _luhn(chance: random.Random, prefix: str, size: int) -> str:
    digits = [*map(int, prefix), *_digits(chance, size - len(prefix) - 1)]
    doubled = [2 * one - 9 * (one > 4) if place % 2 == 0 else one for place, one in enumerate(reversed(digits))]
    return "".join(map(str, [*digits, -sum(doubled) % 10]))


def _weighted(digits: list[int], weights: Sequence[int]) -> int:
    return sum(digit * weight for digit, weight in zip(digits, weights, strict=True))


def _amex(chance: random.Random) -> str:
    number = _luhn(chance, "37", 15)
    return f"{number[:4]} {number[4:10]} {number[10:]}"


def _mastercard(chance: random.Random) -> str:
    number = _luhn(chance, "54", 16)
    return "-".join(number[start : start + 4] for start in range(0, 16, 4))


def _sin(chance: random.Random) -> str:
    number = _luhn(chance, "5", 9)
    return f"{number[:3]} {number[3:6]} {number[6:]}"


def _nhs(chance: random.Random) -> str:
    while True:
        digits = [4, *_digits(chance, 8)]
        check = 11 - _weighted(digits, range(10, 1, -1)) % 11
        if check != 10:
            number = "".join(map(str, [*digits, check % 11]))
            return f"{number[:3]} {number[3:6]} {number[6:]}"


def _pesel(chance: random.Random) -> str:
    birth = f"{chance.randrange(40, 99)}{chance.randrange(1, 13):02}{chance.randrange(1, 29):02}"
    digits = [*map(int, birth), *_digits(chance, 4)]
    return "".join(map(str, [*digits, -_weighted(digits, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3)) % 10]))


def _bsn(chance: random.Random) -> str:
    while True:
        digits = [1, *_digits(chance, 7)]
        check = _weighted(digits, range(9, 1, -1)) % 11
        if check != 10:
            return "".join(map(str, [*digits, check]))


def _personnummer(chance: random.Random) -> str:
    number = _luhn(chance, f"{chance.randrange(40, 99)}{chance.randrange(1, 13):02}{chance.randrange(1, 29):02}", 10)
    return f"{number[:6]}-{number[6:]}"


def _ahv(chance: random.Random) -> str:
    digits = [7, 5, 6, *_digits(chance, 9)]
    number = "".join(map(str, [*digits, -_weighted(digits, (1, 3) * 6) % 10]))
    return f"{number[:3]}.{number[3:7]}.{number[7:11]}.{number[11:]}"


def _chinese_id(chance: random.Random) -> str:
    birth = f"{chance.randrange(1950, 2005)}{chance.randrange(1, 13):02}{chance.randrange(1, 29):02}"
    body = f"110105{birth}{chance.randrange(1000):03}"
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    return body + "10X98765432"[_weighted(list(map(int, body)), weights) % 11]


def _wallet_key(chance: random.Random) -> str:
    data = bytes([0x80, *(chance.randrange(256) for _ in range(32)), 1])
    data += hashlib.sha256(hashlib.sha256(data).digest()).digest()[:4]
    alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    number, text = int.from_bytes(data, "big"), ""
    while number:
        number, place = divmod(number, 58)
        text = alphabet[place] + text
    return text


_MAKERS: dict[str, Callable[[random.Random], str]] = {
    "card": _card,
    "cardspaced": _spaced_card,
    "cardbad": _bad_card,
    "iban": _iban,
    "cpf": _cpf,
    "dni": _dni,
    "insee": _insee,
    "steuer": _steuer_id,
    "aadhaar": _aadhaar,
    "codice": _codice,
    "pem": _pem,
    "seed": _seed,
    "wif": _wallet_key,
    "amex": _amex,
    "mastercard": _mastercard,
    "sin": _sin,
    "nhs": _nhs,
    "pesel": _pesel,
    "bsn": _bsn,
    "personnummer": _personnummer,
    "ahv": _ahv,
    "cnid": _chinese_id,
}
