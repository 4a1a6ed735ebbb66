"""Splits a text into sentences and clauses, with the words of each, the negated ones, and whom the clause is about.

By punctuation and small tables, not by grammar. A clause ends at a semicolon, a colon or a dash, at words such as "but"
and "because", and where a new subject or verb follows a comma or an "and". "I work at Acme and I'm allergic to peanuts"
are two clauses, "Anna and Tom live in Rome" is one.

Extraction has a splitter of its own (extraction/grammar/clause_splitting.py). Its clauses are texts for patterns to
read, without what is only supposed or considered. Here every word of any text has to be in a clause, with its negation.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import lru_cache
from typing import NamedTuple

from memory_butler.english.text.chat_stamps import stamped_label
from memory_butler.english.text.chat_threads import thread
from memory_butler.english.text.sentences import ABBREVIATIONS
from memory_butler.english.text.stems import (
    ENDS_SCOPE,
    IDIOMS,
    NEGATIONS,
    STRAIGHT_MARKS,
    TOKEN,
    VERBS,
    Word,
    expand_contraction,
    stem,
    token_stems,
)
from memory_butler.english.text.stop_words import UNGROUNDED_WORDS
from memory_butler.english.text.word_sets import word_set

OPENER_WORDS = 6
LABEL_WORDS = 3
JOINING_WORDS = 3
_FIRST = frozenset(["i", "we", "us", "my", "our", "user", "im", "me"])
_THIRD = word_set("he she they it his her their its this that these those who whose")
_SUBJECTS = _FIRST | _THIRD | frozenset(["you", "your", "there", "nobody", "everyone", "everybody"])
_LEADS = word_set("""
and but so also then well oh yes no nope now btw actually anyway hey hi or plus because since though although while
correction update note the still
""")
_FRESH = word_set("now only just actually still rather")
_RELATIONS = word_set("""
mother mom mum mummy father dad daddy parents parent brother sister sibling wife husband spouse partner girlfriend
boyfriend fiance fiancee fiancé fiancée son daughter kid kids child children baby toddler uncle aunt cousin niece
nephew grandma grandmother grandpa grandfather grandad granddad gran nana friend friends boss manager colleague
coworker roommate flatmate housemate neighbour neighbor landlord ex teacher dog cat puppy kitten twin
""")
# Tokens of "e.g." and "i.e.".
_DOTTED = ("e", "g", "i")
_BREAKS = frozenset([",", "and", "or", "so", "then", "plus", "&"])
_MARKS_A_CLAUSE = frozenset(";:—")
_MARKS_A_SENTENCE = frozenset(".!?…。！？")


class Opener(Enum):
    """Kind of subject that a clause begins with."""

    SPEAKER = auto()
    RELATIVE = auto()
    PRONOUN = auto()
    NAME = auto()
    OTHER = auto()


@dataclass(slots=True)
class Clause:
    """One statement. If it `continues`, its subject is in the clause before; a heading ends with a colon."""

    opener: Opener = Opener.OTHER
    opening: frozenset[str] = frozenset()
    words: list[Word] = field(default_factory=list)
    affirmed: set[str] = field(default_factory=set)
    negated: set[str] = field(default_factory=set)
    low: list[str] = field(default_factory=list)
    continues: bool = False
    is_heading: bool = False
    is_question: bool = False
    has_verb: bool = False

    @property
    def stems(self) -> set[str]:
        return self.affirmed | self.negated


class Sentence(NamedTuple):
    clauses: tuple[Clause, ...]
    speaker: frozenset[str]

    @property
    def stems(self) -> set[str]:
        return set().union(*(clause.stems for clause in self.clauses))


class _Token(NamedTuple):
    text: str
    low: str
    is_word: bool
    ends: bool
    """It is a mark that ends a sentence; the point in an address does not."""


def sentences(text: str) -> list[Sentence]:
    """The sentences of a text in their order."""
    found: list[Sentence] = []
    speaker: frozenset[str] = frozenset()
    for line in _lines(text):
        label = _label(line)
        if label:
            speaker = frozenset(stem(token.low) for token in line[: label - 1] if token.is_word)
        held: list[_Token] = []
        for token in line:
            if token.ends:
                found += _sentence(held, speaker, is_question=token.text in "?？")
                held = []
            else:
                held.append(token)
        found += _sentence(held, speaker)
    return found


def words(text: str) -> list[Word]:
    """All words of a short text, with their negation."""
    return list(_words(text))


@lru_cache(maxsize=512)
def _words(text: str) -> tuple[Word, ...]:
    """Subjects and predicates recur in a proposal, and each content is read several times."""
    return tuple(word for sentence in sentences(text) for clause in sentence.clauses for word in clause.words)


def _lines(text: str) -> Iterator[list[_Token]]:
    plain = IDIOMS.sub(" ", unicodedata.normalize("NFKC", text.translate(STRAIGHT_MARKS)).translate(STRAIGHT_MARKS))
    headings, heading = thread(plain).headings if "\n" in plain else {}, ""
    for line in plain.splitlines():
        if line.strip() in headings:
            heading = headings[line.strip()]
            continue
        if heading:
            line = f"{heading}: {line}"  # noqa: PLW2901 (positions do not matter here)
        elif stamped := stamped_label(line):
            line = f"{stamped[0]}: {line[stamped[1] :]}"  # noqa: PLW2901 (positions do not matter here)
        found: list[_Token] = []
        for match in TOKEN.finditer(line):
            token = match[0]
            if not (token[0].isalnum()):
                found.append(_Token(token, token, False, _ends_sentence(token, line, match.end(), found)))
                continue
            for part in expand_contraction(token):
                found.append(_Token(part, part.casefold(), True, False))
        if found:
            yield found


def _ends_sentence(mark: str, line: str, end: int, before: list[_Token]) -> bool:
    if mark not in _MARKS_A_SENTENCE or not re.match(r"[)\"'\]]*(?:\s|$)", line[end : end + 4]):
        return False
    last = before[-1] if before else None
    is_initial = last is not None and len(last.text) == 1 and last.text.isupper()
    is_short = is_initial or (last is not None and (last.low in ABBREVIATIONS or last.low in _DOTTED))
    return not (mark == "." and is_short and line[end:].strip())


def _label(line: list[_Token]) -> int:
    """Number of tokens of the speaker label at the beginning of a line; 0 if there is none."""
    for place, token in enumerate(line[: LABEL_WORDS + 1]):
        if token.text == ":":
            return place + 1 if place else 0
        if not token.is_word:
            return 0
    return 0


def _sentence(tokens: list[_Token], speaker: frozenset[str], *, is_question: bool = False) -> list[Sentence]:
    clauses = _Reader(tokens).read()
    for clause in clauses:
        clause.is_question = is_question
    return [Sentence(tuple(clauses), speaker)] if clauses else []


class _Reader:
    """Reads the tokens of one sentence into clauses."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens = tokens
        self.clauses: list[Clause] = []
        self.clause = Clause()
        self.negated = False

    def read(self) -> list[Clause]:
        for place, token in enumerate(self.tokens):
            if token.text in _MARKS_A_CLAUSE:
                self.clause.is_heading = token.text == ":"
                self._close()
            elif token.low in ENDS_SCOPE:
                self._close()
                self.clause.low.append(token.low)
            elif token.low in _BREAKS:
                self._break(place)
                self.clause.low += [token.low] if token.is_word else []
            elif token.is_word:
                self._word(place, token)
        self._close()
        return self.clauses

    def _word(self, place: int, token: _Token) -> None:
        low, following = token.low, self._low(place + 1)
        self.clause.low.append(low)
        self.clause.has_verb |= low in VERBS or (len(low) > 4 and low.endswith("ed"))
        if low == "free" and place > 1 and self.tokens[place - 1].text == "-":
            self._deny_last()
            return
        for piece in token_stems(token.text):
            is_name = token.text[0].isupper() and low not in UNGROUNDED_WORDS and bool(place)
            self.clause.words.append(Word(token.text, piece, self.negated, is_name))
            (self.clause.negated if self.negated else self.clause.affirmed).add(piece)
        is_answer = low == "no" and following == ","
        is_past = low == "used" and following == "to" and self._low(place - 1) not in ("is", "are", "am", "get")
        if (low in NEGATIONS and not is_answer) or is_past:
            self.negated = True

    def _deny_last(self) -> None:
        """ "Gluten-free" means without gluten."""
        if self.clause.words:
            last = self.clause.words.pop()
            self.clause.words.append(last._replace(is_negated=True))
            self.clause.affirmed.discard(last.stem)
            self.clause.negated.add(last.stem)

    def _break(self, place: int) -> None:
        """A comma or an "and": does a clause of its own follow, or at least something that the negation leaves out?"""
        at = place + 1
        while at <= place + JOINING_WORDS and (self._low(at) in _BREAKS or self._low(at) == "also"):
            at += 1
        low = self._low(at)
        if low in _FRESH:
            self.negated = False
        is_denied_alone = self.negated and low in _SUBJECTS
        if not self.clause.has_verb and not is_denied_alone:
            return
        if low in _SUBJECTS or (low == "the" and self._low(at + 1) == "user") or self._is_name_with_verb(at):
            self._close()
        elif low in VERBS and self.tokens[place].low in (",", "and"):
            self._close(continues=True)

    def _is_name_with_verb(self, at: int) -> bool:
        for first in range(at, min(at + 3, len(self.tokens))):
            token = self.tokens[first]
            if not token.is_word or not token.text[0].isupper() or token.low in UNGROUNDED_WORDS:
                return False
            if self._low(first + 1) in VERBS:
                return True
        return False

    def _low(self, place: int) -> str:
        return self.tokens[place].low if 0 <= place < len(self.tokens) else ""

    def _close(self, *, continues: bool = False) -> None:
        """End a clause; one that goes on with a verb is about whom the one before it is about."""
        if self.clause.words:
            self._open(self.clause)
            self.clauses.append(self.clause)
        self.clause = Clause(continues=continues)
        self.negated = False

    def _open(self, clause: Clause) -> None:
        if clause.continues and self.clauses:
            clause.opener, clause.opening = self.clauses[-1].opener, self.clauses[-1].opening
            return
        rest = clause.low
        while rest and rest[0] in _LEADS:
            rest = rest[1:]
        verb = next((place for place, word in enumerate(rest[:OPENER_WORDS]) if word in VERBS), len(rest))
        head = rest[: min(verb, OPENER_WORDS)]
        clause.opening = frozenset(stem(word) for word in head)
        first = rest[0] if rest else ""
        if first in _FIRST:
            related = any(word in _RELATIONS for word in head[1:]) and not {"i", "we", "me"} & set(head)
            clause.opener = Opener.RELATIVE if related else Opener.SPEAKER
        elif first in _THIRD:
            clause.opener = Opener.PRONOUN
        elif verb < 3 and head and self._is_capital(clause, first):
            clause.opener = Opener.NAME

    def _is_capital(self, clause: Clause, low: str) -> bool:
        return any(word.text.casefold() == low and word.text[0].isupper() for word in clause.words[:2]) and (
            low not in UNGROUNDED_WORDS
        )
