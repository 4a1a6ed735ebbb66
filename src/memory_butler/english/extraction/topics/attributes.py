"""Named attributes of a person: "my email is", "Anna's birthday is", "Allergies: latex, shellfish"."""

import re
from datetime import datetime
from typing import NamedTuple

from memory_butler.english.extraction.findings import Draft
from memory_butler.english.extraction.grammar.coreference import Discourse
from memory_butler.english.extraction.grammar.people import relationship
from memory_butler.english.extraction.grammar.person_names import NAME, OWNERS, PET, RELATION, is_name
from memory_butler.english.extraction.grammar.values import cleaned, first_piece, items, value
from memory_butler.english.extraction.grammar.verbs import FORMS
from memory_butler.english.extraction.grammar.word_lists import LANGUAGES, OTHERS, PETS, PLURAL, RELATIONS, ROLE_WORDS
from memory_butler.english.text.irregular_forms import singular
from memory_butler.english.text.word_sets import alternatives, caseless, words_in

EMAIL = r"[\w.+%-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}"
PHONE = r"(?:\+|\(|\b)\d[\d ()./-]{5,20}\d\b"
_EMAIL = re.compile(EMAIL)
_PHONE = re.compile(PHONE)


class Attribute(NamedTuple):
    kind: str
    form: str = "one"


# The class of fact, how its value is read, and the nouns that people write for it.
_TABLE = """
name name: name, full name, real name, first name, legal name, surname, last name, good name, given name
nickname name: nickname, preferred name
age one: age
birthday day: birthday, date of birth, birth date, birthdate, dob, bday
pronouns one: pronouns
nationality one: nationality, citizenship
from one: hometown, home town, birthplace
lives_in one: home city, city, location
address whole: address, home address, new address, postal address
timezone one: timezone, time zone
works_as one: job, job title, title, role, occupation, profession, day job
works_at one: employer, company, workplace
studies one: school, major, university
studies whole: a-level subjects, subjects, a-levels, degree
email email: email, mail, email address, e-mail, work email, e-mail address, personal email, new email
phone phone: phone, phone number, number, mobile, mobile number, cell, cell number, cell phone, tel, new number,
  work number, telephone
allergic_to list: allergies, allergy
health noun: blood type, blood group, blood pressure, cholesterol, blood sugar, resting heart rate, iron, ferritin,
  iron levels, vitamin d, thyroid levels
health list: medical history, conditions, medical conditions, medication, medications, meds
diet one: diet, dietary preference
speaks one: native language, mother tongue, first language, second language
speaks list: languages
likes list: hobbies, hobby, interests, likes
dislikes list: dislikes
marital_status one: marital status
plan goal: goal, main goal, dream, aim
project project: current project, side project, project
note noun: shoe size, height, weight, budget, wifi, star sign, religion, maiden name, middle name, dress size
drives one: car
uses noun: os, operating system, shell, browser, terminal, keyboard, monitor, main language, primary language, distro,
  bank, password manager, calendar app, ide
uses one: editor, go-to editor
uses list: stack, tech stack
owns one: laptop, phone model
contact noun: emergency contact, handle, github, github handle, username, github username, twitter handle, website,
  blog, linkedin, instagram, discord, mastodon, skype, telegram
"""


def _nouns() -> dict[str, Attribute]:
    found: dict[str, Attribute] = {}
    for line in _TABLE.replace("\n  ", " ").strip().splitlines():
        head, _, nouns = line.partition(":")
        kind, form = head.split()
        found |= {noun.strip(): Attribute(kind, form) for noun in nouns.split(",")}
    return found


_NOUNS = _nouns()
_NOUN = "|".join(sorted((re.escape(noun) for noun in _NOUNS), key=len, reverse=True))
_FAVORITE = caseless(
    r"(?:all-time |absolute |current )?(?:favou?rite|fave|"
    r"fav) (?P<thing>(?:[\w'-]+ ){0,2}?[\w'-]+?)(?:s)?(?: (?:of all time|ever|right now))?$"
)
_OWNED = re.compile(
    rf"(?P<owner>{OWNERS}|{NAME}'s) (?P<of>(?i:{RELATION}|{PET})(?: {NAME})?'s )?(?P<adj>(?:new|current|own|"
    r"work|personal|old|main) )*(?P<noun>(?:[\w'-]+ ){0,4}?[\w-]+?)(?:'s|[ ]?:| (?:is|are|'s|=|has changed to|"
    r"changed to|will be|is now|are now)) (?P<v>(?!is\b|are\b).+)"
)
_HAS_CHANGED = re.compile(
    rf"(?:(?P<owner>{OWNERS}|{NAME}'s) (?P<noun>(?i:{_NOUN}))(?: has| have|'s)?(?: just| also)? changed|"
    rf"(?:I|i|[Ww]e)(?:'ve| have)?(?: just)? (?:got|have|changed to) an? new (?P<new>(?i:{_NOUN})))[ ]?$"
)
_NOW_IT_IS = caseless(r"(?:now )?(?:it's|it is|the new one is|new one is|new one|that's now)[ ]?:? (?:now )?(?P<v>.+)")
_OWNERS = caseless(r"(?:my|our|his|her|their) ")
_ROLE_OWNED = re.compile(
    rf"(?:[Tt]he )?(?P<of>(?i:{RELATION}))'s (?P<noun>(?i:{_NOUN}))(?:'s|:| (?:is|are|=)) (?P<v>.+)"
)
_CHOICE_LINE = caseless(r"(?P<noun>(?:favou?rite|fav|preferred) [\w -]{2,30}?|[\w -]{2,30}? preference)[ ]?: (?P<v>.+)")
_BLOOD = re.compile(
    r"(?P<noun>[Bb]lood (?:type|group)) (?P<v>(?:AB|A|B|O)\b.*)"
    rf"|(?P<line>Mobile|Phone|Tel\.?|Cell|Email|mobile|phone|tel|email) (?P<at>{EMAIL}|{PHONE})"
    r"|(?P<tongue>(?:[Nn]ative|[Ff]irst) language|[Mm]other tongue) (?P<language>[A-Z]\w+)"
)
_MARKED = re.compile(r"[:=]| - ")
_LINE = re.compile(rf"(?P<noun>(?i:{_NOUN}))[ ]?(?::|=| -) (?P<v>.+)")
_BARE_NOUN = caseless(
    r"(?:new |home |work |full )?(?P<noun>address|email|e-mail|phone number|number|timezone|birthday|name|"
    r"surname|fav(?:ou?rite)? [\w-]+(?: [\w-]+)?)(?: is|'s) (?P<v>.+)"
)
_ROLE_LINE = re.compile(
    r"(?:(?:[Uu]ser's|[Mm]y|[Tt]he|[Oo]ur) )?(?P<role>(?i:(?:new |old "
    rf")?(?:{alternatives(RELATIONS)})))[ ]?: (?P<v>{NAME}.*)"
)
_ROLE_IS = re.compile(
    rf"(?:(?P<owner>{OWNERS}|{NAME}'s) |[Tt]he |[Nn]ew )?(?P<role>(?i:{RELATION}))(?:'s| (?:is|"
    rf"are))? (?:(?i:names? (?:is|are)|now) )?(?:(?i:called|named) )?(?P<names>{NAME}(?:(?:, and |, |"
    rf" and ){NAME})*)(?=$|[,;.]| (?:and|but|not|who|from|now|at|in|since)\b)"
)
_PET_IS = re.compile(
    rf"(?:(?P<owner>{OWNERS}|{NAME}'s) |[Tt]he )(?P<role>(?i:{PET}))(?:'s|"
    rf" (?:is|are))? (?:(?i:names? (?:is|are)) )?(?:(?i:called|named) )?(?P<names>{NAME}(?:(?:, |"
    rf" and ){NAME})*)(?=$|[,;.]| (?:and|but|not|who)\b)"
)
_IS_MY = re.compile(
    rf"(?P<name>{NAME}|[Hh]e|[Ss]he)(?:'s| is) (?P<owner>my|our|the user's|user's|his|her|their|"
    rf"{NAME}'s) (?P<role>(?i:{RELATION}))(?P<tail>.*)$"
)
_CONTRACTED = re.compile(r"(?<=[a-z])'s (?=[A-Z+\d]|called|named)")


def attributes(clause: str, discourse: Discourse, now: datetime) -> list[Draft]:
    """Everything that a clause says of this form; empty when it has another one."""
    for read in (_changed, _lines, _roles, _owned):
        if found := read(clause, discourse):
            return found
    return []


def _changed(clause: str, discourse: Discourse) -> list[Draft]:
    """ "My number changed: it's 555-0199 now": the value comes in a clause of its own."""
    if ("changed" in clause or "new " in clause) and (match := _HAS_CHANGED.match(clause)):
        owner = discourse.owner(match["owner"]) if match["owner"] else discourse.author
        discourse.changed = (owner, match["noun"] or match["new"])
        return []
    owner, noun = discourse.changed
    match = _NOW_IT_IS.match(clause) if owner else None
    if match is None:
        return []
    discourse.changed = ("", "")
    return _read(owner, noun, match["v"])


def _lines(clause: str, discourse: Discourse) -> list[Draft]:
    """ "Name: Giancarlo", "Allergies: latex", "blood type O negative"."""
    who = discourse.last
    match = _BLOOD.match(clause) or _BARE_NOUN.match(clause)
    if match is None and _MARKED.search(clause):
        match = _CHOICE_LINE.match(clause) or _LINE.match(clause)
    if match:
        spoken = match.groupdict()
        noun = spoken.get("tongue") or spoken.get("line") or match["noun"]
        return _read(who, noun.rstrip("."), spoken.get("language") or spoken.get("at") or match["v"])
    card = _ROLE_LINE.match(clause) if ":" in clause else None
    return _contact_card(card, discourse) if card else []


def _contact_card(match: re.Match[str], discourse: Discourse) -> list[Draft]:
    """ "Plumber: Gareth Pugh, 07700 900341"; "Kids: Freya, Magnus and Tove"."""
    role, text = match["role"].lower(), match["v"]
    names = [name for name in re.findall(NAME, text) if is_name(name)]
    if role.split()[-1] in PLURAL:
        return [relationship(discourse.speaker, singular(role), name) for name in names]
    return [relationship(discourse.speaker, role, names[0]), *contact_details(names[0], text)] if names else []


def contact_details(who: str, text: str) -> list[Draft]:
    """The email address and phone number in a text, as facts about `who`."""
    found = []
    if email := _EMAIL.search(text):
        found.append(Draft(who, "email", email[0]))
    if phone := _PHONE.search(re.sub(EMAIL, " ", text)):
        found.append(Draft(who, "phone", phone[0].strip()))
    return found


def _roles(clause: str, discourse: Discourse) -> list[Draft]:
    """Somebody's relation by name: "my manager is Priya", "Priya is my manager"."""
    spoken = words_in(clause.replace("'s", ""))
    if ROLE_WORDS.isdisjoint(spoken) or not {"favorite", "favourite"}.isdisjoint(spoken):
        return []
    if match := _IS_MY.match(clause):
        owner = discourse.owner(match["owner"])
        word = match["name"].lower()
        name = match["name"] if word not in ("he", "she") else discourse.pronoun(word)
        if not owner or not name or not is_name(name) or owner == name:
            return []
        discourse.set_subject(name)
        return [relationship(owner, match["role"].lower(), name)]
    for pattern, kind in ((_ROLE_IS, "relationship"), (_PET_IS, "pet")):
        match = pattern.match(clause)
        if not match or not re.search(
            r"(?:'s| is| are| called| named| names?) ", clause[match.start("role") : match.start("names")] + " "
        ):
            continue
        owner = discourse.owner(match["owner"]) if match["owner"] else discourse.speaker
        if owner and not discourse.is_acquaintance(owner):
            continue
        names = [name for name in re.findall(NAME, match["names"]) if is_name(name)]
        if not owner or not names or (not match["owner"] and not _stands_alone(match, clause)):
            continue
        role = match["role"].lower()
        discourse.set_subject(names[0])
        if kind == "pet":
            discourse.pets.update(names)
            return [Draft(owner, "pet", f"{role} {name}", key=name) for name in names]
        return [relationship(owner, role, name) for name in names] + contact_details(names[0], clause[match.end() :])
    return []


def _stands_alone(match: re.Match[str], clause: str) -> bool:
    """Without "my", only people whom one has: the contractor, a new dentist, an ex-husband."""
    role = match["role"].lower().split()[-1]
    return role in OTHERS or role.startswith("ex-") or clause[:4].lower() == "new "


def _owned(clause: str, discourse: Discourse) -> list[Draft]:
    if "'s " not in clause and not _OWNERS.match(clause):
        return []
    if match := _ROLE_OWNED.match(clause):
        return _read(f"{discourse.speaker}'s {match['of'].lower()}", match["noun"], match["v"])
    match = _OWNED.match(_CONTRACTED.sub(" is ", clause) if "'s " in clause else clause)
    if not match:
        return []
    owner = discourse.owner(match["owner"])
    if not owner or not discourse.is_acquaintance(owner):
        return []
    who = owner
    noun = match["noun"].lower()
    if match["of"]:
        of = match["of"].strip().removesuffix("'s")
        named = re.search(rf"{NAME}$", of)
        role = of if not named else of[: named.start()].strip()
        if noun in ("name", "names"):
            kind = "pet" if re.search(rf"\b(?:{alternatives(PETS)})$", role, re.I) else "relationship"
            names = [name for name in re.findall(NAME, value(match["v"])) if is_name(name)]
            return [Draft(owner, kind, f"{role.lower()} {name}", key=name) for name in names]
        who = named[0] if named else f"{owner}'s {role.lower()}"
    found = _read(who, noun, match["v"])
    if found:
        discourse.set_subject(who, first_person=match["owner"].lower() in ("my", "our"))
    return found


_NOTHING = caseless(
    r"(?:not (?!to\b)|unknown|none|no known|n/a|tbd|a secret|private|wrong|broken|dead|coming|too|so |very|great|"
    r"amazing|in the|important|out of|(?:going|getting|doing|killing|driving|making|starting|ruined)\b)"
)
_TOO = re.compile(r"(?:too|very|so|quite|a bit too) (?:high|low)\b")
_PREFERRED = re.compile(r"(?:preferred|go-to) (?P<thing>[\w' -]+)|(?P<of>[\w -]+) preference$")
_NO_PROJECT = re.compile(r"(?:going|done|late|due|in|on|almost|finished|called)\b")
# "My job is killing me", "my car is parked": said of the thing, but not what it is.
_NO_THING = re.compile(
    r"(?:stressful|boring|hard|fun|going|killing|okay|fine|in|at|on|broken|dead|slow|making|being|parked|getting|to|"
    r"acting|red|blue)\b"
)


def _read(who: str, noun: str, text: str) -> list[Draft]:
    """The value of an attribute in the form that its noun asks for."""
    noun = noun.lower()
    if _NOTHING.match(text) and not (_TOO.match(text) and _NOUNS.get(noun) == Attribute("health", "noun")):
        return []
    if noun in _NOUNS:
        kind, form = _NOUNS[noun] if not (noun.endswith("address") and _EMAIL.match(text)) else _NOUNS["email"]
        return [
            Draft(who, kind, one, key=noun if form == "noun" else "") for one in _values(noun, kind, form, text) if one
        ]
    if favorite := _FAVORITE.match(noun):
        thing = re.sub(r"\W+", "_", favorite["thing"].lower().replace("colour", "color")).strip("_")
        return [Draft(who, f"favorite_{thing}", re.sub(r"^(?:an?|the) (?=[a-z])", "", first_piece(text)))]
    if preferred := _PREFERRED.match(noun):
        return [Draft(who, "prefers", first_piece(text), key=preferred["thing"] or preferred["of"])]
    return _read_otherwise(who, noun, text)


def _read_otherwise(who: str, noun: str, text: str) -> list[Draft]:
    """ "My personal one is tess@example.net", "his English is perfect", "our home is in Bath"."""
    if noun == "one" or noun.endswith(" one"):
        return contact_details(who, text)[:1]
    if noun in LANGUAGES:
        return [Draft(who, "speaks", f"{noun.title()} {first_piece(text)}", key=noun)]
    place = re.match(r"(?:in|near) (?P<v>[A-Z].*)", text) if noun == "home" else None
    return [Draft(who, "lives_in", first_piece(place["v"]))] if place else []


def _values(noun: str, kind: str, form: str, text: str) -> list[str]:
    """The part of a text that matches a pattern; empty if none does."""
    found: list[str] = []
    match form:
        case "email" | "phone":
            over = "no longer " if text.lower().startswith("no longer ") else ""
            found = [over + one.content for one in contact_details("", text) if one.kind == kind][:1]
        case "name":
            found = re.findall(NAME, text)[:1] if re.match(NAME, text) else []
        case "day":
            found = [_day(first_piece(text))]
        case "list":
            found = items(text)
        case "whole":
            found = [value(text)]
        case "noun":
            found = [f"{noun} {first_piece(text)}"]
        case "goal":
            found = [re.sub(r"^to ", "", value(text))] if re.match(r"to ", text) or _is_base_verb(text) else []
        case "project":
            what = cleaned(re.sub(r",[ ]?due\b.*", "", value(text)))
            found = [] if _NO_PROJECT.match(what) else [what]
        case _:
            found = [_thing(noun, kind, first_piece(text))]
    return found


def _is_base_verb(text: str) -> bool:
    return FORMS.get(text.split(maxsplit=1)[0].lower(), ("", ""))[1] == "base"


def _day(text: str) -> str:
    day = re.sub(r"^(?:on |the )+", "", text)
    day = day if re.search(r",[ ]?\d{4}", day) else re.sub(r",.*", "", day)
    return day if re.search(r"\d|today|tomorrow|yesterday", day) else ""


def _thing(noun: str, kind: str, what: str) -> str:
    if noun in ("laptop", "car") and not re.match(r"(?:an?|the new) |[A-Z]", what):
        return ""
    if kind not in ("works_as", "drives", "owns", "uses"):
        return what
    return "" if _NO_THING.match(what) else re.sub(r"^(?:an? )", "", what)
