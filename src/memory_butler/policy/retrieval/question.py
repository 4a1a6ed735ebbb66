"""Parses a question before the search: the names in it, the time it asks about, the kind of answer it wants."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from memory_butler.english.text.names import guess_names, guess_names_inside_sentences, possible_names, without_names
from memory_butler.english.text.shorthand import spelled_out
from memory_butler.english.text.stop_words import STOP_WORDS
from memory_butler.english.text.word_sets import word_set
from memory_butler.english.time.question_times import TimeHint, find_time_hint, without_time_words
from memory_butler.languages.detection import Language, function_words, language_of
from memory_butler.languages.folding import fold
from memory_butler.policy.retrieval.intent import QuestionKind, kind_of
from memory_butler.policy.retrieval.overview import Overview, overview_of

# Size of a store before it has been asked: so large that it makes no memory more relevant.
UNKNOWN_MEMORY_COUNT = 1_000_000
HEAD_CHARACTERS = 2_000
TAIL_CHARACTERS = 2_000
# Not "I/O" and not "i.e.".
_FIRST_PERSON = re.compile(r"\b(?:I(?![/.]\w)|me|my|mine|myself)\b", re.IGNORECASE)
_WORD = re.compile(r"[\w'’]+")
# A number or an identifier: "4711", "INC-4711", "v2.41".
_WITH_DIGIT = re.compile(r"(?<!\w)(?=[\w./-]{0,80}\d)[^\W_]\w*(?:[./-]\w+)*")
MIN_EXACT_CHARACTERS = 2
MAX_EXACT_TERMS = 8
# Words of an open-ended question, besides stop words.
OPEN_ENDED_WORDS = word_set("""
anything coming everything going happen happened happening happens new news occurred plan planned plans scheduled
upcoming
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedQuestion:
    """A question with its names, time and kind. Names are keys, as returned by `name_key`."""

    text: str
    kind: QuestionKind
    # Every run of words that may be a name; the store decides.
    possible_names: tuple[str, ...]
    # Those written like a name.
    likely_names: tuple[str, ...]
    # Likely names inside a sentence: a name even if the store does not know it.
    possible_new_names: tuple[str, ...]
    time_hint: TimeHint | None
    language: Language = Language.ENGLISH
    # Numbers and identifiers, in lower case, without those of a time.
    exact_terms: tuple[str, ...] = ()
    # The class of memories that a broad question asks for.
    overview: Overview | None = None
    # Contains "I" or "my".
    is_first_person: bool = False
    # Has no topic: "What happened?", "What did we do last week?"
    is_open_ended: bool = False
    # Set after the search: the question has names, and the store knows none of them.
    has_only_unknown_names: bool = False
    # Set after the search: it has a number, an identifier or a name that few memories say.
    has_rare_term: bool = False
    # Set after the search: number of memories of the tenant.
    memory_count: int = UNKNOWN_MEMORY_COUNT

    def text_without(self, names: Collection[str]) -> str:
        """The text to embed: without the names that the store knows."""
        return without_names(self.text, names) if names else self.text


def in_full(prompt: str) -> str:
    """An English prompt with its abbreviations spelled out; any other as it is."""
    longer = spelled_out(prompt)
    return longer if longer == prompt or language_of(prompt) is Language.ENGLISH else prompt


def parse_question(prompt: str, now: datetime) -> ParsedQuestion:
    text = head_and_tail(prompt)
    time_hint = find_time_hint(text, now)
    return ParsedQuestion(
        text=text,
        kind=kind_of(text),
        possible_names=tuple(possible_names(text)),
        likely_names=tuple(guess_names(text)),
        possible_new_names=tuple(guess_names_inside_sentences(text)),
        time_hint=time_hint,
        language=language_of(text),
        overview=overview_of(text),
        exact_terms=_exact_terms(text, time_hint),
        is_first_person=bool(_FIRST_PERSON.search(text)),
        is_open_ended=_is_open_ended(text, time_hint),
    )


def _is_open_ended(text: str, time_hint: TimeHint | None) -> bool:
    """True if the question has only stop words and a time."""
    rest = without_time_words(text, time_hint) if time_hint and not time_hint.anchor else text
    return all(word in STOP_WORDS or word in OPEN_ENDED_WORDS for word in _words(rest))


def _exact_terms(text: str, time_hint: TimeHint | None) -> tuple[str, ...]:
    rest = without_time_words(text, time_hint) if time_hint and not time_hint.anchor else text
    found = (term.casefold() for term in _WITH_DIGIT.findall(rest) if len(term) >= MIN_EXACT_CHARACTERS)
    return tuple(dict.fromkeys(found))[:MAX_EXACT_TERMS]


def _words(text: str) -> list[str]:
    return [word.casefold().replace("’", "'") for word in _WORD.findall(text)]


def head_and_tail(prompt: str) -> str:
    """The part of a long prompt that is searched with: its beginning and its end."""
    if len(prompt) <= HEAD_CHARACTERS + TAIL_CHARACTERS:
        return prompt
    return f"{prompt[:HEAD_CHARACTERS]} {prompt[-TAIL_CHARACTERS:]}"


def without_stop_words(text: str) -> str:
    """An English text without stop words ("how many", "recently"); unchanged if it has no other words."""
    rest = _WORD.sub(lambda word: "" if word.group().casefold().replace("’", "'") in STOP_WORDS else word.group(), text)
    return rest if _WORD.search(rest) else text


def without_function_words(text: str) -> str:
    """The same for a text in another language."""
    ignored = function_words(text)
    rest = _WORD.sub(lambda word: "" if fold(word.group()) in ignored else word.group(), text)
    return rest if _WORD.search(rest) else text
