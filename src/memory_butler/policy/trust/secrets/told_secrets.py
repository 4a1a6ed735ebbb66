"""Find secrets that a sentence tells at some distance from their name: "changed the router pw again, now it's …".

The name and the value stand in one clause, with a copula, a colon or a verb such as "type" before the value. What has
no such word before it must look like a password by its own: letters with digits and a sign. Names of secrets in
languages that the table of names does not hold are found here, too, with values of mixed letters and digits only.
"""

import re
from collections.abc import Iterator

from memory_butler.policy.trust.plain_view import PlainView
from memory_butler.policy.trust.secrets.everyday_secrets import is_other_code
from memory_butler.policy.trust.secrets.placeholders import is_measure, is_ordinary, is_placeholder
from memory_butler.policy.trust.secrets.vendor_formats import Finding

# Characters after a name in which its value is looked for.
WINDOW = 110
_PASSWORD = re.compile(
    r"(?<![a-z])(?:pass ?words?|pass ?phrases?|passwd|pwd|pw|pword|p/w|psw|psswd|mdp|passcodes?|login|logins|creds"
    r"|credentials?"
    r"|mots? de passe|code wifi)(?![a-z_-])"
    r"|\w{0,12}(?:passwort|kennwort)(?!\w)|contrase(?:ña|nya)s?|contrasena|\bsenha|palavra-passe|wachtwoord|lösenord|hasł[oa]"
    r"|passord|adgangskode|kodeord|hesl[oa]\b|jelsz[óa]|salasana|\w{0,4}şifre|\bparol[aăəei]\b|парол|парола|гасло"
    r"|lozink|geslo\b|slaptažod|parool|lykilorð|kata ?sandi|nenosiri|mật khẩu|κωδικός|κωδικό|συνθηματικό"
    r"|パスワード|合言葉|密码|密碼|口令|비밀번호|비번|암호|รหัสผ่าน"
    r"|كلمة (?:المرور|السر)|رمز عبور|סיסמ[הא]|पासवर्ड|পাসওয়ার্ড|கடவுச்சொல்"
)
_PIN = re.compile(
    r"(?<![a-z])(?:pin|pincode|pin-?nummer|geheimzahl|pin-?kode?n?|nip|puk|clave (?:del|de la|de mi))(?![a-z])"
    r"|\b\w{1,16}-pin\b|пин|暗証番号|핀 ?번호|取款密码"
)
_CODE = re.compile(
    r"(?<![a-z-])(?:code|codes|zugangscode|código|codice|kod|koden|kode|код|combination|combo|コード)(?![a-z-])"
)
_LOCKED = re.compile(
    r"\b(?:lock|locks|lockbox|lock-box|locker|padlock|gate|door|alarm|safe|vault|keypad|key ?box|storage unit|shed"
    r"|garage|entrance|barrier|intercom|unlock|disarm|let yourself in|get in|tür|haustür|tor|alarmanlage|tresor"
    r"|schloss|zahlenschloss|fahrradschloss|schließfach|spind|keller|garage|porte|portail|alarme|coffre|cadenas"
    r"|immeuble|atelier|puerta|portal|alarma|candado|taquilla|verja|porta|portão|cofre|cadeado|alarm|portone"
    r"|cancello|allarme|cassaforte|lucchetto|deur|poort|slot|fietsslot|kluis|kluisje|drzwi|brama|bramy|zamek"
    r"|domofon|kłódka|dør|døren|låsen?|dörr|dörren|skåp|larm|larmet|двер|сейф|ворот|домофон|замок|замка)"
)
_COPULA = (
    r"(?:(?:'s|\b(?:is|are|was|be|becomes|stays|equals|it's|its|now|ist|sind|war|lautet|heißt|bleibt|est|sont|c'est"
    r"|es|son|era|queda|é|è|ora|luidt|werd|jest|to|är|er|on|este|je|jsou|on nyt|nu|adalah|là|dir|είναι|это|теперь|є|е))"
    r"[ ]{1,3}(?:(?:now|still|currently|just|simply|again|jetzt|wieder|nun|noch|maintenant|ahora|ora|agora|nu|teraz"
    r"|теперь|nyt|şimdi)[ ]{1,3})?:?[ ]{0,2}|[ ]{0,2}[:=][ ]{0,3}|[ ]{1,2}--?>?[ ]{1,3}|[ ]{0,2}(?:→|⇒)[ ]{0,3}"
    r"|\b(?:type|types|typing|enter|use|uses|try|put|punch in|press|nimm|nehme|nutze|tippe|tape|tapez|taper"
    r"|saisir|usa|uso|pon|marca|marcar|teclea|digita|digitare|digite|inserisci|toets|wpisz|введи"
    r"|набери)[ ]{1,3}(?:in[ ])?"
    r"|(?:は|が|是|为|為|은|는|이|가)[ ]{0,2})"
)
_GIVEN = re.compile(_COPULA + r"[\"'`*]{0,3}(?P<value>[^\s\"'`*,;()\[\]<>。，、！？]{4,64})")
_GIVEN_NUMBER = re.compile(_COPULA + r"[\"'`*#]{0,3}(?P<value>\d(?:[ -]?\d){3,7})(?![\w%€$£]|[.,:/-]\d|[ ]?(?:€|\$|£))")
_ENTER = re.compile(
    r"\b(?:punch(?:es)? in|key in|keys in|type|type in|enter|press|dial|taper|tapez|tape|composer|composez|marca"
    r"|marcar|teclea|teclear|pulsa|digita|digitare|digite|digitar|digiti|inserisci|toets|wpisz|tippe|tippen|drücke|slå|trykk|набери|набрать)"
    r"[ ]{1,3}(?:in[ ]|the code[ ]|den code[ ]|le code[ ]|el código[ ]|il codice[ ])?[\"'`*#]{0,2}"
    r"(?P<value>[#*]?\d{4,8}[#*]?)(?![\w%€$£]|[.,:/-]\d)"
)
_NEXT_NUMBER = re.compile(r"[ ]{1,2}[\"'`*#]{0,2}(?P<value>\d{4,8})(?![\w%€$£]|[.,:/-]\d)")
# A lock and its number alone: "the padlock of the bike: 4711".
_LOCKED_BY = re.compile(
    r"(?:[ ][\w'-]{1,20}){0,4}?(?:[ ]{0,2}[:=]|'s|[ ](?:is|ist|est|es|è|é|är|er|to))[ ]{1,3}"
    r"(?P<value>[#*]?\d{4,8}[#*]?)"
    r"(?=[ ]{0,2}(?:$|[.,;!?)\n]|(?:and|but|und|y|et|e)\b))(?![.,]\d)"
)
# "Use … for the staging login."
_USED = re.compile(
    r"\b(?:use|try|enter|type|nimm|usa|utilise)[ ](?P<value>[^\s\"'`,;()<>]{8,64})[ ]"
    r"(?:for|to|as|für|als|para|pour|per)[ ]"
    r"[^.!?\n]{0,40}?\b(?:login|log in|password|sign in|account|wifi|wlan|vault|zip|pdf|anmeld|passwort)"
)
_CLOCK = re.compile(r"(?:0?\d|1\d|2[0-3])[0-5][05]")
# "The word is …" of a login, and values that nothing names: "same mail, …".
_ACCOUNT = re.compile(
    r"\b(?:log ?in|log into|logs in|sign in|signs in|signed in|account|same mail|same e-?mail|username|user|netflix"
    r"|disney|spotify|amazon|paypal|steam|icloud|anmelden|einloggen|benutzer|nutzer|konto|utilisateur|identifiant|compte|usuario"
    r"|cuenta|utente|conta|gebruiker|konto|логин|аккаунт)\b"
)
_STRONG = re.compile(r"(?<![^\s\"'`(:=/])(?P<value>[^\s\"'`,;()\[\]<>:/|\\@]{7,40})(?=[\s\"'`.,;)!?]|$)")
_CLAUSE_END = re.compile(r"[.!?](?=\s)|\n|。")
_WORDS_WITH_DIGITS = re.compile(
    r"(?:base|sha|md|utf|rsa|aes|hs|rs|es|ed|http|oauth|bcrypt|argon|pbkdf|secp|windows|iphone|ipad|ios|python|node|rtx|iso|rfc"
    r"|wpa|ipv|mp|ps|office|v|version|server|srv|host|web|db|vm|user|room|level|step|rule|line|page|team|test|p|h|s3|ec)"
    r"[-_]?\d{1,5}[a-z]{0,2}"
)
_PATH = re.compile(r"[a-z0-9_.-]{0,200}[/\\]|[\w.-]{1,60}\.(?:[a-z]{2,5})$|[\w.+-]{1,60}@[\w-]{1,60}\.")
# "Root on the NAS is …": the account stands for its password.
_ROOT = re.compile(
    r"\b(?:root|admin|administrator|superuser|sudo)\b[ ](?=(?:on|of|for|at|auf|am|für|sur|en|para|su)\b|is\b)"
)
_TICKET = re.compile(r"[A-Z]{2,6}-?\d{1,6}")
# Every value has digits: a text without any holds none.
_DIGIT = re.compile(r"\d")
_YEAR = re.compile(r"(?:19|20)\d\d")


def find_told(view: PlainView) -> Iterator[Finding]:
    lower = view.lower
    if not _DIGIT.search(lower):
        return
    for name in _PASSWORD.finditer(lower):
        yield from _after_password(view, name)
    for name in _PIN.finditer(lower):
        window = _window(lower, name.end())
        for given in _GIVEN_NUMBER.finditer(lower, name.end(), window):
            # "We pin to 20240115 builds."
            is_verb = given[0].startswith("to ") and given.start() <= name.end() + 1
            is_other = _YEAR.fullmatch(given["value"]) or is_measure(given["value"], lower[given.end("value") :][:24])
            if not is_verb and not is_other:
                yield Finding(*given.span("value"), "pin")
                break
    for name in _ROOT.finditer(lower):
        told = _GIVEN.search(lower, name.end(), min(_window(lower, name.end()), name.end() + 60))
        value = told["value"].rstrip(".:!?") if told else ""
        if told and len(value) >= 8 and sum(map(str.isdigit, value)) >= 2 and _is_password(value, ""):
            yield Finding(told.start("value"), told.start("value") + len(value), "password")
    for used in _USED.finditer(lower):
        value = view.text[used.start("value") : used.end("value")]
        is_mixed = value.lower() != value and sum(map(str.isdigit, value)) >= 2
        if is_mixed and _is_password(value.lower().replace(".", "-"), ""):
            yield Finding(*used.span("value"), "password")
    for lock in _LOCKED.finditer(lower):
        yield from _after_lock(view, lock)
    for account in _ACCOUNT.finditer(lower):
        start, stop = account.end(), _window(lower, account.end())
        yield from _strong(view, start, stop)


def _after_password(view: PlainView, name: re.Match[str]) -> Iterator[Finding]:
    stop = _window(view.lower, name.end())
    is_login = name[0].startswith(("log", "cred"))
    for given in _GIVEN.finditer(view.lower, name.end(), stop):
        value = given["value"].rstrip(".:!?")
        start, end = given.start("value"), given.start("value") + len(value)
        is_number_of_ticket = _TICKET.fullmatch(view.text[start:end])
        if not is_login and not is_number_of_ticket and _is_password(value, view.lower[end:][:24]):
            yield Finding(start, _with_sign(view, end), "password")
            return
    yield from _strong(view, name.end(), stop)


def _after_lock(view: PlainView, lock: re.Match[str]) -> Iterator[Finding]:
    """A number that is entered, or that is called a code, after the name of a lock or around it."""
    lower = view.lower
    stop = _window(lower, lock.end())
    entered = _ENTER.search(lower, lock.end(), stop)
    if entered:
        yield from _number(view, entered)
        return
    begin = lower.rfind("\n", max(0, lock.start() - 60), lock.start()) + 1 or max(0, lock.start() - 60)
    code = _CODE.search(lower, begin, stop)
    if code and is_other_code(lower, code.start(), code.end()):
        return
    if code:
        given = _NEXT_NUMBER.match(lower, code.end(), stop) if code.start() > lock.start() else None
        given = given or _GIVEN_NUMBER.search(lower, max(code.end(), lock.end()), min(stop, code.end() + 80))
        yield from _number(view, given)
        return
    locked = _LOCKED_BY.match(lower, lock.end(), stop)
    if locked and not _YEAR.fullmatch(locked["value"]) and not _CLOCK.fullmatch(locked["value"]):
        yield from _number(view, locked)


def _number(view: PlainView, given: re.Match[str] | None) -> Iterator[Finding]:
    if given and not is_measure(given["value"], view.lower[given.end("value") :][:24]):
        yield Finding(*given.span("value"), "access_code")


def _strong(view: PlainView, start: int, stop: int) -> Iterator[Finding]:
    """A value that is a password by its own form: letters, digits, and a sign that no name or date has."""
    for found in _STRONG.finditer(view.lower, start, stop):
        value = view.text[found.start() : _with_sign(view, found.end())]
        letters, digits = sum(map(str.isalpha, value)), sum(map(str.isdigit, value))
        signs = sum(char in "!#$%^&*?+~§" for char in value)
        is_name = "=" in value or bool(_YEAR.fullmatch(re.sub(r"\D", "", value)) or _PATH.match(value.lower()))
        if letters >= 4 and digits >= 2 and signs and not is_name and not is_placeholder(value):
            yield Finding(found.start(), found.start() + len(value), "password")
            return


def _is_password(value: str, after: str) -> bool:
    """True for letters mixed with digits that are no measure, no path and no name of a thing."""
    letters, digits = sum(map(str.isalpha, value)), sum(map(str.isdigit, value))
    if len(value) < 6 or letters < 3 or digits < 1 or "://" in value or not value[0].isalnum():
        return False
    if is_placeholder(value) or is_measure(value, after) or is_ordinary(value) or _PATH.match(value):
        return False
    return not _WORDS_WITH_DIGITS.fullmatch(value)


def _with_sign(view: PlainView, end: int) -> int:
    """The end of a value with an exclamation mark or a sign that follows it and does not end the sentence's text."""
    return end + 1 if view.text[end : end + 1] == "!" and view.text[end - 1 : end].isdigit() else end


def _window(lower: str, start: int) -> int:
    stop = min(len(lower), start + WINDOW)
    end = _CLAUSE_END.search(lower, start, stop)
    return end.start() if end else stop
