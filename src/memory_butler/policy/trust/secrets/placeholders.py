"""Tell values from words that only stand for a value or speak of one."""

import re
from itertools import pairwise

from memory_butler.english.text.word_sets import word_set
from memory_butler.policy.trust.plain_view import FILLER

_STANDS_FOR = re.compile(
    r"(?:your|my|the|some|an?)[-_ ]|.{0,40}[-_ ]here$|change[-_]?(?:me|it|this)|replace[-_]?(?:me|this|with)"
    r"|insert[-_]"
    r"|(?:placeholder|dummy|fake|sample|redacted|masked|hidden|undefined|null|none|nil|true|false|yes|no|n/?a"
    r"|tbd|todo"
    r"|string|str|text|int|bool|value|foo|bar|baz|foobar|secret|password|passwd|pass|passphrase|token|api[-_]?key|key"
    r"|user|username|credentials?|stdin|prompt|env|file|empty|unset|optional\[.{0,20}|bearer|basic|xyz|abc|secretstr"
    r"|pwd|pin|code)[!?]?$"
)
_REFERS = re.compile(
    r"[$<>{\[(@&]|%[({]|%[a-z_]{2,}%|/|\./|~/|\.\.|…|https?:|file:|vault[:/]|env[:.]|enc\[|!\w|op://|ssm:|arn:"
    r"|(?:os|process|config|settings|self|this|args|options|app|ctx|context|request|req|import|vars?|secrets?|env"
    r"|params?|getenv|environ|system|credentials?|data|local|each|module|props|state|event|input)[.(\[]"
    r"|[a-z_][a-z0-9_.]{0,60}\(|[a-z_]{1,30}(?:\.[a-z_]{1,30}){1,12}$"
)
_CONTAINS = re.compile(
    r"example|placeholder|x{5,}|\*{3,}|•{3,}|\.{3}|changeme|dummy|your[-_]|-here\b"
    r"|<|>"
)
_MEASURE = re.compile(
    r"[ -]{0,2}(?:characters?|chars?|digits?|letters?|days?|hours?|minutes?|seconds?|weeks?|months?|years?|bits?"
    r"|bytes?"
    r"|kb|mb|ms|words?|tokens?|attempts?|times?|tries|users?|people|accounts?|percent|per ?cent|%|zeichen|ziffern"
    r"|stellen|stellig|tage|caracteres|d[ií]gitos|d[ií]as|caract[eè]res|chiffres|jours|caratteri|cifre|giorni|символ"
    r"|цифр|знак|дн|文字|桁|位|个字符|of\b|von\b|or more|and more|\+)"
)
_DATE_OR_NUMBER = re.compile(
    r"\d{4}-\d\d?-\d\d?(?:t.{0,30})?|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{1,2}:\d\d(?::\d\d)?"
    r"|v?\d{1,12}(?:\.\d{1,12}){1,8}[a-z0-9.+-]{0,20}"
    r"|\d{1,3}(?:[,.]\d{3}){1,8}|\d{1,12}(?:[.,]\d{1,12})?%|\d{1,12}(?:st|nd|rd|th)|\d{1,12}/\d{1,12}|\d{1,3}"
)
_LEADING = re.compile(r"\d{1,12}")
# Ordinary words after "password is" or "password:", in the languages of the detector.
ORDINARY = word_set(
    """
    a about above absent accepted access active actually administered again all allowed almost already also
    always an and another any anymore are as asked at available away bad based because been before being below
    better between blank both broken but by cached called can cannot case-insensitive case-sensitive chosen
    clear common complex compromised confidential configured considered correct could created current data
    dead default deleted deprecated different disabled do does done due during each easy either empty enabled
    encoded encrypted enforced enough enter entered entirely even ever every exactly exists expired expiring
    exposed external fine first for forgotten found free from gated generated gets given global going gone
    good gotten handled hard has hashed have held here hidden his her how however https identical if ignored
    important impossible in inactive incorrect insecure inside instead into invalid irrelevant is issued it
    its just kept known lacking last later leaked left less like likely limited link local locked long longer
    lost made managed mandatory many masked may maybe meant missing more most much must my named necessary
    need needed needs never new next no non-empty none not nothing now null obsolete obvious of off often old
    on one only open optional or other our out outdated outside over own part passed per permanent plain
    please policy possible posted printed private probably protected provided public put random read readable
    ready really recent recommended refreshed refused rejected removed replaced requested required reset
    resetting retired reused revealed revoked right rotated safe salted same saved secure secret see seen send
    sensitive sent separate set shared short should shown simple since so some something somewhere soon still
    stale static stolen stored strength strong stuck such supplied supposed taken temporary than that the
    their them then there these they this those through to today together tomorrow too transmitted true
    trusted try typed typical under unchanged uncommon unique unknown unset unsafe until unused up updated
    upper us use used useful user using usually valid validated verified very via visible was waiting weak
    well what when where which while who why will with within without working would written wrong yes yet you
    flag option parameter argument variable
    your change changes changed login manager generator reset-link link hint prompt field required. ask check
    contact missing abgelaufen bekannt falsch geheim gesetzt gleich gut im in ist kurz lang leer nicht nie
    noch nur schwach sicher stark ungültig vergessen verschlüsselt vom von wichtig wird wurde zu zurücksetzen
    geändert gespeichert nötig erforderlich actualizada caducada correcta débil demasiado débil es está
    expirada guardada incorrecta larga muy necesaria no nueva obligatoria olvidada para por segura vacía
    válida que en la el una un debe tiene changé correct dans du en enregistré est expiré faible incorrect
    invalide le long nouveau obligatoire oublié perdu pas requis sécurisé stocké trop vide sur sous unique
    très une un doit alterada errada esquecida expirou forte fraca guardada incorreta longa muito nova
    obrigatória salva segura vazia não na no uma um deve foi será está cambiata corretta debole dimenticata
    errata forte lunga molto necessaria non nuova obbligatoria sbagliata scaduta sicura salvata troppo vuota
    nella nel una un deve stata неверный неверен должен забыт истёк истек слабый сильный нужен обязателен не в
    от на для хранится изменён изменен был
    """
)


def is_placeholder(value: str) -> bool:
    """True if the value stands for a secret, refers to one, or was redacted."""
    if FILLER in value:
        return True
    text = value.strip("\"'`").lower()
    if not text or len(set(text)) <= 2 < len(text):
        return not text or not text.isdigit() or (len(set(text)) == 1 and len(text) > 4)
    return bool(_STANDS_FOR.match(text) or _REFERS.match(text) or _CONTAINS.search(text[:300]))


def is_measure(value: str, after: str) -> bool:
    """True for numbers with a unit, dates, times and versions."""
    text = value.lower()
    number = _LEADING.match(text)
    return bool(_DATE_OR_NUMBER.fullmatch(text)) or (number is not None and has_unit(text[number.end() :] + after))


def has_unit(after: str) -> bool:
    """True if the text after a number makes it a measure or a count."""
    return bool(_MEASURE.match(after[:24].lower()))


def is_ordinary(word: str) -> bool:
    """True for words of usual sentences, which are no values."""
    text = word.lower()
    return text in ORDINARY or text.rstrip(".,;:!?") in ORDINARY or (text.isalpha() and text.endswith(("ing", "ed")))


def is_random(token: str) -> bool:
    """True for generated tokens: letters and digits mixed throughout."""
    digits = sum(map(str.isdigit, token))
    letters = sum(map(str.isalpha, token))
    if digits < 2 or letters < 2:
        return False
    changes = sum(one.isdigit() != other.isdigit() for one, other in pairwise(token))
    return changes >= 3 or (changes >= 2 and any(map(str.isupper, token)) and any(map(str.islower, token)))
