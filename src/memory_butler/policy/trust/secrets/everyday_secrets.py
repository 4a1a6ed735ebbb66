"""Find secrets that people give without their name: "wifi in the surgery is peatsmoke22", "the gate is 2580",
"her phone unlocks with 512483".

The value must look like one: letters with digits or joined words for a network, a number or a short code for a lock,
and it ends its clause. Speeds, standards, measures, prices, times and years stay.
"""

import re
from collections.abc import Iterator

from memory_butler.policy.trust.plain_view import PlainView
from memory_butler.policy.trust.secrets.placeholders import is_measure, is_ordinary, is_placeholder
from memory_butler.policy.trust.secrets.vendor_formats import Finding

_HINT = re.compile(
    r"wi-?fi|wlan|gate|door|garage|safe|alarm|shed|lock|keypad|pass|immeuble|portail|\btor\b|\btür|unlock|entsperr"
    r"|desbloque|sblocc|déverrouill|ontgrendel|opens? |öffne|ouvre|abre|apre|geht mit|otwiera|öppnas"
    r"|åpnes|åbnes|открывается"
)
_IS = r"(?:[ ]{1,2}(?:is|ist|es|est|c'est|è|é)(?:[ ]{1,2}(?:now|jetzt|ahora|maintenant))?[ ]{1,3}|[ ]{0,2}[:=][ ]{0,3})"
_PLACE = (
    r"(?:[ ]{1,2}(?:in|at|for|of|im|in der|am|für|en|de|del|du|dans|à|chez)[ ]{1,2}"
    r"(?:[\w'-]{1,20}[ ]{1,2}){0,3}?[\w'-]{1,20}?)?"
)
_END = r"(?=[ ]{0,2}(?:$|[.,;!?)\n]|(?:and|but|und|y|et|e|by|for|on|at|in)\b))"
_NETWORK = re.compile(rf"\b(?:wi-?fi|wlan)\b{_PLACE}{_IS}[\"'`]?(?P<value>[^\s\"'`,;]{{6,63}})")
_NETWORK_PASS = re.compile(
    r"\b(?:wi-?fi|wlan|router|hotspot)\b[^.!?\n]{0,60}?\b(?:pass|pw|key|code|schlüssel|clave|clé|chiave|senha|sleutel)\b"
    rf"(?:{_IS}|[ ]{{1,2}})"
    r"[\"'`]?(?P<value>[^\s\"'`,;]{6,63})"
)
_BARE_PASS = re.compile(rf"(?:^|[\n.;,][ ]?|\b(?:the|and|my|our)[ ])pass{_IS}[\"'`]?(?P<value>[^\s\"'`,;]{{6,63}})")
_LOCK = re.compile(
    r"\b(?:gate|(?:front|back|side|garage|cellar|main|garden|barn|stable|studio|office)[ ]door|door|garage|key[ ]?safe|"
    rf"safe|alarm|shed|lock ?box|padlock|bike[ ]lock|locker|keypad|portail|tor|haustür){_PLACE}{_IS}"
    rf"(?P<value>[#*]?(?:\d{{4,8}}|\d{{1,4}}[a-z]\d{{1,4}})[#*]?)(?![\w%€$£-]|\.\d){_END}"
)
_BUILDING = re.compile(r"\bcode de l'(?:immeuble|entrée|alarme)" + _IS + r"(?P<value>[0-9a-z]{4,8})(?!\w)")
_UNLOCK = re.compile(
    r"\b(?:unlock(?:s|ed)?|open(?:s|ed)?|disarm(?:s|ed)?|(?:wird|lässt sich) entsperrt"
    r"|entsperr(?:e|st|t|en)(?:[ ]ich)?|öffnet|öffne[ ]ich|geht"
    r"|s'ouvre|ouvre|se (?:desbloquea|abre)|si (?:sblocca|apre)|se (?:déverrouille|déverrouillent)"
    r"|(?:se )?desbloqueia|abre|(?:gaat|gå) open|ontgrendelt|ontgrendel ik|otwiera się|öppnas|åpnes|åbnes|открывается)"
    r"(?:[ ](?:it|them|the[ ][\w-]{1,20}|him))?[ ]{1,2}"
    r"(?:with|using|by|mit|con|avec|com|met|med|kodem|кодом|на)"
    r"(?:[ ](?:the|code|pin|dem|der|el|il|le|o|number|zahl|número|código|codice)){0,3}[ ]{1,2}"
    rf"(?P<value>[#*]?\d{{4,8}}[#*]?)(?![\w%€$£-]|\.\d){_END}"
)
_SET = re.compile(
    r"\b(?:set|reset|changed?)[ ](?:the|my|our|his|her)[ ](?:[\w-]{1,20}[ ])?"
    r"(?:safe|lock|padlock|keypad|locker)[ ]to[ ]"
    rf"(?P<value>\d{{3,8}}|\d{{1,3}}(?:-\d{{1,2}}){{1,3}})(?![\w%€$£-]|[.:]\d){_END}"
)
_STANDARD = re.compile(
    r"(?:wpa\d?|802\.|ipv\d|wi-?fi-?\d|\d{1,4}(?:[.,]\d{1,3})?(?:ghz|g|mb|gb|mbit|gbit|mbps|gbps)\b)"
)
# Codes that open nothing.
_OTHER_CODE = re.compile(
    r"\b(?:postal|zip|post|source|error|discount|promo|qr|bar|country|area|product|tax|colou?r|dress|exit)[ -]?code"
    r"|code (?:postal|promo|source|produit|article|du produit|erreur|barres)"
    r"|código (?:postal|fuente|de barras|do produto)|codice (?:fiscale|postale|sconto|prodotto)"
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_CLOCK = re.compile(r"(?:0?\d|1\d|2[0-3])[0-5][05]")


def find_everyday(view: PlainView) -> Iterator[Finding]:
    lower, text = view.lower, view.text
    if not _HINT.search(lower):
        return
    for pattern in (_NETWORK, _NETWORK_PASS, _BARE_PASS):
        for found in pattern.finditer(lower):
            start = found.start("value")
            value = text[start : found.end("value")].rstrip(".!?:)")
            if _opens_a_network(value, text[start + len(value) :][:24]):
                yield Finding(start, start + len(value), "password")
    for found in _BUILDING.finditer(lower):
        if any(map(str.isdigit, found["value"])):
            yield Finding(*found.span("value"), "access_code")
    for found in (*_UNLOCK.finditer(lower), *_SET.finditer(lower)):
        if not is_measure(found["value"], text[found.end("value") :][:24]):
            yield Finding(*found.span("value"), "access_code")
    for found in _LOCK.finditer(lower):
        value, after = found["value"], text[found.end("value") :][:24]
        is_time = found[0].startswith("alarm") and _CLOCK.fullmatch(value)
        is_other = is_other_code(lower, found.start(), found.start())
        if not (_YEAR.fullmatch(value) or is_time or is_other or is_measure(value, after)):
            yield Finding(*found.span("value"), "access_code")


def is_other_code(lower: str, start: int, end: int) -> bool:
    """True if the words around a span name a code that opens nothing, such as a postal code."""
    return bool(_OTHER_CODE.search(lower, max(0, start - 20), end + 16))


def _opens_a_network(value: str, after: str) -> bool:
    """True for a value that is a password: joined words, or letters with digits."""
    low = value.lower()
    if len(value) < 6 or "://" in value or is_placeholder(value) or is_measure(value, after) or _STANDARD.match(low):
        return False
    letters, digits = sum(map(str.isalpha, value)), sum(map(str.isdigit, value))
    joined = [part for part in re.split(r"[-_.]", low) if part]
    if letters >= 3 and digits >= 1:
        return value[:1] != "[" and not re.fullmatch(r"\d+(?:st|nd|rd|th|am|pm|h|min|euros?)", low)
    return len(joined) >= 3 and all(map(str.isalpha, joined)) and not is_ordinary(low)
