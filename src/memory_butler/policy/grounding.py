"""Whether what is proposed stands on the episodes that it cites. Models invent; this catches the cheap inventions.

| it is doubted when | for example |
|---|---|
| a name or a number is not in the episodes | "Porto" from "I moved to Lisbon" |
| a word that tells something is not there: at all in a short value, more than one in four in a longer one | "walnuts" |
| its subject is not named there | "Tom" from "my brother lives in Rome" |
| its words are said of somebody else | Acme is allergic, from "I work at Acme. I'm allergic to peanuts." |
| it says the opposite | "allergic to nuts" from "not allergic to nuts" |
| its day cannot be told from the words (see told_days) | next year from "tomorrow" |

What passes need not be true: it uses the words of the episodes, about whom they are used there. Words are compared by
their stems, numbers in words and figures alike. The user and the butler need not be named, "she" may stand for Anna who
was named up to three sentences before, and a name in front of a line is that of the speaker.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from itertools import pairwise
from typing import NamedTuple

from memory_butler.policy.reading import Clause, Opener, Sentence, sentences, words
from memory_butler.policy.telling import (
    AVERSIONS,
    FREE,
    FREE_IN_RULES,
    FUNCTION_STEMS,
    LIKINGS,
    Word,
    occurs,
    stem,
    word_set,
)
from memory_butler.policy.told_days import MONTH_NAMES, WEEKDAY_NAMES, can_be_told
from memory_butler.policy.wording import one_line

# Of so many telling words one may be the proposer's own.
WORDS_FOR_ONE_MISSING = 4
PRONOUN_SENTENCES = 3
NAMED_WORDS = 3
PHONE_DIGITS = 7
OURSELVES = frozenset(
    ["user", "the_user", "me", "i", "we", "us", "myself", "butler", "the_butler", "assistant", "the_assistant"]
)
# What is said of the user's sister is not the user's own where the class is about the person.
PERSONAL = word_set("""
allergic_to health diet works_at works_as lives_in age nationality studies likes dislikes speaks drives
""")
AVERSE = frozenset(["dislikes", "dislike", "hates", "avoids"])
_BACK = frozenset(map(stem, word_set("them it there that this too same both")))
_FREE = frozenset(map(stem, FREE))
_FREE_IN_RULES = frozenset(map(stem, FREE_IN_RULES))
_LIKINGS = frozenset(map(stem, LIKINGS))
_AVERSIONS = frozenset(map(stem, AVERSIONS))
_ALLERGIES = frozenset(map(stem, ["allergy", "allergic", "intolerant", "intolerance"]))
_TITLES = frozenset(map(stem, word_set("dr mr mrs ms prof sir")))
_DENYING = word_set("not no never no longer stopped quit former without")


class Told:
    """What one episode says, read once for all that cites it."""

    def __init__(self, text: str, observed_at: datetime) -> None:
        self.sentences: list[Sentence] = sentences(text)
        self.low = " ".join(text.casefold().split())
        self.observed = observed_at.astimezone(UTC).date()
        clauses = [clause for sentence in self.sentences for clause in sentence.clauses]
        found = [word for clause in clauses for word in clause.words]
        self.stems = {word.stem for word in found} | _other_forms(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Something that is said to follow from episodes. `given` are words that need no evidence, as those of the fact
    that an update changes."""

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
    """A claim beside what it is held against."""

    claim: Claim
    told: Sequence[Told]
    telling: list[Word] = field(default_factory=list)

    @property
    def stems(self) -> set[str]:
        return set().union(*(one.stems for one in self.told))


class _Place(NamedTuple):
    """A clause with the sentences around it."""

    told: Told
    at: int
    clause: Clause
    number: int


def doubt(claim: Claim, told: Sequence[Told]) -> str | None:
    """Why the claim does not stand on these episodes; None if it may."""
    if claim.valid_at is not None and not _day_is_told(claim.valid_at, told):
        return "The episodes do not say that day."
    case = _Case(claim, told)
    case.telling = _telling(words(claim.content), claim)
    if missing := _missing(case):
        return f"The episodes do not say: {_named(missing)}."
    if claim.subject and not claim.is_of_ourselves:
        subject, unknown = _subject(case)
        if not subject or (unknown and not claim.given) or len(unknown) == len(subject):
            return f"The episodes do not name its subject: {one_line(claim.subject, 60)}."
        return _doubt_of_other(case, subject - _TITLES or subject)
    if claim.subject and claim.kind in PERSONAL:
        best = _best(_places(told), case.telling)
        if best and all(place.clause.opener is Opener.RELATIVE for place in best):
            return "The episodes say it of somebody else than the user."
    return _opposed(case, [place.clause for place in _places(told)])


def is_touched(claim: Claim, told: Sequence[Told]) -> str | None:
    """Why the episodes do not confirm what is known: they must have half of its words, its subject, and no opposite."""
    case = _Case(claim, told)
    case.telling = _telling(words(claim.content), claim)
    stems = case.stems
    there = [word for word in case.telling if occurs(word.stem, stems, exactly=word.is_number)]
    if 2 * len(there) < len(case.telling) or not there:
        return "The episodes do not speak of it."
    if claim.subject and not claim.is_of_ourselves:
        subject, unknown = _subject(case)
        if len(unknown) == len(subject):
            return "The episodes do not name its subject."
    return _opposed(case, [place.clause for place in _places(told)])


def _subject(case: _Case) -> tuple[set[str], set[str]]:
    """The words of the subject, and those that the episodes do not have."""
    found = {word for word in words(case.claim.subject) if word.stem not in FUNCTION_STEMS}
    unknown = {word for word in found if not occurs(word.stem, case.stems, exactly=word.text[0].isupper())}
    return {word.stem for word in found}, {word.stem for word in unknown}


def _telling(found: list[Word], claim: Claim) -> list[Word]:
    """The words that must be in the episodes: those that tell something, or all if none does."""
    free = _FREE_IN_RULES if claim.is_rule else _FREE
    full = [word for word in found if word.is_number or word.stem not in FUNCTION_STEMS]
    telling = [word for word in full if word.is_number or word.is_name or word.stem not in free]
    return telling or full or found


def _missing(case: _Case) -> list[Word]:
    """The words that are not there, if they are too many: a name or a number at all, of the others one in four."""
    claim, stems = case.claim, case.stems | case.claim.given
    if claim.valid_at is not None:
        stems |= _words_of_day(claim.valid_at.date())
    stems |= {str(one.observed.year) for one in case.told}
    gone = [word for word in case.telling if not occurs(word.stem, stems, exactly=word.is_name or word.is_number)]
    if not gone:
        return []
    phones = _phones(case)
    gone = [word for word in gone if word.stem not in phones]
    keyed = {word.stem for word in words(claim.predicate.partition(":")[2].replace("_", " "))}
    strict = [word for word in gone if word.is_name or word.is_number or word.stem in keyed]
    allowed = len(case.telling) // WORDS_FOR_ONE_MISSING
    return gone if strict or len(gone) > allowed else []


def _phones(case: _Case) -> set[str]:
    """Figures of a long number that the episodes write in other groups."""
    runs = "".join(char for one in case.told for char in one.low if char.isdigit())
    own = "".join(char for char in case.claim.content if char.isdigit())
    if len(own) < PHONE_DIGITS or own not in runs:
        return set()
    return {word.stem for word in case.telling if word.is_number}


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
    """How a day that can be told may be written out."""
    month, weekday = MONTH_NAMES[day.month - 1], WEEKDAY_NAMES[day.weekday()]
    numbers = {str(day.year), str(day.month), str(day.day)}
    return numbers | {stem(month), stem(month[:3]), stem(weekday), stem(weekday[:3])}


def _day_is_told(moment: datetime, told: Sequence[Told]) -> bool:
    day = moment.astimezone(UTC).date()
    return any(can_be_told(day, one.low, one.observed) for one in told)


def _places(told: Sequence[Told]) -> list[_Place]:
    return [
        _Place(one, at, clause, number)
        for one in told
        for at, sentence in enumerate(one.sentences)
        for number, clause in enumerate(sentence.clauses)
    ]


def _best(places: list[_Place], telling: list[Word]) -> list[_Place]:
    """The clauses with most of the words."""
    counts = [
        sum(occurs(word.stem, place.clause.stems, exactly=word.is_name or word.is_number) for word in telling)
        for place in places
    ]
    most = max(counts, default=0)
    return [place for place, count in zip(places, counts, strict=True) if count == most and most]


def _doubt_of_other(case: _Case, subject: set[str]) -> str | None:
    """For a subject that is not the user: the words must be said of it, all in one place of one episode."""
    places = _places(case.told)
    telling = [word for word in case.telling if word.stem not in subject] or case.telling
    best = _best(places, telling)
    is_personal = case.claim.kind in PERSONAL
    about = [place for place in best if _is_about(place, subject, telling, is_personal=is_personal)]
    if not about:
        if best and any(_refers_back(place, best, subject) for place in places):
            return None
        return "The episodes say it of somebody else than its subject."
    return _opposed(case, [place.clause for place in about])


def _is_about(place: _Place, subject: set[str], telling: list[Word], *, is_personal: bool) -> bool:
    """Does the clause speak of the subject: by name, by a pronoun, as a speaker or by going on about it?"""
    clause, sentence = place.clause, place.told.sentences[place.at]
    if _names(clause.opening, subject):
        return True
    if _names(sentence.speaker, subject):
        return clause.opener is not Opener.RELATIVE or not is_personal
    if _names(clause.stems, subject):
        # "She is a designer in Lagos" is about her; "she married Tom, a vet" says something of him too.
        return clause.opener is not Opener.PRONOUN or _comes_after(clause, subject, telling)
    later = sentence.clauses[place.number + 1 :]
    if clause.heads and later and _names(later[0].stems, subject):
        return True
    return _goes_on_about(place, subject)


def _goes_on_about(place: _Place, subject: set[str]) -> bool:
    """A clause that does not name the subject: a pronoun stands for it, or it goes on where one about it began."""
    clause, sentence = place.clause, place.told.sentences[place.at]
    earlier = list(sentence.clauses[: place.number])
    before = place.told.sentences[max(0, place.at - PRONOUN_SENTENCES) : place.at]
    if clause.opener is Opener.PRONOUN:
        last = [*(one for sentence in before for one in sentence.clauses), *earlier]
        speakers = frozenset().union(*(one.speaker for one in before))
        return _names(speakers, subject) or any(_brings_in(one, subject) for one in last)
    lead: Clause | None = earlier[-1] if earlier else before[-1].clauses[0] if before else None
    return clause.opener is Opener.OTHER and lead is not None and _names(lead.opening, subject)


def _brings_in(clause: Clause, subject: set[str]) -> bool:
    """Can a pronoun after this clause mean the subject? Not if it is only mentioned of somebody meant by a pronoun."""
    return _names(clause.opening if clause.opener is Opener.PRONOUN else clause.stems, subject)


def _comes_after(clause: Clause, subject: set[str], telling: list[Word]) -> bool:
    stems = [word.stem for word in clause.words]
    named = next((at for at, one in enumerate(stems) if _names([one], subject)), len(stems))
    first = next(
        (at for at, one in enumerate(stems) if any(occurs(word.stem, [one], exactly=True) for word in telling)), 0
    )
    return first > named


def _refers_back(place: _Place, best: list[_Place], subject: set[str]) -> bool:
    """ "My husband loves them": the words stand just before, and the clause about the subject points to them."""
    clause = place.clause
    if not _names(clause.opening, subject) or clause.stems.isdisjoint(_BACK):
        return False
    return any(
        one.told is place.told
        and place.at - 2 <= one.at <= place.at
        and (one.at, one.number) < (place.at, place.number)
        for one in best
    )


def _names(stems: Collection[str], subject: set[str]) -> bool:
    return any(occurs(word, stems, exactly=True) for word in subject)


def _opposed(case: _Case, clauses: list[Clause]) -> str | None:
    """Does it deny what the episodes say, or say what they deny?"""
    claim = case.claim
    said = set().union(*(clause.said for clause in clauses))
    denied = set().union(*(clause.denied for clause in clauses))
    mine = [word for word in case.telling if word.stem in said | denied]
    if not mine:
        return None
    opposite = "The episodes say the opposite."
    speaking = [clause for clause in clauses if any(word.stem in clause.stems for word in mine)]
    if claim.kind in AVERSE:
        liked = any(not _LIKINGS.isdisjoint(clause.said) and not clause.asks for clause in speaking)
        averse = any(clause.denied or not _AVERSIONS.isdisjoint(clause.stems) for clause in speaking)
        return opposite if liked and not averse else None
    turned = not _DENYING.isdisjoint(claim.kind.split("_"))
    wrong = [word for word in mine if word.stem not in (denied if word.is_negated != turned else said)]
    if claim.kind == "allergic_to" and not any(word.is_negated for word in mine):
        return opposite if wrong and not _ALLERGIES.isdisjoint(denied) else None
    if any(word.is_negated for word in wrong) or turned:
        own = {word.stem for word in words(f"{claim.content} {claim.kind.replace('_', ' ')}")}
        averse = any(not (_AVERSIONS - own).isdisjoint(clause.stems) for clause in speaking)
        return None if averse or not wrong else opposite
    return opposite if wrong and (wrong[-1] is mine[-1] or 2 * len(wrong) > len(mine)) else None


def _named(missing: list[Word]) -> str:
    return ", ".join(one_line(word.text, 40) for word in missing[:NAMED_WORDS])
