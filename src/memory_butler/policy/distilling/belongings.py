"""Possessions, pets, relatives that somebody has, tools and skills."""

import re
from datetime import datetime

from memory_butler.policy.distilling.dates import moment_in
from memory_butler.policy.distilling.found import Draft
from memory_butler.policy.distilling.names import NAME, RELATION, is_name
from memory_butler.policy.distilling.people import relationship, singular
from memory_butler.policy.distilling.values import cleaned, first_piece, items, value
from memory_butler.policy.distilling.verbs import Said
from memory_butler.policy.distilling.words import LANGUAGES, PETS, PLURAL, RELATIONS, THINGS, alternatives

_COUNT = r"(?:(?:an?|one|two|three|four|five|six|seven|eight|\d{1,2}|another|some|no|any|several)\b)"
_RELATIVES = re.compile(
    rf"(?P<count>{_COUNT}|)\s*(?P<role>(?i:twin (?:boys|girls|sons|daughters)|"
    rf"(?:[\w-]+\s){{0,2}}?(?:{alternatives(RELATIONS)}|boys?|girls?)))\b"
    r"(?:\s*,?\s+(?:(?:who(?:'s| is| are)|called|named|and (?:his|her|their) names? (?:is|"
    rf"are))\s+)*(?P<names>{NAME}(?:\s?\([^)]*\))?(?:(?:,\s+and\s+|,\s+|\s+and\s+){NAME}(?:\s?\([^)]*\))?)*))?"
)
_PET = re.compile(
    rf"(?P<count>(?i:{_COUNT}|our|"
    rf"my))\s+(?P<what>(?:(?!and\b|or\b|with\b|"
    rf"for\b)[\w'-]+\s){{0,4}}?(?i:{alternatives(PETS)}))\b(?P<more>\s+(?:puppy|kitten|mix|cross|"
    r"dog|cat))?"
    rf"(?:\s*,?\s+(?:called\s+|named\s+)?(?P<names>{NAME}(?:(?:,\s+|\s+and\s+){NAME})*))?",
)
_AND_MORE = re.compile(r"\s+and\s+(?=(?:an?|two|three|four|five|\d|my|our)\s)")
_PET_NAMES = re.compile(rf"{NAME}")
_THING = re.compile(rf"\b(?:{alternatives(THINGS)})\b", re.IGNORECASE)
_DETERMINED = re.compile(r"(?:an?|two|three|four|\d+|my own|our own|the|several|some|another)\s+|[A-Z]")
_NOT_OWNED = re.compile(
    r"(?:question|problem|issue|idea|feeling|headache|cold|meeting|call|appointment|doubt|look|chance|minute|"
    r"second|moment|bug|"
    r"error|task|file|plan|favou?r|point|hard time|busy|long day|good|great|lot|bit|few|couple|hunch|"
    r"suggestion|thought|fever|day|time)\b",
    re.IGNORECASE,
)
_PASSING = re.compile(
    r"(?:it|this|that|these|those|them|you|your|the (?:same|following|above|command|code|function|wrong|"
    r"first)|what|all|my (?:own )?(?:name|account|email|phone to)|an? (?:for|while|lot|bit|loop))\b",
    re.I,
)
_TOOL_TAIL = re.compile(
    r"\s+(?:to (?!do\b)\w+|every|each|all|on a|at (?:work|home)|when|daily|because|in (?:my|our|the))\b.*|"
    r"\s+as (?:my|our|their|the|an?)\b.*"
)
_INSTRUMENT = re.compile(
    r"(?:the |a bit of |some )?(?:\w+ )?(?P<v>guitar|piano|violin|cello|drums|bass|sax|saxophone|flute|"
    r"clarinet|trumpet|trombone|ukulele|harp|banjo|accordion|"
    r"viola|oboe|harmonica|mandolin|keyboard|keyboards|organ|bagpipes|double bass|french horn|tuba|sitar|"
    r"tabla|oud|fiddle)\b",
    re.I,
)

_SPORT = re.compile(
    r"(?:a lot of |some )?(?P<v>(?:[\w-]+ )?(?:tennis|football|soccer|basketball|chess|golf|cricket|rugby|"
    r"hockey|badminton|"
    r"volleyball|squash|bridge|poker|padel|handball|baseball|softball|rounders|go|darts|pool|snooker|pickleball|d&d|"
    r"dungeons and dragons|ultimate frisbee|ultimate|ping pong|table tennis|board games|video games|water polo|netball|"
    r"futsal))\b",
    re.I,
)


def has(said: Said, now: datetime) -> list[Draft]:
    """ "Have two kids, Mia and Leo", "have a greyhound called Biscuit", "have an old Brompton"."""
    if said.tense not in ("present", "perfect") or said.modal:
        return []
    rest = said.rest
    if budget := re.match(r"an? (?:[\w-]+ )?budget of .+", rest):
        return [Draft(said.subject, "note", first_piece(re.sub(r"^an? ", "", budget[0])), key="budget")]
    if match := _RELATIVES.match(rest):
        found = _relatives(said, match)
        following = re.sub(r"^\s*,?\s*(?:and\s+)", "", rest[match.end() :])
        if found and following != rest[match.end() :] and (other := _RELATIVES.match(following)):
            found += _relatives(said._replace(rest=following), other)
        if found:
            return found
    found = _pets(said, rest)
    if found:
        return found
    if (more := _AND_MORE.search(rest)) and (pets := _pets(said, rest[more.end() :])):
        return _things(said, rest[: more.start()], known=True) + pets
    return [] if said.negated and not _THING.search(rest) else _things(said, rest, known=True)


def _relatives(said: Said, match: re.Match[str]) -> list[Draft]:
    role = match["role"].lower()
    if match["names"] is None and match["count"] == "":
        return []
    if said.negated or match["count"] == "no":
        return [Draft(said.subject, "relationship", f"no {role}", key=role)]
    if match["names"]:
        names = [
            (one[0], one[1]) for one in re.findall(rf"({NAME})(?:\s?\((?:aged? )?(\d{{1,2}})[^)]*\))?", match["names"])
        ]
        single = singular(role) if role.split()[-1] in PLURAL | {"boys", "girls"} else role
        found = [relationship(said.subject, single, name) for name, _ in names if is_name(name)]
        return found + [Draft(name, "age", age) for name, age in names if age and is_name(name)]
    if (
        match.end() < len(said.rest)
        and re.match(r"\s*(?:['-]|\w)", said.rest[match.end() :])
        and not re.match(
            r"\s+(?:in|at|who|and|from|aged|living|together|now|too|called|named|but)\b", said.rest[match.end() :]
        )
    ):
        return []
    return [Draft(said.subject, "relationship", cleaned(f"{match['count']} {role}"), key=role)]


def _pets(said: Said, rest: str) -> list[Draft]:
    match = _PET.match(rest)
    if not match or re.match(
        r"\s+(?:allergy|person|lover|hair|food|sitter|in (?:this|the) (?:race|fight))", rest[match.end() :]
    ):
        return []
    what = (match["what"] + (match["more"] or "")).strip()
    following = re.sub(r"^\s*,?\s*(?:and\s+)?", "", rest[match.end() :])
    others = _pets(said, following) if following and following != rest[match.end() :] else []
    return _pet(said, match, what) + others


def _pet(said: Said, match: re.Match[str], what: str) -> list[Draft]:
    if said.ended or said.negated:
        word = "no longer has" if said.ended else "does not have"
        return [Draft(said.subject, "pet", f"{word} {match['count']} {what}", key=what)]
    names = [name for name in _PET_NAMES.findall(match["names"] or "") if name[0].isupper() and is_name(name)]
    if names:
        one = singular(what) if match["count"].lower() not in ("a", "an", "one", "my", "our") else what
        return [Draft(said.subject, "pet", f"{one} {name}", key=name) for name in names]
    return [Draft(said.subject, "pet", f"{match['count']} {what}", key=what)]


def pets_along(said: Said) -> list[Draft]:
    """ "Lives in Utrecht with two cats"."""
    match = re.search(rf"\b(?:with|and)\s+(?=(?i:{_COUNT}|our|my)\s)(?P<v>.+)", said.rest)
    return (
        _pets(said._replace(negated=False, ended=False), match["v"])
        if match and not said.negated and not said.ended
        else []
    )


_KEYS = re.compile(r"\bkeys?\b|\b(?:permission|access|rights)\b", re.I)
_THING_TAIL = re.compile(
    r"\s+(?:for (?:\w+ing|my|the|his|her|their)|that(?:'s)?|on (?:a )?(?:lease|finance)|which|running|with (?:a|an|"
    r"the|my)|from (?:the|my|work|an?))\b.*"
)


def _things(said: Said, rest: str, *, known: bool) -> list[Draft]:
    found = []
    for item in items(rest):
        one = cleaned(_THING_TAIL.sub("", item))
        none = re.match(r"no (?P<v>.+)", one)
        if not one or re.match(r"(?:it|this|that|one|them|some|any|no)$", one, re.I):
            continue
        if _KEYS.search(one) or ((known or none) and (not _THING.search(one) or _NOT_OWNED.search(one))):
            continue
        key = none["v"] if none else re.sub(r"^(?:any|an?|my|our|the|old|new|used) ", "", one)
        if said.ended:
            one = f"no longer {'owns' if said.verb == 'own' else 'has'} {key}"
        elif said.negated:
            one = f"does not {said.verb} {one}"
        found.append(Draft(said.subject, "owns", one, key=key))
    return found


def owns(said: Said, now: datetime) -> list[Draft]:
    if (
        said.tense not in ("present", "perfect")
        or said.modal
        or re.match(r"(?:it|this|that|the (?:task|decision|code))\b|up\b", said.rest)
    ):
        return []
    return _pets(said, said.rest) or _things(said, said.rest, known=False)


def buys(said: Said, now: datetime) -> list[Draft]:
    """Bought something: it is owned; with a day it is an event, told elsewhere."""
    rest = re.sub(r"^(?:myself|us|ourselves|himself|herself|themselves) ", "", said.rest)
    if said.tense not in ("past", "perfect") or said.negated or said.modal or moment_in(rest, now, "past"):
        return []
    found = _pets(said._replace(rest=rest), rest)
    if not found and (more := _AND_MORE.search(rest)):
        pets = _pets(said, rest[more.end() :])
        found = _things(said, rest[: more.start()], known=True) + pets if pets else []
    if found or said.verb == "adopt" or not _DETERMINED.match(rest) or (said.verb == "get" and not _THING.search(rest)):
        return found
    return [one for one in _things(said, first_piece(rest), known=said.verb == "get") if not _consumed(one.content)]


def sells(said: Said, now: datetime) -> list[Draft]:
    what = re.sub(r"^(?:my|our|the|his|her|their) ", "", first_piece(said.rest))
    if said.tense not in ("past", "perfect") or said.negated or said.modal or not _THING.search(what):
        return []
    return (
        [] if moment_in(said.rest, now, "past") else [Draft(said.subject, "owns", f"no longer owns {what}", key=what)]
    )


def _consumed(what: str) -> bool:
    return bool(
        re.search(
            r"\b(?:ticket|tickets|coffee|groceries|lunch|dinner|food|drinks?|milk|bread|gift|present|flowers|round|"
            r"beer|cake)\b",
            what,
            re.I,
        )
    )


def drives(said: Said, now: datetime) -> list[Draft]:
    if said.tense != "present" or said.modal or not re.match(r"(?:an?|my|our|the family)\s", said.rest):
        return []
    what = first_piece(said.rest)
    if re.search(r"\b(?:hard bargain|lot|crazy|few)\b", what):
        return []
    if said.negated:
        return []
    return [Draft(said.subject, "drives", f"no longer drives {what}" if said.ended else what)]


def uses(said: Said, now: datetime) -> list[Draft]:
    """Tools in present use."""
    if said.tense not in ("present", "ongoing", "perfect") or said.modal or _PASSING.match(said.rest):
        return []
    found = []
    for item in items(said.rest):
        one = cleaned(_TOOL_TAIL.sub("", item))
        key = re.sub(r"\s+(?:for|with|on|in)\b.*", "", one)
        if not one or _PASSING.match(one):
            continue
        word = "no longer uses " if said.ended else "does not use " if said.negated else ""
        found.append(Draft(said.subject, "uses", word + re.sub(r"^any ", "", one), key=re.sub(r"^any ", "", key)))
    return found


_DEVICE = re.compile(
    r"on (?P<v>(?:an? |the )?(?:[\w.]+ ){0,3}?(?:MacBook(?: (?:Air|Pro))?|iPhone|iPad|Android|ThinkPad|Chromebook|"
    r"Pixel|Mac|Windows|Linux|Ubuntu|Fedora|Arch|"
    r"Debian|NixOS|macOS)(?: \d+)?)(?=$|[,;.]| (?:with|so|and|but|now|because)\b)"
)


def is_on_device(said: Said, now: datetime) -> list[Draft]:
    """ "I'm on an M2 MacBook Air"."""
    match = _DEVICE.match(said.rest)
    if not match or said.tense != "present" or said.negated:
        return []
    return [Draft(said.subject, "uses", match["v"], key=re.sub(r"^(?:an?|the) ", "", match["v"]))]


def owes(said: Said, now: datetime) -> list[Draft]:
    """ "I owe my brother Marek 300 quid"."""
    match = re.match(r"(?P<who>(?:my |his |her |their )?[\w' ]{2,30}?) (?P<v>[€£$]?\d[\d.,]*\s?\w*)", said.rest)
    if not match or said.tense != "present" or said.negated or said.modal:
        return []
    return [Draft(said.subject, "note", cleaned(f"{said.phrase.split()[0]} {match[0]}"), key=f"owe {match['who']}")]


def banks(said: Said, now: datetime) -> list[Draft]:
    """ "I bank with Revolut"."""
    match = re.match(r"with (?P<v>[A-Z][\w'&.-]*(?: [A-Z][\w'&.-]*)?)", said.rest)
    if not match or said.tense != "present" or said.negated or said.modal:
        return []
    return [Draft(said.subject, "uses", f"{said.phrase.split()[0]} with {match['v']}", key=match["v"])]


def cancels(said: Said, now: datetime) -> list[Draft]:
    """ "Cancelled my gym membership and my Netflix"; a wedding or a trip that is called off is told elsewhere."""
    if said.tense not in ("past", "perfect") or said.negated or said.modal:
        return []
    found = []
    for one in items(said.rest):
        what = re.sub(r"^(?:my|our|his|her|their|the) ", "", one)
        if what != one and (
            re.search(r"\b(?:membership|subscription|contract|account|plan)$", what) or what[:1].isupper()
        ):
            found.append(Draft(said.subject, "uses", f"cancelled {what}", key=what))
    return found


def deploys(said: Said, now: datetime) -> list[Draft]:
    """ "We deploy to Fly.io", "I code in Elixir"."""
    match = re.match(r"(?:\w+ )?(?:to|on|in|with|through|via)\s+(?P<v>[A-Z][\w.+#-]*(?: [A-Z\d][\w.+#-]*)*)", said.rest)
    if not match or said.tense != "present" or said.modal or said.negated or said.often:
        return []
    if re.match(r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day", match["v"]):
        return []
    return [Draft(said.subject, "uses", match["v"])]


def switches(said: Said, now: datetime) -> list[Draft]:
    """ "Switched from Vim to Helix": the new one is used, the old one no longer."""
    match = re.match(r"(?:over )?(?:from (?P<old>.+?) )?(?:over )?to (?P<new>.+)", said.rest)
    if not match or said.tense not in ("past", "perfect") or said.negated or said.modal:
        return []
    new = first_piece(match["new"])
    when = moment_in(new, now, "past")
    new = cleaned(new[: when.start]) if when else new
    if re.match(r"(?:decaf|tea|oat|a vegan|a plant|vegan)", new) or not new or len(new.split()) > 5:
        return []
    if re.match(r"(?:the|a|an|this|that|branch|another)\b", new):
        return []
    found = [Draft(said.subject, "uses", new)]
    if match["old"]:
        found.append(Draft(said.subject, "uses", f"no longer uses {match['old']}", key=match["old"]))
    return found


def plays(said: Said, now: datetime) -> list[Draft]:
    """An instrument is a skill; a sport or a game is told as a habit."""
    if said.tense not in ("present", "ongoing", "perfect") or said.modal == "wish":
        return []
    verb = "no longer plays" if said.ended else "does not play" if said.negated else said.phrase.split()[0]
    if match := _INSTRUMENT.match(said.rest):
        return [Draft(said.subject, "skill", f"{verb} {match[0]}", key=match["v"])]
    match = _SPORT.match(said.rest)
    if not match or said.negated or said.ended or said.modal or said.tense != "present":
        return []
    return [Draft(said.subject, "habit", f"{verb} {value(said.rest)}", key=f"play {match['v']}")]


def carries(said: Said, now: datetime) -> list[Draft]:
    if said.tense != "present" or said.negated or said.modal or not re.match(r"an?\s|my\s|two\s", said.rest):
        return []
    return [
        Draft(said.subject, "owns", f"{said.phrase.split()[0]} {first_piece(said.rest)}", key=first_piece(said.rest))
    ]


def can(said: Said, now: datetime) -> list[Draft]:
    """ "Can juggle", "can speak Dutch"."""
    known = "cook|swim|code|juggle|sail|knit|sew|drive|ski|surf|dance|sing|draw|paint|bake|type|touch-type|weld"
    if said.modal != "can" or said.negated or said.tense != "present" or not re.fullmatch(known, said.verb):
        return []
    if re.search(r"\b(?:you|it|this|that|tomorrow|today|tonight|there|if|on|for)\b", said.rest):
        return []
    return [Draft(said.subject, "skill", cleaned(f"{said.verb} {first_piece(said.rest)}"))]


def learns(said: Said, now: datetime) -> list[Draft]:
    """ "Learning Italian", "taking up pottery"."""
    if said.tense not in ("ongoing", "perfect") or said.negated or said.modal:
        return []
    rest = first_piece(said.rest)
    what = re.sub(r"^(?:how )?to ", "", rest)
    language = re.match(rf"(?:some )?(?:{alternatives(LANGUAGES)})\b", what, re.I)
    if not language and not re.match(
        r"(?:(?:the )?(?:guitar|piano|violin|drums|cello|ukulele)|[A-Z]\w+|to \w+|(?:play|drive|swim|knit|sew|"
        r"code|cook|weld|sail|paint|draw|dance)\b|pottery|woodworking|photography)",
        what,
    ):
        return []
    return [Draft(said.subject, "skill", f"{said.phrase.split()[0]} {rest}", key=what)]


_CODE = re.compile(
    r"\b(?:python|rust|java|javascript|typescript|c\+\+|c#|golang|sql|haskell|kotlin|swift|ruby|php|scala|"
    r"elixir|html|css|excel|react|django|matlab|fortran|perl|lua|julia|cobol)(?!\w)",
    re.I,
)


def knows(said: Said, now: datetime) -> list[Draft]:
    if said.tense != "present" or said.negated or said.modal or not _CODE.search(said.rest):
        return []
    return [Draft(said.subject, "skill", one) for one in items(said.rest) if _CODE.search(one) and len(one.split()) < 5]


VERBS = {
    "bank": banks, "cancel": cancels, "owe": owes,
    "have": has, "own": owns, "buy": buys, "adopt": buys, "sell": sells, "get": buys, "drive": drives, "use": uses,
    "deploy": deploys, "host": deploys, "code": deploys, "program": deploys, "develop": deploys, "switch": switches,
    "migrate": switches, "play": plays, "carry": carries, "learn": learns,
}  # fmt: skip
__all__ = ["RELATION", "VERBS", "can", "pets_along"]
