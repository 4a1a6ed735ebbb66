"""Detect secrets in texts: passwords, keys, tokens and card numbers.

Lexical, and biased to false positives: losing a sentence of an episode costs little.
"""

import re
from itertools import pairwise

# Prefixes of the tokens of well-known services and of Memory Butler.
_PREFIXED = re.compile(
    r"(?<![\w-])(?:sk|pk|rk)[-_](?:live|test|proj|ant|or)?[\w-]{16,}"
    r"|(?<!\w)(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeoprs]-[\w-]{10,}|(?:AKIA|"
    r"ASIA)[0-9A-Z]{16}"
    r"|AIza[\w-]{30,}|ya29\.[\w-]{20,}|hf_\w{20,}|npm_\w{20,}|pypi-[\w-]{20,}|dop_v1_\w{20,}|shpat_\w{20,}|"
    r"SG\.[\w-]{16,}"
    r"|mbt_[\w-]{20,}|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?)"
)
_KEY_BLOCK = re.compile(
    r"-----BEGIN [A-Z ]{0,40}(?:KEY|CERTIFICATE)[A-Z ]{0,20}-----.*?(?:-----END[^\n]*|\Z)", re.DOTALL
)
_IN_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/@:]{0,100}:[^\s/@]{1,200}@", re.IGNORECASE)
_BEARER = re.compile(r"\b(?:bearer|basic)\s+[\w+/=.~-]{12,}", re.IGNORECASE)
_PASS = (
    r"(?:pass(?:word|wort|code|phrase|wd)|kennwort|mot de passe|contraseña|senha|palavra-passe|pwd|secret[ _-]?key"
    r"|(?:api|access|private|signing|encryption|licen[cs]e)[ _-]?key"
    r"|(?:access|auth|bearer|refresh|session|api|bot)[ _-]?token|credentials?|cvv|cvc|one-time code"
    r"|(?:verification|recovery|security|backup|unlock|door|alarm|gate)[ _-]code|seed phrase|otp"
    r"|pin[ _-]?(?:code|number))s?"
)
_WORD = rf"(?:{_PASS}|pins?)"
_OF = r"(?:(?:for|of|to|on|at|für|von|pour|para|de)\s[^.!?\n]{1,60}?\s)?"
_IS = r"(?:is|was|are|(?:will|shall)(?: now)? be|ist|war|lautet|est|es|é|è)"
# Words after "is" that speak of a secret without revealing it.
_NOT_REVEALED = (
    r"(?! (?:not|in|kept|stored|saved|on|at|wrong|missing|needed|required|the|a|an|expired|invalid|unset|empty|too"
    r"|now in|falsch|abgelaufen|nicht|set|reset|changed|updated|rotated|hashed|unique)\b)"
)
# A word with a digit in it, which is rare in ordinary sentences.
_CODE = r"(?=[^\s]{0,80}\d)[^\s]{4,}"
_TO = r"to\s(?!(?:log|sign|get|something|some|the|a|an|avoid|make|use|be|match)\b)\S"
# "The password is …", "DB_PASSWORD=…", "token: …", followed by any value.
_REVEALED = re.compile(
    r"(?<![a-z])(?:secret|token)s?[\"'`]?\s{0,3}[=:]\s{0,3}\S"
    rf"|(?<![a-z])(?:secret|token)\s{_OF}{_IS}\s{_CODE}"
    rf"|(?<![a-z]){_WORD}(?![a-z])[\"'`]?\s{{0,3}}{_OF}(?:=|:|\b{_IS}(?![a-z]){_NOT_REVEALED})\s{{0,3}}\S"
    rf"|(?<![a-z]){_PASS}[\"'`]?\s(?:(?:must|should) be\s)?[\"'`]?{_CODE}|(?<![a-z])pin\s\d{{4,8}}\b"
    rf"|\b(?:set|reset|chang|updat|rotat|switch)\w{{0,4}}\s[^.!?\n]{{0,40}}?(?<![a-z]){_WORD}\s{_OF}{_TO}"
    rf"|(?<![a-z]){_WORD}\s{_OF}(?:is|was|were|got|ha(?:s|ve) been)\s(?:now\s)?"
    rf"(?:set|reset|changed|updated|rotated|switched)\s{_TO}",
    re.IGNORECASE,
)
# PGPASSWORD=…, SSHPASS=…, --password …, curl -u name:…, mysql -p…, docker login -p …
_IN_COMMAND = re.compile(
    r"\b(?:[A-Z0-9]{1,20}_){0,5}(?:PG|SSH|FTP|REDIS)?(?:PASS(?:WORD|WD|PHRASE)?|SECRET|TOKEN|CREDENTIALS?)"
    r"(?:_[A-Z0-9]{1,20}){0,5}=\S|\b(?:[A-Z0-9]{1,20}_){1,5}PWD=\S"
    r"|(?<![\w-])--(?:password|passwd|pass|token|secret|api-key)[\"'`]?[ =,]\s?[\"'`]?"
    r"(?!(?:flag|option|parameter|argument|is|on|with|and|or|to|for|in)\b)\S"
    r"|\s(?:-u|--user)[ =]?(?!(\w{1,40}):\1\b)(?!\d+:\d+\b)[^\s:]{1,80}:[^\s]"
    r"|\b(?:mysql|mariadb)\w*\b[^\n,;&|]{0,120}?\s-p[^\s-]|\bsshpass\s-p\s?[^\s-]"
    r"|\b(?:docker|podman|helm|oras|oc|az)\b[^\n]{0,20}\blogin\b[^\n]{0,200}?\s-p[ =]?[^\s-]"
)
_HEX = re.compile(r"(?<![\w-])[0-9a-fA-F]{32,}(?![\w-])")
_NAMED_DIGEST = re.compile(r"(?:commit|revision|rev|sha-?\d*|digest|hash|checksum|md5)\W{1,4}$", re.IGNORECASE)
_DENSE = re.compile(r"(?<![\w/.-])[A-Za-z0-9+/_-]{24,}={0,2}(?![\w/.-])")
_CARD = re.compile(r"(?<![\d-])\d(?:[ -]?\d){12,18}(?![\d-])")
FEWEST_DIGITS, FEWEST_CHANGES = 3, 4


def has_secret(text: str) -> bool:
    """True if the text contains something that must not be stored."""
    return (
        any(pattern.search(text) for pattern in (_PREFIXED, _KEY_BLOCK, _IN_ADDRESS, _BEARER, _REVEALED, _IN_COMMAND))
        or any(not _NAMED_DIGEST.search(text[: found.start()][-16:]) for found in _HEX.finditer(text))
        or any(_is_random(found[0]) for found in _DENSE.finditer(text))
        or any(_is_card(found[0]) for found in _CARD.finditer(text))
    )


def without_key_blocks(text: str) -> str:
    """Returns the text without multi-line keys and certificates."""
    return _KEY_BLOCK.sub("", text)


def _is_random(word: str) -> bool:
    """True for mixed case with digits spread through the word, as in generated tokens."""
    if not (any(map(str.isupper, word)) and any(map(str.islower, word))):
        return False
    changes = sum(one.isdigit() != other.isdigit() for one, other in pairwise(word))
    return sum(map(str.isdigit, word)) >= FEWEST_DIGITS and changes >= FEWEST_CHANGES


def _is_card(number: str) -> bool:
    """Luhn check of payment card numbers."""
    digits = [int(char) for char in number if char.isdigit()]
    doubled = [2 * one - 9 * (one > 4) if place % 2 else one for place, one in enumerate(reversed(digits))]
    return sum(doubled) % 10 == 0
