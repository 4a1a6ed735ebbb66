"""Find payment cards, bank accounts and national identity numbers, by form, check digits and context."""

import re
from collections.abc import Callable, Iterator
from datetime import date

from memory_butler.english.text.word_sets import word_set
from memory_butler.policy.trust.plain_view import PlainView
from memory_butler.policy.trust.secrets.vendor_formats import Finding

_DIGIT = re.compile(r"[0-9]")
FEWEST_DIGITS = 4
_CARD = re.compile(
    r"(?<![\w.,+/-])(?:\d{4}[ -]\d{4}[ -]\d{4}[ -]\d{1,7}|\d{4}[ -]\d{6}[ -]\d{4,5}"
    r"|\d{13,19})(?![\w-]|[.,]\d)"
)
_BRANDS = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}"
    r"|6\d{15}|35\d{14}|(?:50|5[6-9])\d{14}"
)
_OTHER_NUMBER = re.compile(
    r"\b(?:order|orders|tracking|invoice|ticket|case|booking|confirmation|shipment|parcel|imei|isbn|ean|gtin|upc"
    r"|serial|part|sku"
    r"|rechnung|bestellung|auftrag|sendung|sendungsnummer|commande|pedido|factura|fattura|ordine|order[- ]?id"
    r"|transaction|ref"
    r"|reference|phone|tel|call|fax|telefon|whatsapp|build|batch|lot|timestamp|epoch|model|item|article|asin"
    r"|customer|member"
    r"|product|job|pid|req(?:uest)?|id)\b[^\n]{0,16}$"
)
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]{4}){2,7}(?:[ -]?[A-Z0-9]{1,3})?(?![A-Za-z0-9])")
_IBAN_LENGTHS = {
    country: int(size)
    for country, size in (
        entry.split(":")
        for entry in sorted(
            word_set(
                """
                AD:24 AE:23 AT:20 BE:16 BG:22 BR:29 CH:21 CY:28 CZ:24 DE:22 DK:18 EE:20
                ES:24 FI:18 FR:27 GB:22 GR:27 HR:21 HU:28 IE:22 IL:23 IS:26 IT:27 LI:21
                LT:20 LU:20 LV:21 MC:27 MT:31 NL:18 NO:15 PL:28 PT:25 RO:24 RS:22 SA:24
                SE:24 SI:19 SK:24 TR:26 UA:29
                """
            )
        )
    )
}


def luhn(digits: str) -> bool:
    total = 0
    for place, char in enumerate(reversed(digits)):
        digit = int(char)
        doubled = 2 * digit - 9 * (digit > 4) if place % 2 else digit
        total += doubled
    return total % 10 == 0


def _cpf(digits: str) -> bool:
    if len(set(digits)) == 1:
        return False
    for size in (9, 10):
        total = sum((size + 1 - place) * int(digits[place]) for place in range(size))
        if 10 * total % 11 % 10 != int(digits[size]):
            return False
    return True


def _dni(text: str) -> bool:
    number = text[:-1].translate(str.maketrans("XYZ", "012"))
    return number.isdigit() and "TRWAGMYFPDXBNJZSQVHLCKE"[int(number) % 23] == text[-1]


def _insee(text: str) -> bool:
    body = text[:13].replace("2A", "19").replace("2B", "18")
    return body.isdigit() and 97 - int(body) % 97 == int(text[13:15])


def _steuer_id(digits: str) -> bool:
    product = 10
    for char in digits[:10]:
        total = (int(char) + product) % 10 or 10
        product = 2 * total % 11
    return (11 - product) % 10 == int(digits[10])


_ODD = dict(
    zip(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        (
            1,
            0,
            5,
            7,
            9,
            13,
            15,
            17,
            19,
            21,
            1,
            0,
            5,
            7,
            9,
            13,
            15,
            17,
            19,
            21,
            2,
            4,
            18,
            20,
            11,
            3,
            6,
            8,
            12,
            14,
            16,
            10,
            22,
            25,
            24,
            23,
        ),
        strict=True,
    )
)


def _codice_fiscale(text: str) -> bool:
    total = sum(
        _ODD[char] if place % 2 == 0 else int(char) if char.isdigit() else ord(char) - 65
        for place, char in enumerate(text[:15])
    )
    return chr(65 + total % 26) == text[15]


def _chinese_id(text: str) -> bool:
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    total = sum(weight * int(char) for weight, char in zip(weights, text[:17], strict=True))
    return "10X98765432"[total % 11] == text[17] and _is_date(text[6:10], text[10:12], text[12:14])


def _is_date(year: str, month: str, day: str) -> bool:
    try:
        date(int(year), int(month), int(day))
    except ValueError:
        return False
    return True


def _korean_id(text: str) -> bool:
    return _is_date("19" + text[:2], text[2:4], text[4:6]) and text[6] in "12345678"


def _ean13(text: str) -> bool:
    return (10 - sum(int(char) * (3 if place % 2 else 1) for place, char in enumerate(text[:12])) % 10) % 10 == int(
        text[12]
    )


def _rut(text: str) -> bool:
    total = sum(int(char) * (2 + place % 6) for place, char in enumerate(reversed(text[:-1])))
    return text[-1].upper() == "0123456789K"[(11 - total % 11) % 11] if total % 11 != 1 else text[-1].upper() == "K"


def _nric(text: str) -> bool:
    total = sum(w * int(char) for w, char in zip((2, 7, 6, 5, 4, 3, 2), text[1:8], strict=True)) + (
        4 if text[0] in "TG" else 0
    )
    return text[8] == ("JZIHGFEDCBA" if text[0] in "ST" else "XWUTRQPNMLK")[total % 11]


def _ssn(text: str) -> bool:
    return text[:3] not in ("000", "666") and text[0] != "9" and text[3:5] != "00" and text[5:] != "0000"


def _verhoeff(digits: str) -> bool:
    total = 0
    for place, char in enumerate(reversed(digits)):
        digit = int(char)
        for _ in range(place % 8):
            digit = (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)[digit]
        total = _dihedral(total, digit)
    return total == 0


def _dihedral(one: int, other: int) -> int:
    if one < 5:
        return (one + other) % 5 + 5 * (other >= 5)
    return (one - other) % 5 + 5 * (other < 5)


def _always(_: str) -> bool:
    return True


_Check = Callable[[str], bool]
# Numbers that are recognized by their form and check digits. The check gets them without spaces and punctuation.
_FORMS: tuple[tuple[str, str, _Check], ...] = (
    ("us_ssn", r"(?<![\w.-])\d{3}-\d{2}-\d{4}(?![\w-])", _ssn),
    (
        "uk_nino",
        r"(?<![A-Za-z0-9])[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D](?![A-Za-z0-9])",
        _always,
    ),
    ("es_dni", r"(?<![\w-])(?:\d{8}|[XYZ]-?\d{7})-?[A-Z](?![\w-])", _dni),
    (
        "fr_insee",
        r"(?<![\w.])[12] \d{2} \d{2} \d{2} \d{3} \d{3} \d{2}(?!\w)"
        r"|(?<![\w.])[12]\d{4}[0-9AB]\d{9}(?!\w)",
        _insee,
    ),
    (
        "it_codice_fiscale",
        r"(?<![A-Za-z0-9])[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z](?![A-Za-z0-9])",
        _codice_fiscale,
    ),
    ("br_cpf", r"(?<![\w.])\d{3}\.\d{3}\.\d{3}-\d{2}(?!\w)", _cpf),
    ("in_aadhaar", r"(?<![\w.+-])[2-9]\d{3} \d{4} \d{4}(?![\w-]| \d)", _verhoeff),
    ("ch_ahv", r"(?<![\w.])756\.\d{4}\.\d{4}\.\d{2}(?!\w)", _ean13),
    ("cn_id", r"(?<![\w.])\d{17}[0-9X](?!\w)", _chinese_id),
    ("kr_rrn", r"(?<![\w-])\d{6}-[1-8]\d{6}(?![\w-])", _korean_id),
    ("sg_nric", r"(?<![A-Za-z0-9])[STFG]\d{7}[A-Z](?![A-Za-z0-9])", _nric),
    ("cl_rut", r"(?<![\w.])\d{1,2}\.\d{3}\.\d{3}-[0-9Kk](?!\w)", _rut),
    ("mx_curp", r"(?<![A-Za-z0-9])[A-Z]{4}\d{6}[HM][A-Z]{5}[A-Z0-9]\d(?![A-Za-z0-9])", _always),
)
_COMPILED = tuple((kind, re.compile(pattern), check) for kind, pattern, check in _FORMS)
# Names of identity numbers, and the number that may follow them.
_NAMED = re.compile(
    r"(?P<us_ssn>\bssn\b|social security (?:number|no\.?|#))"
    r"|(?P<de_steuer_id>steuer-?id(?:entifikationsnummer)?(?:-?nr\.?|-?nummer)?\b|steueridentifikationsnummer"
    r"|steuernummer|\btin\b)"
    r"|(?P<de_ausweis>personalausweis(?:nummer|-?nr\.?)?|ausweisnummer|perso-?nummer|sozialversicherungsnummer"
    r"|rentenversicherungsnummer)"
    r"|(?P<uk_nino>national insurance(?: number| no\.?)?|\bnino\b|\bnhs(?: number| no\.?))"
    r"|(?P<es_dni>\bdni\b|\bnie\b|\bnif\b)"
    r"|(?P<fr_insee>numéro de sécurité sociale|sécurité sociale|\binsee\b|\bnir\b|numéro de sécu)"
    r"|(?P<it_codice_fiscale>codice fiscale|carta d'identità)"
    r"|(?P<br_cpf>\bcpf\b|\brg\b)"
    r"|(?P<in_aadhaar>aadhaa?r(?: number| no\.?| card)?|आधार)|(?P<in_pan>\bpan(?: card| number| no\.?))"
    r"|(?P<ca_sin>\bsin\b|social insurance number)|(?P<au_tfn>\btfn\b|tax file number|medicare (?:number|no))"
    r"|(?P<ch_ahv>ahv(?:-?nummer|-?nr\.?)?\b)|(?P<at_svnr>\bsvnr\b|sv-nummer)"
    r"|(?P<nl_bsn>\bbsn\b|burgerservicenummer)|(?P<be_rrn>rijksregisternummer|numéro national)"
    r"|(?P<pl_pesel>\bpesel\b)|(?P<cn_id>身份证号?码?)|(?P<jp_my_number>マイナンバー|個人番号|my number)"
    r"|(?P<kr_rrn>주민등록번호)|(?P<se_personnummer>personnummer)|(?P<no_fnr>fødselsnummer)"
    r"|(?P<dk_cpr>cpr-?(?:nummer|nr\.?))"
    r"|(?P<fi_hetu>henkilötunnus|\bhetu\b)|(?P<pt_nif>número de contribuinte)|(?P<tr_tckn>\btckn\b"
    r"|t\.?c\.? kimlik no)"
    r"|(?P<za_id>south african id(?: number)?)|(?P<ru_passport>паспорт|снилс|инн\b)"
    r"|(?P<passport>passport(?: number| no\.?| #)?|reisepass(?:nummer|-?nr\.?)?|pasaporte|passeport|passaporte"
    r"|passaporto|护照号?码?|パスポート番号)"
    r"|(?P<driver_licence>driv(?:er'?s?|ing) licen[cs]e(?: number| no\.?| #)?|führerschein(?:nummer|-?nr\.?)?"
    r"|permis de conduire)"
    r"|(?P<national_id>national id(?: number| no\.?)?|identity (?:card|number)|id card number|tax id(?: number)?)"
)
NUMBER_KINDS = frozenset({"card_number", "iban", *(kind for kind, *_ in _FORMS), *_NAMED.groupindex})
_ID_AFTER = re.compile(
    r"[\"'`]?(?:[ ]{1,2}(?:number|no\.?|nr\.?|nummer|n°|numero|número))?[ ]{0,2}(?:is|ist|lautet|es|é|est|è|:|="
    r"|#|是|は|为|-)?[ ]{0,3}[\"'`:#]?[ ]{0,2}"
    r"((?=[A-Za-z0-9 .\-/]{0,8}\d)[A-Za-z0-9](?:[ .\-/]?[A-Za-z0-9]){5,19})(?![A-Za-z0-9])"
)
# Words of the sentence that a number without a full stop runs into.
_WORDS_AFTER = re.compile(r"[ .,-]{1,2}[a-z]{2,}(?:[ ].*)?$|[ ].$", re.DOTALL)


def find_numbers(view: PlainView) -> Iterator[Finding]:
    text, lower = view.text, view.lower
    if len(_DIGIT.findall(text)) >= FEWEST_DIGITS:
        yield from _cards(text, lower)
        yield from _ibans(text)
        yield from _by_form(text, lower)
        yield from _by_name(text, lower)


def _cards(text: str, lower: str) -> Iterator[Finding]:
    for found in _CARD.finditer(text):
        digits = found[0].replace(" ", "").replace("-", "")
        if not _BRANDS.fullmatch(digits) or not luhn(digits) or len(set(digits)) < 2:
            continue
        before = lower[max(0, found.start() - 40) : found.start()]
        if not _OTHER_NUMBER.search(before) or "card" in before:
            yield Finding(found.start(), found.end(), "card_number")


def _ibans(text: str) -> Iterator[Finding]:
    for found in _IBAN.finditer(text):
        size = _IBAN_LENGTHS.get(found[0][:2])
        if size is None:
            continue
        end, count = found.start(), 0
        while end < found.end() and count < size:
            count += text[end].isalnum()
            end += 1
        account = "".join(filter(str.isalnum, text[found.start() : end]))
        number = "".join(str(int(char, 36)) for char in account[4:] + account[:4])
        if len(account) == size and int(number) % 97 == 1:
            yield Finding(found.start(), end, "iban")


def _by_form(text: str, lower: str) -> Iterator[Finding]:
    for kind, pattern, check in _COMPILED:
        for found in pattern.finditer(text):
            plain = "".join(filter(str.isalnum, found[0]))
            before = lower[max(0, found.start() - 40) : found.start()]
            if check(plain) and not _OTHER_NUMBER.search(before):
                yield Finding(found.start(), found.end(), kind)


def _by_name(text: str, lower: str) -> Iterator[Finding]:
    for name in _NAMED.finditer(lower):
        number = _ID_AFTER.match(lower, name.end())
        assert name.lastgroup
        if number is None:
            continue
        value = _WORDS_AFTER.sub("", text[number.start(1) : number.end(1)])
        digits = sum(map(str.isdigit, value))
        words = [word for word in re.split(r"[ .\-/]", value) if word.isalpha() and word.islower()]
        if digits < 4 or words or re.fullmatch(r"\d{4}-\d\d-\d\d|(?:19|20)\d\d", value):
            continue
        yield Finding(number.start(1), number.start(1) + len(value), name.lastgroup)
