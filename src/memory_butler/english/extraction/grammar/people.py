"""The subject of a clause, and the people and pets it mentions."""

import re
from typing import NamedTuple

from memory_butler.english.extraction.findings import Draft
from memory_butler.english.extraction.grammar.coreference import Discourse
from memory_butler.english.extraction.grammar.person_names import (
    NAME,
    OWNERS,
    PET,
    PIECE,
    RELATION,
    is_name,
    shown_by_verb,
)
from memory_butler.english.extraction.grammar.turns import USER
from memory_butler.english.extraction.grammar.word_lists import CALLED_SO, FAMILY, PLURAL, ROLE_WORDS
from memory_butler.english.text.irregular_forms import singular
from memory_butler.english.text.word_sets import alternatives, caseless, words_in

_OWNED_PERSON = re.compile(
    rf"\b(?P<owner>{OWNERS}|{NAME}'s)[ ](?P<role>(?i:{RELATION}))"
    rf"(?:,?[ ](?:(?i:is|'s)[ ])?(?:(?i:called|named)[ ])?|[ ]?[(])(?P<name>{NAME})(?![ ]?(?:'s\b|[A-Z])|\w)"
)
_WITH = re.compile(rf"\b(?i:with|and)[ ](?P<role>(?i:{alternatives(FAMILY)}))[ ](?P<name>{NAME})(?!\w)")
_OWNED_PET = re.compile(
    rf"\b(?P<owner>{OWNERS})[ ](?P<role>(?i:{PET}))"
    rf",?[ ](?:(?i:is|'s)[ ])?(?:(?i:called|named)[ ])?(?P<name>{PIECE})(?!\w)"
)
_GONE = caseless(r"\b(?:lost|buried|put down|put to sleep|had to put|passed away|died|rehomed)\b")
_PRONOUNS = ("his", "her", "their")


class Person(NamedTuple):
    """The subject of a clause: who, where the rest begins, and the facts from naming them ("my sister Anna")."""

    who: tuple[str, ...]
    end: int
    drafts: tuple[Draft, ...] = ()
    first_person: bool = False
    is_pet: bool = False
    named: bool = False


def relationship(owner: str, role: str, name: str) -> Draft:
    """Two people who belong together: "sister Anna", filed under her name."""
    return Draft(owner, "relationship", f"{role} {name}", key=name)


def people_mentioned(text: str, discourse: Discourse, *, by_pronoun: bool) -> list[Draft]:
    """Relatives, friends and pets named in passing: "with my sister Anna". Whose "his" and "her" are can only be told
    when everything before them has been read, so these come apart from the others."""
    if ROLE_WORDS.isdisjoint(words_in(text.replace("'s", ""))):
        return []
    if by_pronoun and words_in(text).isdisjoint(_PRONOUNS):
        return []
    found = []
    for match in _OWNED_PERSON.finditer(text):
        if (match["owner"].lower() in _PRONOUNS) == by_pronoun:
            found += _relation(match, discourse)
    for match in _WITH.finditer(text):
        if is_name(match["name"]) and not by_pronoun and discourse.last:
            found.append(relationship(discourse.last, match["role"].lower(), match["name"]))
            discourse.set_role(match["name"], match["role"])
    for match in _OWNED_PET.finditer(text):
        if (match["owner"].lower() in _PRONOUNS) == by_pronoun:
            found += _owned_pet(match, text, discourse)
    return found


def _relation(match: re.Match[str], discourse: Discourse) -> list[Draft]:
    role, name = match["role"].lower(), match["name"]
    owner = discourse.owner(match["owner"]) if is_name(name) else ""
    if not owner or owner == name or not discourse.is_acquaintance(owner):
        return []
    if role.split()[-1] in PLURAL:
        return list(_several(match, owner, role, discourse).drafts)
    discourse.set_role(name, role)
    return [relationship(owner, role, name)]


def _owned_pet(match: re.Match[str], text: str, discourse: Discourse) -> list[Draft]:
    owner, role, name = discourse.owner(match["owner"]), match["role"].lower(), match["name"]
    if not owner or not is_name(name):
        return []
    discourse.pets.add(name)
    gone = "no longer has " if _GONE.search(text) else ""
    return [Draft(owner, "pet", f"{gone}{role} {name}", key=name)]


_FIRST = re.compile(r"(?:I|i|[Ww]e)(?=[ ']|$)")
_USER = re.compile(
    r"(?:[Tt]he )?(?:[Uu]ser|[Cc]lient|[Cc]ustomer|[Cc]aller|[Pp]atient|[Ss]tudent|[Gg]uest)(?=[ ]|'(?:s|ll|d)[ ])"
    r"(?! (?:id|name|story|stories|data|in|from|with|support|service|was not|not|should|must|may|can)\b| [A-Z])"
)
_USER_OWNS = re.compile(
    r"(?:[Tt]he )?(?:[Uu]ser|[Cc]lient|[Cc]ustomer|[Cc]aller|[Pp]atient|[Ss]tudent|[Gg]uest)'s "
    r"(?!(?:a|an|the|not|been|now|currently|also|very|really|going|allergic)\b)"
)
_PRONOUN = re.compile(r"(?:[Hh]e|[Ss]he|[Tt]hey|[Ii]t)(?=[ ']|$)")
_RELATIVE = re.compile(
    rf"(?P<owner>{OWNERS}|{NAME}'s)[ ](?P<role>(?i:{RELATION}))(?!\w|-)"
    rf"(?:,?[ ](?P<name>{NAME})(?=,?[ ]|'s[ ]|$),?)?(?P<and_me>[ ]and[ ](?:I|me)\b)?"
)
_PET_OWNED = re.compile(
    rf"(?P<owner>{OWNERS})[ ](?P<role>(?i:{PET}))(?!\w|-)(?:,?[ ](?P<name>{PIECE})(?=,?[ ]|'s[ ]|$),?)?"
)
_BARE = re.compile(
    rf"(?:(?P<role>(?i:{alternatives(CALLED_SO)}))|(?i:the) (?P<those>(?i:kids|children|twins|baby|little "
    rf"one)))(?=[ ](?![A-Z])|'s[ ])"
)
# "Patient Maria Lopez, 64, takes warfarin" is about her.
_WITH_ROLE = re.compile(
    rf"(?:[Tt]he )?(?:[Cc]lient|[Cc]ustomer|[Cc]aller|[Pp]atient|[Ss]tudent|[Gg]uest) (?P<one>{NAME})"
    r"(?:,? (?:aged )?\d{1,3})?,?(?=[ ]|'(?:s|ll|d)[ ])"
)
_NAMED = re.compile(rf"(?P<one>{NAME})(?:,? and (?P<two>{NAME}|I))?(?=[ ]|'(?:s|ll|d)[ ])")
# "My wife she is not eating pork".
_AGAIN = re.compile(r",? (?:he|she|they)(?=[ '])")


def person_at(text: str, discourse: Discourse) -> Person | None:
    """The subject of a clause that begins with a person or a pet."""
    if match := _FIRST.match(text):
        return Person((discourse.author,), match.end(), first_person=True) if discourse.author else None
    if (match := _USER.match(text)) and not _USER_OWNS.match(text):
        return Person((USER,), match.end()) if _is_the_user(match[0], discourse) else None
    if match := _PRONOUN.match(text):
        if match[0].lower() == "they" and discourse.together:
            return Person(discourse.together, match.end())
        who = discourse.pronoun(match[0].lower())
        return Person((who,), match.end(), is_pet=who in discourse.pets) if who else None
    for pattern, read in (
        (_RELATIVE, _relative),
        (_PET_OWNED, _pet),
        (_BARE, _bare),
        (_WITH_ROLE, _with_role),
        (_NAMED, _named),
    ):
        if match := pattern.match(text):
            person = read(match, discourse)
            again = _AGAIN.match(text, person.end) if person and pattern is _RELATIVE else None
            return person._replace(end=again.end()) if person and again else person
    return None


def _is_the_user(words: str, discourse: Discourse) -> bool:
    """A customer or client is the user in notes that mention no other person and have no "I"."""
    return not discourse.user_is_software if words.lower().endswith("user") else discourse.customer_is_user


def _pet(match: re.Match[str], discourse: Discourse) -> Person | None:
    owner = discourse.owner(match["owner"])
    if not owner:
        return None
    role, name = match["role"].lower(), match["name"]
    if name and is_name(name):
        discourse.pets.add(name)
        return Person((name,), match.end(), (Draft(owner, "pet", f"{role} {name}", key=name),), is_pet=True)
    return Person((f"{owner}'s {role}",), match.end() if not name else match.end("role"), is_pet=True)


def _bare(match: re.Match[str], discourse: Discourse) -> Person:
    role = (match["role"] or match["those"]).lower()
    return Person((f"{discourse.speaker or USER}'s {role}",), match.end())


def _relative(match: re.Match[str], discourse: Discourse) -> Person | None:
    owner = discourse.owner(match["owner"])
    if not owner or not discourse.is_acquaintance(owner):
        return None
    role, name = match["role"].lower(), match["name"]
    if name and not is_name(name):
        return Person((f"{owner}'s {role}",), match.end("role"))
    if name and role.split()[-1] in PLURAL:
        return _several(match, owner, role, discourse)
    drafts = (relationship(owner, role, name),) if name else ()
    if name:
        discourse.set_role(name, role)
    if match["and_me"]:
        return Person((discourse.speaker,), match.end(), drafts, first_person=True)
    return Person((name or f"{owner}'s {role}",), match.end(), drafts)


_NAMES = re.compile(rf"{NAME}(?:(?:,? and |, ){NAME})*")


def _several(match: re.Match[str], owner: str, role: str, discourse: Discourse) -> Person:
    """ "Their kids, Mia and Noah, are not allowed screens"."""
    listed = _NAMES.match(match.string, match.start("name"))
    names = [name for name in re.findall(NAME, listed[0] if listed else "") if is_name(name)]
    for name in names:
        discourse.set_role(name, role)
    drafts = tuple(relationship(owner, singular(role), name) for name in names)
    return Person((f"{owner}'s {role}",), (listed or match).end(), drafts)


def _with_role(match: re.Match[str], discourse: Discourse) -> Person | None:
    return Person((match["one"],), match.end(), named=True) if is_name(match["one"]) else None


def _named(match: re.Match[str], discourse: Discourse) -> Person | None:
    one, two = match["one"], match["two"]
    if not is_name(one) and not (two is None and shown_by_verb(match.string[match.start() :])):
        return None
    if two is None:
        return Person((discourse.aliases.get(one, one),), match.end(), named=True)
    if two == "I":
        return Person((discourse.author,), match.end(), first_person=True) if discourse.author else None
    return Person((one, two), match.end()) if is_name(two) else None
