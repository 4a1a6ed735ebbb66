"""The people and things that a sentence names, and whom or what it is most likely about."""

import re
from typing import NamedTuple

from memory_butler.english.extraction.grammar.clause_splitting import NOUNLIKE
from memory_butler.english.extraction.grammar.known_names import ORGANISATIONS, PLACES
from memory_butler.english.extraction.grammar.lower_case_names import puts_right, with_capitals
from memory_butler.english.extraction.grammar.person_names import is_name
from memory_butler.english.extraction.grammar.verbs import FORMS
from memory_butler.english.text.names import looks_like_name
from memory_butler.english.text.stop_words import GENERAL, NO_NAMES, STOP_WORDS
from memory_butler.english.text.word_sets import word_set
from memory_butler.languages.detection import Language, function_words, language_of, likely_languages
from memory_butler.languages.folding import fold
from memory_butler.languages.speech.answers import ANSWERED
from memory_butler.languages.speech.cues import (
    CHATTER,
    DATES,
    FIRST_PERSON,
    FIRST_PERSON_CJK,
    OPENS_FIRST_PERSON,
    RELATIONS,
)
from memory_butler.languages.speech.given_names import GIVEN_NAMES
from memory_butler.languages.speech.introductions import own_name
from memory_butler.languages.speech.utterances import USER, Utterance, utterances

MAX_MENTIONS = 8
MAX_SUBJECT_WORD = 8
_CAPITAL = r"[^\W\d_a-zß-öø-ÿа-яё]\w*(?:['’-]\w+)*"
_RUN = re.compile(rf"(?<![\w@./]){_CAPITAL}(?:\.?[ ](?:(?:de|da|del|van|von|der|di|la|le|al)[ ])?{_CAPITAL}){{0,2}}")
_JAPANESE = re.compile(r"([\u4e00-\u9fff]{1,4}|[\u30a1-\u30fc]{2,8}|[\u3041-\u3096]{2,4})(?:さん|ちゃん|くん|先生|様)")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_NEXT_WORD = re.compile(r"\s{1,4}([a-z]{2,20})\b")
_POSSESSIVE = re.compile(r"['’]s?$")
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
# After these a capital is a name in German, too, where every noun has one.
_GERMAN_LEAD = re.compile(
    r"\b(?:Frau|Herr|Herrn|Dr\.|Bruder|Schwester|Sohn|Tochter|Mann|Freund|Freundin|Kollege|Kollegin|Nachbar|Nachbarin|"
    r"Onkel|Tante|"
    r"Chef|Chefin|Hund|Katze|Kater|heißt|namens|in|nach|aus|bei)\s+$"
)
# A name at the beginning of a sentence, where every word has a capital, is followed by its verb, by "'s" and a word, by
# brackets, or by a colon.
_ACTS = re.compile(
    r",\s{1,8}(?:my|our)\s{1,8}[\w-]{1,24},|['’]s?\s{1,8}\w|\s{0,8}\([^)\n]{1,60}\)|\s{1,8}(?:update|news|again)?\s{0,8}:|\s{1,8}the\s{1,8}\w|"
    r"\s{1,8}(?:(?:also|now|still|just|only|never|always|already|often|then|who|no longer|"
    r"\w{1,40}ly)\s{1,8})?(?:is|isn't|isnt|was|has|had|can't|cannot|can|will|won't|doesn't|doesnt|lives|works|"
    r"likes|loves|"
    r"hates|prefers|needs|wants|said|says|told|called|plays|moved|uses|runs|takes|drinks|eats|speaks|drives|starts|"
    r"started|got|and|"
    r"gets|went|goes|owns|maintains|thinks|reckons|leaves|left|broke|joined|bought|sold|owes|pays|wears|approves|handles|manages|covers|decides|signs|orders|organises|organizes|"
    r"teaches|studies|coaches|cooks|leads|attends|hat|ist|wohnt|"
    r"arbeitet|"
    r"mag|heißt|zieht|kommt|es|tiene|vive|trabaja|est|habite|travaille|aime|é|tem|mora|trabalha|è|abita|lavora|ha|"
    r"живёт|работает|любит|не|переехал\w*|выходит)\b"
)
# After these words a name says where, with whom or of what, and not whom the sentence is about.
_GOVERNED = re.compile(
    r"(?:^|[\s(])(?:in|from|to|at|on|of|with|by|for|about|near|into|via|as|than|over|like|than|between|through|called|"
    r"named|"
    r"aus|nach|bei|mit|von|vom|zu|zum|zur|für|über|im|am|an|auf|in der|en|a|al|con|desde|hasta|para|por|sobre|à|au|"
    r"aux|chez|dans|"
    r"avec|pour|sur|de|du|des|em|no|na|com|da|do|di|del|della|per|su|su|presso|в|во|на|из|с|со|к|у|для|о|об|от|до|w/)"
    r"(?:\s{1,4}(?:the|a|an|my|our|his|her|der|die|das|dem|den|el|la|los|las|le|les|o|os|as|il|lo|i|gli))?\s{1,4}$|"
    # "Lives there with my wife Ola": the one who is accompanied is the subject.
    r"(?:^|\s)(?:with|w/|mit|avec|con|com)\s{1,4}(?:my|our|meine[mnr]?|mi|mon|ma|mia|mio|minha|meu)"
    r"(?:\s{1,4}(?-i:[a-zß-ÿ-]{2,20})){1,2}\s{1,4}$",
    re.IGNORECASE,
)
# "Dr. Rendall said I should …": it is about the speaker, or about whom the words are.
_SPEAKS_OF_SPEAKER = re.compile(
    r"['’]?s?\s{1,4}(?:said|says|told|thinks|reckons|wants|asked|asks|advised|recommends?|suggested|"
    r"put)\s{1,4}(?:that\s{1,4})?(?:i|me|my|we|us|our)\b",
    re.IGNORECASE,
)
# "Hi Annegret, I'm diabetic" is not about whom it greets.
_GREETING = re.compile(
    r"^\W{0,4}(?i:hi|hey|hello|dear|hallo|liebe[rs]?|moin|servus|hola|querid[oa]|salut|bonjour|coucou|cher|chère|ciao|caro|"
    r"cara|olá|oi|привет)\s{1,4}(?:(?:Mr|Mrs|Ms|Dr|Frau|Herr)\.?\s)?[^\W\d_a-z]\w{0,30}\s{0,2}[,!.:–-]\s{1,4}"
)
_OPENS_USER = re.compile(r"(?:the\s{1,4})?user(?:['’]s)?\b", re.IGNORECASE)
_FIRST_PERSON_SUBJECT = re.compile(
    r"(?<![\w'])(?:i|i'm|i've|we|we're|we've|ich|wir|yo|je|nous|eu|io|noi|я|мы)(?![\w])", re.IGNORECASE
)
_OPENS_REFERRING = re.compile(
    r"[\W_]{0,8}(?:(?:and|but|so|also|und|y|et|e|и)\s{1,4})?(?:he|she|they|his|her|their|he's|she's|they're|hes|shes|"
    r"er|sein|seine|ihr|ihre|él|ella|il|"
    r"elle|ele|ela|lui|lei|он|она|его|её)(?!\w)",
    re.IGNORECASE,
)
_REFERS = re.compile(r"\b(?:he|she|his|her|him|er|sein\w*|il|elle|él|ella|lui|lei|он|она)\b", re.IGNORECASE)
# "Carries an epipen." goes on about the person of the sentence before.
_OPENS_ELIDED = re.compile(
    r"[\W_]{0,8}(?:(?:and|but|so|also)\s{1,4})?(?:is|isn't|isnt|has|hasn't|was|doesn't|doesnt|can't|cant|cannot|won't|"
    r"allergic|carries|injects|takes|uses|needs|wears|lives|works|likes|loves|hates|prefers|eats|drinks|speaks|plays|"
    r"drives|owns|gets|goes|comes|wants|hat|ist|wohnt|tiene|vive|habite)(?!\w)",
    re.IGNORECASE,
)
# Forms of address.
_ADDRESSED = word_set(
    "sir madam madame monsieur mademoiselle señor señora senhor senhora signore signora all everyone team folks"
)
# "Year 4", "Room 12" are no names.
_PARTS = word_set("""
year grade class level unit room ward bed floor page chapter part step phase stage week day group line platform gate
terminal track bus tram train question exercise lesson module section figure table row column slide version
""")
_NUMBERED = re.compile(r" \d")
_AGED = re.compile(r"(?P<name>[a-z]{2,14})\s\(\d{1,2}\)")


def mentions(text: str) -> list[str]:
    """The names in a sentence as they are written, at most MAX_MENTIONS. A lower-case name at its beginning gets a
    capital."""
    text = with_capitals(text)
    if _CJK.search(text):
        return list(dict.fromkeys(match[1] for match in _JAPANESE.finditer(text)))[:MAX_MENTIONS]
    is_english = language_of(text) is not Language.OTHER
    is_german = not is_english and "de" in likely_languages(text)
    kept: list[str] = []
    idle = function_words(text)
    for match in _RUN.finditer(text):
        begins = not text[: match.start()].strip(" \"'“‘(«-–—•¡¿")
        if _NUMBERED.match(text, match.end()) and match[0].casefold() in _PARTS:
            continue
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
        is_given = is_german and words[0].casefold() in GIVEN_NAMES
        acts = _ACTS.match(text[match.end() :]) or _is_verb(text, match.end())
        if begins and len(words) == 1 and not is_given and not (_can_open(name) and acts):
            continue
        if is_german and not (is_given or after_relation or _GERMAN_LEAD.search(text[: match.start()])):
            continue
        # "Ines Termin": in German the noun after a name has a capital, too.
        if is_german and is_given and len(words) > 1 and match.end() < len(text) and text[match.end()] == ":":
            name = words[0]
        kept.append(name)
    return kept[:MAX_MENTIONS]


def _is_verb(text: str, at: int) -> bool:
    """ "Kasia approves": a verb in the third person follows."""
    match = _NEXT_WORD.match(text, at)
    base, form = FORMS.get(match[1], ("", "")) if match else ("", "")
    return form == "s" and base not in NOUNLIKE


def _is_no_name(word: str) -> bool:
    key = word.casefold()
    return (
        key in STOP_WORDS
        or key in _ADDRESSED
        or key in GENERAL
        or key in NO_NAMES
        or len(word) == 1
        or DATES.fullmatch(word) is not None
        or RELATIONS.fullmatch(word) is not None
    )


def _is_idle(word: str, idle: frozenset[str]) -> bool:
    return fold(word) in idle or _is_common(word)


def _can_open(name: str) -> bool:
    """True for a name that can open a sentence; "Party" and "Project" have a capital there as any word has."""
    return not _is_common(name) and (is_name(name) or name in PLACES or name in ORGANISATIONS)


def _is_common(word: str) -> bool:
    """A greeting, a relation, or a verb: "Chose Infomaniak" names one thing."""
    key = word.casefold()
    is_past = FORMS.get(key, ("", ""))[1] == "past" and not is_name(word)
    return bool(is_past or CHATTER.fullmatch(word) or RELATIONS.fullmatch(word) or key.endswith(("ing", "ed", "ly")))


class SpokenOf(NamedTuple):
    """The person of the sentences before: their subject, or the only one whom they name."""

    name: str = ""
    is_subject: bool = False


NOBODY = SpokenOf()


def likely_subject(utterance: Utterance, named: list[str], before: SpokenOf = NOBODY) -> str:
    """The subject of a sentence: the speaker if it opens with "I", else the first name that no preposition governs,
    else the speaker. "He" and "she" are the person spoken of before. A short answer is about whom the question is
    about, unless it names somebody itself."""
    speaker, text = utterance.label or USER, _GREETING.sub("", with_capitals(utterance.text))
    if right := puts_right(text):
        return right
    if OPENS_FIRST_PERSON.match(text) or _OPENS_USER.match(text) or own_name(text):
        return speaker
    is_known = bool(before.name) and before.name != speaker
    # Japanese and Chinese leave the subject out.
    is_elided = _CJK.search(text) and not set(named) - {speaker} and not FIRST_PERSON_CJK.search(text)
    is_theirs = (
        is_elided or _OPENS_ELIDED.match(text) or (not named and _REFERS.search(text) and not FIRST_PERSON.search(text))
    )
    if is_known and (_OPENS_REFERRING.match(text) or (before.is_subject and is_theirs)):
        return before.name
    if utterance.question:
        return _subject_of_answer(utterance, named, before.name) or speaker
    aged = _AGED.match(text)
    return aged["name"].capitalize() if aged else _first_free(text, named) or speaker


def subject_of_note(content: str, writer: str, *, is_user: bool) -> str:
    """The subject of a note in somebody's own words: the person or thing that its first sentence is about, else the
    user who said it, or the agent that wrote it."""
    said = utterances(content)
    subject = likely_subject(said[0], mentions(said[0].told)) if said else USER
    return subject if subject != USER or is_user else writer


def _first_free(text: str, named: list[str]) -> str:
    """The first name that no preposition and no first person governs; empty if there is none."""
    for name in named:
        at = text.find(name)
        if at < 0 or len(_WORD.findall(text[:at])) > MAX_SUBJECT_WORD or _is_shouted(name):
            continue
        if _GOVERNED.search(text[:at]) or _FIRST_PERSON_SUBJECT.search(text[:at]):
            continue
        if not _SPEAKS_OF_SPEAKER.match(text, at + len(name)):
            return name
    return ""


def _subject_of_answer(utterance: Utterance, named: list[str], before: str) -> str:
    if FIRST_PERSON.search(utterance.text):
        return ""
    answered = [name for name in named if name in utterance.text and is_person(name) and not _is_shouted(name)]
    if answered:
        return answered[0]
    # "And for Callum?" is the last of the questions.
    *_, question = utterance.question.split(ANSWERED)
    asked = [name for name in named if name in question and is_person(name)]
    if asked:
        return asked[-1]
    return before if _REFERS.search(question) else ""


def is_person(name: str) -> bool:
    """True if a name can be one of a person or pet, and not of a place or a company."""
    return is_name(name)


def _is_shouted(name: str) -> bool:
    """ "CONFIDENTIAL", and short forms such as CI, API and PR."""
    return name.isascii() and len(name) > 1 and name.isupper()
