"""Plans, obligations and events with a day."""

import re
from datetime import datetime

from memory_butler.english.extraction.findings import Draft
from memory_butler.english.extraction.grammar.values import cleaned, first_piece, value
from memory_butler.english.extraction.grammar.verbs import FORMS, VerbPhrase
from memory_butler.english.extraction.grammar.word_lists import EVENTS
from memory_butler.english.extraction.topics.habits import OFTEN
from memory_butler.english.text.word_sets import alternatives, any_of, caseless, word_set, words_in
from memory_butler.english.time.calendar import MONTHS, WEEKDAYS
from memory_butler.english.time.event_dates import EventDate, find_event_date

_NO_PLAN = caseless(
    r"(?:be (?:back|there|fine|ok|okay|right|great|fun|honest|sure|happy|able|good|nice|late|ready|easy|hard)|check|"
    r"think|see|try|let|do (?:it|that|this|so)|send you|get back|talk|look|ask|need|have to|test|take a look|fix|"
    r"continue|update you|tell you|keep|say|know|use|add|show|explain|give|make sure|note|remember|assume|love|miss|"
    r"like|want|reply|respond|ping|follow up|sleep on|go (?:ahead|with|to (?:bed|sleep))|bed|stop|ignore|find out|"
    r"share|review the|run the|rerun|retry)\b"
)
_GOALS = caseless(
    r"(?:learn|visit|become|move to|travel|run (?:a|the|my)|lose|save|retire|get (?:married|fit|engaged|a (?:dog|cat|"
    r"puppy))|quit|buy an? (?:house|flat|car|apartment|boat|van|bike)|start an?|apply|adopt|launch|study|train for|"
    r"renovate|write a (?:book|novel|memoir)|publish|propose|open an?|enrol|go back to school|build an?|climb|hike|"
    r"cycle (?:from|across|to)|take (?:a sabbatical|up)|switch|sell (?:my|our|the)|convert|plant|host|organi[sz]e|"
    r"read \d+|sign up|graduate|marry|have a baby|go to [A-Z]|spend)\b"
)
_DATED_VERBS = word_set("""
relocate fly go travel take visit meet have start begin leave return arrive land depart move see get host attend
run speak give drive drop pick finish come present interview defend launch ship release deploy celebrate throw
sign close play perform sail head join bring stay spend work marry graduate retire teach open sit undergo submit
publish race compete collect receive welcome
""")
_NO_EVENT = word_set("""
be think feel sleep know forget want need like love hate hope wonder say tell ask mention try mean hear look
seem believe agree decide notice realise realize remember understand wake talk chat discuss explain suggest
debug fix thank offer check test review work happen learn
""")
_EVENT_NOUN = caseless(rf"\b(?:{alternatives(EVENTS)})\b")
_EVENT_WORDS = frozenset(word for name in EVENTS for word in words_in(name)) | {"1"}


def event_noun(text: str) -> re.Match[str] | None:
    return None if _EVENT_WORDS.isdisjoint(words_in(text)) else _EVENT_NOUN.search(text)


def undated(text: str, when: EventDate | None) -> str:
    """The words without those of time; a month or year that is only roughly known stays."""
    if when is None:
        return cleaned(text)
    if not when.exact and not re.search(r"\b(?:last|next|this|past|coming|ago)\b", text[when.start : when.end], re.I):
        return cleaned(text)
    left = cleaned(text[: when.start]) + " " + text[when.end :].lstrip(" ,")
    return cleaned(re.sub(r" ", " ", left))


_NUMBER = re.compile(r"\d")
_GOES_UNTIL = caseless(rf"\s*(?:to|until|till|through|–|-)\s*(?:the )?(?:\d|{any_of((*MONTHS, *WEEKDAYS))}\b)")


def timed(subject: str, kind: str, text: str, when: EventDate | None, *, before: str = "") -> Draft:
    """Something with its day, if one is named. What lasts until a day begins on another: that it ends then stays in its
    words."""
    if when is not None and when.lead in ("until", "till") and (what := tail_cut(text[: when.start])):
        return Draft(subject, kind, f"{before}{what} {text[when.start : when.end].strip()}", key=before + what)
    if when is not None and _GOES_UNTIL.match(text, when.end) and _NUMBER.search(text, when.start, when.end):
        # "Off from 20 December to 6 January" keeps both days.
        return Draft(subject, kind, before + tail_cut(text), valid_at=when.day)
    return Draft(subject, kind, before + tail_cut(undated(text, when)), valid_at=when.day if when else None)


_LASTING = ("have", "get", "work", "take")
_UNDER_WAY = re.compile(
    r"(?:train|prepare|save(?: up)?|revise|study) for (?:an?|the|my|our|his|her|their)?[ ]?\w|look for an? (?:new |"
    r"bigger |smaller |better |cheaper )*(?:job|flat|apartment|house|place|flatmate|nanny|school|car|role|position)\b|"
    r"expect (?:a baby|twins|our|in\b)|move to [A-Z]|get (?:married|divorced|a (?:puppy|dog|cat|kitten))"
)
_PURSUITS = word_set("train prepare save revise look expect")
_SET_VERBS = word_set("start begin finish leave return move retire graduate arrive")


def plans(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """Plans: "flying to Tokyo on 12 April"."""
    if vp.modal or vp.negated or vp.ended or OFTEN.search(vp.rest):
        return []
    if vp.tense == "future":
        return _future(vp, vp.phrase if vp.verb != "be" else f"be {vp.rest}", now)
    if vp.verb not in _DATED_VERBS | _PURSUITS or not vp.rest or vp.tense not in ("ongoing", "present"):
        return []
    when = find_event_date(vp.rest, now, "future")
    if when and when.day < _midnight(now):
        when = None
    if vp.tense == "present":
        sure = when is not None and vp.verb not in _LASTING and (when.exact or vp.verb in _SET_VERBS)
    else:
        sure = _UNDER_WAY.match(f"{vp.verb} {vp.rest}") is not None
        sure = sure or (when is not None and vp.verb not in _PURSUITS)
    return [_plan(vp, vp.phrase, when, "plan")] if sure else []


def _midnight(now: datetime) -> datetime:
    found = find_event_date("today", now, "future")
    assert found is not None
    return found.day


def _plan(vp: VerbPhrase, phrase: str, when: EventDate | None, kind: str) -> Draft:
    """A plan from the words of the verb phrase; its day is looked for in the same words."""
    if when is not None:
        shift = len(phrase) - len(vp.rest) if phrase.endswith(vp.rest) else 0
        when = when._replace(start=when.start + shift, end=when.end + shift)
    return timed(vp.subject, kind, phrase, when)


def tail_cut(text: str) -> str:
    return value(re.sub(r", (?:hard|can't|so|it|wish|which|then|my|we|i)\b.*", "", text, flags=re.I))


def _future(vp: VerbPhrase, phrase: str, now: datetime) -> list[Draft]:
    if _NO_PLAN.match(phrase):
        return []
    when = find_event_date(phrase, now, "future")
    if when is None and not _GOALS.match(phrase):
        return []
    return [timed(vp.subject, "plan", phrase, when)]


def wants(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "Wants all dates in ISO format": a lasting wish of the user the notes are about."""
    match = re.match(
        r".+ (?:only|format|style)$|.+ in [A-Z]\w+(?: only)?$|(?:all|every|only|answers|replies|responses|"
        r"summaries|reports|updates|dates|short|concise|detailed|shorter)\b.+",
        vp.rest,
    )
    if not match or vp.by_speaker or not vp.states("present"):
        return []
    return [Draft(vp.subject, "prefers", first_piece(match[0]))]


def intends(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "Planning to renovate the kitchen", "hoping to visit Japan", "want to learn Rust"."""
    if not vp.states("present", "ongoing", "perfect") or vp.ended:
        return []
    match = re.match(
        r"(?:on (?P<ing>\w+ing\b.*)|to (?P<v>.+)|(?P<a>an? (?:[\w-]+ )*?(?:trip|holiday|vacation|party|"
        r"wedding|move|visit|road trip|honeymoon|renovation|baby|child|little one|weekend|surprise)\b.*|(?:twins|"
        r"our (?:first|second|third)|triplets)\b.*))",
        vp.rest,
    )
    if not match:
        return []
    phrase = match["ing"] or match["v"] or match["a"]
    if vp.verb in ("want", "hope", "need", "wish", "like", "try") and (not match["v"] or not _GOALS.match(phrase)):
        return []
    if _NO_PLAN.match(phrase):
        return []
    when = find_event_date(phrase, now, "future")
    lead = "" if match["v"] or match["ing"] else f"{vp.word} "
    return [timed(vp.subject, "plan", phrase, when, before=lead)]


def owes(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "Need to submit the report by Friday", "have to finish it before 3 May"."""
    match = re.match(r"to (?P<v>.+)", vp.rest)
    if not match or not vp.states("present"):
        return []
    when = find_event_date(match["v"], now, "future")
    if not when or not (when.exact or when.lead in ("by", "before")) or when.day < _midnight(now):
        return []
    content = tail_cut(undated(match["v"], when))
    if len(content.split()) < 2 or _NO_PLAN.match(content):
        return []
    return [
        Draft(vp.subject, "deadline" if when.lead in ("by", "before", "until") else "plan", content, valid_at=when.day)
    ]


_ARRANGED = word_set("book schedule reserve reserved arrange arranged register plan organise organize")


def happened(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """A past event with a named day."""
    if not vp.states("past", "perfect") or vp.verb in _NO_EVENT:
        return []
    ahead = vp.verb in _ARRANGED
    when = find_event_date(vp.phrase, now, "future" if ahead else "past")
    if when is None or when.lead in ("since", "until", "till", "by") or not vp.rest:
        return []
    if vp.verb not in FORMS and vp.form != "past":
        return []
    content = tail_cut(undated(vp.phrase, when))
    if not content or re.search(r"\b(?:it|this|that|nothing|something)$", content):
        return []
    return [Draft(vp.subject, "event", content, valid_at=when.day)]


def is_on(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "Off to Kraków on 8 June", "on leave from 6 July", "was promoted yesterday"."""
    rest = vp.rest
    if vp.tense == "past":
        match = re.match(
            r"(?P<v>(?:stolen|promoted|hired|fired|laid off|admitted|discharged|hospitali[sz]ed|robbed|burgled|"
            r"elected|released|delivered|cancelled|postponed|approved|accepted|rejected|invited|made redundant)\b.*)",
            rest,
        )
        when = find_event_date(rest, now, "past") if match else None
        if not match or when is None or vp.negated or match["v"].startswith("born"):
            return []
        return [Draft(vp.subject, "event", tail_cut(undated(rest, when)), valid_at=when.day)]
    if vp.negated or vp.tense not in ("present", "future", "ongoing"):
        return []
    match = re.match(
        r"(?:off (?:to|on)|away|on (?:leave|holiday|vacation|call|duty|a (?:trip|business trip|retreat))|out "
        r"(?:of (?:town|the office|office)|on|until|from|all)|off(?= (?:from|until|on|all|next|this|tomorrow|work))|"
        r"back (?:in|from|on|by|home)|in (?:[A-Z]|the (?:office|US|UK))|due\b|visiting|"
        r"getting|expecting|at (?:a|the) (?:conference|wedding|festival))",
        rest,
    )
    when = find_event_date(rest, now, "future") if match else None
    if not match or when is None or when.day < _midnight(now) or when.lead == "since":
        return []
    plan = timed(vp.subject, "plan", rest, when)
    if until := re.search(r"\buntil (?:the )?[\w ]{2,20}$", rest[when.end :]):
        plan = plan._replace(content=f"{plan.content} {until[0]}")
    return [plan]


_CALLED_OFF = caseless(
    rf"(?:(?P<owner>[Mm]y|[Oo]ur|[Hh]is|[Hh]er|[Tt]heir) |"
    rf"[Tt]he )(?P<what>(?:[\w'-]+ ){{0,3}}?(?:{alternatives(EVENTS)}))"
    r"(?:'s| is| has been| was| got| have been)? (?P<how>off|cancelled|canceled|called off|fell through|"
    r"postponed)(?=$|[,;.]| (?:now|because|due)\b)"
)


def called_off(clause: str, owner: str) -> list[Draft]:
    """ "The Lisbon trip is off"."""
    match = _CALLED_OFF.match(clause)
    if not match:
        return []
    return [Draft(owner, "plan", f"{match['what']} {match['how']}", key=match["what"])]


def cancels(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "We had to cancel the wedding"."""
    rest = re.sub(r"^to (?:cancel|call off|postpone) ", "", vp.rest)
    noun = event_noun(rest)
    if (vp.verb != "cancel" and rest == vp.rest) or not vp.states("past", "perfect"):
        return []
    if not noun or noun.end() < len(first_piece(rest)):
        return []
    what = re.sub(r"^(?:my|our|his|her|their|the) ", "", first_piece(rest))
    return [Draft(vp.subject, "plan", f"cancelled {what}", key=what)]


_SHIFTED = caseless(
    rf"(?:the |my |our |his |her |their )?(?P<what>(?:[\w'-]+ ){{0,3}}?(?:{alternatives(EVENTS)})\b(?: with "
    rf"[\w' ]{{2,30}}?)?) (?:back |forward )?(?:to|till|until) (?P<when>.+)"
)


def shifts(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "Moved the meeting with Acme to Thursday": done already, but the day lies ahead."""
    match = _SHIFTED.match(vp.rest)
    when = find_event_date(match["when"], now, "future") if match else None
    if not match or when is None or when.start > 3 or not vp.states("past", "perfect"):
        return []
    return [Draft(vp.subject, "event", match["what"], valid_at=when.day)]


def has_appointment(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "Have a dentist appointment on March 20"."""
    if not vp.states("present", "future", "perfect") or OFTEN.search(vp.rest):
        return []
    noun = event_noun(vp.rest)
    when = find_event_date(vp.rest, now, "future") if noun else None
    if not noun or when is None or re.match(r"(?:a )?(?:great|good|nice|lovely|fun)\b", vp.rest):
        return []
    return [timed(vp.subject, "event", vp.rest, when)]


def expects(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "Amara is expecting in June", "we're expecting a baby"."""
    match = re.match(
        r"(?:(?:a baby|twins|our (?:first|second|third)(?: child| baby)?|a child|a (?:boy|girl))\b|in\b|on\b|$)",
        vp.rest,
    )
    if not match or not vp.states("ongoing"):
        return []
    when = find_event_date(vp.rest, now, "future")
    if when is None and not match[0]:
        return []
    return [Draft(vp.subject, "plan", tail_cut(undated(vp.phrase, when)), valid_at=when.day if when else None)]


INTENTIONS = {"plan": intends, "intend": intends, "hope": intends, "aim": intends, "want": intends}
OBLIGATIONS = {"need": owes, "have": owes}
