"""Possessions, pets, relatives, tools and skills: "has two cats", "uses Vim", "plays the cello"."""

import re
from datetime import datetime

from memory_butler.english.extraction.findings import Draft
from memory_butler.english.extraction.grammar.forms import Form, Reader
from memory_butler.english.extraction.grammar.people import relationship
from memory_butler.english.extraction.grammar.person_names import NAME, is_name
from memory_butler.english.extraction.grammar.values import before_date, cleaned, first_piece, items, value
from memory_butler.english.extraction.grammar.verbs import VerbPhrase
from memory_butler.english.extraction.grammar.word_lists import LANGUAGES, PETS, PLURAL, RELATIONS, THINGS
from memory_butler.english.text.irregular_forms import singular
from memory_butler.english.text.word_sets import alternatives, any_of, caseless
from memory_butler.english.time.calendar import CARDINALS, WEEKDAYS
from memory_butler.english.time.event_dates import find_event_date

_COUNT = rf"(?:(?:an?|{any_of(CARDINALS[1:9])}|\d{{1,2}}|another|some|no|any|several)\b)"
_RELATIVES = re.compile(
    rf"(?P<count>{_COUNT}|)[ ]?(?P<role>(?i:twin (?:boys|girls|sons|daughters)|"
    rf"(?:[\w-]+ ){{0,2}}?(?:{alternatives(RELATIONS)}|boys?|girls?)))\b"
    r"(?:[ ]?,? (?:(?:who(?:'s| is| are)|called|named|and (?:his|her|their) names? (?:is|"
    rf"are)) )*(?P<names>{NAME}(?:[ ]?\([^)]*\))?(?:(?:, and |, | and ){NAME}(?:[ ]?\([^)]*\))?)*))?"
)
_PET = re.compile(
    rf"(?P<count>(?i:{_COUNT}|our|my)) (?P<what>(?:(?!and\b|or\b|with\b|"
    rf"for\b)[\w'-]+ ){{0,4}}?(?i:{alternatives(PETS)}))\b(?P<more> (?:puppy|kitten|mix|cross|dog|"
    rf"cat))?(?:[ ]?,? (?:called |named )?(?P<names>{NAME}(?:(?:, | and ){NAME})*))?"
)
_AND_MORE = re.compile(r" and (?=(?:an?|two|three|four|five|\d|my|our) )")
_PET_NAMES = re.compile(rf"{NAME}")
_THING = caseless(rf"\b(?:{alternatives(THINGS)})\b")
_DETERMINED = re.compile(r"(?:an?|two|three|four|\d+|my own|our own|the|several|some|another) |[A-Z]")
_NOT_OWNED = caseless(
    r"(?:question|problem|issue|idea|feeling|headache|cold|meeting|call|appointment|doubt|look|chance|minute|second|"
    r"moment|bug|error|task|file|plan|favou?r|point|hard time|busy|long day|good|great|lot|bit|few|couple|hunch|"
    r"suggestion|thought|fever|day|time)\b"
)
_PASSING = caseless(
    r"(?:it|this|that|these|those|them|you|your|the (?:same|following|above|command|code|function|wrong|"
    r"first)|what|all|my (?:own )?(?:name|account|email|phone to)|an? (?:for|while|lot|bit|loop))\b"
)
_TOOL_TAIL = re.compile(
    r" (?:to (?!do\b)\w+|every|each|all|on a|at (?:work|home)|when|daily|because|in (?:my|our|the))\b.*|"
    r" as (?:my|our|their|the|an?)\b.*"
)
_INSTRUMENT = caseless(
    r"(?:the |a bit of |some )?(?:\w+ )?(?P<v>guitar|piano|violin|cello|drums|bass|sax|saxophone|flute|clarinet|"
    r"trumpet|trombone|ukulele|harp|banjo|accordion|viola|oboe|harmonica|mandolin|keyboard|keyboards|organ|bagpipes|"
    r"double bass|french horn|tuba|sitar|tabla|oud|fiddle)\b"
)

_SPORT = caseless(
    r"(?:a lot of |some )?(?P<v>(?:[\w-]+ )?(?:tennis|football|soccer|basketball|chess|golf|cricket|rugby|hockey|"
    r"badminton|volleyball|squash|bridge|poker|padel|handball|baseball|softball|rounders|go|darts|pool|snooker|"
    r"pickleball|d&d|dungeons and dragons|ultimate frisbee|ultimate|ping pong|table tennis|board games|video games|"
    r"water polo|netball|futsal))\b"
)


def has(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "Have two kids, Mia and Leo", "have a greyhound called Biscuit", "have an old Brompton"."""
    if vp.tense not in ("present", "perfect") or vp.modal:
        return []
    rest = vp.rest
    if budget := re.match(r"an? (?:[\w-]+ )?budget of .+", rest):
        return [Draft(vp.subject, "note", first_piece(re.sub(r"^an? ", "", budget[0])), key="budget")]
    if match := _RELATIVES.match(rest):
        found = _relatives(vp, match)
        following = re.sub(r"^[ ]?,?[ ]?(?:and )", "", rest[match.end() :])
        if found and following != rest[match.end() :] and (other := _RELATIVES.match(following)):
            found += _relatives(vp._replace(rest=following), other)
        if found:
            return found
    found = _pets(vp, rest)
    if found:
        return found
    if (more := _AND_MORE.search(rest)) and (pets := _pets(vp, rest[more.end() :])):
        return _things(vp, rest[: more.start()], known=True) + pets
    return [] if vp.negated and not _THING.search(rest) else _things(vp, rest, known=True)


def _relatives(vp: VerbPhrase, match: re.Match[str]) -> list[Draft]:
    role = match["role"].lower()
    if match["names"] is None and match["count"] == "":
        return []
    if vp.negated or match["count"] == "no":
        return [Draft(vp.subject, "relationship", f"no {role}", key=role)]
    if match["names"]:
        names = [
            (one[0], one[1]) for one in re.findall(rf"({NAME})(?:[ ]?\((?:aged? )?(\d{{1,2}})[^)]*\))?", match["names"])
        ]
        single = singular(role) if role.split()[-1] in PLURAL | {"boys", "girls"} else role
        found = [relationship(vp.subject, single, name) for name, _ in names if is_name(name)]
        return found + [Draft(name, "age", age) for name, age in names if age and is_name(name)]
    if (
        match.end() < len(vp.rest)
        and re.match(r"[ ]?(?:['-]|\w)", vp.rest[match.end() :])
        and not re.match(
            r" (?:in|at|who|and|from|aged|living|together|now|too|called|named|but)\b", vp.rest[match.end() :]
        )
    ):
        return []
    return [Draft(vp.subject, "relationship", cleaned(f"{match['count']} {role}"), key=role)]


def _pets(vp: VerbPhrase, rest: str) -> list[Draft]:
    match = _PET.match(rest)
    if not match or re.match(
        r" (?:allergy|person|lover|hair|food|sitter|in (?:this|the) (?:race|fight))", rest[match.end() :]
    ):
        return []
    what = (match["what"] + (match["more"] or "")).strip()
    following = re.sub(r"^[ ]?,?[ ]?(?:and )?", "", rest[match.end() :])
    others = _pets(vp, following) if following and following != rest[match.end() :] else []
    return _pet(vp, match, what) + others


def _pet(vp: VerbPhrase, match: re.Match[str], what: str) -> list[Draft]:
    if vp.ended or vp.negated:
        word = "no longer has" if vp.ended else "does not have"
        return [Draft(vp.subject, "pet", f"{word} {match['count']} {what}", key=what)]
    names = [name for name in _PET_NAMES.findall(match["names"] or "") if name[0].isupper() and is_name(name)]
    if names:
        one = singular(what) if match["count"].lower() not in ("a", "an", "one", "my", "our") else what
        return [Draft(vp.subject, "pet", f"{one} {name}", key=name) for name in names]
    return [Draft(vp.subject, "pet", f"{match['count']} {what}", key=what)]


def pets_along(vp: VerbPhrase) -> list[Draft]:
    """ "Lives in Utrecht with two cats"."""
    match = re.search(rf"\b(?:with|and) (?=(?i:{_COUNT}|our|my) )(?P<v>.+)", vp.rest)
    return (
        _pets(vp._replace(negated=False, ended=False), match["v"]) if match and not vp.negated and not vp.ended else []
    )


_CONSUMED = caseless(
    r"\b(?:tickets?|coffee|groceries|lunch|dinner|food|drinks?|milk|bread|gift|present|flowers|round|beer|cake)\b"
)
_KEYS = caseless(r"\bkeys?\b|\b(?:permission|access|rights)\b")
_THING_TAIL = re.compile(
    r" (?:for (?:\w+ing|my|the|his|her|their)|that(?:'s)?|on (?:a )?(?:lease|finance)|which|running|with (?:a|an|"
    r"the|my)|from (?:the|my|work|an?))\b.*"
)


def _things(vp: VerbPhrase, rest: str, *, known: bool) -> list[Draft]:
    found = []
    for item in items(rest):
        one = cleaned(_THING_TAIL.sub("", item))
        none = re.match(r"no (?P<v>.+)", one)
        if not one or re.match(r"(?:it|this|that|one|them|some|any|no)$", one, re.I):
            continue
        if _KEYS.search(one) or ((known or none) and (not _THING.search(one) or _NOT_OWNED.search(one))):
            continue
        key = none["v"] if none else re.sub(r"^(?:any|an?|my|our|the|old|new|used) ", "", one)
        if vp.ended:
            one = f"no longer {'owns' if vp.verb == 'own' else 'has'} {key}"
        elif vp.negated:
            one = f"does not {vp.verb} {one}"
        found.append(Draft(vp.subject, "owns", one, key=key))
    return found


def owns(vp: VerbPhrase, now: datetime) -> list[Draft]:
    if (
        vp.tense not in ("present", "perfect")
        or vp.modal
        or re.match(r"(?:it|this|that|the (?:task|decision|code))\b|up\b", vp.rest)
    ):
        return []
    return _pets(vp, vp.rest) or _things(vp, vp.rest, known=False)


def buys(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """Bought something: it is owned. With a day it is an event, see events.py."""
    rest = re.sub(r"^(?:myself|us|ourselves|himself|herself|themselves) ", "", vp.rest)
    if not vp.states("past", "perfect") or find_event_date(rest, now, "past"):
        return []
    found = _pets(vp._replace(rest=rest), rest)
    if not found and (more := _AND_MORE.search(rest)):
        pets = _pets(vp, rest[more.end() :])
        found = _things(vp, rest[: more.start()], known=True) + pets if pets else []
    if found or vp.verb == "adopt" or not _DETERMINED.match(rest) or (vp.verb == "get" and not _THING.search(rest)):
        return found
    return [one for one in _things(vp, first_piece(rest), known=vp.verb == "get") if not _CONSUMED.search(one.content)]


def sells(vp: VerbPhrase, now: datetime) -> list[Draft]:
    what = re.sub(r"^(?:my|our|the|his|her|their) ", "", first_piece(vp.rest))
    if not vp.states("past", "perfect") or not _THING.search(what):
        return []
    return (
        [] if find_event_date(vp.rest, now, "past") else [Draft(vp.subject, "owns", f"no longer owns {what}", key=what)]
    )


def drives(vp: VerbPhrase, now: datetime) -> list[Draft]:
    if vp.tense != "present" or vp.modal or not re.match(r"(?:an?|my|our|the family) ", vp.rest):
        return []
    what = first_piece(vp.rest)
    if re.search(r"\b(?:hard bargain|lot|crazy|few)\b", what):
        return []
    if vp.negated:
        return []
    return [Draft(vp.subject, "drives", f"no longer drives {what}" if vp.ended else what)]


def uses(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """Tools in present use."""
    if vp.tense not in ("present", "ongoing", "perfect") or vp.modal or _PASSING.match(vp.rest):
        return []
    found = []
    for item in items(vp.rest):
        one = cleaned(_TOOL_TAIL.sub("", item))
        key = re.sub(r" (?:for|with|on|in)\b.*", "", one)
        if not one or _PASSING.match(one):
            continue
        word = "no longer uses " if vp.ended else "does not use " if vp.negated else ""
        found.append(Draft(vp.subject, "uses", word + re.sub(r"^any ", "", one), key=re.sub(r"^any ", "", key)))
    return found


_DEVICE = re.compile(
    r"on (?P<v>(?:an? |the )?(?:[\w.]+ ){0,3}?(?:MacBook(?: (?:Air|Pro))?|iPhone|iPad|Android|ThinkPad|Chromebook|"
    r"Pixel|Mac|Windows|Linux|Ubuntu|Fedora|Arch|"
    r"Debian|NixOS|macOS)(?: \d+)?)(?=$|[,;.]| (?:with|so|and|but|now|because)\b)"
)


def owes(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "I owe my brother Marek 300 quid"."""
    match = re.match(r"(?P<who>(?:my |his |her |their )?[\w' ]{2,30}?) (?P<v>[€£$]?\d[\d.,]*[ ]?\w*)", vp.rest)
    if not match or not vp.states("present"):
        return []
    return [Draft(vp.subject, "note", cleaned(f"{vp.word} {match[0]}"), key=f"owe {match['who']}")]


def cancels(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "Cancelled my gym membership and my Netflix"; a cancelled wedding or trip is an event, see events.py."""
    if not vp.states("past", "perfect"):
        return []
    found = []
    for one in items(vp.rest):
        what = re.sub(r"^(?:my|our|his|her|their|the) ", "", one)
        if what != one and (
            re.search(r"\b(?:membership|subscription|contract|account|plan)$", what) or what[:1].isupper()
        ):
            found.append(Draft(vp.subject, "uses", f"cancelled {what}", key=what))
    return found


def deploys(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "We deploy to Fly.io", "I code in Elixir"."""
    match = re.match(r"(?:\w+ )?(?:to|on|in|with|through|via) (?P<v>[A-Z][\w.+#-]*(?: [A-Z\d][\w.+#-]*)*)", vp.rest)
    if not match or not vp.states("present") or vp.frequency:
        return []
    if match["v"].lower().startswith(WEEKDAYS):
        return []
    return [Draft(vp.subject, "uses", match["v"])]


def switches(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "Switched from Vim to Helix": the new one is used, the old one no longer."""
    match = re.match(r"(?:over )?(?:from (?P<old>.+?) )?(?:over )?to (?P<new>.+)", vp.rest)
    if not match or not vp.states("past", "perfect"):
        return []
    new = before_date(first_piece(match["new"]), now)
    if re.match(r"(?:decaf|tea|oat|a vegan|a plant|vegan)", new) or not new or len(new.split()) > 5:
        return []
    if re.match(r"(?:the|a|an|this|that|branch|another)\b", new):
        return []
    found = [Draft(vp.subject, "uses", new)]
    if match["old"]:
        found.append(Draft(vp.subject, "uses", f"no longer uses {match['old']}", key=match["old"]))
    return found


def plays(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """An instrument is a skill; a sport or a game is a habit."""
    if vp.tense not in ("present", "ongoing", "perfect") or vp.modal == "wish":
        return []
    verb = "no longer plays" if vp.ended else "does not play" if vp.negated else vp.word
    if match := _INSTRUMENT.match(vp.rest):
        return [Draft(vp.subject, "skill", f"{verb} {match[0]}", key=match["v"])]
    match = _SPORT.match(vp.rest)
    if not match or vp.negated or vp.ended or vp.modal or vp.tense != "present":
        return []
    return [Draft(vp.subject, "habit", f"{verb} {value(vp.rest)}", key=f"play {match['v']}")]


def can(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "Can juggle", "can speak Dutch"."""
    known = "cook|swim|code|juggle|sail|knit|sew|drive|ski|surf|dance|sing|draw|paint|bake|type|touch-type|weld"
    if vp.modal != "can" or vp.negated or vp.tense != "present" or not re.fullmatch(known, vp.verb):
        return []
    if re.search(r"\b(?:you|it|this|that|tomorrow|today|tonight|there|if|on|for)\b", vp.rest):
        return []
    return [Draft(vp.subject, "skill", cleaned(f"{vp.verb} {first_piece(vp.rest)}"))]


def learns(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "Learning Italian", "taking up pottery"."""
    if not vp.states("ongoing", "perfect"):
        return []
    rest = first_piece(vp.rest)
    what = re.sub(r"^(?:how )?to ", "", rest)
    language = re.match(rf"(?:some )?(?:{alternatives(LANGUAGES)})\b", what, re.I)
    if not language and not re.match(
        r"(?:(?:the )?(?:guitar|piano|violin|drums|cello|ukulele)|[A-Z]\w+|to \w+|(?:play|drive|swim|knit|sew|"
        r"code|cook|weld|sail|paint|draw|dance)\b|pottery|woodworking|photography)",
        what,
    ):
        return []
    return [Draft(vp.subject, "skill", f"{vp.word} {rest}", key=what)]


_CODE = caseless(
    r"\b(?:python|rust|java|javascript|typescript|c\+\+|c#|golang|sql|haskell|kotlin|swift|ruby|php|scala|"
    r"elixir|html|css|excel|react|django|matlab|fortran|perl|lua|julia|cobol)(?!\w)"
)


def knows(vp: VerbPhrase, now: datetime) -> list[Draft]:
    if not vp.states("present") or not _CODE.search(vp.rest):
        return []
    return [Draft(vp.subject, "skill", one) for one in items(vp.rest) if _CODE.search(one) and len(one.split()) < 5]


# "I'm on an M2 MacBook Air".
IS_ON_DEVICE = Form("uses", _DEVICE, unless=("negated",))
# "I bank with Revolut".
_BANKS = Form("uses", r"with (?P<v>[A-Z][\w'&.-]*(?: [A-Z][\w'&.-]*)?)", "{word} with {v}", "{v}")
_CARRIES = Form("owns", r"an? |my |two ", "{word} {rest}", "{rest}")
VERBS: dict[str, Reader] = {
    "bank": _BANKS, "cancel": cancels, "owe": owes,
    "have": has, "own": owns, "buy": buys, "adopt": buys, "sell": sells, "get": buys, "drive": drives, "use": uses,
    "deploy": deploys, "host": deploys, "code": deploys, "program": deploys, "develop": deploys, "switch": switches,
    "migrate": switches, "play": plays, "carry": _CARRIES, "learn": learns,
}  # fmt: skip
