"""The people and things that a sentence names, and whom or what it is most likely about."""

import re

from memory_butler.english.text.names import looks_like_name
from memory_butler.english.text.stop_words import GENERAL, NO_NAMES, STOP_WORDS
from memory_butler.languages.detection import Language, function_words, language_of, likely_languages
from memory_butler.languages.folding import fold
from memory_butler.languages.speech.cues import CHATTER, DATES, OPENS_FIRST_PERSON, RELATIONS
from memory_butler.languages.speech.utterances import USER, Utterance

MAX_MENTIONS = 8
MAX_SUBJECT_WORD = 8
_CAPITAL = r"[^\W\d_a-zß-öø-ÿа-яё]\w*(?:['’-]\w+)*"
_RUN = re.compile(rf"{_CAPITAL}(?:\.?[ ](?:(?:de|da|del|van|von|der|di|la|le|al)[ ])?{_CAPITAL}){{0,2}}")
_JAPANESE = re.compile(r"([\u4e00-\u9fff]{1,4}|[\u30a1-\u30fc]{2,8}|[\u3041-\u3096]{2,4})(?:さん|ちゃん|くん|先生|様)")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_POSSESSIVE = re.compile(r"['’]s?$")
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
# After these a capital is a name in German, too, where every noun has one.
_GERMAN_LEAD = re.compile(
    r"\b(?:Frau|Herr|Herrn|Dr\.|Bruder|Schwester|Sohn|Tochter|Mann|Freund|Freundin|Kollege|Kollegin|Nachbar|Nachbarin|Onkel|Tante|"
    r"Chef|Chefin|Hund|Katze|Kater|heißt|namens|in|nach|aus|bei)\s+$"
)
# A name at the beginning of a sentence, where every word has a capital, is followed by its verb.
_ACTS = re.compile(
    r"(?:['’]s)?\s{1,8}(?:\w{1,40}\s{1,8})?(?:is|was|has|had|can't|cannot|can|will|won't|doesn't|isn't|lives|works|likes|loves|hates|prefers|"
    r"needs|wants|said|says|told|called|plays|moved|uses|runs|takes|drinks|eats|speaks|drives|starts|started|got|and|gets|"
    r"ist|hat|wohnt|arbeitet|mag|heißt|es|tiene|vive|trabaja|est|habite|travaille|aime|é|tem|mora|trabalha|è|abita|lavora|ha|"
    r"живёт|работает|любит|не|переехал\w*|выходит)\b"
)


def mentions(text: str) -> list[str]:
    """The names in a sentence as they are written, at most MAX_MENTIONS."""
    if _CJK.search(text):
        return list(dict.fromkeys(match[1] for match in _JAPANESE.finditer(text)))[:MAX_MENTIONS]
    is_english = language_of(text) is not Language.OTHER
    is_german = not is_english and "de" in likely_languages(text)
    kept: list[str] = []
    idle = function_words(text)
    for match in _RUN.finditer(text):
        begins = not text[: match.start()].strip(" \"'“‘(«-–—•¡¿")
        words = [_POSSESSIVE.sub("", word) for word in match[0].split()]
        after_relation = False
        while words and (_is_no_name(words[0]) or (begins and len(words) > 1 and _is_idle(words[0], idle))):
            after_relation = bool(RELATIONS.fullmatch(words[0]))
            words, begins = words[1:], False
        while words and _is_no_name(words[-1]):
            words = words[:-1]
        name = " ".join(words)
        if not name or not looks_like_name(name) or name in kept:
            continue
        if begins and len(words) == 1 and (_is_common(name) or not _ACTS.match(text[match.end() :])):
            continue
        if is_german and not after_relation and not _GERMAN_LEAD.search(text[: match.start()]):
            continue
        kept.append(name)
    return kept[:MAX_MENTIONS]


def _is_no_name(word: str) -> bool:
    key = word.casefold()
    return (
        key in STOP_WORDS
        or key in GENERAL
        or key in NO_NAMES
        or len(word) == 1
        or DATES.fullmatch(word) is not None
        or RELATIONS.fullmatch(word) is not None
    )


def _is_idle(word: str, idle: frozenset[str]) -> bool:
    return fold(word) in idle or _is_common(word)


def _is_common(word: str) -> bool:
    return bool(CHATTER.fullmatch(word) or RELATIONS.fullmatch(word) or word.casefold().endswith(("ing", "ed", "ly")))


def likely_subject(utterance: Utterance, named: list[str]) -> str:
    """The subject of a sentence: the speaker if it opens with "I", else the first name, else the speaker."""
    speaker = utterance.label or USER
    if OPENS_FIRST_PERSON.match(utterance.text):
        return speaker
    for name in named:
        at = utterance.text.find(name)
        if at >= 0 and len(_WORD.findall(utterance.text[:at])) <= MAX_SUBJECT_WORD:
            return name
    return speaker
