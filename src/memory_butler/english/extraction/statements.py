"""Extracts facts from a clause: finds its subject and verb, and lets the topic tables read the rest."""

import re
from collections.abc import Iterator
from datetime import datetime

from memory_butler.english.extraction.findings import Draft
from memory_butler.english.extraction.fixed_phrases import fixed_phrase_facts
from memory_butler.english.extraction.grammar.clause_splitting import Clause
from memory_butler.english.extraction.grammar.coreference import Discourse
from memory_butler.english.extraction.grammar.forms import Reader
from memory_butler.english.extraction.grammar.known_names import PLACES
from memory_butler.english.extraction.grammar.people import Person, person_at
from memory_butler.english.extraction.grammar.person_names import NAME, is_name
from memory_butler.english.extraction.grammar.turns import USER
from memory_butler.english.extraction.grammar.verbs import FORMS, VerbPhrase, read_phrase, word_at
from memory_butler.english.extraction.indirect import indirect_statements
from memory_butler.english.extraction.topics import (
    events,
    habits,
    health,
    home,
    identity,
    occasions,
    possessions,
    study,
    tastes,
    work,
)
from memory_butler.english.extraction.topics.attributes import attributes
from memory_butler.english.extraction.topics.reference_data import kept
from memory_butler.english.text.word_sets import any_of, caseless, word_set
from memory_butler.english.time.calendar import MONTHS, WEEKDAYS
from memory_butler.english.time.event_dates import find_event_date


def _table() -> dict[str, list[Reader]]:
    """All readers by verb: the first that finds something is believed, in this order."""
    found: dict[str, list[Reader]] = {}
    obligations = (events.INTENTIONS, events.OBLIGATIONS, health.ENDINGS)
    themes = (tastes.VERBS, identity.VERBS, health.VERBS, work.VERBS, study.VERBS, home.VERBS, possessions.VERBS)
    for table in (*obligations, *themes):
        for verb, reader in table.items():
            found.setdefault(verb, []).append(reader)
    found["have"] = [
        *(events.cancels, identity.COUNTS_YEARS, events.owes),
        *(health.eats, health.has_condition, events.has_appointment, possessions.has),
    ]
    found["want"].append(events.wants)
    found["know"] = [possessions.knows]
    found["try"] = [events.intends]
    found["expect"] = [events.expects, events.intends]
    found["cancel"] = [events.cancels, *found["cancel"]]
    for verb in ("write", "build", "make"):
        found.setdefault(verb, []).append(work.MAKES)
    found["hold"] = [identity.HOLDS]
    found["change"] = [identity.RENAMES]
    found["live"] = [_lives]
    found["introduce"] = [_introduces]
    found["do"] = [health.eats, habits.habits, *found["do"]]
    found["go"] = [identity.goes_by, *found["go"]]
    found["use"] = [identity.USES_PRONOUNS, possessions.uses]
    for verb in ("date", "see", "marry", "report"):
        found.setdefault(verb, []).append(_bond)
    return found


def _bond(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "Dating my cousin Ines", "married Tom", "reports to Colin"."""
    match = re.match(
        rf"(?:to |someone called |a guy called |a girl called )?(?:(?:my|his|her|their) [\w-]+ )?(?P<v>{NAME})", vp.rest
    )
    if not match or vp.negated or vp.modal or not is_name(match["v"]):
        return []
    if vp.verb == "report" and vp.rest.startswith("to ") and vp.tense == "present":
        return [Draft(vp.subject, "relationship", f"reports to {match['v']}", key=match["v"])]
    if vp.verb in ("date", "see") and vp.tense == "ongoing":
        return [Draft(vp.subject, "relationship", f"{vp.word} {match['v']}", key=match["v"])]
    if vp.verb == "marry" and vp.tense in ("past", "perfect") and find_event_date(vp.rest, now, "past") is None:
        return [Draft(vp.subject, "relationship", f"married {match['v']}", key=match["v"])]
    return []


def _lives(vp: VerbPhrase, now: datetime) -> list[Draft]:
    found = home.lives(vp, now)
    return found + possessions.pets_along(vp) if found else []


def _introduces(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "Introduced herself as Marta Kowalczyk, 34" says what "is" would."""
    match = re.match(r"(?:my|him|her|them)sel(?:f|ves) as (?P<v>.+)", vp.rest)
    if not match:
        return []
    return _being(vp._replace(verb="be", rest=match["v"], tense="present", by_speaker=True), now)


_READERS = _table()
_VERBS = frozenset(base for base, _ in FORMS.values())
_BEING: tuple[Reader, ...] = (
    events.is_on, health.is_unwell, identity.is_somebody, work.has_job, tastes.is_fond, study.IS_PUPIL, home.is_housed,
    possessions.IS_ON_DEVICE,
)  # fmt: skip
_LAST: tuple[Reader, ...] = (health.cannot, possessions.can, events.plans, events.happened, habits.habits)
_SETTLING: dict[str, tuple[Reader, ...]] = {
    "turn": (identity.turns, health.goes_on_diet), "go": (health.goes_on_diet,), "pass": (study.GRADUATES,),
    **{verb: (reader,) for verb, reader in health.ENDINGS.items()},
}  # fmt: skip
# These verbs state a result ("joined Acme"), whatever the date.
_MOVING_ON = frozenset({"move", "relocate", "join", "start", "leave", "quit"})
_HISTORY = 1990
_MORE = re.compile(r"[ ]?, (?:and |but )?| (?:and|but) ")
_REPORT = re.compile(
    rf"(?P<who>(?:[Tt]he )?[Uu]ser|[Ss]he|[Hh]e|[Tt]hey|I|{NAME})(?:'ve| has| have| also| just| then|"
    r" later)* (?:said|says|mentioned|mentions|noted|notes|confirmed|confirms|explained|shared|stated|states|added|"
    r"revealed|reported|clarified|told (?:me|us|you|the assistant)|let me know|disclosed|corrected (?:me|himself|"
    r"herself|themselves)|pointed out|indicated)(?: to me| again| in passing)?(?: that|[ ]?[:,])? (?P<rest>.+)"
)
_FRONT = re.compile(
    r"(?P<t>(?i:on|in|at|since|this|last|next|every|each|most|tomorrow|yesterday|today|tonight|the day|three|"
    r"two|four|five|a|an|\d+|once|twice|mon|tues|wednes|thurs|fri|satur|sun)(?i:\w*\b[^,]{0,32}?)),? "
    r"(?P<rest>(?:I|i|[Ww]e|[Mm]y|[Oo]ur|(?:[Tt]he )?[Uu]ser|[Hh]e|[Ss]he|[Tt]hey|[Hh]is|[Hh]er|[Tt]heir|"
    rf"(?!{any_of(name.capitalize() for name in (*WEEKDAYS, *MONTHS))}|Sept|Christmas|Easter){NAME})(?: |').+)"
)


# "The dentist said I grind my teeth": a professional's finding counts as the patient's own statement.
_ADVICE = re.compile(
    r"(?:(?:[Mm]y|[Tt]he|[Oo]ur|[Hh]is|[Hh]er) )?(?:[Dd]octors?|GP|[Dd]r\.? [A-Z]\w+|[Dd]entist|[Vv]et|[Pp]hysio|"
    r"[Tt]herapist|[Cc]ardiologist|[Oo]ptician|[Dd]ermatologist|[Nn]urse|[Mm]idwife|[Tt]ests?(?: results?)?|"
    r"[Bb]lood tests?|[Ll]ab results?) (?:says?|said|told (?:me|us|him|her|them)|confirmed|found|showed?|diagnosed|"
    r"discovered)(?: that| out that)? (?=(?:I|i|my|we|our|[Ss]he|[Hh]e|they|his|her|their)\b)"
)
_PREFACE = re.compile(
    r"(?:After|Since|With|As of|Following|Until recently|Besides) (?!work\b)[^,]{3,60}?,? (?=I (?:now|am|"
    r"work|run|live)\b|I'm\b)"
)


# "Patient Maria Lopez, 64, takes warfarin": the name stands alone, and its verb follows.
_ALONE = re.compile(
    rf"(?:^|: )(?:[Tt]he )?(?:[Cc]lient|[Cc]ustomer|[Cc]aller|[Pp]atient|[Ss]tudent|[Gg]uest) (?P<name>{NAME})"
    r"(?:,? \d{1,3})?$"
)


_AS_OF = re.compile(r"[Aa]s of (?:[A-Z][a-z]+ )?\d{4},? (?=(?:I|i|I'm|i'm|we|he|she|they|[A-Z])\b)")


def statements(clause: Clause, discourse: Discourse, now: datetime) -> list[Draft]:
    """The facts of one clause."""
    text, reporter = _unreported(_ADVICE.sub("", clause.text), discourse)
    if reporter and (match := re.match(r"(?:he|she|they)\b", text, re.I)):
        return _about(Person((reporter,), match.end()), text, "", discourse, now)
    if as_of := _AS_OF.match(text):
        text, discourse.about_work = text[as_of.end() :], True
    text = _PREFACE.sub("", text) if text[:1] in "ASWFUB" else text
    discourse.about_work = discourse.about_work or _JOBS.search(text) is not None
    front = ""
    match = _FRONT.match(text)
    if match and (find_event_date(match["t"], now, "future") or habits.OFTEN.search(match["t"])):
        front, text = match["t"], match["rest"]
    for fixed in (fixed_phrase_facts, attributes, kept, indirect_statements):
        if found := fixed(text, discourse, now):
            return found
    if clause.relative:
        aside = re.split(r", (?:and|or) ", text, maxsplit=1)[0]
        return _about(Person((discourse.person,), 3), aside, front, discourse, now) if discourse.person else []
    if (alone := _ALONE.search(text)) and is_name(alone["name"]):
        discourse.set_subject(alone["name"])
        return []
    person = person_at(text, discourse)
    found = _about(person, text, front, discourse, now) if person else _subjectless(clause, text, front, discourse, now)
    return found or _of_things(f"{text} {front}".strip(), discourse, now)


def _unreported(text: str, discourse: Discourse) -> tuple[str, str]:
    """The words without "User mentioned that", and who it was that mentioned them."""
    match = _REPORT.match(text)
    if not match:
        return text, ""
    who = match["who"]
    if who == "I":
        return match["rest"], ""
    if who.lower().endswith("user"):
        who = USER
    elif who.lower() in ("he", "she", "they"):
        who = discourse.pronoun(who.lower())
    if not who or (who != USER and not is_name(who)):
        return text, ""
    discourse.set_subject(who)
    return match["rest"], who


def _about(person: Person, text: str, front: str, discourse: Discourse, now: datetime) -> list[Draft]:
    phrase = f"{text[person.end :].strip()} {front}".strip()
    found = list(person.drafts)
    stated = False
    for who in person.who:
        vp = read_phrase(phrase, who, person.first_person)
        if not discourse.is_acquaintance(who):
            discourse.subject_unknown = True
        elif vp is not None and not (person.named and _is_plural(vp)):
            stated = vp.verb in _VERBS
            told = read(vp, now) or _new_job(vp, discourse)
            found += [one for one in told if who in discourse.known or not _is_history(one, vp, person)]
    if not stated and not found and "'s " not in person.who[0]:
        return []
    if len(person.who) > 1:
        discourse.set_subjects(person.who)
    else:
        discourse.set_subject(person.who[0], first_person=person.first_person)
    if person.is_pet:
        discourse.pets.add(person.who[0])
    return found


_DOING = caseless(
    r"(?:currently |now |still |also )?(?:(?:working|learning|studying|planning|living|moving|relocating|"
    r"flying|training|using|starting|travelling|returning|leaving|arriving|joining|going|heading|aiming|looking|"
    r"renting|hoping|expecting|trying|writing|building)\b|(?:back|off to|away|on holiday|on leave|out of "
    r"office|based in|born (?:in|on))\b)"
)


_JOBS = re.compile(
    r"\b(?:(?:switched|changed|new|between|lost my|found a(?: new)?|got a(?: new)?) jobs?|new (?:role|position|"
    r"employer|gig)|handed in|left [A-Z]\w+|quit)\b"
)
_AT = re.compile(
    r"(?:now )?(?:at|with) (?P<v>(?:the )?[A-Z][\w'&.-]*(?: [A-Z][\w'&.-]*){0,2})(?: now| these days)?(?=$|[,;.])"
)


_AT_SINCE = re.compile(
    r"(?:now )?(?:at|with) (?P<v>[A-Z][\w'&.-]*(?: [A-Z][\w'&.-]*){0,2})(?: \w+)? (?:since|as of) (?:[A-Z]\w+ )?\d{4}\b"
)


def _new_job(vp: VerbPhrase, discourse: Discourse) -> list[Draft]:
    """ "I'm at Siemens now": an employer if the conversation is about jobs, else just a location."""
    if vp.verb != "be" or vp.tense not in ("present", "perfect") or vp.negated or vp.ended or vp.modal:
        return []
    since = _AT_SINCE.match(vp.rest)
    match = (since if since and since["v"] not in PLACES else None) or (
        _AT.match(vp.rest) if discourse.about_work and vp.tense == "present" else None
    )
    if match is None:
        return []
    return [Draft(vp.subject, "works_at", match["v"])]


def _is_history(one: Draft, vp: VerbPhrase, person: Person) -> bool:
    """Return True for general knowledge: the birth or the distant past of a person without a tie to the user."""
    if not person.named:
        return False
    born = vp.verb == "be" and vp.rest.startswith("born")
    return born or (one.valid_at is not None and one.valid_at.year < _HISTORY)


def _is_plural(vp: VerbPhrase) -> bool:
    """Dogs love bones; Anna loves them."""
    return vp.form == "base" and vp.tense == "present" and not vp.negated and not vp.modal


_BACK = caseless(r"back (?:on|by) (?:the \d|\w+day)")
_OPENING = word_set("born been no now still never has is not got isn't also just usually often always")
# "Hate connections under an hour": in chat the "I" is often left out before these; "love, Anna" is a greeting.
_FELT = word_set("hate love prefer dislike adore proper")
_SHORT_NOTE = re.compile(r"(?!to\b|you\b|it\b|that\b|this\b|ya\b|u\b|your\b|from\b|and\b|[A-Z]\w+$)\S+ ?.*")
_HELPING = word_set("doesn't can't cannot will won't")


def _subjectless(clause: Clause, text: str, front: str, discourse: Discourse, now: datetime) -> list[Draft]:
    """A phrase that goes on about the last subject, or a note that leaves its subject out."""
    doing = _DOING.match(text)
    if _BACK.match(text) and discourse.day is not None:
        now = max(now, discourse.day)
    if doing:
        text = f"is {text[0].lower()}{text[1:]}"
    vp = read_phrase(f"{text} {front}".strip(), discourse.last, discourse.last == discourse.author)
    if vp is None or not (doing or not clause.leads or _is_note(vp, text)):
        discourse.subject_unknown = discourse.subject_unknown or clause.leads
        return []
    found = read(vp, now) if clause.leads or not discourse.subject_unknown else []
    if discourse.destination and _BACK.match(clause.text):
        found = [one._replace(content=f"back from {discourse.destination}") for one in found]
    if found and found[0].subject:
        discourse.set_subject(found[0].subject, first_person=vp.form != "s" and "self" not in text)
    return found


def _is_note(vp: VerbPhrase, text: str) -> bool:
    """ "Lives in Rome", "Moved to Lisbon", "Doesn't eat meat": what stands first is a verb in the third person, and not
    a noun like that of "Deploys go out"."""
    first, end = word_at(text, 0)
    following = FORMS.get(word_at(text, end)[0], ("", ""))
    if vp.form == "s" and vp.verb not in tastes.VERBS and (following[1] == "base" or following[0] in ("be", "have")):
        return False
    if vp.form == "base" and first in _FELT and _SHORT_NOTE.match(vp.rest):
        return True
    if first in _HELPING or (vp.ended and first == "don't") or (vp.form in ("s", "past") and vp.verb in _VERBS):
        return True
    return first in _OPENING and (vp.form in ("s", "past", "be") or (first == "been" and vp.form == "ing"))


def _of_things(text: str, discourse: Discourse, now: datetime) -> list[Draft]:
    match = re.match(r"(?P<o>[Mm]y|[Oo]ur|[Hh]is|[Hh]er|[Tt]heir|(?:[Tt]he )?[Uu]ser's) ", text)
    owner = (discourse.owner(match["o"]) if match else "") or discourse.speaker
    if not match and occasions.is_somebodys(text):
        owner = discourse.last if discourse.last != discourse.speaker else ""
        if not owner:
            return []
    return (
        events.called_off(text, owner)
        or occasions.regular_thing(text, owner)
        or occasions.thing_on_a_day(text, owner, now)
        or occasions.bare_deadline(text, owner, now)
        or occasions.bare_event(text, owner, now)
    )


def read(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """The facts of a verb phrase. The readers of the verb are tried in order; the first that finds something wins."""
    if vp.modal == "wish" and vp.verb not in ("prefer", "rather"):
        return []
    if vp.verb == "be":
        return _being(vp, now)
    for reader in _in_order(vp):
        if found := reader(vp, now):
            return found
    return []


def _in_order(vp: VerbPhrase) -> Iterator[Reader]:
    """Plans and dated events come before states; abilities and habits come last."""
    if vp.tense in ("future", "ongoing"):
        yield events.plans
    if vp.tense == "future":
        return
    yield from _SETTLING.get(vp.verb, ())
    if vp.verb in ("move", "push", "postpone", "reschedule", "shift"):
        yield events.shifts
    if vp.tense == "past":
        yield health.is_harmed
        if vp.verb not in _MOVING_ON:
            yield events.happened
    yield from _READERS.get(vp.verb, ())
    yield from _LAST


def _being(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """Everything in a row after "is": "I'm Dele, 27, nigerian"."""
    if vp.tense == "future":
        return events.plans(vp, now) if not re.match(r"(?:a|an|the) ", vp.rest) else []
    found: list[Draft] = []
    for reader in _BEING:
        found += reader(vp, now)
        if found:
            break
    if found and found[0].kind in ("allergic_to", "likes", "dislikes", "plan", "event", "speaks"):
        return found
    kinds = {one.kind for one in found}
    for piece in _MORE.split(vp.rest)[1:6]:
        other = vp._replace(rest=piece, by_speaker=False)
        for reader in _BEING[:1] if piece.startswith("due ") else _BEING[1:4]:
            more = [
                one for one in reader(other, now) if one.kind not in kinds or one.kind in ("health", "diet", "works_as")
            ]
            found += more
            kinds |= {one.kind for one in more}
            if more:
                break
    return found
