"""What a clause states: its subject and verb are found, and the tables of the themes read the rest."""

import re
from collections.abc import Callable, Iterator
from datetime import datetime

from memory_butler.policy.distilling import (
    belongings,
    events,
    habits,
    health,
    home,
    identity,
    occasions,
    study,
    tastes,
    work,
)
from memory_butler.policy.distilling.attributes import attributes
from memory_butler.policy.distilling.clauses import Clause
from memory_butler.policy.distilling.dates import moment_in
from memory_butler.policy.distilling.forms import fixed_forms
from memory_butler.policy.distilling.found import Draft
from memory_butler.policy.distilling.indirect import indirect
from memory_butler.policy.distilling.keeping import kept
from memory_butler.policy.distilling.names import NAME, is_name
from memory_butler.policy.distilling.people import Person, person_at
from memory_butler.policy.distilling.scene import Scene
from memory_butler.policy.distilling.sentences import USER
from memory_butler.policy.distilling.verbs import FORMS, Said, read_phrase, word_at
from memory_butler.policy.distilling.words import spaced, words_in

Reader = Callable[[Said, datetime], list[Draft]]


def _table() -> dict[str, list[Reader]]:
    """All readers by verb: the first that finds something is believed, in this order."""
    found: dict[str, list[Reader]] = {}
    obligations = (events.INTENTIONS, events.OBLIGATIONS, health.ENDINGS)
    themes = (tastes.VERBS, identity.VERBS, health.VERBS, work.VERBS, study.VERBS, home.VERBS, belongings.VERBS)
    for table in (*obligations, *themes):
        for verb, reader in table.items():
            found.setdefault(verb, []).append(reader)
    found["have"] = [
        identity.counts_years,
        events.owes,
        health.eats,
        health.has_condition,
        events.has_appointment,
        belongings.has,
    ]
    found["want"].append(events.wants)
    found["know"] = [belongings.knows]
    found["try"] = [events.intends]
    found["expect"] = [events.expects, events.intends]
    found["cancel"] = [events.cancels, *found["cancel"]]
    found["have"].insert(0, events.cancels)
    for verb in ("write", "build", "make"):
        found.setdefault(verb, []).append(work.makes)
    found["hold"] = [identity.holds]
    found["change"] = [identity.renames]
    found["live"] = [_lives]
    found["introduce"] = [_introduces]
    found["do"] = [health.eats, habits.habits, *found["do"]]
    found["go"] = [identity.goes_by, *found["go"]]
    found["use"] = [identity.uses_pronouns, belongings.uses]
    for verb in ("date", "see", "marry", "report"):
        found.setdefault(verb, []).append(_bond)
    return found


def _bond(said: Said, now: datetime) -> list[Draft]:
    """ "Dating my cousin Ines", "married Tom", "reports to Colin"."""
    match = re.match(
        rf"(?:to |someone called |a guy called |a girl called )?(?:(?:my|his|her|their) [\w-]+ )?(?P<v>{NAME})",
        said.rest,
    )
    if not match or said.negated or said.modal or not is_name(match["v"]):
        return []
    if said.verb == "report" and said.rest.startswith("to ") and said.tense == "present":
        return [Draft(said.subject, "relationship", f"reports to {match['v']}", key=match["v"])]
    if said.verb in ("date", "see") and said.tense == "ongoing":
        return [Draft(said.subject, "relationship", f"{said.phrase.split()[0]} {match['v']}", key=match["v"])]
    if said.verb == "marry" and said.tense in ("past", "perfect") and moment_in(said.rest, now, "past") is None:
        return [Draft(said.subject, "relationship", f"married {match['v']}", key=match["v"])]
    return []


def _lives(said: Said, now: datetime) -> list[Draft]:
    found = home.lives(said, now)
    return found + belongings.pets_along(said) if found else []


def _introduces(said: Said, now: datetime) -> list[Draft]:
    """ "Introduced herself as Marta Kowalczyk, 34" says what "is" would."""
    match = re.match(r"(?:my|him|her|them)sel(?:f|ves) as (?P<v>.+)", said.rest)
    if not match:
        return []
    return _being(said._replace(verb="be", rest=match["v"], tense="present", told_by_speaker=True), now)


_READERS = _table()
_VERBS = frozenset(base for base, _ in FORMS.values())
_BEING: tuple[Reader, ...] = (
    events.is_on, health.is_unwell, identity.is_somebody, work.has_job, tastes.is_fond, study.is_pupil, home.is_housed,
    belongings.is_on_device,
)  # fmt: skip
_LAST: tuple[Reader, ...] = (health.cannot, belongings.can, events.plans, events.happened, habits.habits)
_SETTLING: dict[str, tuple[Reader, ...]] = {
    "turn": (identity.turns,), "pass": (study.graduates,),
    **{verb: (reader,) for verb, reader in health.ENDINGS.items()},
}  # fmt: skip
# What is told of these is where it left them, whenever that was.
_MOVING_ON = frozenset({"move", "relocate", "join", "start", "leave", "quit"})
_HISTORY = 1990
_MORE = re.compile(r"\s*,\s+(?:and\s+|but\s+)?|\s+(?:and|but)\s+")
_REPORT = re.compile(
    rf"(?P<who>(?:[Tt]he )?[Uu]ser|[Ss]he|[Hh]e|[Tt]hey|I|{NAME})(?:'ve| has| have| also| just| then| later)*\s+"
    r"(?:said|says|mentioned|mentions|noted|notes|confirmed|confirms|explained|shared|stated|states|added|"
    r"revealed|reported|clarified|told (?:me|us|you|the assistant)|let me know|disclosed|"
    r"corrected (?:me|himself|herself|themselves)|pointed out|indicated)(?: to me| again| in "
    r"passing)?(?:\s+that|\s*[:,])?\s+(?P<rest>.+)"
)
_FRONT = re.compile(
    r"(?P<t>(?i:on|in|at|since|this|last|next|every|each|most|tomorrow|yesterday|today|tonight|the day|three|"
    r"two|four|five|a|an|\d+|once|twice|mon|tues|wednes|thurs|fri|satur|sun)(?i:\w*\b[^,]{0,32}?)),?\s+"
    r"(?P<rest>(?:I|i|[Ww]e|[Mm]y|[Oo]ur|(?:[Tt]he )?[Uu]ser|[Hh]e|[Ss]he|[Tt]hey|[Hh]is|[Hh]er|[Tt]heir|"
    r"(?!(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|January|February|March|April|May|June|July|August|Sept|"
    rf"Octo|Novem|Decem|Christmas|Easter){NAME})(?:\s|').+)",
)


# "The dentist said I grind my teeth": what a professional found is as good as told by the one it is about.
_ADVICE = re.compile(
    r"(?:(?:[Mm]y|[Tt]he|[Oo]ur|[Hh]is|[Hh]er)\s+)?(?:[Dd]octors?|GP|[Dd]r\.? [A-Z]\w+|[Dd]entist|[Vv]et|[Pp]hysio|"
    r"[Tt]herapist|"
    r"[Cc]ardiologist|[Oo]ptician|[Dd]ermatologist|[Nn]urse|[Mm]idwife|[Tt]ests?(?: results?)?|[Bb]lood tests?|[Ll]ab "
    r"results?)\s+"
    r"(?:says?|said|told (?:me|us|him|her|them)|confirmed|found|showed?|diagnosed|discovered)(?: that| out that)?\s+"
    r"(?=(?:I|i|my|we|our|[Ss]he|[Hh]e|they|his|her|their)\b)"
)
_PREFACE = re.compile(
    r"(?:After|Since|With|As of|Following|Until recently|Besides) (?!work\b)[^,]{3,60}?,?\s+(?=I\s+(?:now|am|"
    r"work|run|live)\b|I'm\b)"
)


_ADVISERS = spaced("""
doctor doctors gp dr dentist vet physio therapist cardiologist optician dermatologist nurse midwife test tests lab
""")
_REPORTING = spaced("""
said says mentioned mentions noted notes confirmed confirms explained shared stated states added revealed reported
clarified told let disclosed corrected pointed indicated
""")
_JOB_WORDS = spaced("job jobs role position employer gig handed left quit")
_FRONT_BEGINS = spaced("on in at si th la ne ev ea mo to ye tw fo fi a an tu we fr sa su") | {"a "}


def statements(clause: Clause, scene: Scene, now: datetime) -> list[Draft]:
    """The facts of one clause."""
    text, words = clause.text, words_in(clause.text)
    if not _ADVISERS.isdisjoint(words):
        text = _ADVICE.sub("", text)
    text, reporter = _unreported(text, scene) if not _REPORTING.isdisjoint(words) else (text, "")
    if reporter and (match := re.match(r"(?:he|she|they)\b", text, re.I)):
        return _about(Person((reporter,), match.end()), text, "", scene, now)
    text = _PREFACE.sub("", text) if text[:1] in "ASWFUB" else text
    scene.about_work = scene.about_work or (not _JOB_WORDS.isdisjoint(words) and _JOBS.search(text) is not None)
    front = ""
    match = _FRONT.match(text) if text[:2].lower() in _FRONT_BEGINS or text[:1].isdigit() else None
    if match and (moment_in(match["t"], now, "future") or habits.OFTEN.search(match["t"])):
        front, text = match["t"], match["rest"]
    for fixed in (fixed_forms, attributes, kept, indirect):
        if found := fixed(text, scene, now):
            return found
    if clause.relative:
        aside = re.split(r",\s+(?:and|or)\s", text, maxsplit=1)[0]
        return _about(Person((scene.person,), 3), aside, front, scene, now) if scene.person else []
    person = person_at(text, scene)
    found = _about(person, text, front, scene, now) if person else _subjectless(clause, text, front, scene, now)
    return found or _of_things(f"{text} {front}".strip(), scene, now)


def _unreported(text: str, scene: Scene) -> tuple[str, str]:
    """The words without "User mentioned that", and who it was that mentioned them."""
    match = _REPORT.match(text)
    if not match:
        return text, ""
    word = match["who"]
    if word == "I":
        return match["rest"], ""
    who = (
        USER
        if word.lower().endswith("user")
        else scene.pronoun(word.lower())
        if word.lower() in ("he", "she", "they")
        else word
    )
    if not who or (who != USER and not is_name(who)):
        return text, ""
    scene.spoken_of(who)
    return match["rest"], who


def _about(person: Person, text: str, front: str, scene: Scene, now: datetime) -> list[Draft]:
    phrase = f"{text[person.end :].strip()} {front}".strip()
    found = list(person.drafts)
    stated = False
    for who in person.who:
        said = read_phrase(phrase, who, person.first_person)
        if not scene.is_tied(who):
            scene.is_lost = True
        elif said is not None and not (person.named and _is_plural(said)):
            stated = said.verb in _VERBS
            told = read(said, now) or _new_job(said, scene)
            found += [one for one in told if who in scene.known or not _is_history(one, said, person)]
    if not stated and not found and "'s " not in person.who[0]:
        return []
    if len(person.who) > 1:
        scene.spoken_of_together(person.who)
    else:
        scene.spoken_of(person.who[0], first_person=person.first_person)
    if person.is_pet:
        scene.pets.add(person.who[0])
    return found


_DOING = re.compile(
    r"(?:currently |now |still |also )?(?:(?:working|learning|studying|planning|living|moving|relocating|"
    r"flying|training|using|starting|travelling|returning|leaving|arriving|joining|going|heading|aiming|looking|"
    r"renting|hoping|expecting|trying|writing|building)\b|(?:back|off to|away|on holiday|on leave|out of "
    r"office|based in|born (?:in|on))\b)",
    re.I,
)


_JOBS = re.compile(
    r"\b(?:(?:switched|changed|new|between|lost my|found a(?: new)?|got a(?: new)?) jobs?|new (?:role|position|"
    r"employer|gig)|handed in|left [A-Z]\w+|quit)\b"
)
_AT = re.compile(
    r"(?:now )?(?:at|with) (?P<v>(?:the )?[A-Z][\w'&.-]*(?: [A-Z][\w'&.-]*){0,2})(?: now| these days)?(?=$|[,;.])"
)


def _new_job(said: Said, scene: Scene) -> list[Draft]:
    """ "I'm at Siemens now": a place of work where jobs are spoken of, else just where somebody is."""
    match = _AT.match(said.rest) if said.verb == "be" and scene.about_work else None
    if match is None or said.tense != "present" or said.negated:
        return []
    return [Draft(said.subject, "works_at", match["v"])]


def _is_history(one: Draft, said: Said, person: Person) -> bool:
    """Where a person was born whom nothing ties to the user, or what they did long ago, is general knowledge."""
    if not person.named:
        return False
    born = said.verb == "be" and said.rest.startswith("born")
    return born or (one.valid_at is not None and one.valid_at.year < _HISTORY)


def _is_plural(said: Said) -> bool:
    """Dogs love bones; Anna loves them."""
    return said.form == "base" and said.tense == "present" and not said.negated and not said.modal


_BACK = re.compile(r"back (?:on|by) (?:the \d|\w+day)", re.I)
_OPENING = spaced("born been no now still never has is not got isn't also just usually often always")
# "Hate connections under an hour": in chat the "I" is often left out before these; "love, Anna" is a greeting.
_FELT = spaced("hate love prefer dislike adore proper")
_SHORT_NOTE = re.compile(r"(?!to\b|you\b|it\b|that\b|this\b|ya\b|u\b|your\b|from\b|and\b|[A-Z]\w+$)\S+ ?.*")
_HELPING = spaced("doesn't can't cannot will won't")


def _subjectless(clause: Clause, text: str, front: str, scene: Scene, now: datetime) -> list[Draft]:
    """A phrase that goes on about the last subject, or a note that leaves its subject out."""
    doing = _DOING.match(text)
    if _BACK.match(text) and scene.day is not None:
        now = max(now, scene.day)
    if doing:
        text = f"is {text[0].lower()}{text[1:]}"
    said = read_phrase(f"{text} {front}".strip(), scene.last, scene.last == scene.author)
    if said is None or not (doing or not clause.leads or _is_note(said, text)):
        scene.is_lost = scene.is_lost or clause.leads
        return []
    found = read(said, now) if clause.leads or not scene.is_lost else []
    if scene.destination and _BACK.match(clause.text):
        found = [one._replace(content=f"back from {scene.destination}") for one in found]
    if found and found[0].subject:
        scene.spoken_of(found[0].subject, first_person=said.form != "s" and "self" not in text)
    return found


def _is_note(said: Said, text: str) -> bool:
    """ "Lives in Rome", "Moved to Lisbon", "Doesn't eat meat": what stands first is a verb in the third person, and not
    a noun like that of "Deploys go out"."""
    first, end = word_at(text, 0)
    following = FORMS.get(word_at(text, end)[0], ("", ""))
    if (
        said.form == "s"
        and said.verb not in tastes.VERBS
        and (following[1] == "base" or following[0] in ("be", "have"))
    ):
        return False
    if said.form == "base" and first in _FELT and _SHORT_NOTE.match(said.rest):
        return True
    if first in _HELPING or (said.ended and first == "don't") or (said.form in ("s", "past") and said.verb in _VERBS):
        return True
    return first in _OPENING and (said.form in ("s", "past", "be") or (first == "been" and said.form == "ing"))


def _of_things(text: str, scene: Scene, now: datetime) -> list[Draft]:
    match = re.match(r"(?P<o>[Mm]y|[Oo]ur|[Hh]is|[Hh]er|[Tt]heir|(?:[Tt]he )?[Uu]ser's)\s", text)
    owner = (scene.owner(match["o"]) if match else "") or scene.speaker
    return (
        events.called_off(text, owner)
        or occasions.regular_thing(text, owner)
        or occasions.thing_on_a_day(text, owner, now)
        or occasions.bare_deadline(text, owner, now)
        or occasions.bare_event(text, owner, now)
    )


def read(said: Said, now: datetime) -> list[Draft]:
    """What the verb and its words tell, by the tables; the first reader that finds something is believed."""
    if said.modal == "wish" and said.verb not in ("prefer", "rather"):
        return []
    if said.verb == "be":
        return _being(said, now)
    for reader in _in_order(said):
        if found := reader(said, now):
            return found
    return []


def _in_order(said: Said) -> Iterator[Reader]:
    """What is planned or dated comes before what is so; what is merely possible or usual comes last."""
    if said.tense in ("future", "ongoing"):
        yield events.plans
    if said.tense == "future":
        return
    yield from _SETTLING.get(said.verb, ())
    if said.verb in ("move", "push", "postpone", "reschedule", "shift"):
        yield events.shifts
    if said.tense == "past":
        yield health.is_harmed
        if said.verb not in _MOVING_ON:
            yield events.happened
    yield from _READERS.get(said.verb, ())
    yield from _LAST


def _being(said: Said, now: datetime) -> list[Draft]:
    """Everything in a row after "is": "I'm Dele, 27, nigerian"."""
    if said.tense == "future":
        return events.plans(said, now) if not re.match(r"(?:a|an|the)\s", said.rest) else []
    found: list[Draft] = []
    for reader in _BEING:
        found += reader(said, now)
        if found:
            break
    if found and found[0].kind in ("allergic_to", "likes", "dislikes", "plan", "event", "speaks"):
        return found
    kinds = {one.kind for one in found}
    for piece in _MORE.split(said.rest)[1:6]:
        other = said._replace(rest=piece, told_by_speaker=False)
        for reader in _BEING[:1] if piece.startswith("due ") else _BEING[1:4]:
            more = [
                one for one in reader(other, now) if one.kind not in kinds or one.kind in ("health", "diet", "works_as")
            ]
            found += more
            kinds |= {one.kind for one in more}
            if more:
                break
    return found
