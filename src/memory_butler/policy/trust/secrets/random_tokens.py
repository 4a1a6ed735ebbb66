"""Find generated tokens of unknown vendors: random characters on a line that speaks of a key, a token or a login.

Hashes, ids and public keys are random, too: the words before them tell them apart.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from memory_butler.policy.trust.plain_view import PlainView
from memory_butler.policy.trust.secrets.placeholders import is_placeholder, is_random
from memory_butler.policy.trust.secrets.vendor_formats import Finding

SHORTEST = 20
# Characters before a token and after it that tell what it is, and before it what it is called.
BEFORE, AFTER, CALLED = 80, 30, 24
_RANDOM = re.compile(r"(?<![\w/+.-])[a-z0-9][a-z0-9_-]{18,198}[a-z0-9](?![\w/+@-]|\.\w)")
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_SPEAKS_OF = re.compile(
    r"(?<![a-z])(?:api|app|auth(?:orization|entication)?|bearer|credentials?|creds|keys?|licen[cs]e|login|oauth|pass"
    r"|pat|passw(?:or)?d|pwd|secrets?|token|schlüssel|clé|clave|chiave|chave|ключ|токен|klucz|nyckel|sleutel)"
    r"(?![a-z])(?!['’]?s? (?:figure|idea|point|part|moment|date|word|value))"
)
# The rest of what was said before is another thing.
_ENDS_CONTEXT = re.compile(r"[.!?](?=\s)|\n[ \t]{0,20}\n")
_IS_NO_SECRET = re.compile(
    r"(?:sha-?\d*|md5|hash|digest|checksum|fingerprint|commit|uuid|guid|etag|trace|span|correlation|request|run"
    r"|build|order|invoice|ticket|tracking|session id|public|pubkey|ssh-\w{2,12}|version|revision|ref|nonce|salt|image"
    r"|id|ids|client_id|clientid|issue|integrity|blob|object|branch|tag|release|deploy(?:ment)?|file|folder|document"
    r"|page|user|customer|account|device|job|primary|foreign|row|record|snapshot|key id|key_id|isbn|vin|serial"
    r"|site)\b[\"'`]?[ ]{0,2}(?:is|was|=|:|#|no\.?|number|of)?[ ]{0,2}[\"'`(]?$"
)
_PREFIXED = re.compile(
    r"(?<![a-z0-9_-])(?:[a-z0-9]{1,10}[_-])?(?:live|secret|key|token|api|apikey|sk|rk|pat|auth|priv|cred)"
    r"[_-][a-z0-9]{20,200}(?![\w-])"
)


def find_random(view: PlainView) -> Iterator[Finding]:
    lower = view.lower
    for found in _PREFIXED.finditer(lower):
        token = view.text[found.start() : found.end()]
        if _is_generated(re.split("[_-]", token)[-1]):
            yield Finding(found.start(), found.end(), "token")
    if not _SPEAKS_OF.search(lower):
        return
    for found in _RANDOM.finditer(lower):
        start, end = found.span()
        if _is_generated(view.text[start:end]) and _is_called_secret(lower, start, end):
            yield Finding(start, end, "token")


def _is_generated(token: str) -> bool:
    """True for random characters without the form of words: hexadecimal, or letters and digits mixed throughout."""
    if is_placeholder(token) or len(set(token)) < 8:
        return False
    return is_random(token) and all(len(run) < 16 or _mixes_cases(run) for run in re.findall(r"[^\W\d_]+", token))


def _mixes_cases(run: str) -> bool:
    """True for letters whose case changes like that of no word."""
    changes = sum(one.isupper() != other.isupper() for one, other in pairwise(run))
    return changes >= len(run) // 3 and run.upper() != run


def _is_called_secret(lower: str, start: int, end: int) -> bool:
    before = lower[max(0, start - BEFORE) : start]
    for other in _ENDS_CONTEXT.finditer(before):
        before = before[other.end() :] if other.end() < len(before) else before
        break
    if _IS_NO_SECRET.search(before[-CALLED:]):
        return False
    if _UUID.fullmatch(lower[start:end]):
        # An id has this form, too: what is called a key or token has to be next to it.
        return bool(_SPEAKS_OF.search(before[-CALLED:].replace("_", " ")))
    if "public key" in before or "certificate" in before:
        return False
    after = lower[end : end + AFTER].partition("\n")[0]
    return bool(_SPEAKS_OF.search(before.replace("_", " ")) or _SPEAKS_OF.search(after.replace("_", " ")))
