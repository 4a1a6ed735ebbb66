"""Identity: name, age, origin, nationality, marital status and languages."""

import re
from datetime import datetime

from memory_butler.english.extraction.findings import Draft
from memory_butler.english.extraction.grammar.forms import Form, Reader
from memory_butler.english.extraction.grammar.person_names import NAME, is_name
from memory_butler.english.extraction.grammar.values import first_piece, items
from memory_butler.english.extraction.grammar.verbs import VerbPhrase
from memory_butler.english.extraction.grammar.word_lists import LANGUAGES, MARITAL, NATIONALITIES
from memory_butler.english.text.word_sets import alternatives, any_of, caseless
from memory_butler.english.time.calendar import CARDINALS, TENS
from memory_butler.english.time.event_dates import find_event_date
from memory_butler.models import Permanence

_NAME = re.compile(rf"(?:called |named )?(?P<v>{NAME})$")
# "I'm Tomasz, Tomek for friends".
_NICKNAMED = re.compile(
    rf"(?P<v>{NAME}),? \(?(?P<short>{NAME}) (?:for|to) (?:(?:my|all|most) )?(?:friends|short|everyone)\b"
)
_NUMBER_WORD = any_of((*CARDINALS[2:], *TENS))
_AGE = caseless(
    rf"(?:now |only |just )?(?:aged? )?(?P<v>(?:about |around |almost |nearly )?(?:(?:1[01]\d|[1-9]?\d)|{_NUMBER_WORD}"
    r"|one(?= year| and))(?: and a half)?(?: years? old| y/?o| yrs? old| months? old| year old)?)$"
)
_TURNED = re.compile(rf"(?P<v>\d{{1,3}}|one|{_NUMBER_WORD})\b(?! (?:%|percent|degrees|dollars|pages|times))")
_DATE = re.compile(r"\d.*[A-Za-z]{3}|[A-Z][a-z]{2}.*\d")
_RELIGION = re.compile(
    r"(?:an? )?(?:practising |practicing |devout )?(?P<v>Muslim|Jewish|Catholic|Protestant|Hindu|Buddhist|Sikh|Mormon|"
    r"Quaker|(?i:atheist|agnostic)|Orthodox Christian|(?i:a) Christian)(?=$|[,;. ])"
)
_ONLY_CHILD = caseless(r"an (?P<v>only child)\b")
_FROM = re.compile(
    r"(?:originally |actually |now )?(?:from|born and raised in|raised in|brought up in|a native of|native "
    r"to) (?P<v>(?:the )?[A-ZÀ-Þ].*|a \w+ (?:town|village|city).*)"
)
_BORN = re.compile(r"born\b(?P<v>.*)")
_PLACE = re.compile(r"\b(?:in|near|at) (?P<v>(?:the )?[A-ZÀ-Þ][\w'-]*(?:,? (?:of |the |de |la )?[A-ZÀ-Þ][\w'-]*){0,3})")
_NATIONS = alternatives(NATIONALITIES)
_NATION = caseless(
    rf"(?:an? |originally |of )?(?P<v>(?:half[- ]|part[- ])?(?:{_NATIONS})(?:[- ](?:{_NATIONS}))?"
    r"(?: citizen| national| by birth| by nationality)?)$"
)
_MARITAL = caseless(
    rf"(?:now |happily |recently |newly |finally |officially )*(?P<v>{alternatives(MARITAL)})(?: to "
    rf"(?P<to>{NAME}))?(?: |,|$)"
)
_FLUENT = caseless(
    r"(?:(?:(?:completely |totally |quite |fairly )?fluent|proficient|conversational|bilingual) in|a native "
    r"speaker of|a native) (?P<v>.+?)(?: speaker)?$"
)
_ZONE = caseless(
    r"(?:in|on) (?:the )?(?P<v>CET|CEST|EST|EDT|PST|PDT|CST|MST|BST|IST|JST|AEST|AEDT|WET|EET|UTC[+-]?\d*|"
    r"GMT[+-]?\d*|(?:Pacific|Eastern|Central|Mountain|European|Indian|Japan) (?:standard |European "
    r")?time)(?:[ -]?zone)?(?=$|[,;. ])"
)
_LANGUAGE = caseless(rf"\b(?:{alternatives(LANGUAGES)})\b")
_SPEAKER = caseless(rf"a(?: native|n)? (?P<v>{alternatives(LANGUAGES)}) speaker")


_TALL = re.compile(r"(?P<v>(?:\d[\d.,]*[ ]?(?:m|cm|metres|meters|feet|ft|foot)\b[\w ]{0,8}|\d'\d{0,2}\"?)[ ]?tall)$")
_KEYED_TRAITS = {"religion": ("note", _RELIGION), "siblings": ("relationship", _ONLY_CHILD), "height": ("note", _TALL)}
_TRAITS = {"from": _FROM, "timezone": _ZONE, "speaks": _SPEAKER, "nationality": _NATION, "age": _AGE}


def is_somebody(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """Name, age, origin, nationality or marital status after "is" or "am"."""
    if match := _BORN.match(vp.rest):
        return _born(vp, match["v"], now)
    match = _MARITAL.match(vp.rest)
    if vp.tense not in ("present", "perfect") or (vp.negated and not match):
        return []
    return _marital(vp, match) if match else _trait(vp)


def _trait(vp: VerbPhrase) -> list[Draft]:
    piece = re.sub(r" only$", "", first_piece(vp.rest))
    for key, (kind, pattern) in _KEYED_TRAITS.items():
        if match := pattern.match(piece):
            return [Draft(vp.subject, kind, match["v"], key=key)]
    if match := _FLUENT.match(piece):
        return _languages(vp, match["v"])
    for kind, pattern in _TRAITS.items():
        if match := pattern.match(piece):
            return [Draft(vp.subject, kind, match["v"])]
    if not vp.by_speaker:
        return []
    if (called := _NICKNAMED.match(vp.rest)) and is_name(called["v"]) and is_name(called["short"]):
        return [Draft(vp.subject, "name", called["v"]), Draft(vp.subject, "nickname", called["short"])]
    named = _NAME.match(piece)
    return [Draft(vp.subject, "name", named["v"])] if named and is_name(named["v"]) else []


def _marital(vp: VerbPhrase, match: re.Match[str]) -> list[Draft]:
    status = match["v"].lower()
    if vp.negated:
        return [Draft(vp.subject, "marital_status", f"not {status}")]
    if vp.ended:
        return [Draft(vp.subject, "marital_status", f"no longer {status}")]
    found = [Draft(vp.subject, "marital_status", f"{match['v']} to {match['to']}" if match["to"] else match["v"])]
    if match["to"]:
        found.append(Draft(vp.subject, "relationship", f"{match['v']} to {match['to']}", key=match["to"]))
    return found


def _born(vp: VerbPhrase, rest: str, now: datetime) -> list[Draft]:
    found = []
    when = find_event_date(rest, now, "past")
    if when:
        words = re.sub(r"^(?:on|in) (?:the )?", "", rest[when.start : when.end].strip(" ,"))
        found.append(Draft(vp.subject, "birthday", words))
        rest = rest[: when.start] + " " + rest[when.end :]
    if place := _PLACE.search(rest):
        found.append(Draft(vp.subject, "from", place["v"]))
    return found


def _languages(vp: VerbPhrase, rest: str) -> list[Draft]:
    found = []
    for one in items(re.sub(r"^.*?\blanguages?[ ]?:[ ]?", "", rest)):
        language = _LANGUAGE.search(one)
        key = language[0] if language else one
        if not language and not one[0].isupper():
            continue
        if vp.ended or vp.negated:
            found.append(Draft(vp.subject, "speaks", f"does not speak {one}", key=key))
        else:
            found.append(Draft(vp.subject, "speaks", one, key=key))
    return found


def speaks(vp: VerbPhrase, now: datetime) -> list[Draft]:
    if vp.tense not in ("present", "ongoing", "perfect") or vp.modal == "wish" or not _LANGUAGE.search(vp.rest):
        return []
    return _languages(
        vp,
        re.sub(r" (?:at home|at work|with (?:my|his|her|their)|to (?:my|his|her|their)|fluently)\b.*", "", vp.rest),
    )


def grows(vp: VerbPhrase, now: datetime) -> list[Draft]:
    match = re.match(r"up (?:in|near|on|outside) (?P<v>.+)", vp.rest)
    if not match or vp.form != "past":
        return []
    return [Draft(vp.subject, "from", re.sub(r" (?:speaking|with|and|but)\b.*", "", first_piece(match["v"])))]


def turns(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "Turned 40"; "turns seven on May 12" gives the birthday, "next Saturday" only when it is this year."""
    match = _TURNED.match(vp.rest)
    if not match or vp.negated or vp.modal:
        return []
    if vp.tense in ("past", "perfect"):
        return [Draft(vp.subject, "age", match["v"])] if match["v"].isdigit() else []
    when = find_event_date(vp.rest, now, "future")
    if when is None or not when.exact:
        return []
    words = re.sub(r"^(?:on )?(?:the )?", "", vp.rest[when.start : when.end].strip(" ,"))
    if _DATE.search(words):
        return [Draft(vp.subject, "birthday", words)]
    return [Draft(vp.subject, "event", f"{vp.word} {match['v']}", valid_at=when.day)]


def goes_by(vp: VerbPhrase, now: datetime) -> list[Draft]:
    match = re.match(
        rf"by (?:the name (?:of )?|(?:my|his|her|their) (?:middle|second|full|first) name,? )?(?P<v>{NAME}|(?:they|"
        rf"she|he|ze|xe)/\w+)",
        vp.rest,
    )
    if not match or vp.negated:
        return []
    return [Draft(vp.subject, "pronouns" if "/" in match["v"] else "nickname", match["v"])]


_COMES = Form("from", r"(?:originally )?from (?P<v>[A-ZÀ-Þ].*)", "{first}", unless=())
_WEIGHS = Form(
    "health", r"(?P<v>\d[\d.,]*[ ]?(?:kg|kilos?|lbs?|pounds|stone|st)\b)", "{word} {v}", "weight",
    permanence=Permanence.VOLATILE,
)  # fmt: skip
USES_PRONOUNS = Form(
    "pronouns", caseless(r"(?P<v>(?:they|she|he|ze|xe)/\w+(?:/\w+)?)(?: pronouns)?"), tenses=(), unless=("negated",)
)
# "Holds a Brazilian passport".
HOLDS = Form(
    "nationality",
    caseless(rf"(?:an? |dual ){{0,3}}(?P<v>{_NATIONS})\b.{{0,80}}?\b(?:passport|citizenship|nationality)"),
    unless=("negated",),
)
# "Changed her name to Robin".
RENAMES = Form(
    "name",
    rf"(?:my|his|her|their) (?:first |last |legal )?name to (?P<v>{NAME})",
    tenses=("past", "perfect"),
    unless=(),
)
# "I have 34 years", as many languages put it.
COUNTS_YEARS = Form("age", r"(?P<v>\d{1,2}) years(?: old)?(?=$|,| and\b)", unless=("negated",))
VERBS: dict[str, Reader] = {
    "weigh": _WEIGHS, "speak": speaks, "come": _COMES, "hail": _COMES, "grow": grows, "turn": turns, "turned": turns,
}  # fmt: skip
