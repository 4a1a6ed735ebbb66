"""Find values of named secrets: `password = …`, JSON, YAML, `--token …`, "the PIN of the card is …".

The scan starts at each name of a secret and reads a bounded number of characters after it and before it.
"""

import re
from collections.abc import Iterator

from memory_butler.english.text.normalize import UNSPACED
from memory_butler.policy.trust.plain_view import PlainView
from memory_butler.policy.trust.secrets.placeholders import has_unit, is_measure, is_ordinary, is_placeholder, is_random
from memory_butler.policy.trust.secrets.secret_names import (
    CODE,
    HINTS,
    PASSWORD,
    PHRASE,
    PIN,
    TOKEN,
    TRIGGER,
    WEAK,
    Name,
    secret_name,
)
from memory_butler.policy.trust.secrets.vendor_formats import Finding

# Longest value in quotes, longest value without, and the part of a value that is judged.
VALUE_CHARACTERS = 4000
RUN_CHARACTERS = 256
JUDGED_CHARACTERS = 160
ASSIGNED, TIGHT, SAID, NEAR = "assigned", "tight", "said", "near"
_QUOTES = "\"'`"
_ASSIGNED = re.compile(
    r"""[ \t]{0,4}(?:\\{0,3}["'`\])]){0,3}[ \t]{0,8}(?::=|={1,3}>|==?=?|:|-{1,2}>|→|⇒)[ \t]{0,8}"""
    r"""(?:(?:[|>][+-]?)?[ \t]{0,4}\\?[\r]?\n[ \t]{0,12}(?:[-*] ?)?)?"""
)
# The element after one that holds the name.
_ELEMENT = re.compile(r"</[\w:]{1,20}>\s{0,40}<[\w:]{1,20}>")
# Ways to write a literal: b"…", String::from("…").
_LITERAL = re.compile(
    r"(?:[bruf]{1,2}|(?:new )?[\w.:]{0,20}(?:string|str|secret|bytes|buffer|from|literal)\w{0,12}\()(?=[\"'])",
    re.IGNORECASE,
)
# The value beside a name: `name: DB_PASSWORD` and `value: …` on the next line, {"name": "DB_PASSWORD", "value": "…"}.
_VALUE_LINE = re.compile(r"""["']?[ \t]{0,4},?\s{0,40}["']?(?:value|default)["']?[ \t]{0,4}(?:=>|[:=])[ \t]{0,4}""")
_ARGUMENT = re.compile(r"""["'][ \t]{0,4},[ \t]{0,4}(?=["'])|["'][ \t]{1,4}value[ \t]{0,2}=[ \t]{0,2}(?=["'])""")
_OF = (
    r"(?:[ ,]{1,2}(?:(?:for|of|to|on|at|in|from|für|fürs|vors|beim|ins|von|vom|zum|zur|der|des|meiner|meines"
    r"|am|im|pour|du|de|del"
    r"|della|dello|di|da|do|dos|das|para|voor|van|bij|naar|dla|od|till|för|til|af|k|ke|pro|от|для|к|на)\b"
    r"|(?:d|dell|nell|all|l)')[^.!?\n:=\"]{1,60}?)?"
)
_IS = re.compile(
    _OF + r"(?:'s|[ ]{1,3}(?:is|was|are|will(?: now)? be|shall be|equals|reads|ist|war|lautet|heißt|es|era|est|é|era|è"
    r"|luidt|jest|brzmi|är|er|je|este|это|есть)\b"
    r"|,?[ ]{1,2}c'est\b|[ ](?:do|dla|od|w|na)\b[^.!?\n:=\"]{1,60}?[ ]to\b"
    r"|(?:は|が|是|为|為|은|는)|[ ]{0,2}-{1,2}(?= ))[ ]{0,3}(?:(?:now|still|currently|simply|just|jetzt|nu|teraz|ahora"
    r"|maintenant|agora|ora"
    r"|теперь|adesso|artık|called)[ ]{1,3})?:?[ ]{0,3}"
)
_OF_COLON = re.compile(
    _OF.removesuffix("?") + r"(?:[ ]{0,2}[:=]|[ ]{1,2}-{1,2})(?:[ ]{1,4}|\n[ ]{0,8}(?:[-*•] ?|\d{1,2}[.)] ?)?)"
)
# "His locker code? 1480." In Cyrillic also without a preposition: "Пин-код карты 6045".
_ASKED = re.compile(r"\?[ ]{1,2}|[ ][а-яё]{3,16}[ ](?=\d)")
_CHANGED = re.compile(
    r"[^.!?\n]{0,50}?\b(?:set|reset|changed|updated|rotated|switched|geändert|gesetzt|cambiad[ao]|changé"
    r"|alterada|cambiata"
    r"|изменён|изменен)[ ]{1,3}(?:to|auf|zu|a|à|para|in|на)[ ]{1,3}"
)
_CHANGE_BEFORE = re.compile(
    r"\b(?:set|reset|chang|updat|rotat|switch|ände|cambi|alter|измен|make|made|pick"
    r"|chose)\w{0,6}\b[^.!?\n]{0,40}$"
)
_TO = re.compile(_OF + r"[ ]{1,3}(?:to|auf|zu|a|à|para|на)[ ]{1,3}")
_NEAR = re.compile(
    r"""[ ]{0,2}\|[ ]{0,3}|["'`]?[ ]{1,3}(?:(?:must be|should be|no\.?|nr\.?|number|=)[ ]{1,2})?|[ ]{0,2}\([ ]?"""
)
_LOGIN = re.compile(
    r"\b(?:login|logins|log in|credentials?|creds|zugangsdaten|zugang|identifiants|credenciales|credenziali"
    r"|логин|доступ)\b"
    r"[^\n.!?:]{0,40}?(?::|is|are|with|=|ist|sind|son"
    r"|sont)[ ]{1,3}[\"'`]?([^\s/|:,\"'`]{2,60})[\"'`]?[ ]{0,2}[/|:][ ]{0,2}"
    r"[\"'`]?([^\s\"'`/]{4,80})"
)
_BEFORE = re.compile(
    r"(?:\b(?:use|using|try|enter|type|with|nimm|usa|utilise)[ ]{1,2})?[\"'`]?([^\s\"'`]{4,60})[\"'`]?[ ]{1,2}"
    r"(?:now,|is|as|was|ist|als|es|est|é|è|come|como|comme)[ ]{1,2}(?:the|my|our|das|mein|la|le|mon|a|minha|mi"
    r"|il)?[ ]{0,2}"
    r"(?:[\w-]{1,20}[ ]){0,2}$"
)
_ARTICLE = re.compile(r"(?:the|le|la|el|il|lo|o|der|die|das|het|de)[ ]{1,2}(?=\d)")
_NUMBER_VALUE = re.compile(r"[*#]{0,2}(\d(?:[ -]?\d){2,11})[#*]{0,2}(?![\w%])")
_MORE_CODES = re.compile(
    r"[ ]{0,2}(?:,|;|\n|/|and|&|[ ])[ ]{0,3}(?:[-*•]"
    r"|\d{1,2}[.)])?[ ]{0,2}([A-Za-z0-9][A-Za-z0-9-]{3,40})"
)
_END_OF_WORDS = re.compile(r"[ ]{0,2}(?:$|[.,;!?)<&\n\"'。，、！]|(?:and|but|und|y|et|e|и|or|on|for|für|です|だ)\b)")
# Names of encodings, algorithms and versions.
_STANDARD = re.compile(
    r"(?:base|sha|md|utf|rsa|aes|hs|rs|es|ed|x|k|v|gpt|oauth|http|bcrypt|argon|pbkdf|p|secp)[-_]?\d.{0,12}"
)
_BREAK = r"[,)}\]](?![\s\"'}\]),;]|$)"
_RUN_ASSIGNED = re.compile(rf"(?:[^\s&;<\"'`,)}}\]。，、！？]|{_BREAK}){{0,{RUN_CHARACTERS}}}")
_RUN_SAID = re.compile(rf"(?:[^\s<\"`,)}}\]。，、！？]|{_BREAK}){{0,{RUN_CHARACTERS}}}")
_REST = re.compile(r"[^\s&;<\"'`,)}\]]{0,20000}")
_TAIL = ".,;:!?)]}>\"'`。，、！？」』"
_BASE32 = re.compile(r"(?:[A-Z2-7]{4}[ -]?){4,16}(?![a-z])")

# One pattern: asking for each hint in turn takes five times as long.
_HINT = re.compile("|".join(map(re.escape, HINTS)))


def find_named(view: PlainView) -> Iterator[Finding]:
    lower = view.lower
    if not _HINT.search(lower):
        yield from _logins(view)
        return
    text = view.text
    end = 0
    for found in TRIGGER.finditer(lower):
        if found.start() < end:
            continue
        name = secret_name(text, found)
        if name is None:
            continue
        for finding in _values(view, name):
            end = max(end, finding.end)
            yield finding
    yield from _logins(view)


def _logins(view: PlainView) -> Iterator[Finding]:
    for found in _LOGIN.finditer(view.lower):
        value = view.text[found.start(2) : found.end(2)].rstrip(_TAIL)
        after = view.text[found.start(2) + len(value) :][:24]
        if _is_code(value) and not is_placeholder(value) and not is_measure(value, after) and "://" not in found[0]:
            yield Finding(found.start(2), found.start(2) + len(value), "password")


def _values(view: PlainView, name: Name) -> Iterator[Finding]:
    """The values that belong to a name, from the most to the least explicit form."""
    text, lower, end = view.text, view.lower, name.end
    inside_tag = name.key_start > 0 and text[name.key_start - 1] == "<" and text[end : end + 1] == ">"
    if inside_tag:
        yield from _judged(view, name, end + 1, ASSIGNED)
        return
    patterns = [
        *((_VALUE_LINE, ASSIGNED), (_ASSIGNED, ASSIGNED), (_ELEMENT, ASSIGNED), (_ARGUMENT, ASSIGNED)),
        *((_IS, SAID), (_OF_COLON, SAID)),
    ]
    if name.cls in (PIN, CODE):
        patterns.append((_ASKED, SAID))
    for pattern, form in patterns:
        if (match := pattern.match(lower, end)) and match.end() > end:
            is_tight = match[0] in ("=", '"=', "'=")
            found = list(_judged(view, name, match.end(), TIGHT if is_tight else form))
            yield from found
            if found or form == ASSIGNED:
                return
    if name.kind == "totp_secret" or name.cls == TOKEN:
        near = _BASE32.search(text, end, end + 90)
        if near and name.kind == "totp_secret":
            yield Finding(near.start(), near.start() + len(near[0].rstrip(" -")), name.kind)
            return
    changed = _CHANGED.match(lower, end)
    spaced = " " in lower[max(0, name.key_start - 60) : name.key_start]
    if not changed and spaced and _CHANGE_BEFORE.search(lower, max(0, name.key_start - 60), name.key_start):
        changed = _TO.match(lower, end)
    near_by = None if name.key_start > 0 and text[name.key_start - 1] == "/" else _NEAR.match(lower, end)
    for match, form in ((changed, SAID), (near_by, NEAR)):
        if match:
            found = list(_judged(view, name, match.end(), form))
            yield from found
            if found:
                return
    yield from _value_before(view, name)


def _value_before(view: PlainView, name: Name) -> Iterator[Finding]:
    if name.cls not in (PASSWORD, PHRASE, PIN) or " " not in view.text[max(0, name.key_start - 24) : name.key_start]:
        return
    low = max(0, name.key_start - 110)
    before = _BEFORE.search(view.lower, low, name.key_start)
    if before:
        value = view.text[before.start(1) : before.end(1)]
        if (_is_code(value) or (name.cls == PIN and value.isdigit())) and not is_placeholder(value):
            yield Finding(before.start(1), before.end(1), name.kind)


def _judged(view: PlainView, name: Name, place: int, form: str) -> Iterator[Finding]:
    """The value at a place, if it reveals the secret."""
    text = view.text
    if name.kind == "totp_secret" and (grouped := _BASE32.match(text, place)):
        yield Finding(place, place + len(grouped[0].rstrip(" -")), name.kind)
        return
    if name.cls == PIN or (name.cls == CODE and name.kind != "recovery_code"):
        yield from _number(view, name, place, form)
        return
    start, end, quoted = _extent(text, place, name, form)
    value = text[start : min(end, start + JUDGED_CHARACTERS)]
    after = text[end : end + 40]
    if not value or is_placeholder(value):
        return
    if name.cls == PHRASE and not quoted:
        end = _phrase_end(text, start, end)
        value = text[start:end]
        if " " in value:
            yield Finding(start, end, name.kind)
            return
    if _reveals(value, name, form, quoted, after):
        if name.kind == "security_answer":
            end = _sentence_end(text, start)
        elif end - start >= RUN_CHARACTERS and not quoted and (rest := _REST.match(text, end)):
            end = rest.end()
        yield Finding(start, end, name.kind)
        if name.kind == "recovery_code" or name.plural:
            yield from _more(text, end, name.kind)


def _more(text: str, end: int, kind: str) -> Iterator[Finding]:
    """Further codes of a list."""
    for _ in range(24):
        match = _MORE_CODES.match(text, end)
        if not match or not any(map(str.isdigit, match[1])) or is_measure(match[1], text[match.end() :][:24]):
            return
        yield Finding(match.start(1), match.end(1), kind)
        end = match.end()


def _number(view: PlainView, name: Name, place: int, form: str) -> Iterator[Finding]:
    text = view.text
    if text[place : place + 1] in tuple(_QUOTES):
        place += 1
    if article := _ARTICLE.match(view.lower, place):
        place = article.end()
    match = _NUMBER_VALUE.match(text, place)
    if match:
        value = match[1]
        digits = sum(map(str.isdigit, value))
        is_card_code = name.kind == "pin" and view.lower[name.start : name.start + 2] == "cv"
        if digits < (3 if is_card_code else 4) or has_unit(text[match.end() : match.end() + 24]):
            return
        if form == NEAR and name.plural:
            return
        yield Finding(match.start(), match.end(), name.kind)
        if name.plural:
            yield from _more(text, match.end(), name.kind)
        return
    start, end, quoted = _extent(text, place, name, form)
    value = text[start:end]
    if is_placeholder(value) or is_measure(value, text[end : end + 24]):
        return
    # Codes with letters, such as G-583921 or 7B#4.
    if 4 <= len(value) <= 24 and sum(map(str.isdigit, value)) >= 2 and (form != NEAR or quoted or name.cls == CODE):
        yield Finding(start, end, name.kind)


def _extent(text: str, place: int, name: Name, form: str) -> tuple[int, int, bool]:
    """Start and end of the value at a place, and whether it is in quotes."""
    start = place
    if form in (ASSIGNED, TIGHT) and (literal := _LITERAL.match(text, start, start + 60)):
        start = literal.end()
    while text[start : start + 1] == "\\":
        start += 1
    quote = text[start : start + 1]
    if quote and quote in _QUOTES:
        triple = 3 if text[start : start + 3] == quote * 3 else 1
        start += triple
        end = text.find(quote, start, start + VALUE_CHARACTERS)
        line = text.find("\n", start, start + VALUE_CHARACTERS)
        if end > start and not (0 <= line < end and triple == 1):
            while text[end - 1] == "\\" and end - 1 > start:
                end -= 1
            return start, end, True
    run = (_RUN_ASSIGNED if form in (ASSIGNED, TIGHT) else _RUN_SAID).match(text, start)
    end = run.end() if run else start
    copula = text.find("です", start, end) if form != NEAR else -1
    end = copula if copula > start else end
    while (
        end > start and text[end - 1] in _TAIL and not (text[end - 1] in "!?" and _keeps_mark(text, start, end, form))
    ):
        end -= 1
    return start, end, False


def _keeps_mark(text: str, start: int, end: int, form: str) -> bool:
    """An exclamation mark at the end of a value with digits is part of it."""
    return form != NEAR and text[end - 1] == "!" and any(map(str.isdigit, text[start:end]))


def _phrase_end(text: str, start: int, end: int) -> int:
    """End of an unquoted phrase of at least 4 lower-case words."""
    words = re.compile(r"[a-z]{2,12}(?:[ \n]{1,2}(?:\d{1,2}[.)] ?)?(?:[a-z]{2,12}|\d{1,6})){3,30}").match(text, start)
    if not words:
        return end
    listed = words[0].split()
    if any(word in ("the", "is", "a", "to", "and", "in", "be", "on", "should", "it") for word in listed[:3]):
        return start
    return words.end()


def _sentence_end(text: str, start: int) -> int:
    match = re.compile(r"[^.,;!?\n\"]{2,60}").match(text, start)
    return start + len(match[0].rstrip()) if match else start


def _is_code(value: str) -> bool:
    """True if the value is no usual word: it has digits or symbols among letters."""
    if len(value) < 4:
        return False
    digits = any(map(str.isdigit, value))
    letters = any(map(str.isalpha, value))
    symbols = any(not char.isalnum() and char not in "-'_/." for char in value[1:-1] or value)
    return letters and (digits or symbols)


def _reveals(value: str, name: Name, form: str, quoted: bool, after: str) -> bool:
    """Judge a value by its characters and the form in which it is given."""
    if is_measure(value, after) or "://" in value or len(value) < 3:
        return False
    if name.cls == WEAK:
        if name.kind == "security_answer":
            return form != NEAR and not is_ordinary(value)
        return _is_code(value) and any(map(str.isalpha, value))
    if name.cls == TOKEN:
        return _reveals_token(value, name, form, quoted)
    if name.kind == "recovery_code":
        return len(value) >= 4 and any(map(str.isdigit, value))
    return _reveals_password(value, name, form, quoted, after)


_PREFIXED = re.compile(r"(?:sk|pk|rk|ak|key|tok|token|live|prod)[-_][\w-]{16,80}")


def _reveals_token(value: str, name: Name, form: str, quoted: bool) -> bool:
    has_digit = any(map(str.isdigit, value))
    if value.isdigit():
        return len(value) >= 8 and name.kind != "token"
    if form in (ASSIGNED, TIGHT):
        if _PREFIXED.match(value):
            return True
        return len(value) >= 8 and (has_digit or (len(value) >= 16 and _mixed(value))) and not _is_path(value)
    if len(value) >= 12 and has_digit and is_random(value):
        return not _is_path(value)
    return form == SAID and len(value) >= 7 and _is_code(value) and has_digit and not _STANDARD.fullmatch(value.lower())


def _reveals_password(value: str, name: Name, form: str, quoted: bool, after: str) -> bool:
    if value.isdigit():
        return len(value) >= (4 if form != NEAR else 6)
    if form == NEAR:
        return _is_code(value) and not name.plural and not _is_path(value)
    if is_ordinary(value) or (" " in value and not quoted):
        return False
    if _is_code(value):
        return not _is_path(value) and value.lower() != "1password"
    return _is_revealed_word(value, form, after) if not quoted else len(value) >= 4


def _is_revealed_word(value: str, form: str, after: str) -> bool:
    """Judge a password without digits: it ends its sentence, and is no usual word and no name of a secret."""
    if len(value) >= 64:
        return False
    parts = [part for part in re.split(r"[\s/_-]", value) if part]
    if len(value) < 4 or all(map(is_ordinary, parts)) or not value[0].isalnum() or not value.isprintable():
        return False
    # A sentence in a script without spaces is one run of letters.
    if TRIGGER.search(value.lower()) or UNSPACED.search(value):
        return False
    return form == TIGHT or bool(_END_OF_WORDS.match(after)) or not after.strip()


def _mixed(value: str) -> bool:
    return value.isupper() or (any(map(str.isupper, value[1:])) and any(map(str.islower, value)))


def _is_path(value: str) -> bool:
    return value.startswith(("/", "./", "~/", "http")) or (value.count("/") >= 2 and not is_random(value))
