"""Find secrets by the structure around them: key blocks, URLs, headers, command lines, password files."""

import re
from collections.abc import Callable, Iterator

from memory_butler.policy.trust.plain_view import FILLER, PlainView
from memory_butler.policy.trust.secrets.placeholders import is_measure, is_ordinary, is_placeholder, is_random
from memory_butler.policy.trust.secrets.vendor_formats import Finding

_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d:|Private-Lines: \d")
_END = "-----END"
KEY_CHARACTERS = 16_000
_KEY_LINE = re.compile(
    r"[ \t>|#*]{0,8}(?:[A-Za-z0-9+/=\\]{1,200}|[A-Za-z-]{3,20}: [^\n]{0,120}"
    r"|=[A-Za-z0-9+/]{4})?[ \t]{0,8}"
)
_KEY_BEGUN = re.compile(r"[ \t>|#*]{0,8}[A-Za-z0-9+/=]{40,200}(?![A-Za-z0-9+/=])")
_SSH_BODY = re.compile(
    r"(?<![A-Za-z0-9+/])(?:b3BlbnNzaC1rZXktdjE|MIIE[ov]|MIIJ[KRQ]"
    r"|MHcCAQEE)[A-Za-z0-9+/=]{40,8000}"
)


def find_key_blocks(text: str) -> Iterator[Finding]:
    """Find private keys, also without their last line."""
    if "-----BEGIN " in text or "PuTTY" in text or "Private-Lines" in text:
        end = 0
        for begin in _BEGIN.finditer(text):
            if begin.start() >= end:
                end = _block_end(text, begin.end())
                yield Finding(begin.start(), end, "private_key")
    for body in _SSH_BODY.finditer(text):
        yield Finding(body.start(), body.end(), "private_key")


def _block_end(text: str, start: int) -> int:
    close = text.find(_END, start)
    following = text.find("-----BEGIN", start)
    if close >= 0 and (following < 0 or close < following):
        dashes = text.find("-----", close + len(_END), close + 80)
        return dashes + 5 if dashes >= 0 else close + len(_END)
    end = start
    for line in text[start : start + KEY_CHARACTERS].splitlines(keepends=True):
        if end > start and line.strip() and not _KEY_LINE.fullmatch(line.rstrip("\r\n")):
            # Words may follow the last line of a key.
            begun = _KEY_BEGUN.match(line)
            end += begun.end() if begun else 0
            break
        end += len(line)
    return len(text[:end].rstrip())


def _any(value: str) -> bool:
    return len(value) >= 3 and not is_placeholder(value)


def _not_word(value: str) -> bool:
    return _any(value) and not is_ordinary(value)


def _long(value: str) -> bool:
    return len(value) >= 8 and not is_placeholder(value) and any(map(str.isdigit, value))


def _generated(value: str) -> bool:
    return len(value) >= 16 and not is_placeholder(value) and (is_random(value) or len(value) >= 40)


def _not_ids(value: str) -> bool:
    return _any(value) and not is_measure(value, "") and not value.isdigit()


def _mixed(value: str) -> bool:
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value)) and not is_placeholder(value)


def _is_hash(value: str) -> bool:
    return FILLER not in value and len(set(value)) > 8


_Check = Callable[[str], bool]
_COMMAND = r"[^\n|;&]{0,160}?"
# Kind, a word without which the pattern cannot match, the pattern on lower-case text, the check of its group.
_PATTERNS: tuple[tuple[str, str, str, _Check], ...] = (
    ("url_credentials", "://", r"://[^\s/@:\"'<>]{0,100}:([^\s/@\"'<>]{1,200})@", _any),
    ("webhook_url", "hooks.slack", r"hooks\.slack\.com/(?:services|workflows|triggers)/([a-z0-9/]{20,120})", _long),
    ("webhook_url", "webhook", r"discord(?:app)?\.com/api/webhooks/\d{15,22}/([\w-]{40,90})", _long),
    ("webhook_url", "webhook.office", r"webhook\.office\.com/([\w@/-]{40,200})", _long),
    (
        "auth_header",
        "uthorization",
        r"authorization[\"']?[ ]{0,2}[:=][ ]{0,2}[\"']?(?:bearer|basic|token|digest|apikey|ssws|negotiate"
        r"|bot)[ ]{1,3}"
        r"([^\s\"',;]{8,4000})",
        _any,
    ),
    (
        "auth_header",
        "uthorization",
        r"authorization[\"']?[ ]{0,2}[:=][ ]{0,2}[\"']?[a-z-]{2,24}[ ]{1,3}([^\s\"',;]{16,4000})",
        _generated,
    ),
    ("password", "securestring", r"securestring[ ]{1,3}(?:-string[ ])?[\"']([^\"'\n$]{4,200})[\"']", _any),
    ("token", "-u", r"(?<![\w-])(?:-u|--user)[ =]{0,2}[\"']?([0-9a-z]{24,80}):", _generated),
    ("auth_header", "bearer", r"\bbearer[ ]{1,3}([\w+/=.~%-]{16,4000})", _generated),
    ("auth_header", "basic", r"\bbasic[ ]{1,3}([a-z0-9+/]{12,400}={0,2})(?![\w-])", _generated),
    ("auth_header", "ssws", r"\bssws[ ]{1,3}([\w-]{20,80})", _long),
    ("password", "wifi:", r"wifi:[^\n]{0,80}?;p:([^;\s]{4,80});", _any),
    ("password", "-u", r"(?<![\w-])(?:-u|--user)[ =]{0,2}[\"']?[^\s:\"'$]{1,80}:([^\s\"']{2,200})", _not_ids),
    ("password", "mysql", r"\bmysql\w{0,12}\b" + _COMMAND + r"[ ]-p[\"']?([^\s\"'-][^\s\"']{1,200})", _any),
    ("password", "mariadb", r"\bmariadb[\w-]{0,12}\b" + _COMMAND + r"[ ]-p[\"']?([^\s\"'-][^\s\"']{1,200})", _any),
    ("password", "sshpass", r"\bsshpass[ ]{1,3}-p[ ]{0,3}[\"']?([^\s\"'-][^\s\"']{1,200})", _any),
    ("password", "redis-cli", r"\bredis-cli\b" + _COMMAND + r"[ ](?:-a|--pass)[ ]{1,3}[\"']?([^\s\"']{2,200})", _any),
    (
        "password",
        "login",
        r"\b(?:docker|podman|helm|oras|oc|az|nerdctl"
        r"|crane)\b[^\n]{0,24}\blogin\b[^\n]{0,160}?[ ]-p[ =]{1,3}[\"']?"
        r"([^\s\"'-][^\s\"']{1,200})",
        _any,
    ),
    (
        "password",
        "zip",
        r"\b(?:zip"
        r"|unzip)\b" + _COMMAND + r"[ ]-p[ ]{1,3}[\"']?([^\s\"'-][^\s\"']{2,100})(?=[^\n]{0,80}\.zip)",
        _any,
    ),
    (
        "password",
        "-p",
        r"(?<![\w-])(?:-u|--user|--username|-l|--login)[ =]{1,2}[\"']?[\w.@\\-]{1,60}[\"']?[ ](?:[^\n|;&]{0,120}?[ ])?"
        r"-p(?:[ ]{1,2}|w[ ]{1,2})?[\"']?([^\s\"'-][^\s\"':/]{4,200})(?![^\s\"']{0,80}[:/])",
        _mixed,
    ),
    (
        "password",
        "chpasswd",
        r"[\"'\s][a-z_][\w.-]{0,31}:([^\s\"':]{4,200})[\"']?[ ]{0,3}\|?[ ]{0,3}(?:sudo[ ]{1,2})?chpasswd",
        _any,
    ),
    ("password", "chpasswd", r"chpasswd[ ]{0,3}<<<?[ ]{0,3}[\"']?[\w.-]{1,32}:([^\s\"':]{4,200})", _any),
    (
        "password",
        "sudo",
        r"\becho[ ]{1,3}[\"']?([^\s\"'$]{4,200})[\"']?[ ]{0,3}\|?[ ]{0,3}sudo[ ]{1,3}-S\b".lower(),
        _mixed,
    ),
    (
        "token",
        " ",
        r"\b(?:authorize|login|alias set|set-credentials|authenticate|signin)[ ][^\n|;&]{0,160}?(?<=[ ])"
        r"[\"']?([\w+/-]{16,200}={0,2})(?![\w.:/@])",
        _generated,
    ),
    (
        "password",
        "auth",
        r"auth[ ]{0,2}=[ ]{0,2}\([\"'][^\"'\n]{1,80}[\"'][ ]{0,2},[ ]{0,2}[\"']([^\"'\n]{4,200})[\"']",
        _any,
    ),
    ("password", "encrypt_string", r"\bencrypt_string[ ]{1,3}[\"']([^\"'\n]{3,200})[\"']", _any),
    (
        "password",
        "identified",
        r"\bidentified[ ](?:with[ ]\S{1,40}[ ])?(?:by|as)[ ](?:password[ ])?[\"']([^\"'\n]{3,200})[\"']",
        _any,
    ),
    ("token", "-t", r"(?<![\w-])-t[ ]{1,2}[\"']?([\w+/-]{24,200}={0,2})(?![\w.:/])", _generated),
    (
        "token",
        "x-",
        r"(?<![\w-])x-[a-z-]{0,30}(?:auth|token|key|secret)[\"']?[ :=]{1,4}[\"']?([\w+/=.-]{12,400})",
        _generated,
    ),
    ("password", "7z", r"\b7za?\b" + _COMMAND + r"[ ]-p([^\s\"'-][^\s\"']{2,100})", _any),
    ("password", "pass:", r"-pass(?:in|out)?[ ]{1,3}pass:([^\s\"']{2,200})", _any),
    ("password", "openssl", r"\bopenssl\b" + _COMMAND + r"[ ]-k[ ]{1,3}[\"']?([^\s\"'-][^\s\"']{3,200})", _any),
    ("password", "ldap", r"\bldap\w{1,12}\b" + _COMMAND + r"[ ]-w[ ]{1,3}[\"']?([^\s\"'-][^\s\"']{3,200})", _any),
    (
        "password",
        "mosquitto",
        r"\bmosquitto_\w{3}\b" + _COMMAND + r"[ ]-p[ ]{1,3}[\"']?([^\s\"'-][^\s\"']{3,200})",
        _not_ids,
    ),
    ("password", "mongo", r"\bmongo\w{0,8}\b" + _COMMAND + r"[ ]-p[ ]{1,3}[\"']?([^\s\"'-][^\s\"']{3,200})", _any),
    (
        "password",
        "ssh-keygen",
        r"\bssh-keygen\b" + _COMMAND + r"[ ]-[np][ ]{1,3}[\"']?([^\s\"'-][^\s\"']{3,200})",
        _any,
    ),
    (
        "password",
        "keytool",
        r"\bkeytool\b" + _COMMAND + r"[ ]-(?:store|key)pass[ ]{1,3}[\"']?([^\s\"'-][^\s\"']{3,200})",
        _any,
    ),
    (
        "password",
        "htpasswd",
        r"\bhtpasswd\b" + _COMMAND + r"[ ]-\w{0,4}b\w{0,4}[ ]{1,3}\S{1,80}[ ]{1,3}\S{1,80}[ ]{1,3}([^\s]{3,200})",
        _any,
    ),
    ("password", "smb", r"\bsmb\w{0,12}\b" + _COMMAND + r"[ ]-u[ ]{0,3}[\"']?[^\s%\"']{1,80}%([^\s\"']{3,200})", _any),
    ("password", "freerdp", r"\bx?freerdp\b[^\n]{0,160}?[ ]/p:[\"']?([^\s\"']{3,200})", _any),
    (
        "password",
        "echo",
        r"\b(?:echo|printf)[ ](?:-\w{1,3}[ ])?[\"']?(?:[\w.@-]{1,60}(?:\n|\\n))?([^\s\"'$|<>]{6,200})[\"']?"
        r"[ ]{0,3}[|>][^\n]{0,100}?"
        r"(?:secret|passw|passphrase|credential|token|keyring|auth)",
        _mixed,
    ),
    ("password", "oracle", r"\b(?:jdbc:oracle:\w{1,8}:|oracle://)[^\s/@:]{1,60}/([^\s/@]{2,100})@", _any),
    ("password", "sqlplus", r"\bsqlplus\b[^\n]{0,60}?[ ][\"']?[\w$]{1,40}/([^\s/@\"']{2,100})@", _any),
    ("twilio_key", "ac", r"ac[0-9a-f]{32}(?![0-9a-f])[^\n]{1,40}?(?<![0-9a-z])([0-9a-f]{32})(?![0-9a-z])", _any),
    ("password", "net use", r"\bnet use\b[^\n]{0,160}?/user:[^\s]{1,80}[ ]{1,3}([^\s/][^\s]{2,100})", _any),
    ("password", "login", r"\blogin[ \n]{1,3}[^\s]{1,80}[ \n]{1,3}password[ ]{1,3}([^\s]{3,200})", _not_word),
    (
        "password",
        "-p",
        r"(?<![\w-])--?(?:pass|passwd|password|passphrase"
        r"|passin)[ =]{1,2}[\"']?([^\s\"'-][^\s\"']{3,200})",
        _not_word,
    ),
    (
        "token",
        "--",
        r"(?<![\w-])--(?:token|secret|api-?key|auth-?token|access-?token"
        r"|client-secret)[ =]{1,2}[\"']?([^\s\"'-][^\s\"']{3,400})",
        _not_word,
    ),
    (
        "token",
        "--",
        r"(?<![\w-])--(?:[a-z0-9]{1,16}-){0,3}(?:auth|authkey|key|token|secret|credentials?|access-key-id)"
        r"[ =]{1,2}[\"']?([^\s\"'-][^\s\"']{15,400})",
        _generated,
    ),
    (
        "password_hash",
        "$",
        r"(?<![\w$])(\$(?:apr1|1|2[abxy]?|5|6|7|y|gy|argon2(?:id|i|d)|scrypt|pbkdf2[\w-]{0,12}|md5"
        r"|s2)\$[^\s:\"']{13,250})",
        _is_hash,
    ),
    ("password_hash", "sha}", r"(\{s?sha(?:256|512)?\}[a-z0-9+/]{20,120}={0,2})", _is_hash),
    (
        "security_answer",
        "answer",
        r"security question[^\n]{0,120}?\banswer(?: is|:"
        r"| =)[ ]{0,3}[\"']?([^\n.,;\"']{2,60})",
        _not_word,
    ),
    ("docker_auth", "auth", r"\"auth\"[ ]{0,3}:[ ]{0,3}\"([a-z0-9+/]{8,400}={0,2})\"", _any),
    (
        "password",
        ":",
        r"(?:^|\n)(?:[\w*-]{1,60}\.[\w.*-]{1,60}|localhost|\*):(?:\d{1,5}"
        r"|\*):[^\s:]{1,63}:[^\s:]{1,63}:([^\s]{3,200})",
        _any,
    ),
    ("azure_key", "sharedaccesssignature", r"sharedaccesssignature[ =]{1,2}([^\s\"']{20,400})", _any),
    ("azure_key", "sig=", r"[?&]sig=([a-z0-9%+/=]{20,200})", _long),
)
_COMPILED = tuple((kind, word, re.compile(pattern), check) for kind, word, pattern, check in _PATTERNS)
STRUCTURED_KINDS = frozenset({"private_key", "cookie", *(kind for kind, *_ in _PATTERNS)})
_COOKIE = re.compile(r"\b(?:set-)?cookie2?[\"']?[ ]{0,2}[:=][ ]{0,2}[\"']?([^\n\"']{4,4000})")
_PAIR = re.compile(r"([\w.-]{1,60})=([^;\s,\"']{8,4000})")


def find_structured(view: PlainView) -> Iterator[Finding]:
    lower = view.lower
    yield from find_key_blocks(view.text)
    for kind, word, pattern, check in _COMPILED:
        if word in lower:
            for found in pattern.finditer(lower):
                start, end = found.span(1)
                value = view.text[start:end].rstrip(".,;)")
                if check(value):
                    yield Finding(start, start + len(value), kind)
    if "cookie" in lower:
        for header in _COOKIE.finditer(lower):
            for pair in _PAIR.finditer(view.text, header.start(1), header.end(1)):
                if any(map(str.isdigit, pair[2])) and not is_placeholder(pair[2]) and not pair[2].isdigit():
                    yield Finding(pair.start(2), pair.end(2), "cookie")
