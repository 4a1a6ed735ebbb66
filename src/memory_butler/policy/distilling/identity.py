"""Who somebody is: name, age, origin, nationality, marital status, and the languages they speak."""

import re
from datetime import datetime

from memory_butler.models import Permanence
from memory_butler.policy.distilling.dates import moment_in
from memory_butler.policy.distilling.found import Draft
from memory_butler.policy.distilling.names import NAME, is_name
from memory_butler.policy.distilling.values import cleaned, first_piece, items, value
from memory_butler.policy.distilling.verbs import Said
from memory_butler.policy.distilling.words import LANGUAGES, MARITAL, NATIONALITIES, alternatives

_NAME = re.compile(rf"(?:called |named )?(?P<v>{NAME})$")
_CALLED = re.compile(rf"(?:called|named) (?P<v>{NAME})")
_AGE = re.compile(
    r"(?:now |only |just )?(?:aged? )?(?P<v>(?:about |around |almost |nearly )?(?:(?:1[01]\d|[1-9]?\d)|two|three|four|"
    r"five|six|"
    r"seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|"
    r"forty|"
    r"fifty|sixty|seventy|eighty|ninety|one(?= year| and))(?: and a half)?(?: years? old| y/?o| yrs? old| months? old|"
    r" year old)?)$",
    re.I,
)
_TURNED = re.compile(
    r"(?P<v>\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|"
    r"eighteen|"
    r"twenty|twenty-one|thirty|forty|fifty|sixty|seventy|eighty|ninety)\b(?! (?:%|percent|degrees|dollars|pages|times))"
)
_DATE = re.compile(r"\d.*[A-Za-z]{3}|[A-Z][a-z]{2}.*\d")
_RELIGION = re.compile(
    r"(?:an? )?(?:practising |practicing |devout )?(?P<v>Muslim|Jewish|Catholic|Protestant|Hindu|Buddhist|Sikh|Mormon|"
    r"Quaker|"
    r"(?i:atheist|agnostic)|Orthodox Christian|(?i:a) Christian)(?=$|[,;. ])"
)
_ONLY_CHILD = re.compile(r"an (?P<v>only child)\b", re.I)
_FROM = re.compile(
    r"(?:originally |actually |now )?(?:from|born and raised in|raised in|brought up in|a native of|native "
    r"to)\s+(?P<v>(?:the )?[A-ZÀ-Þ].*|a \w+ (?:town|village|city).*)"
)
_BORN = re.compile(r"born\b(?P<v>.*)")
_PLACE = re.compile(
    r"\b(?:in|near|at)\s+(?P<v>(?:the )?[A-ZÀ-Þ][\w'-]*(?:,? (?:of |the |de |la )?[A-ZÀ-Þ][\w'-]*){0,3})"
)
_NATIONS = alternatives(NATIONALITIES)
_NATION = re.compile(
    rf"(?:an? |originally |of )?(?P<v>(?:half[- ]|part[- ])?(?:{_NATIONS})(?:[- ](?:{_NATIONS}))?"
    r"(?: citizen| national| by birth| by nationality)?)$",
    re.IGNORECASE,
)
_MARITAL = re.compile(
    rf"(?:now |happily |recently |newly |finally |officially )*(?P<v>{alternatives(MARITAL)})(?: to "
    rf"(?P<to>{NAME}))?(?:\s|,|$)",
    re.IGNORECASE,
)
_FLUENT = re.compile(
    r"(?:(?:(?:completely |totally |quite |fairly )?fluent|proficient|conversational|bilingual) in|a native "
    r"speaker of|a native)\s+(?P<v>.+?)(?: speaker)?$",
    re.I,
)
_ZONE = re.compile(
    r"(?:in|on) (?:the )?(?P<v>CET|CEST|EST|EDT|PST|PDT|CST|MST|BST|IST|JST|AEST|AEDT|WET|EET|UTC[+-]?\d*|"
    r"GMT[+-]?\d*|(?:Pacific|Eastern|Central|Mountain|European|Indian|Japan) (?:standard |European "
    r")?time)(?:[ -]?zone)?(?=$|[,;. ])",
    re.I,
)
_LANGUAGE = re.compile(rf"\b(?:{alternatives(LANGUAGES)})\b", re.IGNORECASE)
_SPEAKER = re.compile(rf"a(?: native|n)? (?P<v>{alternatives(LANGUAGES)}) speaker", re.IGNORECASE)


_TALL = re.compile(r"(?P<v>(?:\d[\d.,]*\s?(?:m|cm|metres|meters|feet|ft|foot)\b[\w ]{0,8}|\d'\d{0,2}\"?)\s?tall)$")
_KEYED_TRAITS = {"religion": ("note", _RELIGION), "siblings": ("relationship", _ONLY_CHILD), "height": ("note", _TALL)}
_TRAITS = {"from": _FROM, "timezone": _ZONE, "speaks": _SPEAKER, "nationality": _NATION, "age": _AGE}


def is_somebody(said: Said, now: datetime) -> list[Draft]:
    """What stands after "is" or "am" and says who they are."""
    if match := _BORN.match(said.rest):
        return _born(said, match["v"], now)
    match = _MARITAL.match(said.rest)
    if said.tense not in ("present", "perfect") or (said.negated and not match):
        return []
    return _marital(said, match) if match else _trait(said)


def _trait(said: Said) -> list[Draft]:
    piece = re.sub(r"\s+only$", "", first_piece(said.rest))
    for key, (kind, pattern) in _KEYED_TRAITS.items():
        if match := pattern.match(piece):
            return [Draft(said.subject, kind, match["v"], key=key)]
    if match := _FLUENT.match(piece):
        return _languages(said, match["v"])
    for kind, pattern in _TRAITS.items():
        if match := pattern.match(piece):
            return [Draft(said.subject, kind, match["v"])]
    named = _NAME.match(piece) if said.told_by_speaker else None
    return [Draft(said.subject, "name", named["v"])] if named and is_name(named["v"]) else []


def _marital(said: Said, match: re.Match[str]) -> list[Draft]:
    status = match["v"].lower()
    if said.negated:
        return [Draft(said.subject, "marital_status", f"not {status}")]
    if said.ended:
        return [Draft(said.subject, "marital_status", f"no longer {status}")]
    found = [Draft(said.subject, "marital_status", f"{match['v']} to {match['to']}" if match["to"] else match["v"])]
    if match["to"]:
        found.append(Draft(said.subject, "relationship", f"{match['v']} to {match['to']}", key=match["to"]))
    return found


def _born(said: Said, rest: str, now: datetime) -> list[Draft]:
    found = []
    when = moment_in(rest, now, "past")
    if when:
        words = re.sub(r"^(?:on|in)\s+(?:the\s+)?", "", rest[when.start : when.end].strip(" ,"))
        found.append(Draft(said.subject, "birthday", words))
        rest = rest[: when.start] + " " + rest[when.end :]
    if place := _PLACE.search(rest):
        found.append(Draft(said.subject, "from", place["v"]))
    return found


def _languages(said: Said, rest: str) -> list[Draft]:
    found = []
    for one in items(re.sub(r"^.*?\blanguages?\s*:\s*", "", rest)):
        language = _LANGUAGE.search(one)
        key = language[0] if language else one
        if not language and not one[0].isupper():
            continue
        if said.ended or said.negated:
            found.append(Draft(said.subject, "speaks", f"does not speak {one}", key=key))
        else:
            found.append(Draft(said.subject, "speaks", one, key=key))
    return found


def speaks(said: Said, now: datetime) -> list[Draft]:
    if said.tense not in ("present", "ongoing", "perfect") or said.modal == "wish" or not _LANGUAGE.search(said.rest):
        return []
    return _languages(
        said,
        re.sub(r"\s+(?:at home|at work|with (?:my|his|her|their)|to (?:my|his|her|their)|fluently)\b.*", "", said.rest),
    )


def comes(said: Said, now: datetime) -> list[Draft]:
    match = re.match(r"(?:originally )?from\s+(?P<v>[A-ZÀ-Þ].*)", said.rest)
    return [Draft(said.subject, "from", first_piece(match["v"]))] if match and said.tense == "present" else []


def grows(said: Said, now: datetime) -> list[Draft]:
    match = re.match(r"up (?:in|near|on|outside)\s+(?P<v>.+)", said.rest)
    if not match or said.form != "past":
        return []
    return [Draft(said.subject, "from", re.sub(r"\s+(?:speaking|with|and|but)\b.*", "", first_piece(match["v"])))]


def turns(said: Said, now: datetime) -> list[Draft]:
    """ "Turned 40"; "turns seven on May 12" tells the birthday, "next Saturday" only when it is this year."""
    match = _TURNED.match(said.rest)
    if not match or said.negated or said.modal:
        return []
    if said.tense in ("past", "perfect"):
        return [Draft(said.subject, "age", match["v"])] if match["v"].isdigit() else []
    when = moment_in(said.rest, now, "future")
    if when is None or not when.exact:
        return []
    words = re.sub(r"^(?:on\s+)?(?:the\s+)?", "", said.rest[when.start : when.end].strip(" ,"))
    if _DATE.search(words):
        return [Draft(said.subject, "birthday", words)]
    return [Draft(said.subject, "event", f"{said.phrase.split()[0]} {match['v']}", valid_at=when.day)]


def goes_by(said: Said, now: datetime) -> list[Draft]:
    match = re.match(
        rf"by (?:the name (?:of )?|(?:my|his|her|their) (?:middle|second|full|first) name,? )?(?P<v>{NAME}|(?:they|"
        rf"she|he|ze|xe)/\w+)",
        said.rest,
    )
    if not match or said.negated:
        return []
    return [Draft(said.subject, "pronouns" if "/" in match["v"] else "nickname", match["v"])]


def uses_pronouns(said: Said, now: datetime) -> list[Draft]:
    match = re.match(r"(?P<v>(?:they|she|he|ze|xe)/\w+(?:/\w+)?)(?: pronouns)?", said.rest, re.IGNORECASE)
    return [Draft(said.subject, "pronouns", match["v"])] if match and not said.negated else []


def introduces(said: Said, now: datetime) -> list[Draft]:
    """ "Introduced herself as Marta Kowalczyk, 34"."""
    match = re.match(rf"(?:my|him|her|them)sel(?:f|ves) as (?P<v>{NAME})", said.rest)
    return [Draft(said.subject, "name", match["v"])] if match else []


def calls(said: Said, now: datetime) -> list[Draft]:
    """ "Everyone calls me Bo": told of the speaker, whoever the callers are."""
    match = re.match(rf"(?:me|him|her|them)\s+(?P<v>{NAME})$", value(said.rest))
    return [Draft(said.subject, "nickname", cleaned(match["v"]))] if match else []


def holds(said: Said, now: datetime) -> list[Draft]:
    """ "Holds a Brazilian passport"."""
    match = re.match(
        rf"(?:an? |dual )*(?P<v>{alternatives(NATIONALITIES)})\b.*?\b(?:passport|citizenship|nationality)",
        said.rest,
        re.I,
    )
    return (
        [Draft(said.subject, "nationality", match["v"])]
        if match and said.tense == "present" and not said.negated
        else []
    )


def renames(said: Said, now: datetime) -> list[Draft]:
    """ "Changed her name to Robin"."""
    match = re.match(rf"(?:my|his|her|their) (?:first |last |legal )?name to (?P<v>{NAME})", said.rest)
    return [Draft(said.subject, "name", match["v"])] if match and said.tense in ("past", "perfect") else []


def weighs(said: Said, now: datetime) -> list[Draft]:
    match = re.match(r"(?P<v>\d[\d.,]*\s?(?:kg|kilos?|lbs?|pounds|stone|st)\b)", said.rest)
    if not match or said.tense != "present" or said.negated or said.modal:
        return []
    return [
        Draft(
            said.subject, "health", f"{said.phrase.split()[0]} {match['v']}", "weight", permanence=Permanence.VOLATILE
        )
    ]


def counts_years(said: Said, now: datetime) -> list[Draft]:
    """ "I have 34 years", as many languages put it."""
    match = re.match(r"(?P<v>\d{1,2}) years(?: old)?(?=$|,| and\b)", said.rest)
    return [Draft(said.subject, "age", match["v"])] if match and said.tense == "present" and not said.negated else []


VERBS = {
    "weigh": weighs,
    "speak": speaks, "come": comes, "hail": comes, "grow": grows, "turn": turns, "turned": turns,
    "introduce": introduces,
}  # fmt: skip
