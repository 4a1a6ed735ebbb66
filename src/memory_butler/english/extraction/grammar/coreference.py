"""Coreference: the people mentioned so far, and who "he", "she", "they" and "my" are."""

import re
from dataclasses import dataclass, field
from datetime import datetime

from memory_butler.english.extraction.findings import Draft
from memory_butler.english.extraction.grammar.person_names import NAME, OWNERS, RELATION, is_famous, is_name, is_titled
from memory_butler.english.extraction.grammar.turns import USER
from memory_butler.english.extraction.grammar.word_lists import PLURAL
from memory_butler.english.text.word_sets import word_set, words_in

_WOMEN = word_set("""
gf sis sister mother mom mum mam mummy mama daughter wife girlfriend fiancée fiancee aunt auntie niece grandmother
grandma granny gran nana nan granddaughter ex-wife ex-girlfriend stepmother stepmom stepdaughter stepsister
half-sister mother-in-law sister-in-law daughter-in-law godmother goddaughter landlady midwife girl
""")
_MEN = word_set("""
bf hubby bro brother father dad daddy papa son husband boyfriend fiancé uncle nephew grandfather grandpa grandad
granddad grandson ex-husband ex-boyfriend stepfather stepdad stepson stepbrother half-brother father-in-law
brother-in-law son-in-law godfather godson landlord handyman boy
""")
_MR = re.compile(r"(?:Mr|Uncle|Father|Herr|Grandpa)\b")
_MRS = re.compile(r"(?:Mrs|Ms|Aunt|Auntie|Sister|Frau|Grandma|Granny|Nana)\b")
_MET = re.compile(
    r"\b(?i:met|saw|with|spoke to|talked to|called|rang|phoned|emailed|texted|messaged|ask|asked|introduced|joined by|"
    r"visited|helped|hired|interviewed|bumped into|ran into|(?:call|mail|email|message|letter|note|text|heard|hear|"
    rf"request|feedback) from)[ ](?P<one>{NAME})(?:[ ]and[ ](?P<two>{NAME}))?(?!\w|[ ](?:office|team|support|group|"
    r"server|account|app|api|project)\b)"
)
_RELATED = re.compile(
    rf"\b(?P<owner>{OWNERS}|{NAME}'s)[ ](?P<role>(?i:{RELATION}))(?!\w|-|'s\b)(?:,?[ ](?P<name>{NAME}))?"
)
# A note that begins so is about whom it names, and so is what follows without a subject.
_MEETING = re.compile(
    r"(?:(?:[Ss]hort |[Qq]uick |[Ll]ong |[Hh]ad an? (?:\w+ )?)?(?:[Nn]otes|[Mm]et|[Ss]poke|[Tt]alked|[Cc]all|[Cc]hat|"
    r"[Ll]unch|[Cc]offee|[Dd]inner|1:1|[Ss]ync|[Ii]nterview|[Ii]nterviewed|[Bb]umped|[Rr]an into|[Cc]atch-?up|"
    r"[Cc]aught up|[Pp]aired|[Hh]elped|[Vv]isited|[Dd]ebrief|[Kk]ick-?off|[Mm]eeting))\b"
)
# "He's the user's co-founder": he is not the user.
_USER_NAMED = re.compile(r"\b[Uu]ser\b(?!')|^(?:The user|User)'s\b")
# "User said: I live in Rome".
_QUOTING = re.compile(
    r"\b[Uu]ser\b[^.:]{0,40}\b(?:said|says|wrote|writes|told me|mentioned|added|replied|answered|typed)[ ]?:"
)
_DESTINATION = re.compile(r"\bto (?P<v>[A-ZÀ-Þ]\w+(?: [A-ZÀ-Þ]\w+)?)")
_REMEMBERED = 4
_SUBJECT_FORMS = {"him": "he", "his": "he", "her": "she", "them": "they", "their": "they"}


@dataclass(slots=True)
class Discourse:
    """People, roles and topics mentioned so far in one episode. One object per call."""

    speaker: str = USER
    # Notes about "the user" are written by the assistant: "I" is not the user there.
    by_assistant: bool = False
    is_quoting: bool = False
    # Statements about public people are general knowledge and yield no facts.
    public: bool = False
    customer_is_user: bool = True
    user_is_software: bool = False
    last: str = USER
    # The subject of the sentence is unknown: a phrase without a subject must not be attributed to anybody else.
    subject_unknown: bool = False
    user_in_third_person: bool = False
    about_work: bool = False
    about_systems: bool = False
    # The day of the last plan of the sentence: "back on the 11th" counts from there.
    day: datetime | None = None
    destination: str = ""
    # Owner and attribute that changed, until the new value follows.
    changed: tuple[str, str] = ("", "")
    # Owners of the email address and phone number in this sentence and the one before, by kind.
    contact_owners: dict[str, str] = field(default_factory=dict)
    previous_contact_owners: dict[str, str] = field(default_factory=dict)
    pets: set[str] = field(default_factory=set)
    known: set[str] = field(default_factory=set)
    homes: set[str] = field(default_factory=set)
    aliases: dict[str, str] = field(default_factory=dict)
    _recent: list[str] = field(default_factory=list)
    _subjects: list[str] = field(default_factory=list)
    _together: tuple[str, ...] = ()
    # Only met or written to: a company as well as a person.
    _met: set[str] = field(default_factory=set)
    _gender: dict[str, str] = field(default_factory=dict)

    @property
    def person(self) -> str:
        """The person mentioned last, apart from the speaker and the user."""
        return self._recent[-1] if self._recent else ""

    @property
    def author(self) -> str:
        """The person that "I" is; empty where that is the assistant."""
        return "" if self.by_assistant and not self.is_quoting else self.speaker

    def start_turn(self, speaker: str, *, by_assistant: bool) -> None:
        self.speaker = self.last = speaker
        self.by_assistant = by_assistant
        self.about_work = False
        if speaker != USER:
            self.known.add(speaker)

    def start_sentence(self, text: str, *, is_public: bool) -> None:
        self.public = self.public or is_public
        if self.by_assistant and not self.user_in_third_person:
            self.user_in_third_person = _USER_NAMED.search(text) is not None
        self.subject_unknown = self.about_systems = False
        self.is_quoting = self.by_assistant and _QUOTING.search(text) is not None
        if self._subjects:
            others = [who for who in self._subjects if who not in (USER, self.speaker)]
            self._together = tuple(others) if len(others) > 1 else ()
        self._subjects = []
        self.day, self.destination = None, ""
        self.previous_contact_owners, self.contact_owners = self.contact_owners, {}

    def add_fact(self, one: Draft) -> None:
        """Update names, roles, homes and dates from an extracted fact."""
        if one.valid_at is not None:
            self.day = one.valid_at
            place = _DESTINATION.search(one.content)
            self.destination = place["v"] if place else ""
        if one.kind in ("email", "phone"):
            self.contact_owners[one.kind] = one.subject
        elif one.kind == "lives_in":
            self.homes.add(one.subject)
        elif one.kind in ("name", "nickname") and one.subject:
            self.aliases |= {one.content: one.subject, one.content.split()[0]: one.subject}
        elif one.kind in ("relationship", "pet") and one.key[:1].isupper():
            self._mention(one.key)
            self.set_role(one.key, one.content.removesuffix(one.key).strip() or "friend")
            self.pets |= {one.key} if one.kind == "pet" else set()

    def set_subject(self, who: str, *, first_person: bool = False) -> None:
        self.last = who
        self._subjects = [*self._subjects, who] if who not in self._subjects else self._subjects
        if who == USER:
            self.user_in_third_person = self.user_in_third_person or not first_person
        elif who != self.speaker:
            self._mention(who)

    def set_subjects(self, who: tuple[str, ...]) -> None:
        for one in who:
            self._mention(one)
        self.last = who[0]
        self._subjects += who

    def _mention(self, who: str) -> None:
        if who in self._recent:
            self._recent.remove(who)
        self._recent = [*self._recent, who][-_REMEMBERED:]
        role = who.rpartition("'s ")[2].split()[-1:] if "'s " in who else []
        if role:
            self.set_role(who, role[0])
        elif _MR.match(who) or _MRS.match(who):
            self._gender[who] = "he" if _MR.match(who) else "she"

    def set_role(self, who: str, role: str) -> None:
        """Somebody's role says whether they are he or she, and ties them to the user's world."""
        self.known.add(who)
        word = role.lower().split()[-1]
        if word in _WOMEN or word in _MEN:
            self._gender[who] = "she" if word in _WOMEN else "he"
        elif word in PLURAL:
            self._gender[who] = "they"

    def is_acquaintance(self, who: str) -> bool:
        """True unless the person is famous or a public figure without a tie to the user."""
        return who in self.known or is_titled(who) or "'s " in who or not (self.public or is_famous(who))

    @property
    def together(self) -> tuple[str, ...]:
        """Those whom "they" means, where the last sentence was about several."""
        return self._together if self.user_in_third_person is False and self._met.isdisjoint(self._together) else ()

    def pronoun(self, word: str, *, pets: bool = True) -> str:
        """The person that he, she, they or it is, in any case; empty if unknown, never a guess."""
        word = _SUBJECT_FORMS.get(word, word)
        if word == "it":
            return self.person if self.person in self.pets else ""
        if word == "they":
            if self._together:
                return ""
            return USER if self.user_in_third_person else "" if self.person in self._met else self.person
        if len([who for who in self._together if self._gender.get(who, word) == word]) > 1:
            return ""
        for who in reversed(self._recent):
            if who in self.pets and not pets:
                continue
            if self._gender.setdefault(who, word) == word:
                return who
        return self._user(word)

    def _user(self, word: str) -> str:
        if not self.user_in_third_person or self._gender.setdefault(USER, word) != word:
            return ""
        return USER

    def owner(self, word: str) -> str:
        """The owner behind my, their, the user's or Anna's; empty if unknown."""
        lower = word.lower()
        if lower in ("my", "our"):
            return self.author
        if lower in ("his", "her", "their"):
            return self.pronoun(lower)
        if lower in ("user's", "the user's", "users"):
            return USER
        name = word.removesuffix("'s")
        return self.aliases.get(name, name)

    def note_mentions(self, text: str) -> None:
        """People met, spoken to or mentioned can be "he" or "she" in the next sentence."""
        words, subject = words_in(text), self.last
        found = [name for match in _MET.finditer(text) for name in match.groups() if name and is_name(name)]
        if not _KIN.isdisjoint(words):
            for match in _RELATED.finditer(text):
                found += self._relative(match)
        self._met |= {who for who in found if who not in self.known}
        for who in found:
            self._mention(who)
            self.known.add(who)
        if found and _MEETING.match(text):
            self.last = found[0] if len(found) == 1 else ""
            self._together = tuple(found) if len(found) > 1 else ()
        elif found and subject not in (USER, self.speaker, "") and subject not in found:
            self._mention(subject)

    def _relative(self, match: re.Match[str]) -> list[str]:
        owner = self.owner(match["owner"])
        role = match["role"].lower()
        if not owner or role.split()[-1] not in _KIN:
            return []
        named = match["name"] and is_name(match["name"])
        who = match["name"] if named else f"{owner}'s {role}"
        self.set_role(who, role)
        return [who]


_KIN = (
    _WOMEN | _MEN | word_set("partner spouse friend cousin boss manager colleague roommate flatmate neighbour neighbor")
)
