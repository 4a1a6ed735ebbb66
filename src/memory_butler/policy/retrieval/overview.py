"""Broad questions: they ask for a class of memories and not for one answer.

"Who is on the team?", "What should I know about my family?" and "What's coming up?" share no words with the memories
that answer them. They are recognised by their whole wording: a way of asking and a class, with no other topic. They are
answered with the best of the class (overview_members.py).
"""

import re
from enum import StrEnum


class Overview(StrEnum):
    """Class of memories that a broad question asks for."""

    USER = "user"
    FAMILY = "family"
    FRIENDS = "friends"
    TEAM = "team"
    PEOPLE = "people"
    HEALTH = "health"
    PROJECTS = "projects"
    WORK = "work"
    PREFERENCES = "preferences"
    PLANS = "plans"
    EVERYTHING = "everything"


# Added to the text that is compared, so that the candidates are of the class.
HINTS = {
    Overview.USER: "user name, job, home, family, preferences",
    Overview.FAMILY: "husband, wife, partner, son, daughter, child, mother, father, sister, brother, household",
    Overview.FRIENDS: "friend, best friend, neighbour, flatmate",
    Overview.TEAM: "colleague, manager, role, works as, responsible for",
    Overview.PEOPLE: "colleague, friend, family member, role, works as",
    Overview.HEALTH: "allergy, condition, illness, medication, diet, doctor",
    Overview.PROJECTS: "project, deadline, client, release, repository, status",
    Overview.WORK: "job, employer, role, project, client, colleague, working hours",
    Overview.PREFERENCES: "prefers, likes, dislikes, favourite, always, never",
    Overview.PLANS: "appointment, meeting, trip, deadline, event planned for",
    Overview.EVERYTHING: "",
}
_I = r"(?:i|we|you|one)"
_KNOW = r"(?:know|remember|recall|keep in mind|consider|be aware of|watch out for)"
_TELL = (
    r"(?:(?:please |can you |could you |would you )*(?:"
    r"(?:tell|remind|brief|update) (?:me|us)|(?:fill|catch) (?:me|us) (?:in|up)|give me|show me|list|summari[sz]e"
    r"|describe)"
    rf"|what (?:do|did|can|should|must|could) {_I} (?:(?:need|have|ought) to )?(?:{_KNOW}|tell me|have(?: stored)?)"
    r"|what (?:have|did) i (?:told|tell|said to|say to) you"
    r"|what(?:'s| is| have you)(?: there)? (?:to know|known|stored|learned|important|worth knowing)"
    rf"|(?:is there )?anything(?: (?:important|else))?(?: (?:that )?{_I} (?:should|must|(?:need|ought|have) to)"
    rf" {_KNOW}| to know| worth knowing)"
    rf"|do you {_KNOW} (?:anything|something))"
)
_ABOUT = r"(?: (?:about|on|of|regarding|concerning|with))?"
_SUMMARY = r"(?:an? )?(?:short |quick |brief )?(?:overview|summary|rundown|list|briefing)"
_ALL = (
    rf"(?: (?:of )?(?:everything|anything|all|something|what|more|a bit|{_SUMMARY}|facts|information|details"
    r"|the (?:main|key|important|most important) (?:things|points|facts))"
    rf"(?: (?:that )?{_I} (?:should |must |(?:need|ought|have) to )?(?:{_KNOW}|have))?)?"
)
_END = r"(?: (?:at the moment|right now|now|so far|already|currently|these days|today|please|again|next|soon|then))*"
_OWN = (
    r"(?:(?:the|my|our|your|all(?: of)?|these|other|each of|current|ongoing|open|user's"
    r"|(?:everyone|everybody|the people|people|the members|members) (?:in|of|on))\b ?)*"
)
_FAMILY = (
    r"(?:(?:immediate |close |extended )?family(?: members)?|relatives|household|kids|children|parents|siblings|in-laws"
    r"|grandparents|grandchildren|grandkids|loved ones)"
)
_FRIENDS = r"(?:(?:close |best )?friends(?: and neighbou?rs)?|circle of friends|friend group|neighbou?rs|acquaintances)"
_TEAM = (
    r"(?:team|team ?mates|team members|members of (?:the|my|our) team|colleagues|co-?workers|workmates|staff|employees"
    r"|crew|people (?:at work|(?:i|we) work with|(?:in|on) (?:the|my|our) (?:team|office|company)))"
)
_PEOPLE = r"(?:people|persons|contacts|everyone|everybody)(?: (?:i|we|you) know| in my life| involved)?"
# "Family and friends" are people of both classes.
_CLOSE = rf"(?:{_FAMILY} and {_OWN}{_FRIENDS}|{_FRIENDS} and {_OWN}{_FAMILY})"
_HEALTH = (
    r"(?:(?:(?:family|household|children|kid|kids)['’]?s? )?(?:health|well-?being)"
    r"(?: (?:issues|problems|conditions|needs|facts|situation))?"
    r"|medical (?:history|conditions?|needs|facts|info|information|situation))"
)
_PROJECTS = (
    r"(?:(?:side |work )?projects|(?:what|things|the things) (?:i(?:'m| am)|we(?:'re| are)) working on)"
    r"(?: (?:i|we) have| going on)?"
)
_WORK = r"(?:work|job|career|working life|work life|professional life|work situation)"
_PREFERENCES = (
    r"(?:(?:personal )?preferences|likes(?: and dislikes)?|dislikes|tastes?|favou?rites|habits"
    r"|(?:what|things|the things) (?:i|we) (?:like|prefer|want))"
)
_PLANS = (
    r"(?:coming up|up next|(?:going on |happening )?soon|upcoming|ahead(?: of (?:me|us))?|on the horizon|planned"
    r"|scheduled)"
)
_CALENDAR = (
    r"(?:(?:the|my|our|any|all) )*(?:upcoming )?"
    r"(?:calendar|schedule|agenda|plans|appointments|events|deadlines)"
)


def _asked_for(topic: str, *further: str) -> str:
    """The ways to ask for everything about a topic, and further wordings."""
    about = rf"{_TELL}{_ALL}{_ABOUT} {_OWN}{topic}|{_SUMMARY} (?:of|on|about) {_OWN}{topic}"
    return "|".join([about, *further])


def _people(topic: str, *further: str) -> str:
    who = rf"who(?:'s| is| are|'re)?(?: all)? (?:(?:on|in|part of|at|belongs to|makes up|lives in) )?{_OWN}{topic}"
    return _asked_for(topic, who, *further)


_PATTERNS = (
    (
        Overview.USER,
        rf"{_TELL}{_ALL}{_ABOUT} (?:me|myself|us|the user)|{_SUMMARY} (?:of|about) (?:me|myself)|who am i"
        r"|what am i like|describe me|do you know (?:me|who i am)",
    ),
    (Overview.FAMILY, _people(_FAMILY)),
    (Overview.FRIENDS, _people(_FRIENDS)),
    (
        Overview.TEAM,
        _people(_TEAM, r"who (?:do|does|all do) (?:i|we|you|the user) work with|who (?:works here|works with me)"),
    ),
    (
        Overview.PEOPLE,
        _people(
            rf"(?:{_PEOPLE}|{_CLOSE})",
            r"who (?:do|does|all do) (?:i|we|you|the user) know|who is there",
            r"(?:which|what) people (?:do (?:i|we|you) know|are there)",
        ),
    ),
    (Overview.HEALTH, _asked_for(_HEALTH, rf"(?:what(?:'s| is| are)|how(?:'s| is)) {_OWN}{_HEALTH}")),
    (
        Overview.PROJECTS,
        _asked_for(
            _PROJECTS,
            rf"what(?:'s| is| are|'re) {_OWN}{_PROJECTS}|(?:what|which) (?:am i|are we) working on",
            r"(?:what|which) projects (?:do (?:i|we|you) (?:have|know)|are there|am i (?:on|in|working on)"
            r"|are (?:we working on|ongoing|open|running|active))",
        ),
    ),
    (Overview.WORK, _asked_for(_WORK)),
    (
        Overview.PREFERENCES,
        _asked_for(_PREFERENCES, rf"what(?:'s| is| are|'re) {_OWN}{_PREFERENCES}|what do (?:i|we) (?:like|prefer)"),
    ),
    (
        Overview.PLANS,
        rf"what(?:'s| is| do (?:i|we) have| have (?:i|we)(?: got)?| are my plans)? {_PLANS}"
        rf"|(?:{_TELL}|what(?:'s| is| are|'re)|do (?:i|we) have|are there)(?: (?:on|in|about|me))* {_CALENDAR}{_ABOUT}"
        r"|(?:do (?:i|we) have )?anything (?:coming up|planned|upcoming|scheduled)"
        r"|what(?:'s| is) next|what (?:am i|are we) (?:planning|going to do)",
    ),
    (Overview.EVERYTHING, rf"{_TELL}{_ALL}|tell (?:me|us) everything"),
)
_KINDS = [(kind, re.compile(rf"(?:{pattern}){_END}", re.IGNORECASE)) for kind, pattern in _PATTERNS]
_MARKS = re.compile(r"[^\w'\s-]+")
LONGEST = 120


def overview_of(text: str) -> Overview | None:
    """The class that a question asks for; None if it has a topic of its own."""
    if len(text) > LONGEST:
        return None
    plain = " ".join(_MARKS.sub(" ", text.replace("’", "'")).split())
    return next((kind for kind, pattern in _KINDS if pattern.fullmatch(plain)), None)
