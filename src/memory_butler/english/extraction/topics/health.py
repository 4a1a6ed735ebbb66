"""Health, allergies and diet."""

import re
from datetime import datetime

from memory_butler.english.extraction.findings import Draft
from memory_butler.english.extraction.grammar.forms import Form, Reader
from memory_butler.english.extraction.grammar.values import before_date, cleaned, first_piece, items, value
from memory_butler.english.extraction.grammar.verbs import VerbPhrase
from memory_butler.english.extraction.grammar.word_lists import BODY, CONDITIONS, DIETS, FOODS, STATES
from memory_butler.english.text.word_sets import alternatives, caseless, phrase_set, word_set
from memory_butler.english.time.event_dates import find_event_date
from memory_butler.models import Permanence

_ALLERGIC = caseless(r"(?:\w+ )?allergic to (?P<v>.+)")
_INTOLERANT = caseless(
    r"(?:\w+ )?(?P<v>intolerant (?:to|of) .+|sensitive to (?:gluten|dairy|lactose|caffeine|nuts|sunlight|"
    r"light|noise).*)"
)
_STATE = caseless(
    r"(?:(?:legally|partially|totally|completely|severely|mildly|slightly|clinically|super|very|pretty|a bit|quite|"
    r"also|now|\d{1,2}|six|seven|eight|five|four|three) (?:months? |"
    rf"weeks? )?)?(?P<v>(?:an? )?(?:{alternatives(STATES)})(?: in (?:my|his|her|their|one|the) (?:(?:left|"
    r"right) )?(?:ears?|eyes?))?)(?:[ ,;]|$)"
)
_DIET = caseless(
    r"(?:(?:a|an|on a|on an|strict|strictly|mostly|completely|eating|going|trying to go|full|now|fully) "
    rf"){{0,4}}(?P<v>{alternatives(DIETS)})(?: diet)?(?:[ ,;]|$)"
)
_DIAGNOSED = caseless(r"diagnosed (?:with|as) (?P<v>.+)")
_RECOVERING = caseless(r"(?P<v>(?:recovering from|being treated for|in remission from|undergoing|prone to) .+)")
_ON = caseless(
    r"on (?P<v>(?:[\w-]+ )?(?:insulin|antibiotics|medication|blood thinners|antidepressants|metformin|beta "
    r"blockers|statins|steroids|the pill|\w+(?:pril|statin|azole|oxetine|formin|azepam|thyroxine))\b.*)"
)
_OFF = caseless(
    rf"(?:currently |completely )?off (?P<v>(?:the )?(?:{alternatives(FOODS)}|cigarettes|booze|drink|sweets|"
    rf"chocolate))\b"
)
# Jokes: "allergic to Mondays".
_NO_ALLERGEN = caseless(
    r"(?:mornings?|mondays?|work(?:ing)?|people|nonsense|bullshit|bs|stupidity|meetings?|drama|exercise|homework|"
    r"cleaning|cooking|early mornings|small talk|fun|jira|javascript|java|php|tabs|spaces|company|change|commitment|"
    r"him|her|it|you|that|this)\b"
)
_ALLERGY = caseless(
    r"(?:an? |some |any |severe |serious |bad |mild |bad |really |life-threatening |seasonal ){0,4}"
    r"(?:allergy to (?P<to>.+)|(?:reaction to (?P<reaction>.+))|(?P<v>[\w -]{1,60}?)[ -](?:allergy|allergies))"
    r"(?:$|[,;.])"
)
_UNNAMED_ALLERGENS = phrase_set("known, food, any, no, other, a few, many, these, my, drug")
_CONDITION = caseless(
    rf"(?:(?:an?|some|really|very|quite|the|two|severe|serious|mild|chronic|bad|high|low|a bit of) ){{0,4}}"
    rf"(?P<v>(?:[\w'-]+ ){{0,4}}?(?:{alternatives(CONDITIONS)})(?: \w+ (?:disease|disorder))?)(?=[ ,;.]|$)"
)
_BAD = caseless(
    r"an? (?P<v>(?:bad|weak|dodgy|broken|sprained|injured|torn|herniated|slipped|frozen|fractured|trapped|"
    rf"sore|stiff|replaced|pinched) (?:[\w-]+ )?(?:{alternatives(BODY)}|disc|nerve)\b)"
)
_MEDICINE = caseless(
    r"(?:(?:\d+ ?(?:mg|mcg|ml|units) (?:of )?)|(?:my |his |her |their )?(?:daily )?)?(?P<v>[\w-]{0,24}(?:medication|"
    r"medicine|pills?|insulin|ibuprofen|paracetamol|aspirin|antihistamines?|vitamins?|supplements?|magnesium|"
    r"melatonin|omeprazole|lisinopril|metformin|statins?|antidepressants?|antibiotics|steroids|blood thinners?|"
    r"warfarin|ritalin|adderall|concerta|sertraline|prozac|lithium|inhaler|birth control|iron tablets?|tablets?|pril|"
    r"sartan|olol|azole|oxetine|formin|azepam|thyroxine|cetirizine|loratadine|triptan|gabapentin|methotrexate|"
    r"prednisone)\b)"
)
_FOOD = caseless(rf"\b(?:{alternatives(FOODS)})\b")
_WORN = caseless(
    r"(?:an? |my |his |her |their |two )?(?:[\w-]+ )?(?:contact lenses|contacts|glasses|hearing aids?|dexcom|"
    r"insulin pump|brace|knee brace|retainer|pacemaker|compression \w+|cgm|orthotics|mouth ?guard|prosthe\w+|"
    r"medical \w+|wig|braces|night guard|bifocals|varifocals|freestyle libre)\b"
)
_HARMED = caseless(rf"(?:my|his|her|their) (?:left |right |lower |upper |big )?(?:{alternatives(BODY)})\b")
_STRAINING = re.compile(r"(?:heavy|for (?:long|more)|long|down|stairs|far|properly|well|over)\b")
_STRAIN = word_set("lift bend kneel run walk stand climb squat hear")


def is_unwell(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """Health or diet after "is" or "am"."""
    rest = vp.rest
    if match := _DIAGNOSED.match(rest):
        found = [] if vp.negated else items(match["v"])
        return [Draft(vp.subject, "health", re.sub(r"^an? ", "", before_date(one, now))) for one in found]
    if vp.tense in ("past", "former", "future"):
        return []
    word = "no longer " if vp.ended else "not " if vp.negated else ""
    if match := _ALLERGIC.match(rest):
        word = f"{word}allergic to " if word else ""
        found = [one for one in items(match["v"]) if not _NO_ALLERGEN.match(one)]
        return [Draft(vp.subject, "allergic_to", word + one, key=one) for one in found]
    if match := _DIET.match(rest):
        return [Draft(vp.subject, "diet", word + match["v"], key=match["v"])]
    return [] if vp.negated else _state(vp, word)


def _state(vp: VerbPhrase, word: str) -> list[Draft]:
    if match := _STATE.match(vp.rest):
        permanence = Permanence.VOLATILE if match["v"].lower() == "pregnant" else None
        content = word + re.sub("^an? ", "", match["v"])
        return [Draft(vp.subject, "health", content, match["v"], permanence=permanence)]
    if match := _OFF.match(vp.rest):
        kind = "diet" if _FOOD.search(match["v"]) else "habit"
        return [Draft(vp.subject, kind, f"off {match['v']}", match["v"], permanence=Permanence.VOLATILE)]
    match = _INTOLERANT.match(vp.rest) or _RECOVERING.match(vp.rest) or _ON.match(vp.rest)
    return [Draft(vp.subject, "health", first_piece(match["v"]))] if match else []


def goes_on_diet(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "Went vegan in January", "turned vegetarian"."""
    match = _DIET.match(vp.rest) if vp.states("past", "perfect") and not vp.ended else None
    return [Draft(vp.subject, "diet", match["v"], key=match["v"])] if match else []


def has_condition(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "Have asthma", "have a nut allergy", "have a bad knee"."""
    if vp.tense not in ("present", "perfect"):
        return []
    rest = value(vp.rest)
    rest = re.sub(r"^(?:been )?(?:struggling with|suffering from|dealing with) ", "", rest)
    if match := _ALLERGY.match(rest):
        what = match["to"] or match["reaction"] or match["v"]
        if what.lower() == "seasonal":
            return [Draft(vp.subject, "allergic_to", "seasonal allergies", "seasonal")]
        if what.lower() in _UNNAMED_ALLERGENS:
            return []
        word = "no longer allergic to " if vp.ended else "not allergic to " if vp.negated else ""
        return [Draft(vp.subject, "allergic_to", word + one, key=one) for one in items(what)]
    if vp.negated:
        return []
    found = []
    for one in items(rest):
        if match := _CONDITION.match(one) or _BAD.match(one):
            content = re.sub(r"^(?:an?|the|some) ", "", one)
            if len(content.split()) > 8:
                content = match["v"]
            found.append(Draft(vp.subject, "health", ("no longer has " if vp.ended else "") + content, key=match["v"]))
    return found


def suffers(vp: VerbPhrase, now: datetime) -> list[Draft]:
    match = re.match(r"(?:from|with) (?P<v>.+)", vp.rest)
    if not match or vp.negated or vp.modal or vp.tense in ("past", "future"):
        return []
    if vp.verb == "struggle" and not _CONDITION.search(match["v"]):
        return []
    return [Draft(vp.subject, "health", one) for one in items(match["v"])]


def takes(vp: VerbPhrase, now: datetime) -> list[Draft]:
    if not vp.states("present", "ongoing", "perfect"):
        return []
    match = _MEDICINE.match(vp.rest)
    if not match:
        return []
    if vp.ended:
        return [Draft(vp.subject, "health", f"no longer takes {match['v']}", key=match["v"])]
    return [Draft(vp.subject, "health", f"{vp.word} {value(vp.rest)}", key=match["v"])]


def is_harmed(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "Sprained my ankle yesterday"."""
    match = _HARMED.match(vp.rest)
    if not match or vp.tense not in ("past", "perfect") or vp.negated:
        return []
    when = find_event_date(vp.rest, now, "past")
    content = f"{vp.word} {match[0]}"
    return [Draft(vp.subject, "health", content, match[0], when.day if when else None, Permanence.VOLATILE)]


_ONLY = re.compile(
    r"(?:only )?(?:a )?(?P<v>(?:strictly )?(?:halal|kosher|vegan|vegetarian|plant-based|gluten-free|organic)\b.*)"
)
_DRUG = caseless(
    r"(?:any )?(?:NSAIDs?|ibuprofen|aspirin|paracetamol|penicillin|antibiotics|codeine|morphine|painkillers|statins|"
    r"grapefruit|alcohol with|an? MRI|general anaesthetic|latex|vaccines?|the pill|hormones|steroids)\b"
)
_NOT_FOOD = re.compile(r"(?:out|here|there|at|it|that|this|before|after|late|breakfast|lunch|dinner|in)\b")


def eats(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """Foods and drinks that a person avoids, cannot have, or lives on."""
    if vp.tense not in ("present", "perfect", "ongoing") or vp.modal == "wish":
        return []
    only = _ONLY.match(vp.rest)
    if only and vp.verb not in ("have", "drink") and not vp.negated:
        return [Draft(vp.subject, "diet", first_piece(only["v"]))]
    denied = vp.negated or vp.ended
    if vp.verb in ("have", "do", "take", "tolerate"):
        denied = vp.modal == "can" and vp.negated
        if denied and _DRUG.match(vp.rest):
            return [Draft(vp.subject, "health", _denied(vp, one), key=one) for one in items(vp.rest)]
        denied = denied and _FOOD.search(vp.rest) is not None
    if not denied or vp.verb not in ("eat", "drink", "have", "do", "tolerate") or _NOT_FOOD.match(vp.rest):
        return []
    if not vp.rest:
        return [Draft(vp.subject, "habit", _denied(vp, "").strip(), key="alcohol")] if vp.verb == "drink" else []
    kind = "habit" if vp.verb == "drink" else "diet"
    return [Draft(vp.subject, kind, _denied(vp, one), key=re.sub(r"^(?:any|much) ", "", one)) for one in items(vp.rest)]


def _denied(vp: VerbPhrase, what: str) -> str:
    if vp.ended:
        return f"no longer {vp.verb}s {what}"
    if vp.modal == "can":
        return f"cannot {vp.verb} {what}".strip()
    return f"never {vp.verb}s {what}" if vp.frequency == "never" else f"does not {vp.verb} {what}"


def avoids(vp: VerbPhrase, now: datetime) -> list[Draft]:
    if not vp.states("present", "ongoing", "perfect"):
        return []
    rest = re.sub(r"^(?:eating|drinking|having) ", "", vp.rest)
    if not _FOOD.search(rest):
        return []
    return [Draft(vp.subject, "diet", f"{vp.word} {one}", key=one) for one in items(rest)]


def smokes(vp: VerbPhrase, now: datetime) -> list[Draft]:
    if vp.modal or (vp.tense in ("past", "future", "former") and not vp.negated):
        return []
    verb = vp.word.lower()
    if vp.ended:
        return [Draft(vp.subject, "habit", f"no longer {vp.verb}s", key=vp.verb)]
    if vp.negated:
        word = f"never {verb}" if vp.frequency == "never" else f"does not {vp.verb}"
        return [Draft(vp.subject, "habit", word, key=vp.verb)]
    if vp.tense != "present" or re.match(r"(?:a |the |some )?(?:meat|brisket|ribs|salmon)", vp.rest):
        return []
    return [Draft(vp.subject, "habit", cleaned(f"{verb} {first_piece(vp.rest)}"), key=vp.verb)]


def gives_up(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "Gave up sugar", "quit smoking", "stopped eating meat"."""
    if vp.tense not in ("past", "perfect") or vp.negated:
        return []
    rest = vp.rest
    if vp.verb in ("give", "cut"):
        match = re.match(r"(?:up|out) (?P<v>.+)", rest)
        if not match:
            return []
        rest = match["v"]
    rest = re.sub(r" for \w+$", "", before_date(value(rest), now))
    activity = re.match(
        r"(?P<verb>eating|drinking|smoking|vaping|using|taking|playing|buying|having)\b[ ]?(?P<v>.*)", rest
    )
    if activity:
        what, verb = activity["v"], activity["verb"]
        kind = {"eating": "diet", "using": "uses", "taking": "health"}.get(verb, "habit")
        base = {"smoking": "smoke", "vaping": "vape"}.get(verb, "")
        return [Draft(vp.subject, kind, f"no longer {verb} {what}".strip(), key=what or base or verb)]
    if food := _FOOD.fullmatch(rest):
        kind = (
            "habit" if food[0].lower() in ("coffee", "alcohol", "caffeine", "beer", "wine", "tea", "soda") else "diet"
        )
        return [Draft(vp.subject, kind, f"gave up {rest}", key=rest)]
    return []


def cannot(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """Inabilities: cannot lift, swim, drive."""
    if vp.modal != "can" or not vp.negated or vp.tense != "present" or (not vp.by_speaker and vp.verb == "hear"):
        return []
    if vp.verb in _STRAIN and re.match(
        r"(?:heavy|for (?:long|more)|long|down|stairs|far|properly|well|over)\b", vp.rest
    ):
        return [Draft(vp.subject, "health", f"cannot {vp.verb} {first_piece(vp.rest)}")]
    if (
        vp.verb in ("swim", "drive", "cook", "ride", "read", "sing", "ski", "speak")
        and len(vp.rest.split()) < 4
        and not re.search(r"\b(?:today|tomorrow|now|here|this|it|tonight)\b", vp.rest)
    ):
        return [Draft(vp.subject, "skill", f"cannot {vp.verb} {vp.rest}".strip(), key=f"{vp.verb} {vp.rest}")]
    return []


def reports(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "Reports pain in the left knee", "complains of headaches"."""
    match = _SYMPTOM.match(vp.rest)
    if not match or not vp.states("present", "past", "perfect"):
        return []
    symptom = cleaned(re.sub(r" since\b.*", "", first_piece(match["v"])))
    return [Draft(vp.subject, "health", symptom, permanence=Permanence.VOLATILE)]


_SYMPTOM = caseless(
    rf"(?:of |having |some |a |having some ){{0,4}}(?P<v>(?:[\w-]+ ){{0,2}}?(?:pain|pains|ache|aches|swelling|"
    rf"stiffness|numbness|tingling|"
    rf"headaches?|dizziness|nausea|fatigue|insomnia|cramps|palpitations|{alternatives(CONDITIONS)})\b.*)"
)


_NEEDED = caseless(
    r"(?P<v>(?:an? |the )?(?:step-free access|wheelchair access|disabled parking|ground[- ]floor \w+|accessible \w+|"
    r"subtitles|captions|large print|a lift|lifts|an interpreter|a sign language interpreter|reading glasses|"
    r"a screen reader|a service dog|a guide dog))\b"
)


def keeps(vp: VerbPhrase, now: datetime) -> list[Draft]:
    return eats(vp, now) or gets_ill(vp, now)


def gets_ill(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "Keep getting headaches", "get migraines"."""
    match = re.match(
        r"(?:getting |having )?(?:(?:really|very|bad|terrible|frequent|regular|awful|nasty) )*(?P<v>(?:[\w-]+ "
        rf")?(?:{alternatives(CONDITIONS)}|hay fever|headaches|nosebleeds|panic attacks|backache|seasick|carsick|"
        rf"motion "
        r"sick(?:ness)?|nosebleeds|hives|cold sores|chest pains?|dizzy spells|vertigo|heartburn|cramps))\b",
        vp.rest,
        re.I,
    )
    if not match or not vp.states("present"):
        return []
    cause = re.match(r" (?P<v>(?:from|on|when|after|if I|in|with) [\w ]{2,40})", vp.rest[match.end() :])
    content = match["v"] + (f" {cleaned(cause['v'])}" if cause else "")
    return [Draft(vp.subject, "health", content, key=match["v"])]


_GRINDS = Form("health", r"(?:my|his|her|their) teeth\b", "{word} {match}", "teeth")
# Step-free access, subtitles.
_NEEDS = Form("health", _NEEDED, "{word} {first}", "{v}")
_WEARS = Form("health", _WORN, "{word} {rest}", "{rest}")
VERBS: dict[str, Reader] = {
    "get": gets_ill, "suffer": suffers, "struggle": suffers, "take": takes, "wear": _WEARS, "break": is_harmed,
    "sprain": is_harmed, "injure": is_harmed, "fracture": is_harmed, "hurt": is_harmed, "tear": is_harmed,
    "twisted": is_harmed, "pulled": is_harmed, "eat": eats, "drink": eats, "have": eats, "follow": eats,
    "keep": keeps, "avoid": avoids, "smoke": smokes, "vape": smokes, "tolerate": eats, "grind": _GRINDS, "need": _NEEDS,
    "report": reports, "complain": reports,
}  # fmt: skip
ENDINGS: dict[str, Reader] = {"give": gives_up, "cut": gives_up, "stop": gives_up, "quit": gives_up}
