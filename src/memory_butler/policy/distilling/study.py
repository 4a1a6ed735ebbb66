"""School, university and training."""

import re
from datetime import datetime

from memory_butler.policy.distilling.found import Draft
from memory_butler.policy.distilling.values import first_piece
from memory_butler.policy.distilling.verbs import Said

_DEGREE = re.compile(
    r"(?:(?:an?|my|his|her|their|the)\s+)?(?:part-time |online |distance |second |first |doing |finishing "
    r")*(?:phd|ph\.d\.?|doctorate|master'?s?|mba|msc|ma\b|bsc|ba\b|b\.a\.|bachelor'?s?|degree|diploma|postdoc|"
    r"internship|apprenticeship|a-levels|gcses|law degree|undergrad(?:uate)?|residency|minor|major|course)\b.*",
    re.I,
)


def studies(said: Said, now: datetime) -> list[Draft]:
    if said.modal or said.negated or said.tense in ("future", "former"):
        return []
    if said.verb == "do":
        match = _DEGREE.match(first_piece(said.rest))
        return [Draft(said.subject, "studies", match[0])] if match else []
    if said.verb == "graduate":
        match = re.match(r"(?:from|in|with)\s+(?P<v>.+)", said.rest)
        return (
            [Draft(said.subject, "studies", f"{said.phrase.split()[0]} {first_piece(said.rest)}")]
            if match and re.search(r"[A-Z]|degree", said.rest)
            else []
        )
    rest = said.rest
    if match := re.match(
        r"for (?:the |my |his |her |their |an? )?(?P<v>[\w -]*(?:exams?|finals|test|bar|IELTS|TOEFL|"
        r"[A-Z]{3,}[\w-]*)\b)",
        rest,
    ):
        return [Draft(said.subject, "plan", f"{said.phrase.split()[0]} {match[0]}", key=match["v"])]
    if said.verb == "major":
        rest = re.sub(r"^in\s+", "", rest)
    if not rest or re.match(
        r"(?:hard|a lot|it|this|that|for|the (?:code|docs|problem|menu)|all|together|late|every|abroad|best|better|at|"
        r"in|on|with|from|\d+|more|less|most|alone|daily|here|there|how|why)\b",
        rest,
    ):
        return []
    return [Draft(said.subject, "studies", first_piece(rest))]


_SCHOOL = re.compile(
    r"(?:to )?(?P<v>(?:the )?(?:[A-Z][\w'&.]*(?: [A-Z][\w'&.]*){0,3} )?(?:[Pp]rimary|[Pp]rimary [Ss]chool|[Ss]chool|"
    r"[Hh]igh|[Hh]igh [Ss]chool|"
    r"[Cc]ollege|[Uu]niversity|[Uu]ni|[Aa]cademy|[Nn]ursery|[Kk]indergarten|[Gg]rammar)"
    r"(?: (?:of|in) [A-Z]\w+| at [A-Z]\w+)?)(?=$|[,;.]| (?:in|and|where|but|now|nearby)\b)"
)
_PLAIN = re.compile(r"(?:the )?(?:primary |high )?(?:school|college|university|uni|nursery|kindergarten)$", re.I)


def attends(said: Said, now: datetime) -> list[Draft]:
    """ "Goes to St Mary's primary", "just started nursery"."""
    match = _SCHOOL.match(said.rest)
    if not match or said.negated or said.modal or said.ended:
        return []
    if said.verb == "start":
        return (
            [Draft(said.subject, "studies", f"{said.phrase.split()[0]} {match['v']}")]
            if said.tense in ("past", "perfect")
            else []
        )
    if said.tense != "present" or (said.verb == "go" and not said.rest.startswith("to ")) or _PLAIN.match(match["v"]):
        return []
    return [Draft(said.subject, "studies", match["v"])]


def graduates(said: Said, now: datetime) -> list[Draft]:
    """ "Passed out of NIT Trichy in 2014", as they say in India."""
    match = re.match(r"out (?:of|from) (?P<v>[A-Z][\w'&.-]*(?: [A-Z][\w'&.-]*)*)", said.rest)
    return (
        [Draft(said.subject, "studies", f"{said.phrase.split()[0]} {match[0]}")]
        if match and said.tense == "past"
        else []
    )


def is_pupil(said: Said, now: datetime) -> list[Draft]:
    """ "In year 9", "in third grade", "in her second year at KTH"."""
    match = re.match(
        r"(?:now )?in (?P<v>(?:[Yy]ear|[Cc]lass|[Gg]rade) \d{1,2}|(?:\w+|\d+(?:st|nd|rd|th)) (?:grade|form)|reception|"
        r"sixth form)\b",
        said.rest,
    )
    return (
        [Draft(said.subject, "studies", match["v"])] if match and said.tense == "present" and not said.negated else []
    )


VERBS = {
    "go": attends,
    "attend": attends,
    "start": attends,
    "pass": graduates,
    "study": studies,
    "major": studies,
    "graduate": studies,
    "do": studies,
}
