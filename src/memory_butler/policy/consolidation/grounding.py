"""Grounding: checks a proposal against the episodes that it cites. Models invent; this catches the cheap inventions.

| it is rejected when | for example |
|---|---|
| a name or a number is not in the episodes | "Porto" from "I moved to Lisbon" |
| a content word is missing: any in a short value, more than one in four in a longer one | "walnuts" |
| its subject is not named there | "Tom" from "my brother lives in Rome" |
| its words are about another person | Acme is allergic, from "I work at Acme. I'm allergic to peanuts." |
| it says the opposite | "allergic to nuts" from "not allergic to nuts" |
| somebody else said it, or it was said with a condition (see attribution) | Rome from "I might move to Rome" |
| the words do not support its day (see mentioned_days) | next year from "tomorrow" |

A proposal that passes need not be true: it only uses the episodes' words about the same person. Words are compared
by their stems, numbers in words and figures alike. The user and the butler need not be named, "she" may be Anna who was
named up to three sentences before, and a name in front of a line is that of the speaker.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from itertools import pairwise
from typing import NamedTuple

from memory_butler.english.extraction.grammar.lower_case_names import with_capitals
from memory_butler.english.text.clauses import Clause, Opener, Sentence, sentences, words
from memory_butler.english.text.stems import (
    AVERSIONS,
    LIKINGS,
    OPTIONAL_IN_RULES,
    OPTIONAL_WORDS,
    UNGROUNDED_STEMS,
    Word,
    occurs,
    stem,
)
from memory_butler.english.text.word_sets import word_set
from memory_butler.english.time.calendar import MONTHS, WEEKDAYS
from memory_butler.english.time.mentioned_days import supports_day
from memory_butler.policy.consolidation.attribution import said_otherwise
from memory_butler.policy.memories.text import one_line

# Of this many required words one may be missing.
WORDS_FOR_ONE_MISSING = 4
PRONOUN_SENTENCES = 3
NAMED_WORDS = 3
PHONE_DIGITS = 7
OURSELVES = frozenset(
    ["user", "the_user", "me", "i", "we", "us", "myself", "butler", "the_butler", "assistant", "the_assistant"]
)
# Classes about a person: a statement about the user's sister says nothing about the user.
PERSONAL = word_set("""
allergic_to health diet works_at works_as lives_in age nationality studies likes dislikes speaks drives
""")
AVERSE = frozenset(["dislikes", "dislike", "hates", "avoids"])
_BACK = frozenset(map(stem, word_set("them it there that this too same both")))
_FREE = frozenset(map(stem, OPTIONAL_WORDS))
_FREE_IN_RULES = frozenset(map(stem, OPTIONAL_IN_RULES))
_LIKINGS = frozenset(map(stem, LIKINGS))
_AVERSIONS = frozenset(map(stem, AVERSIONS))
_ALLERGIES = frozenset(map(stem, ["allergy", "allergic", "intolerant", "intolerance"]))
_TITLES = frozenset(map(stem, word_set("dr mr mrs ms prof sir")))
_DENYING = word_set("not no never no longer stopped quit former without")


_BREAK = re.compile(r"(?<=[.!?\n])\s{0,8}")
_CAPITALISED = re.compile(r"\b[A-Z][a-z]{1,30}\b")


class EpisodeText:
    """The text of one episode, parsed once for every proposal that cites it."""

    def __init__(self, text: str, observed_at: datetime) -> None:
        self.text = text
        self.sentences: list[Sentence] = sentences(text)
        self.low = " ".join(text.casefold().split())
        self.observed = observed_at.astimezone(UTC).date()
        clauses = [clause for sentence in self.sentences for clause in sentence.clauses]
        found = [word for clause in clauses for word in clause.words]
        self.stems = {word.stem for word in found} | _other_forms(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A proposed fact or rule. `given` are stems that need no evidence, such as those of the fact that an update
    changes."""

    content: str
    subject: str = ""
    predicate: str = ""
    valid_at: datetime | None = None
    given: frozenset[str] = frozenset()
    is_rule: bool = False

    @property
    def kind(self) -> str:
        return self.predicate.partition(":")[0].strip().casefold().replace(" ", "_").replace("-", "_")

    @property
    def is_of_ourselves(self) -> bool:
        return "_".join(self.subject.casefold().split()) in OURSELVES


@dataclass(slots=True)
class _Case:
    """A claim, the cited episodes, and the words that must occur in them."""

    claim: Claim
    episodes: Sequence[EpisodeText]
    required: list[Word] = field(default_factory=list)

    @property
    def stems(self) -> set[str]:
        return set().union(*(one.stems for one in self.episodes))


class _Place(NamedTuple):
    """A clause with the sentences around it."""

    episode: EpisodeText
    at: int
    clause: Clause
    number: int


def objection(claim: Claim, episodes: Sequence[EpisodeText]) -> str | None:
    """The reason why these episodes do not support the claim; None if they may."""
    case = _Case(claim, episodes, _required_words(words(claim.content), claim))
    found = _objection(case)
    if found is not None or claim.given:
        return found
    required = [word.stem for word in case.required]
    texts = [one.text for one in episodes]
    return said_otherwise(claim.predicate, claim.content, required, texts, of_user=claim.is_of_ourselves)


def _objection(case: _Case) -> str | None:
    claim, episodes = case.claim, case.episodes
    if claim.valid_at is not None and not _day_is_supported(claim.valid_at, episodes):
        return "The episodes do not say that day."
    if missing := _missing(case):
        return f"The episodes do not say: {_named(missing)}."
    if claim.subject and not claim.is_of_ourselves:
        subject, unknown = _subject(case)
        if not subject or (unknown and not claim.given) or len(unknown) == len(subject):
            return f"The episodes do not name its subject: {one_line(claim.subject, 60)}."
        return _objection_about_other(case, subject - _TITLES or subject)
    if claim.subject and claim.kind in PERSONAL:
        best = _best(_places(episodes), case.required)
        if best and all(place.clause.opener is Opener.RELATIVE for place in best):
            return "The episodes say it about someone else, not about the user."
    return _contradiction(case, [place.clause for place in _places(episodes)])


def confirmation_objection(claim: Claim, episodes: Sequence[EpisodeText]) -> str | None:
    """The reason why these episodes do not confirm a known fact: they need half its words, its subject, no opposite."""
    case = _Case(claim, episodes)
    case.required = _required_words(words(claim.content), claim)
    stems = case.stems
    there = [word for word in case.required if occurs(word.stem, stems, exactly=word.is_number)]
    if 2 * len(there) < len(case.required) or not there:
        return "The episodes do not speak of it."
    if claim.subject and not claim.is_of_ourselves:
        subject, unknown = _subject(case)
        if len(unknown) == len(subject):
            return "The episodes do not name its subject."
    return _contradiction(case, [place.clause for place in _places(episodes)])


def _subject(case: _Case) -> tuple[set[str], set[str]]:
    """The words of the subject, and those that the episodes do not have."""
    own = words(case.claim.subject)
    found = {word for word in own if word.stem not in UNGROUNDED_STEMS}
    if not found:
        # Will, May and Don are names where they are written as such.
        parts = [part for one in case.episodes for part in _BREAK.split(one.text)]
        said = {name for part in parts for name in _CAPITALISED.findall(with_capitals(part))}
        found = {word for word in own if word.text in said}
    unknown = {word for word in found if not occurs(word.stem, case.stems, exactly=word.text[0].isupper())}
    return {word.stem for word in found}, {word.stem for word in unknown}


def _required_words(found: list[Word], claim: Claim) -> list[Word]:
    """The words that must be in the episodes: the content words, or all if there are none."""
    free = _FREE_IN_RULES if claim.is_rule else _FREE
    full = [word for word in found if word.is_number or word.stem not in UNGROUNDED_STEMS]
    required = [word for word in full if word.is_number or word.is_name or word.stem not in free]
    return required or full or found


def _missing(case: _Case) -> list[Word]:
    """The words that are not there, if they are too many: a name or a number at all, of the others one in four."""
    claim, stems = case.claim, case.stems | case.claim.given
    if claim.valid_at is not None:
        stems |= _words_of_day(claim.valid_at.date())
    stems |= {str(one.observed.year) for one in case.episodes}
    gone = [word for word in case.required if not occurs(word.stem, stems, exactly=word.is_name or word.is_number)]
    if not gone:
        return []
    phones = _phones(case)
    gone = [word for word in gone if word.stem not in phones]
    keyed = {word.stem for word in words(claim.predicate.partition(":")[2].replace("_", " "))}
    strict = [word for word in gone if word.is_name or word.is_number or word.stem in keyed]
    allowed = len(case.required) // WORDS_FOR_ONE_MISSING
    return gone if strict or len(gone) > allowed else []


def _phones(case: _Case) -> set[str]:
    """Figures of a long number that the episodes write in other groups."""
    runs = "".join(char for one in case.episodes for char in one.low if char.isdigit())
    own = "".join(char for char in case.claim.content if char.isdigit())
    if len(own) < PHONE_DIGITS or own not in runs:
        return set()
    return {word.stem for word in case.required if word.is_number}


def _other_forms(found: list[Word]) -> set[str]:
    """Forms of numbers that mean the same: parts of a time or date, 2:30pm as 14:30, "twenty-one" as 21, "a" as 1."""
    forms: set[str] = set()
    for word, following in pairwise([*found, Word("", "", False, False)]):
        if not word.is_number:
            forms |= {"1"} if word.text.casefold() in ("a", "an") else set()
            continue
        hour, _, minutes = word.stem.partition(".")
        forms |= set(word.stem.split("."))
        if hour.isdecimal() and len(hour) <= 2:
            shift = -12 if int(hour) > 12 else 12
            forms |= {f"{int(hour) + shift}.{minutes}" if minutes else str(int(hour) + shift)} if minutes else set()
            forms |= {str(int(hour) + shift)} if following.text.casefold() in ("pm", "p") or minutes else set()
            forms |= {f"{hour}.00", f"{int(hour) + 12}.00"} if following.text.casefold() in ("am", "pm") else set()
        if word.stem in _TENS and following.is_number and len(following.stem) == 1:
            forms.add(str(int(word.stem) + int(following.stem)))
    return forms


_TENS = frozenset(str(number) for number in range(20, 100, 10))


def _words_of_day(day: date) -> set[str]:
    """The stems of the ways to write a supported day."""
    month, weekday = MONTHS[day.month - 1], WEEKDAYS[day.weekday()]
    numbers = {str(day.year), str(day.month), str(day.day)}
    return numbers | {stem(month), stem(month[:3]), stem(weekday), stem(weekday[:3])}


def _day_is_supported(moment: datetime, episodes: Sequence[EpisodeText]) -> bool:
    day = moment.astimezone(UTC).date()
    return any(supports_day(day, one.low, one.observed) for one in episodes)


def _places(episodes: Sequence[EpisodeText]) -> list[_Place]:
    return [
        _Place(one, at, clause, number)
        for one in episodes
        for at, sentence in enumerate(one.sentences)
        for number, clause in enumerate(sentence.clauses)
    ]


def _best(places: list[_Place], required: list[Word]) -> list[_Place]:
    """The clauses with most of the words."""
    counts = [
        sum(occurs(word.stem, place.clause.stems, exactly=word.is_name or word.is_number) for word in required)
        for place in places
    ]
    most = max(counts, default=0)
    return [place for place, count in zip(places, counts, strict=True) if count == most and most]


def _objection_about_other(case: _Case, subject: set[str]) -> str | None:
    """For a subject that is not the user: the words must be said of it, all in one place of one episode."""
    places = _places(case.episodes)
    required = [word for word in case.required if word.stem not in subject] or case.required
    best = _best(places, required)
    is_personal = case.claim.kind in PERSONAL
    about = [place for place in best if _is_about(place, subject, required, is_personal=is_personal)]
    if not about:
        if best and any(_refers_back(place, best, subject) for place in places):
            return None
        return "The episodes say it about someone else, not about its subject."
    return _contradiction(case, [place.clause for place in about])


def _is_about(place: _Place, subject: set[str], required: list[Word], *, is_personal: bool) -> bool:
    """True if the clause is about the subject: by name, by a pronoun, as the speaker, or as a continuation."""
    clause, sentence = place.clause, place.episode.sentences[place.at]
    if _names(clause.opening, subject):
        return True
    if _names(sentence.speaker, subject):
        return clause.opener is not Opener.RELATIVE or not is_personal
    if _names(clause.stems, subject):
        # "She is a designer in Lagos" is about her; "she married Tom, a vet" says something of him too.
        return clause.opener is not Opener.PRONOUN or _comes_after(clause, subject, required)
    later = sentence.clauses[place.number + 1 :]
    if clause.is_heading and later and _names(later[0].stems, subject):
        return True
    return _continues_about(place, subject)


def _continues_about(place: _Place, subject: set[str]) -> bool:
    """True if a pronoun of the clause is the subject, or the clause continues one about it."""
    clause, sentence = place.clause, place.episode.sentences[place.at]
    earlier = list(sentence.clauses[: place.number])
    before = place.episode.sentences[max(0, place.at - PRONOUN_SENTENCES) : place.at]
    if clause.opener is Opener.PRONOUN:
        last = [*(one for sentence in before for one in sentence.clauses), *earlier]
        speakers = frozenset().union(*(one.speaker for one in before))
        return _names(speakers, subject) or any(_introduces(one, subject) for one in last)
    lead: Clause | None = earlier[-1] if earlier else before[-1].clauses[0] if before else None
    return clause.opener is Opener.OTHER and lead is not None and _names(lead.opening, subject)


def _introduces(clause: Clause, subject: set[str]) -> bool:
    """True if a pronoun after this clause can be the subject. Not if the clause only mentions it about a pronoun."""
    return _names(clause.opening if clause.opener is Opener.PRONOUN else clause.stems, subject)


def _comes_after(clause: Clause, subject: set[str], required: list[Word]) -> bool:
    stems = [word.stem for word in clause.words]
    named = next((at for at, one in enumerate(stems) if _names([one], subject)), len(stems))
    first = next(
        (at for at, one in enumerate(stems) if any(occurs(word.stem, [one], exactly=True) for word in required)), 0
    )
    return first > named


def _refers_back(place: _Place, best: list[_Place], subject: set[str]) -> bool:
    """ "My husband loves them": the words stand just before, and the clause about the subject points to them."""
    clause = place.clause
    if not _names(clause.opening, subject) or clause.stems.isdisjoint(_BACK):
        return False
    return any(
        one.episode is place.episode
        and place.at - 2 <= one.at <= place.at
        and (one.at, one.number) < (place.at, place.number)
        for one in best
    )


def _names(stems: Collection[str], subject: set[str]) -> bool:
    return any(occurs(word, stems, exactly=True) for word in subject)


def _contradiction(case: _Case, clauses: list[Clause]) -> str | None:
    """The objection if the claim negates a statement of the episodes, or states what they negate."""
    claim = case.claim
    affirmed = set().union(*(clause.affirmed for clause in clauses))
    negated = set().union(*(clause.negated for clause in clauses))
    mine = [word for word in case.required if word.stem in affirmed | negated]
    if not mine:
        return None
    opposite = "The episodes say the opposite."
    speaking = [clause for clause in clauses if any(word.stem in clause.stems for word in mine)]
    if claim.kind in AVERSE:
        liked = any(not _LIKINGS.isdisjoint(clause.affirmed) and not clause.is_question for clause in speaking)
        averse = any(clause.negated or not _AVERSIONS.isdisjoint(clause.stems) for clause in speaking)
        return opposite if liked and not averse else None
    turned = not _DENYING.isdisjoint(claim.kind.split("_"))
    wrong = [word for word in mine if word.stem not in (negated if word.is_negated != turned else affirmed)]
    if claim.kind == "allergic_to" and not any(word.is_negated for word in mine):
        return opposite if wrong and not _ALLERGIES.isdisjoint(negated) else None
    if any(word.is_negated for word in wrong) or turned:
        own = {word.stem for word in words(f"{claim.content} {claim.kind.replace('_', ' ')}")}
        averse = any(not (_AVERSIONS - own).isdisjoint(clause.stems) for clause in speaking)
        return None if averse or not wrong else opposite
    return opposite if wrong and (wrong[-1] is mine[-1] or 2 * len(wrong) > len(mine)) else None


def _named(missing: list[Word]) -> str:
    return ", ".join(one_line(word.text, 40) for word in missing[:NAMED_WORDS])
