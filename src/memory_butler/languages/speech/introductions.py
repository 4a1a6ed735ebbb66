"""The name that somebody gives as their own, in other languages than English: "Ich heiße Ute", "je m'appelle Luc"."""

import re

from memory_butler.english.extraction.grammar.person_names import is_name
from memory_butler.languages.speech.given_names import GIVEN_NAMES

_NAME = r"(?P<name>(?-i:[^\W\d_a-zß-öø-ÿа-яё])[^\W\d_]{1,24}(?:[ -](?-i:[^\W\d_a-zß-öø-ÿа-яё])[^\W\d_]{1,24}){0,2})"
_GREETED = r"^\W{0,3}(?:(?:hallo|hi|hey|moin|hola|buenas|salut|bonjour|ciao|olá|oi|cześć|привет)[\s,!.]{1,3}){0,2}"
_CALLED = re.compile(
    rf"{_GREETED}(?:und\s|y\s|et\s|e\s|и\s)?"
    rf"(?:ich heiße|ich heisse|mein name ist|me llamo|mi nombre es|je m['’]appelle|"
    rf"mon nom est|mi chiamo|il mio nome è|me chamo|chamo-me|(?:o )?meu nome é|ik heet|mijn naam is|mam na imię|"
    rf"nazywam się|меня зовут|моё имя)\s{{1,3}}{_NAME}",
    re.IGNORECASE,
)
# "Ich bin Hebamme" says no name.
_AM = re.compile(rf"{_GREETED}ich bin (?:die |der )?{_NAME}", re.IGNORECASE)
_CJK = re.compile(
    r"(?:^|[、,。\s])(?:我叫|我的名字是|我的名字叫)(?P<name>[\u4e00-\u9fff]{2,4})(?=[,，。.、!！\s]|$)|"
    r"(?:私の名前は|名前は)(?P<ja>[\u3041-\u30fc\u4e00-\u9fff]{2,8}?)(?:です|といいます|と申します)"
)


_QUICK = re.compile(
    r"ich bin|ich hei|mein name|llamo|mi nombre|appelle|mon nom|chiamo|mio nome|chamo|meu nome|ik heet|mijn naam|"
    r"mam na|nazywam|зовут|моё имя|我叫|我的名字|名前",
    re.IGNORECASE,
)


def may_introduce(text: str) -> bool:
    """A quick check: false if no sentence of a text gives a name."""
    return _QUICK.search(text) is not None


def own_name(text: str) -> str:
    """The name that the speaker of a sentence gives as their own; empty if there is none."""
    match = _CALLED.match(text)
    if match is None and (match := _AM.match(text)) and match["name"].split()[0].casefold() not in GIVEN_NAMES:
        match = None
    if match is not None:
        return match["name"] if is_name(match["name"]) else ""
    cjk = _CJK.search(text)
    return (cjk["name"] or cjk["ja"]) if cjk else ""
