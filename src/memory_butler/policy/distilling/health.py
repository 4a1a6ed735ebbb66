"""Health, allergies and diet."""

import re
from datetime import datetime

from memory_butler.models import Permanence
from memory_butler.policy.distilling.dates import moment_in
from memory_butler.policy.distilling.found import Draft
from memory_butler.policy.distilling.values import cleaned, first_piece, items, value
from memory_butler.policy.distilling.verbs import Said
from memory_butler.policy.distilling.words import BODY, CONDITIONS, DIETS, FOODS, STATES, alternatives, spaced

_ALLERGIC = re.compile(r"(?:\w+ )?allergic to\s+(?P<v>.+)", re.IGNORECASE)
_INTOLERANT = re.compile(
    r"(?:\w+ )?(?P<v>intolerant (?:to|of)\s+.+|sensitive to\s+(?:gluten|dairy|lactose|caffeine|nuts|sunlight|"
    r"light|noise).*)",
    re.I,
)
_STATE = re.compile(
    r"(?:(?:legally|partially|totally|completely|severely|mildly|slightly|clinically|super|very|pretty|a bit|quite|"
    r"also|now|"
    r"\d{1,2}|six|seven|eight|five|four|three) (?:months? |weeks? )?)?"
    rf"(?P<v>(?:an? )?(?:{alternatives(STATES)})(?: in (?:my|his|her|their|one|the) (?:(?:left|right) )?(?:ears?|"
    rf"eyes?))?)"
    r"(?:[\s,;]|$)",
    re.IGNORECASE,
)
_DIET = re.compile(
    r"(?:(?:a|an|on a|on an|strict|strictly|mostly|completely|eating|going|trying to go|full|now|fully) "
    rf")*(?P<v>{alternatives(DIETS)})(?: diet)?(?:[\s,;]|$)",
    re.I,
)
_DIAGNOSED = re.compile(r"diagnosed (?:with|as)\s+(?P<v>.+)", re.IGNORECASE)
_RECOVERING = re.compile(
    r"(?P<v>(?:recovering from|being treated for|in remission from|undergoing|prone to)\s+.+)", re.I
)
_ON = re.compile(
    r"on\s+(?P<v>(?:[\w-]+ )?(?:insulin|antibiotics|medication|blood thinners|antidepressants|metformin|beta "
    r"blockers|statins|steroids|the pill|\w+(?:pril|statin|azole|oxetine|formin|azepam|thyroxine))\b.*)",
    re.I,
)
_OFF = re.compile(
    rf"(?:currently |completely )?off (?P<v>(?:the )?(?:{alternatives(FOODS)}|cigarettes|booze|drink|sweets|"
    rf"chocolate))\b",
    re.I,
)
# Said in jest: nobody is allergic to these.
_NO_ALLERGEN = re.compile(
    r"(?:mornings?|mondays?|work(?:ing)?|people|nonsense|bullshit|bs|stupidity|meetings?|drama|exercise|homework|"
    r"cleaning|cooking|"
    r"early mornings|small talk|fun|jira|javascript|java|php|tabs|spaces|company|change|commitment|him|her|it|you|"
    r"that|this)\b",
    re.I,
)
_ALLERGY = re.compile(
    r"(?:an? |some |any |severe |serious |bad |mild |bad |really |life-threatening |seasonal )*"
    r"(?:allergy to (?P<to>.+)|(?:reaction to (?P<reaction>.+))|(?P<v>[\w -]+?)[ -](?:allergy|allergies))(?:$|[,;.])",
    re.I,
)
_CONDITION = re.compile(
    rf"(?:(?:an?|some|really|very|quite|the|two|severe|serious|mild|chronic|bad|high|low|a bit of) )*"
    rf"(?P<v>(?:[\w'-]+ ){{0,4}}?(?:{alternatives(CONDITIONS)})(?: \w+ (?:disease|disorder))?)(?=[\s,;.]|$)",
    re.I,
)
_BAD = re.compile(
    r"an? (?P<v>(?:bad|weak|dodgy|broken|sprained|injured|torn|herniated|slipped|frozen|fractured|trapped|"
    rf"sore|stiff|replaced|pinched) (?:[\w-]+ )?(?:{alternatives(BODY)}|disc|nerve)\b)",
    re.I,
)
_MEDICINE = re.compile(
    r"(?:(?:\d+ ?(?:mg|mcg|ml|units) (?:of )?)|(?:my |his |her |their )?(?:daily "
    r")?)?(?P<v>[\w-]*(?:medication|medicine|pills?|insulin|ibuprofen|paracetamol|aspirin|antihistamines?|"
    r"vitamins?|supplements?|magnesium|melatonin|omeprazole|lisinopril|metformin|statins?|antidepressants?|"
    r"antibiotics|steroids|"
    r"blood thinners?|warfarin|ritalin|adderall|concerta|sertraline|prozac|lithium|inhaler|birth control|iron "
    r"tablets?|tablets?|"
    r"pril|sartan|olol|azole|oxetine|formin|azepam|thyroxine|cetirizine|loratadine|triptan|gabapentin|"
    r"methotrexate|prednisone)\b)",
    re.I,
)
_FOOD = re.compile(rf"\b(?:{alternatives(FOODS)})\b", re.IGNORECASE)
_WORN = re.compile(
    r"(?:an? |my |his |her |their |two )?(?:[\w-]+ )?(?:contact lenses|contacts|glasses|hearing aids?|dexcom|"
    r"insulin pump|brace|knee brace|retainer|pacemaker|compression \w+|cgm|orthotics|mouth ?guard|prosthe\w+|"
    r"medical \w+|wig|braces|night guard|bifocals|varifocals|freestyle libre)\b",
    re.I,
)
_HARMED = re.compile(rf"(?:my|his|her|their)\s+(?:left |right |lower |upper |big )?(?:{alternatives(BODY)})\b", re.I)
_STRAIN = spaced("""
lift bend kneel run walk stand climb squat hear
""")


def is_unwell(said: Said, now: datetime) -> list[Draft]:
    """What stands after "is" or "am" and tells of health or diet."""
    rest = said.rest
    if match := _DIAGNOSED.match(rest):
        found = [] if said.negated else items(match["v"])
        return [Draft(said.subject, "health", re.sub(r"^an? ", "", _dateless(one, now))) for one in found]
    if said.tense in ("past", "former", "future"):
        return []
    word = "no longer " if said.ended else "not " if said.negated else ""
    if match := _ALLERGIC.match(rest):
        word = f"{word}allergic to " if word else ""
        found = [one for one in items(match["v"]) if not _NO_ALLERGEN.match(one)]
        return [Draft(said.subject, "allergic_to", word + one, key=one) for one in found]
    if match := _DIET.match(rest):
        return [Draft(said.subject, "diet", word + match["v"], key=match["v"])]
    return [] if said.negated else _state(said, word)


def _state(said: Said, word: str) -> list[Draft]:
    if match := _STATE.match(said.rest):
        permanence = Permanence.VOLATILE if match["v"].lower() == "pregnant" else None
        content = word + re.sub("^an? ", "", match["v"])
        return [Draft(said.subject, "health", content, match["v"], permanence=permanence)]
    if match := _OFF.match(said.rest):
        kind = "diet" if _FOOD.search(match["v"]) else "habit"
        return [Draft(said.subject, kind, f"off {match['v']}", match["v"], permanence=Permanence.VOLATILE)]
    match = _INTOLERANT.match(said.rest) or _RECOVERING.match(said.rest) or _ON.match(said.rest)
    return [Draft(said.subject, "health", first_piece(match["v"]))] if match else []


def _dateless(text: str, now: datetime) -> str:
    when = moment_in(text, now, "past")
    return cleaned(text[: when.start]) if when else text


def has_condition(said: Said, now: datetime) -> list[Draft]:
    """ "Have asthma", "have a nut allergy", "have a bad knee"."""
    if said.tense not in ("present", "perfect"):
        return []
    rest = value(said.rest)
    rest = re.sub(r"^(?:been )?(?:struggling with|suffering from|dealing with) ", "", rest)
    if match := _ALLERGY.match(rest):
        what = match["to"] or match["reaction"] or match["v"]
        if re.fullmatch(r"(?:known|food|any|no|other|a few|many|these|my|seasonal|drug)", what or "", re.I):
            return (
                []
                if what.lower() != "seasonal"
                else [Draft(said.subject, "allergic_to", "seasonal allergies", "seasonal")]
            )
        word = "no longer allergic to " if said.ended else "not allergic to " if said.negated else ""
        return [Draft(said.subject, "allergic_to", word + one, key=one) for one in items(what)]
    if said.negated:
        return []
    found = []
    for one in items(rest):
        if match := _CONDITION.match(one) or _BAD.match(one):
            content = re.sub(r"^(?:an?|the|some) ", "", one)
            if len(content.split()) > 8:
                content = match["v"]
            found.append(
                Draft(said.subject, "health", ("no longer has " if said.ended else "") + content, key=match["v"])
            )
    return found


def suffers(said: Said, now: datetime) -> list[Draft]:
    match = re.match(r"(?:from|with)\s+(?P<v>.+)", said.rest)
    if not match or said.negated or said.modal or said.tense in ("past", "future"):
        return []
    if said.verb == "struggle" and not _CONDITION.search(match["v"]):
        return []
    return [Draft(said.subject, "health", one) for one in items(match["v"])]


def takes(said: Said, now: datetime) -> list[Draft]:
    if said.tense not in ("present", "ongoing", "perfect") or said.modal or said.negated:
        return []
    match = _MEDICINE.match(said.rest)
    if not match:
        return []
    if said.ended:
        return [Draft(said.subject, "health", f"no longer takes {match['v']}", key=match["v"])]
    return [Draft(said.subject, "health", f"{said.phrase.split()[0]} {value(said.rest)}", key=match["v"])]


def wears(said: Said, now: datetime) -> list[Draft]:
    if said.tense != "present" or said.negated or said.modal or not _WORN.match(said.rest):
        return []
    return [
        Draft(said.subject, "health", f"{said.phrase.split()[0]} {first_piece(said.rest)}", key=first_piece(said.rest))
    ]


def is_harmed(said: Said, now: datetime) -> list[Draft]:
    """ "Sprained my ankle yesterday"."""
    match = _HARMED.match(said.rest)
    if not match or said.tense not in ("past", "perfect") or said.negated:
        return []
    when = moment_in(said.rest, now, "past")
    content = f"{said.phrase.split()[0]} {match[0]}"
    return [Draft(said.subject, "health", content, match[0], when.day if when else None, Permanence.VOLATILE)]


_ONLY = re.compile(
    r"(?:only\s+)?(?:a\s+)?(?P<v>(?:strictly\s+)?(?:halal|kosher|vegan|vegetarian|plant-based|gluten-free|organic)\b.*)"
)
_DRUG = re.compile(
    r"(?:any )?(?:NSAIDs?|ibuprofen|aspirin|paracetamol|penicillin|antibiotics|codeine|morphine|painkillers|statins|"
    r"grapefruit|alcohol with|an? MRI|general anaesthetic|latex|vaccines?|the pill|hormones|steroids)\b",
    re.I,
)
_NOT_FOOD = re.compile(r"(?:out|here|there|at|it|that|this|before|after|late|breakfast|lunch|dinner|in)\b")


def eats(said: Said, now: datetime) -> list[Draft]:
    """What somebody does not eat or drink, cannot have, or eats only."""
    if said.tense not in ("present", "perfect", "ongoing") or said.modal == "wish":
        return []
    only = _ONLY.match(said.rest)
    if only and said.verb not in ("have", "drink") and not said.negated:
        return [Draft(said.subject, "diet", first_piece(only["v"]))]
    denied = said.negated or said.ended
    if said.verb in ("have", "do", "take", "tolerate"):
        denied = said.modal == "can" and said.negated
        if denied and _DRUG.match(said.rest):
            return [Draft(said.subject, "health", _denied(said, one), key=one) for one in items(said.rest)]
        denied = denied and _FOOD.search(said.rest) is not None
    if not denied or said.verb not in ("eat", "drink", "have", "do", "tolerate") or _NOT_FOOD.match(said.rest):
        return []
    if not said.rest:
        return [Draft(said.subject, "habit", _denied(said, "").strip(), key="alcohol")] if said.verb == "drink" else []
    kind = "habit" if said.verb == "drink" else "diet"
    return [
        Draft(said.subject, kind, _denied(said, one), key=re.sub(r"^(?:any|much) ", "", one))
        for one in items(said.rest)
    ]


def _denied(said: Said, what: str) -> str:
    if said.ended:
        return f"no longer {said.verb}s {what}"
    if said.modal == "can":
        return f"cannot {said.verb} {what}".strip()
    return f"never {said.verb}s {what}" if said.often == "never" else f"does not {said.verb} {what}"


def avoids(said: Said, now: datetime) -> list[Draft]:
    if said.tense not in ("present", "ongoing", "perfect") or said.negated or said.modal:
        return []
    rest = re.sub(r"^(?:eating|drinking|having)\s+", "", said.rest)
    if not _FOOD.search(rest):
        return []
    return [Draft(said.subject, "diet", f"{said.phrase.split()[0]} {one}", key=one) for one in items(rest)]


def smokes(said: Said, now: datetime) -> list[Draft]:
    if said.modal or (said.tense in ("past", "future", "former") and not said.negated):
        return []
    verb = said.phrase.split()[0].lower()
    if said.ended:
        return [Draft(said.subject, "habit", f"no longer {said.verb}s", key=said.verb)]
    if said.negated:
        word = f"never {verb}" if said.often == "never" else f"does not {said.verb}"
        return [Draft(said.subject, "habit", word, key=said.verb)]
    return (
        []
        if said.tense != "present" or re.match(r"(?:a |the |some )?(?:meat|brisket|ribs|salmon)", said.rest)
        else [Draft(said.subject, "habit", cleaned(f"{verb} {first_piece(said.rest)}"), key=said.verb)]
    )


def gives_up(said: Said, now: datetime) -> list[Draft]:
    """ "Gave up sugar", "quit smoking", "stopped eating meat"."""
    if said.tense not in ("past", "perfect") or said.negated:
        return []
    rest = said.rest
    if said.verb in ("give", "cut"):
        match = re.match(r"(?:up|out)\s+(?P<v>.+)", rest)
        if not match:
            return []
        rest = match["v"]
    rest = re.sub(r"\s+for\s+\w+$", "", _dateless(value(rest), now))
    activity = re.match(
        r"(?P<verb>eating|drinking|smoking|vaping|using|taking|playing|buying|having)\b\s*(?P<v>.*)", rest
    )
    if activity:
        what, verb = activity["v"], activity["verb"]
        kind = {"eating": "diet", "using": "uses", "taking": "health"}.get(verb, "habit")
        base = {"smoking": "smoke", "vaping": "vape"}.get(verb, "")
        return [Draft(said.subject, kind, f"no longer {verb} {what}".strip(), key=what or base or verb)]
    if food := _FOOD.fullmatch(rest):
        kind = (
            "habit" if food[0].lower() in ("coffee", "alcohol", "caffeine", "beer", "wine", "tea", "soda") else "diet"
        )
        return [Draft(said.subject, kind, f"gave up {rest}", key=rest)]
    return []


def cannot(said: Said, now: datetime) -> list[Draft]:
    """What somebody is not able to do: lift, swim, drive."""
    if (
        said.modal != "can"
        or not said.negated
        or said.tense != "present"
        or (not said.told_by_speaker and said.verb == "hear")
    ):
        return []
    if (
        said.verb in _STRAIN
        and re.match(r"(?:heavy|for (?:long|more)|long|down|stairs|far|properly|well|over)\b|$", said.rest) is not None
        and said.rest
    ):
        return [Draft(said.subject, "health", f"cannot {said.verb} {first_piece(said.rest)}")]
    if (
        said.verb in ("swim", "drive", "cook", "ride", "read", "sing", "ski", "speak")
        and len(said.rest.split()) < 4
        and not re.search(r"\b(?:today|tomorrow|now|here|this|it|tonight)\b", said.rest)
    ):
        return [Draft(said.subject, "skill", f"cannot {said.verb} {said.rest}".strip(), key=f"{said.verb} {said.rest}")]
    return []


def reports(said: Said, now: datetime) -> list[Draft]:
    """ "Reports pain in the left knee", "complains of headaches"."""
    match = _SYMPTOM.match(said.rest)
    if not match or said.negated or said.modal or said.tense not in ("present", "past", "perfect"):
        return []
    return [
        Draft(
            said.subject,
            "health",
            cleaned(re.sub(r"\s+since\b.*", "", first_piece(match["v"]))),
            permanence=Permanence.VOLATILE,
        )
    ]


_SYMPTOM = re.compile(
    rf"(?:of |having |some |a |having some )*(?P<v>(?:[\w-]+ ){{0,2}}?(?:pain|pains|ache|aches|swelling|stiffness|"
    rf"numbness|tingling|"
    rf"headaches?|dizziness|nausea|fatigue|insomnia|cramps|palpitations|{alternatives(CONDITIONS)})\b.*)",
    re.I,
)


def grinds(said: Said, now: datetime) -> list[Draft]:
    match = re.match(r"(?:my|his|her|their) teeth\b", said.rest)
    if not match or said.negated or said.modal or said.tense != "present":
        return []
    return [Draft(said.subject, "health", f"{said.phrase.split()[0]} {match[0]}", key="teeth")]


def needs(said: Said, now: datetime) -> list[Draft]:
    """What somebody cannot do without: step-free access, subtitles."""
    match = _NEEDED.match(said.rest)
    if not match or said.negated or said.modal or said.tense != "present":
        return []
    return [Draft(said.subject, "health", f"{said.phrase.split()[0]} {first_piece(match['v'])}", key=match["v"])]


_NEEDED = re.compile(
    r"(?P<v>(?:an? |the )?(?:step-free access|wheelchair access|disabled parking|ground[- ]floor \w+|accessible \w+|"
    r"subtitles|captions|"
    r"large print|a lift|lifts|an interpreter|a sign language interpreter|reading glasses|a screen reader|a service "
    r"dog|"
    r"a guide dog))\b",
    re.I,
)


def keeps(said: Said, now: datetime) -> list[Draft]:
    return eats(said, now) or gets_ill(said, now)


def gets_ill(said: Said, now: datetime) -> list[Draft]:
    """ "Keep getting headaches", "get migraines"."""
    match = re.match(
        r"(?:getting |having )?(?:(?:really|very|bad|terrible|frequent|regular|awful|nasty) )*(?P<v>(?:[\w-]+ "
        rf")?(?:{alternatives(CONDITIONS)}|hay fever|headaches|nosebleeds|panic attacks|backache|seasick|carsick|"
        rf"motion "
        r"sick(?:ness)?|nosebleeds|hives|cold sores|chest pains?|dizzy spells|vertigo|heartburn|cramps))\b",
        said.rest,
        re.I,
    )
    if not match or said.tense != "present" or said.negated or said.modal:
        return []
    cause = re.match(r"\s+(?P<v>(?:from|on|when|after|if I|in|with)\s+[\w ]{2,40})", said.rest[match.end() :])
    content = match["v"] + (f" {cleaned(cause['v'])}" if cause else "")
    return [Draft(said.subject, "health", content, key=match["v"])]


VERBS = {
    "get": gets_ill, "suffer": suffers, "struggle": suffers, "take": takes, "wear": wears, "break": is_harmed,
    "sprain": is_harmed, "injure": is_harmed, "fracture": is_harmed, "hurt": is_harmed, "tear": is_harmed,
    "twisted": is_harmed, "pulled": is_harmed, "eat": eats, "drink": eats, "have": eats, "follow": eats,
    "keep": keeps, "avoid": avoids, "smoke": smokes, "vape": smokes, "tolerate": eats, "grind": grinds, "need": needs,
    "report": reports, "complain": reports,
}  # fmt: skip
ENDINGS = {"give": gives_up, "cut": gives_up, "stop": gives_up, "quit": gives_up}
