"""School, university and training."""

import re
from datetime import datetime

from memory_butler.english.extraction.findings import Draft
from memory_butler.english.extraction.grammar.forms import Form, Reader
from memory_butler.english.extraction.grammar.values import first_piece
from memory_butler.english.extraction.grammar.verbs import VerbPhrase
from memory_butler.english.text.word_sets import caseless

_DEGREE = caseless(
    r"(?:(?:an?|my|his|her|their|the) )?(?:part-time |online |distance |second |first |doing |finishing "
    r")*(?:phd|ph\.d\.?|doctorate|master'?s?|mba|msc|ma\b|bsc|ba\b|b\.a\.|bachelor'?s?|degree|diploma|postdoc|"
    r"internship|apprenticeship|a-levels|gcses|law degree|undergrad(?:uate)?|residency|minor|major|course)\b.*"
)


def studies(vp: VerbPhrase, now: datetime) -> list[Draft]:
    if vp.modal or vp.negated or vp.tense in ("future", "former"):
        return []
    if vp.verb == "do":
        match = _DEGREE.match(first_piece(vp.rest))
        return [Draft(vp.subject, "studies", match[0])] if match else []
    rest = vp.rest
    if match := re.match(
        r"for (?:the |my |his |her |their |an? )?(?P<v>[\w -]*(?:exams?|finals|test|bar|IELTS|TOEFL|"
        r"[A-Z]{3,}[\w-]*)\b)",
        rest,
    ):
        return [Draft(vp.subject, "plan", f"{vp.word} {match[0]}", key=match["v"])]
    if vp.verb == "major":
        rest = re.sub(r"^in ", "", rest)
    if not rest or re.match(
        r"(?:hard|a lot|it|this|that|for|the (?:code|docs|problem|menu)|all|together|late|every|abroad|best|better|at|"
        r"in|on|with|from|\d+|more|less|most|alone|daily|here|there|how|why)\b",
        rest,
    ):
        return []
    return [Draft(vp.subject, "studies", first_piece(rest))]


_SCHOOL = re.compile(
    r"(?:to )?(?P<v>(?:the )?(?:[A-Z][\w'&.]*(?: [A-Z][\w'&.]*){0,3} )?(?:[Pp]rimary|[Pp]rimary [Ss]chool|[Ss]chool|"
    r"[Hh]igh|[Hh]igh [Ss]chool|[Cc]ollege|[Uu]niversity|[Uu]ni|[Aa]cademy|[Nn]ursery|[Kk]indergarten|"
    r"[Gg]rammar)(?: (?:of|in) [A-Z]\w+| at [A-Z]\w+)?)(?=$|[,;.]| (?:in|and|where|but|now|nearby)\b)"
)
_PLAIN = caseless(r"(?:the )?(?:primary |high )?(?:school|college|university|uni|nursery|kindergarten)$")


def attends(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "Goes to St Mary's primary", "just started nursery"."""
    match = _SCHOOL.match(vp.rest)
    if not match or vp.negated or vp.modal or vp.ended:
        return []
    if vp.verb == "start":
        return [Draft(vp.subject, "studies", f"{vp.word} {match['v']}")] if vp.tense in ("past", "perfect") else []
    if vp.tense != "present" or (vp.verb == "go" and not vp.rest.startswith("to ")) or _PLAIN.match(match["v"]):
        return []
    return [Draft(vp.subject, "studies", match["v"])]


# "Passed out of NIT Trichy in 2014", as they say in India.
GRADUATES = Form(
    "studies",
    r"out (?:of|from) (?P<v>[A-Z][\w'&.-]*(?: [A-Z][\w'&.-]*)*)",
    "{word} {match}",
    tenses=("past",),
    unless=(),
)
# "In year 9", "in third grade", "in her second year at KTH".
IS_PUPIL = Form(
    "studies",
    r"(?:now )?in (?P<v>(?:[Yy]ear|[Cc]lass|[Gg]rade) \d{1,2}|(?:\w+|\d+(?:st|nd|rd|th)) (?:grade|form)|reception|"
    r"sixth form)\b",
    unless=("negated",),
)
_GRADUATED = Form(
    "studies",
    r"(?=.*(?:[A-Z]|degree))(?:from|in|with) (?P<v>.+)",
    "{word} {rest}",
    tenses=("present", "past", "perfect", "ongoing"),
)
VERBS: dict[str, Reader] = {
    "go": attends, "attend": attends, "start": attends, "pass": GRADUATES, "study": studies, "major": studies,
    "graduate": _GRADUATED, "do": studies,
}  # fmt: skip
