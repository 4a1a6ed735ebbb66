"""Names: who a memory stands under, and whom a question asks about.

A small embedding model takes two texts for alike because both say "Anna", whatever else they say. So names are matched
as what they are, a part of a memory's structure, and have no part in the vectors: a memory stands under the keys of its
names, and a question is embedded without the names that the store knows.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple

from memory_butler.errors import InvalidInput
from memory_butler.models import MemoryType
from memory_butler.policy.admission import normal_name
from memory_butler.policy.labels import Label, labels
from memory_butler.policy.nobody import COMMON, DETERMINERS, FEASTS, GENERAL, HEADINGS, NO_NAMES, ROLES
from memory_butler.policy.wording import UNSPACED, spoken

MAX_NAME_WORDS = 3
MAX_POSSIBLE = 60
MAX_STANDING = 32
# In a longer prompt only words with a capital are looked at: it has more words than could be looked up.
MANY_WORDS = 80
# A name in a script without spaces: 小明, 山田太郎.
UNSPACED_NAME = range(2, 5)
MAX_UNSPACED_CHARACTERS = 40


_WORD = re.compile(r"[^\W_]+(?:['’.&_-]+[^\W_]+)*")
_PLAIN = re.compile(r"[^\W_]+")
_GAP = re.compile(r"\.?[^\S\n]+")
_POSSESSIVE = re.compile(r"['’]s$", re.IGNORECASE)
_DANGLING = re.compile(r"['’](?!\w)")
_SPACE_BEFORE_MARK = re.compile(r"\s+([,.;:!?])")
_OPENING = " \t\"'“‘(«"
_ENDINGS = frozenset(".!?…:\n。！？")


class _Word(NamedTuple):
    """A word of a question. `bare` is the word without a possessive, `folded` the key of that; `before` is the word
    that precedes it, without case."""

    start: int
    end: int
    text: str
    bare: str
    folded: str
    begins_sentence: bool
    before: str
    is_capital: bool
    is_telling: bool
    """Written with a capital that neither the beginning of a sentence nor English itself asks for."""

    @property
    def is_common(self) -> bool:
        return self.folded in COMMON


class _Span(NamedTuple):
    """Words of a question that may be a name, where they stand, and how they are written: with the possessive or
    without, with dots or without."""

    start: int
    end: int
    words: tuple[_Word, ...]
    written: tuple[str, ...]

    @property
    def keys(self) -> list[str]:
        return list(dict.fromkeys(map(name_key, self.written)))

    @property
    def unlikeliness(self) -> int:
        # In loops and not in expressions: there are dozens of spans in every question.
        for word in self.words:
            if not word.is_telling:
                break
        else:
            return 0
        if any(not text.isascii() and UNSPACED.search(text) for text in self.written):
            return 1
        return 3 if self.words[0].is_common or self.words[-1].is_common else 2


class _Likeliest(NamedTuple):
    """The keys of a question that may be names, the likeliest first; those that look it, wherever they stand; and those
    of them that do so within a sentence."""

    keys: tuple[str, ...]
    telling: frozenset[str]
    strange: frozenset[str]


def name_key(name: str) -> str:
    """The form in which names are compared: the same as that of a fact's subject."""
    return normal_name(name)


def looks_like_name(label: str) -> bool:
    """Is a subject written like a proper name: each of at most three words with a capital, or in a script without case?

    Roles ("User", "the assistant") and words that mean nothing by themselves are none.
    """
    words = spoken(label).split()
    if not 0 < len(words) <= MAX_NAME_WORDS or not any(word[0].isalpha() for word in words):
        return False
    is_written_so = all(_is_capital(word) or not word[0].islower() for word in words)
    return is_written_so and any(word.casefold() not in GENERAL for word in words)


def check_aliases(aliases: Iterable[str]) -> None:
    """Refuse what cannot be anybody's name: every question with such a word in it would be about them."""
    for alias in aliases:
        words = spoken(alias).casefold().split()
        if not any(char.isalnum() for char in alias) or all(word in GENERAL for word in words):
            raise InvalidInput(
                f"{alias!r} is a word like any other and cannot be somebody's name.",
                recovery="Give other names that are used for this subject and for little else.",
            )


def is_speaker(label: Label) -> bool:
    """Does a label say who speaks, by name or by role, rather than what comes?"""
    return not label.is_heading and (label.name.casefold() in ROLES or _is_named(label.name))


def speakers(content: str) -> list[str]:
    """Those who speak in a text, by name, in the order of their first words."""
    named = (label.name for label in labels(content) if not label.is_heading and _is_named(label.name))
    return list(dict.fromkeys(named))


def _is_named(name: str) -> bool:
    words = name.casefold().split()
    return looks_like_name(name) and not any(word in HEADINGS or not word[0].isalpha() for word in words)


def standing_names(memory_type: MemoryType, subject: str | None, content: str) -> list[str]:
    """The keys of the names a memory stands under: a fact's subject, an episode's speakers; a rule is everybody's."""
    return _bounded(name_key(name) for name in _own_names(memory_type, subject, content))


def loose_names(memory_type: MemoryType, subject: str | None, content: str) -> list[str]:
    """The keys a memory answers to besides: a fact's subject however it is written, and the parts of a name.

    People are asked about by the first name or the last, so what stands under "Anna Schmidt" answers to anna and to
    schmidt. But "Billing Service" is written the same way, and service is a word like any other: a part counts for what
    it finds and is no reason to take the word out of a question that writes it small. A name with a common word, a
    possessive or a number in it ("The Garden", "Anna's Car", "Route 66") has no such parts.
    """
    parts = [key for name in _own_names(memory_type, subject, content) for key in _part_keys(name)]
    return _bounded([*([name_key(subject)] if subject else []), *parts])


def _own_names(memory_type: MemoryType, subject: str | None, content: str) -> list[str]:
    if memory_type is MemoryType.FACT:
        return [subject] if subject and looks_like_name(subject) else []
    return speakers(content) if memory_type is MemoryType.EPISODE else []


def _part_keys(name: str) -> list[str]:
    words = spoken(name).split()
    if len(words) == 1 or not all(map(_is_part, words)):
        return []
    return [name_key(word) for word in words if len(word) > 1 and not word.endswith(".")]


def _is_part(word: str) -> bool:
    return word[0].isalpha() and word.casefold() not in GENERAL and not _POSSESSIVE.search(word)


def _bounded(keys: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(keys))[:MAX_STANDING]


def possible_names(query: str) -> list[str]:
    """Keys of one to three words of a question that may be names, the likeliest first; never more than MAX_POSSIBLE."""
    return list(_likeliest(query).keys)


def guess_names(query: str) -> list[str]:
    """Which of the possible names are names, by the look of them: written with a capital where none is due.

    Nothing is to be learned from a question all in capitals.
    """
    return [key for key in _likeliest(query).keys if key in _likeliest(query).telling]


def guess_strangers(query: str) -> list[str]:
    """Those of them that do not begin a sentence: "Install it" names nobody, whom one could have heard of or not."""
    return [key for key in _likeliest(query).keys if key in _likeliest(query).strange]


def without_names(query: str, known_keys: Collection[str]) -> str:
    """The question without the names that are known; the question itself if nothing with a meaning would be left.

    A store may know a Garden. To a question that writes other names with a capital, or that says "the garden", it is
    no name.
    """
    known, initials = set(known_keys), {key[:1] for key in known_keys}
    found = [span for span in _spans(query) if span.words[0].folded[:1] in initials and not known.isdisjoint(span.keys)]
    has_capitals = any(word.is_capital and not word.begins_sentence and len(word.bare) > 1 for word in _words_of(query))
    rest, position = "", 0
    for span in sorted(found, key=lambda span: (span.start, -span.end)):
        if span.end > position and _is_written_as_name(span, has_capitals):
            rest += f"{query[position : max(position, span.start)]} "
            position = span.end
    if position == 0:
        return query
    rest = _SPACE_BEFORE_MARK.sub(r"\1", " ".join(f"{rest}{query[position:]}".split())).lstrip(",;:.!?- ")
    return rest if any(not word.is_common for word in _words_of(rest)) else query


def words_taken_out(query: str, rest: str) -> list[str]:
    """The words of the names that were taken out of a question to leave that rest of it."""
    left = Counter(word.folded for word in _words_of(rest))
    return sorted((Counter(word.folded for word in _words_of(query)) - left).elements())


def says_name(text: str, keys: Collection[str]) -> bool:
    """Whether a text says one of these names, all of its words."""
    if not keys:
        return False
    plain = text.casefold()
    said = _spaced(plain)
    return any(key in plain if UNSPACED.search(key) else _spaced(key) in said for key in keys)


def _spaced(text: str) -> str:
    return f" {' '.join(_PLAIN.findall(text))} "


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
        found.append(one._replace(is_telling=False) if is_feast else one)
        before = word.casefold()
    return tuple(found)


def _word(start: int, text: str, bare: str, begins: bool, before: str) -> _Word:
    folded, is_capital = name_key(bare).replace("’", "'"), _is_capital(text)
    is_telling = is_capital and len(folded) > 1 and folded not in NO_NAMES and not (begins and folded in COMMON)
    return _Word(start, start + len(text), text, bare, folded, begins, before, is_capital, is_telling)


@lru_cache(maxsize=8)
def _spans(query: str) -> tuple[_Span, ...]:
    """Everything in a question that may be a name: runs of up to three words, and of characters where no spaces are."""
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
            if not all(word.folded in GENERAL for word in span) or _is_odd_capital(span):
                found.append(_span(query, span))
    return tuple(found)


@lru_cache(maxsize=8)
def _likeliest(query: str) -> _Likeliest:
    spans = [(span.unlikeliness, span.start, -span.end, span.keys, span.words) for span in _spans(query)]
    spans.sort(key=itemgetter(0, 1, 2))
    found: dict[str, None] = {}
    for *_, keys, _ in spans:
        found |= dict.fromkeys(keys)
        if len(found) >= MAX_POSSIBLE:
            break
    has_case = any(char.islower() for char in query)
    telling = [(keys, words) for unlikeliness, _, _, keys, words in spans if unlikeliness == 0 and has_case]
    return _Likeliest(
        tuple(found)[:MAX_POSSIBLE],
        frozenset(key for keys, _ in telling for key in keys),
        frozenset(key for keys, words in telling if not any(word.begins_sentence for word in words) for key in keys),
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
    """Will, written so in the middle of a sentence, is somebody; "I", "IT" and a role never are."""
    [word, *more] = words
    if more or len(word.bare) == 1 or word.folded in ROLES:
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
