"""Names: those a memory is indexed under, and those a question asks about.

A small embedding model finds two texts similar because both contain "Anna", whatever else they say. So names are kept
out of the vectors and matched by key: a memory is indexed under the keys of its names, and a question is embedded
without the names that the store knows.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple

from memory_butler.english.text.normalize import UNSPACED, as_words, normal_name
from memory_butler.english.text.speaker_labels import Label, labels
from memory_butler.english.text.stop_words import (
    DETERMINERS,
    FEASTS,
    GENERAL,
    HEADINGS,
    LIGHT_WORDS,
    NO_NAMES,
    ROLES,
    STOP_WORDS,
)
from memory_butler.english.text.word_sets import caseless
from memory_butler.errors import InvalidInput
from memory_butler.models import MemoryType

MAX_NAME_WORDS = 3
MAX_POSSIBLE = 60
MAX_INDEXED = 32
# A prompt with more words than this has more candidates than can be looked up: only its capitalized words count.
MANY_WORDS = 80
# A name in a script without spaces: 小明, 山田太郎.
UNSPACED_NAME = range(2, 5)
MAX_UNSPACED_CHARACTERS = 40


_WORD = re.compile(r"[^\W_]+(?:['’.&_-]+[^\W_]+)*")
_PLAIN = re.compile(r"[^\W_]+")
# For ASCII the same as the pattern before, in a third of the time.
_MARKS_TO_SPACES = {code: " " for code in range(128) if not chr(code).isalnum()}
_GAP = re.compile(r"\.?[^\S\n]+")
_POSSESSIVE = caseless(r"['’]s$")
_DANGLING = re.compile(r"['’](?!\w)")
_SPACE_BEFORE_MARK = re.compile(r"\s{1,8}([,.;:!?])")
_OPENING = " \t\"'“‘(«"
_ENDINGS = frozenset(".!?…:\n。！？")


class _Word(NamedTuple):
    """A word of a question.

    `bare` is the word without a possessive, `key` the key of `bare`, `before` the preceding word in lower case.
    `is_name_like`: it has a capital that neither the beginning of a sentence nor English spelling requires.
    """

    start: int
    end: int
    text: str
    bare: str
    key: str
    begins_sentence: bool
    before: str
    is_capital: bool
    is_name_like: bool

    @property
    def is_common(self) -> bool:
        return self.key in STOP_WORDS


class _Span(NamedTuple):
    """Words of a question that may be a name, with their position.

    `written` are the spellings to look up: with and without a possessive, with and without dots.
    """

    start: int
    end: int
    words: tuple[_Word, ...]
    written: tuple[str, ...]

    @property
    def keys(self) -> list[str]:
        return list(dict.fromkeys(map(name_key, self.written)))

    @property
    def unlikeliness(self) -> int:
        """Sort key: 0 if it looks like a name, up to 3 if it begins or ends with a stop word."""
        # A loop is faster than an expression, and every question has dozens of spans.
        for word in self.words:
            if not word.is_name_like:
                break
        else:
            return 0
        if any(not text.isascii() and UNSPACED.search(text) for text in self.written):
            return 1
        return 3 if self.words[0].is_common or self.words[-1].is_common else 2


class _Candidates(NamedTuple):
    """The keys of a question that may be names, most likely first.

    `likely` are written like names, `inside_sentences` those of them that do not begin a sentence.
    """

    keys: tuple[str, ...]
    likely: frozenset[str]
    inside_sentences: frozenset[str]


def name_key(name: str) -> str:
    """The form in which names are compared: the same as that of a fact's subject."""
    return normal_name(name)


def looks_like_name(label: str) -> bool:
    """True for one to three words, each with a capital or in a script without case.

    Roles ("User", "the assistant") and general words are no names.
    """
    words = as_words(label).split()
    if not 0 < len(words) <= MAX_NAME_WORDS or not any(word[0].isalpha() for word in words):
        return False
    is_written_so = all(_is_capital(word) or not word[0].islower() for word in words)
    return is_written_so and any(word.casefold() not in GENERAL for word in words)


def check_aliases(aliases: Iterable[str]) -> None:
    """Reject general words as aliases: every question that contains one would be about the subject."""
    for alias in aliases:
        words = as_words(alias).casefold().split()
        if not any(char.isalnum() for char in alias) or all(word in GENERAL for word in words):
            raise InvalidInput(
                f"{alias!r} is not a name and cannot be an alias.",
                recovery="Use names that stand for this subject and for little else.",
            )


def is_speaker(label: Label) -> bool:
    """True if a label is the name or role of a speaker, and not a heading."""
    return not label.is_heading and (label.name.casefold() in ROLES or _is_named(label.name))


@lru_cache(maxsize=4096)
def speakers(content: str) -> tuple[str, ...]:
    """Names of the speakers in a text, in order of appearance. Cached: searches find the same episodes again."""
    named = (label.name for label in labels(content) if not label.is_heading and _is_named(label.name))
    return tuple(dict.fromkeys(named))


def _is_named(name: str) -> bool:
    words = name.casefold().split()
    return looks_like_name(name) and not any(word in HEADINGS or not word[0].isalpha() for word in words)


def indexed_names(memory_type: MemoryType, subject: str | None, content: str) -> list[str]:
    """The keys of the names a memory is indexed under: a fact's subject, an episode's speakers; a rule has none."""
    return _bounded(name_key(name) for name in _own_names(memory_type, subject, content))


def secondary_names(memory_type: MemoryType, subject: str | None, content: str) -> list[str]:
    """Further keys that find a memory: a fact's subject in any spelling, and the parts of a name.

    Users ask about people by first or last name, so the keys "anna" and "schmidt" find memories of "Anna Schmidt". But
    "service" also finds those of "Billing Service" and is a general word. So a part finds memories, and is removed from
    a question only if the question writes it like a name. A name that contains a general word, a possessive or a number
    ("The Garden", "Anna's Car", "Route 66") has no parts.
    """
    parts = [key for name in _own_names(memory_type, subject, content) for key in _part_keys(name)]
    return _bounded([*([name_key(subject)] if subject else []), *parts])


def _own_names(memory_type: MemoryType, subject: str | None, content: str) -> Sequence[str]:
    if memory_type is MemoryType.FACT:
        return [subject] if subject and looks_like_name(subject) else []
    return speakers(content) if memory_type is MemoryType.EPISODE else []


def _part_keys(name: str) -> list[str]:
    words = as_words(name).split()
    if len(words) == 1 or not all(map(_is_part, words)):
        return []
    return [name_key(word) for word in words if len(word) > 1 and not word.endswith(".")]


def _is_part(word: str) -> bool:
    return word[0].isalpha() and word.casefold() not in GENERAL and not _POSSESSIVE.search(word)


def _bounded(keys: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(keys))[:MAX_INDEXED]


def possible_names(query: str) -> list[str]:
    """Keys of one to three words of a question that may be names, most likely first, at most MAX_POSSIBLE."""
    return list(_candidates(query).keys)


def guess_names(query: str) -> list[str]:
    """The possible names that have a capital where English requires none. Empty for a question all in capitals."""
    return [key for key in _candidates(query).keys if key in _candidates(query).likely]


def guess_names_inside_sentences(query: str) -> list[str]:
    """The guessed names that do not begin a sentence, where every word has a capital: "Install it"."""
    return [key for key in _candidates(query).keys if key in _candidates(query).inside_sentences]


def without_names(query: str, known_keys: Collection[str]) -> str:
    """The question without the known names; unchanged if only light words would be left ("What is Anna doing?").

    "garden" stays although the store knows a Garden, if the question capitalizes other names or says "the garden".
    """
    known, initials = set(known_keys), {key[:1] for key in known_keys}
    found = [span for span in _spans(query) if span.words[0].key[:1] in initials and not known.isdisjoint(span.keys)]
    has_capitals = any(word.is_capital and not word.begins_sentence and len(word.bare) > 1 for word in _words_of(query))
    rest, position = "", 0
    for span in sorted(found, key=lambda span: (span.start, -span.end)):
        if span.end > position and _is_written_as_name(span, has_capitals):
            rest += f"{query[position : max(position, span.start)]} "
            position = span.end
    if position == 0:
        return query
    rest = _SPACE_BEFORE_MARK.sub(r"\1", " ".join(f"{rest}{query[position:]}".split())).lstrip(",;:.!?- ")
    return rest if any(word.key not in LIGHT_WORDS for word in _words_of(rest)) else query


def removed_words(query: str, rest: str) -> list[str]:
    """The words of the names that `without_names` removed from `query` to get `rest`."""
    left = Counter(word.key for word in _words_of(rest))
    return sorted((Counter(word.key for word in _words_of(query)) - left).elements())


def unheard(unknown_keys: Collection[str], known_keys: Collection[str]) -> frozenset[str]:
    """The unknown names that are not part of a known one: "Schmidt" is part of "Anna Schmidt"."""
    known = [set(_PLAIN.findall(key)) for key in known_keys]
    return frozenset(key for key in unknown_keys if not any(set(_PLAIN.findall(key)) <= words for words in known))


_NOTHING: frozenset[str] = frozenset()


class NameFinder:
    """Finds which of some names a text contains, each with all its words."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._unspaced: list[str] = []
        # By first word: the words as they stand in a text, and the key.
        self._starting: dict[str, list[tuple[str, str]]] = {}
        for key in keys:
            if UNSPACED.search(key):
                self._unspaced.append(key)
            elif words := _PLAIN.findall(key):
                self._starting.setdefault(words[0], []).append((f" {' '.join(words)} ", key))
        self._first_words = frozenset(self._starting)

    def names_in(self, text: str, heading: str | None = None) -> frozenset[str]:
        """The names in a text, or in a heading and the text after it: the words of each are split only once."""
        found: list[str] = []
        if self._first_words:
            words, distinct = _plain_words(text)
            firsts = self._first_words & distinct
            if heading:
                words_before, distinct_before = _plain_words(heading)
                firsts |= self._first_words & distinct_before
                words = f"{words_before.rstrip()}{words}" if firsts else words
            for first in firsts:
                found += [key for name, key in self._starting[first] if name in words]
        if self._unspaced:
            plain = f"{heading} {text}".casefold() if heading else text.casefold()
            found += [key for key in self._unspaced if key in plain]
        return frozenset(found) if found else _NOTHING


@lru_cache(maxsize=4096)
def _plain_words(text: str) -> tuple[str, frozenset[str]]:
    """The words of a text, each between two spaces."""
    plain = text.casefold()
    words = plain.translate(_MARKS_TO_SPACES).split() if plain.isascii() else _PLAIN.findall(plain)
    return f" {' '.join(words)} ", frozenset(words)


def _is_written_as_name(span: _Span, has_capitals: bool) -> bool:
    if any(not word.text[0].islower() for word in span.words):
        return True
    return not has_capitals and span.words[0].before not in DETERMINERS


@lru_cache(maxsize=16)
def _words_of(text: str) -> tuple[_Word, ...]:
    found: list[_Word] = []
    end, before = 0, ""
    feasts = [feast.span() for feast in FEASTS.finditer(text)]
    for match in _WORD.finditer(text):
        start, word = match.start(), match.group()
        bare = _POSSESSIVE.sub("", word) if word[-1] in "sS" else word
        begins = not found or text[end:start].rstrip(_OPENING)[-1:] in _ENDINGS
        end = match.end()
        one = _word(start, word, bare, begins, before)
        is_feast = any(first <= start < last for first, last in feasts)
        found.append(one._replace(is_name_like=False) if is_feast else one)
        before = word.casefold()
    return tuple(found)


def _word(start: int, text: str, bare: str, begins: bool, before: str) -> _Word:
    key, is_capital = name_key(bare).replace("’", "'"), _is_capital(text)
    is_name_like = is_capital and len(key) > 1 and key not in NO_NAMES and not (begins and key in STOP_WORDS)
    return _Word(start, start + len(text), text, bare, key, begins, before, is_capital, is_name_like)


@lru_cache(maxsize=8)
def _spans(query: str) -> tuple[_Span, ...]:
    """The candidates for names: runs of up to three words, or of two to four characters in a script without spaces."""
    words = _words_of(query)
    is_long = len(words) > MANY_WORDS
    joined = [bool(_GAP.fullmatch(query, left.end, right.start)) for left, right in pairwise(words)]
    found = []
    for first, word in enumerate(words):
        if is_long and word.text[0].islower():
            continue
        found += _inside(word)
        for last in range(first, min(first + MAX_NAME_WORDS, len(words))):
            if last > first and not joined[last - 1]:
                break
            span = words[first : last + 1]
            if not all(word.key in GENERAL for word in span) or _is_odd_capital(span):
                found.append(_span(query, span))
    return tuple(found)


@lru_cache(maxsize=8)
def _candidates(query: str) -> _Candidates:
    spans = [(span.unlikeliness, span.start, -span.end, span.keys, span.words) for span in _spans(query)]
    spans.sort(key=itemgetter(0, 1, 2))
    found: dict[str, None] = {}
    for *_, keys, _ in spans:
        found |= dict.fromkeys(keys)
        if len(found) >= MAX_POSSIBLE:
            break
    has_case = any(char.islower() for char in query)
    likely = [(keys, words) for unlikeliness, _, _, keys, words in spans if unlikeliness == 0 and has_case]
    return _Candidates(
        tuple(found)[:MAX_POSSIBLE],
        frozenset(key for keys, _ in likely for key in keys),
        frozenset(key for keys, words in likely if not any(word.begins_sentence for word in words) for key in keys),
    )


def _span(query: str, words: Sequence[_Word]) -> _Span:
    start, last, end = words[0].start, words[-1], words[-1].end
    written = [query[start : last.start + len(last.bare)]]
    if last.bare != last.text:
        written.append(query[start:end])
    if "." in written[0]:
        written.append(" ".join([*(word.text for word in words[:-1]), last.bare]))
    if query[end : end + 1] == "." and "." in last.text:
        end += 1
        written.append(query[start:end])
    dangling = _DANGLING.match(query, end)
    return _Span(start, dangling.end() if dangling else end, tuple(words), tuple(written))


def _is_odd_capital(words: Sequence[_Word]) -> bool:
    """ "Will" with a capital inside a sentence is a name; "I", "IT" and a role never are."""
    [word, *more] = words
    if more or len(word.bare) == 1 or word.key in ROLES:
        return False
    return word.is_capital and not word.bare.isupper() and not word.begins_sentence


def _inside(word: _Word) -> list[_Span]:
    if word.text.isascii() or len(word.text) > MAX_UNSPACED_CHARACTERS or not UNSPACED.search(word.text):
        return []
    found = []
    for length in UNSPACED_NAME:
        for start in range(len(word.text) - length + (length < len(word.text))):
            place, text = word.start + start, word.text[start : start + length]
            part = _word(place, text, text, word.begins_sentence, word.before)
            found.append(_Span(place, place + length, (part,), (text,)))
    return found


def _is_capital(word: str) -> bool:
    return word[0].isupper() or word[0].istitle()
