"""Work: where, as what, and on what."""

import re
from datetime import datetime

from memory_butler.english.extraction.findings import Draft
from memory_butler.english.extraction.grammar.forms import Form, Reader
from memory_butler.english.extraction.grammar.values import cleaned, first_piece
from memory_butler.english.extraction.grammar.verbs import VerbPhrase
from memory_butler.english.extraction.grammar.word_lists import PROFESSIONS
from memory_butler.english.extraction.topics.home import BASED, place_in
from memory_butler.english.text.word_sets import alternatives, caseless
from memory_butler.english.time.event_dates import find_event_date

_STOP = r"(?= (?:as|for|in|on|at|with|and|since|from|near|where|doing|until|last|this|next)\b|,|;|\.|$)"
_THE_ORG = (
    r"(?:a|an|the|my|our) (?:[\w'-]+ ){0,4}?(?:called|"
    r"named) (?P<at_called>[A-Z][\w'&.-]*(?: [A-Z][\w'&.-]*){0,3})"
)
_AT = re.compile(
    rf"\b(?:at|for|with) (?:{_THE_ORG}|(?P<org>(?:the |a |an |my )?[\w'&.-]+(?: (?:of |& |"
    r"and (?=[A-Z]))?(?!as\b|for\b|in\b|on\b|at\b|with\b|and\b|since\b|from\b|near\b|until\b|last\b|this\b|next\b|"
    rf"where\b)[\w'&.-]+){{0,5}})){_STOP}"
)
_OWN_CLAUSE = re.compile(r",? (?:and|but|so|because) |, (?=\w+ing\b)| (?:that|which|who|managed|built|made|written) ")
_AS = re.compile(
    r"\bas (?P<job>(?:an? |the |their )?(?!part\b|well\b|soon\b|usual\b)[\w/'&+#-]+(?: (?!at\b|"
    rf"for\b|in\b|on\b|with\b|and\b|since\b|from\b|near\b)[\w/'&+#-]+){{0,4}}){_STOP}"
)
_JOB = caseless(
    r"(?:(?:an?|the|their|our|now|currently|also|still|just|new) ){0,3}(?P<job>(?:(?!at\b|for\b|in\b|of\b|and\b|"
    r"to\b|with\b|bit\b|big\b|good\b|great\b|bad\b|terrible\b|huge\b|better\b|fan\b|not\b|"
    rf"like\b)[\w/&+#'.-]+[ ]){{0,4}}?(?:{alternatives(PROFESSIONS)}))(?= (?:at|for|in|with|of|on|and|from|by|"
    r"based|who|working|specialising|specializing|living|now|but|to)\b|[,;]|$)"
)
_NO_WORK = caseless(
    r"(?P<v>(?:(?:semi-)?retired|self-employed|unemployed|between jobs|out of work|freelance|freelancing|on "
    r"parental leave|on maternity leave|on paternity leave|a stay-at-home (?:mom|mum|dad|parent)))\b"
)
_OWN_WORK = re.compile(r"(?:an?|my|our|the [A-Z]|[A-Z]|his|her|their)[ ]?\w")
_CHORE = caseless(r"\b(?:bug|issue|fix|error|ticket|task|it|file|function|script)\b")
_SHIFT = re.compile(
    r"(?:from home|remotely|nights|night shifts|shifts|weekends|part[- ]time|full[- ]time|four days|"
    r"mostly (?:from home|nights|remotely)|the (?:night|early|late) shift)\b"
)
_NEW_JOB = re.compile(
    r"^(?:working|my new (?:job|role|position)|a (?:new )?(?:job|role|position)|a (?:new )?\w+ (?:job|role)) "
)
_GONE = re.compile(r"(?:with|at) (?P<v>[A-Z].*)")
_DISMISSED = re.compile(
    r"(?:made redundant|laid off|fired|sacked|let go|retired) (?:from|by|at) (?P<v>[A-Z][\w'&.-]*(?: [A-Z][\w'&.-]*)*)"
)
_IN_YEAR = re.compile(r"in (?:my|his|her|their) (?P<v>\w+ year (?:of|at|studying) .+)")
_IN_TEAM = re.compile(r"(?:on|in|part of) the (?P<v>[\w -]{2,30}? team)\b")
_EMPLOYED = re.compile(r"employed (?:at|by) (?P<v>[A-Z].*)")
_FIELD_OF = re.compile(
    r" (?:of|in|for) (?:the )?(?!(?:an?|my|training|now)\b)[a-z][\w-]*(?: [a-z][\w-]*)?(?= (?:at|for|"
    r"with|in)\b|[,;]|$)"
)
_AGED = re.compile(r"(?P<v>\d{1,3})[- ]year[- ]old ")
_ORIGIN = re.compile(r" (?:originally )?from (?P<v>[A-ZÀ-Þ][\w'-]*(?: [A-ZÀ-Þ][\w'-]*)*)")
_OF = re.compile(rf" of (?:{_THE_ORG}|(?P<org>[A-Z][\w'&.-]*(?: [A-Z][\w'&.-]*){{0,3}}))")
_ORG_NOISE = caseless(
    r"(?:it|this|that|you|me|him|her|them|free|fun|now|home|night|least|all|once|first|a living|a while|hours|"
    r"days|weeks|months|years|\d+|my own|myself)\b"
)
_FIELD = caseless(
    r"in (?P<v>(?:(?:the )?[\w-]+ ){0,3}?(?:finance|marketing|sales|hr|human resources|it|tech|technology|"
    r"healthcare|education|construction|retail|publishing|insurance|banking|logistics|law|advertising|hospitality|"
    r"consulting|research|journalism|film|fashion|theatre|theater|security|accounting|advertising|biotech|pharma|"
    r"agriculture|engineering|design|cybersecurity|government|politics|real estate|customer (?:support|service|"
    r"success)|product|procurement|operations|games?|music|media|industry|sector|field|department))\b"
)


def _organisation(text: str) -> str:
    """The employer: "with" only right after the verb, and nothing after a comma or another verb."""
    match = _AT.search(_OWN_CLAUSE.split(text)[0])
    if not match or (match[0].startswith("with") and match.start() > 1):
        return ""
    org = match["at_called"] or match["org"]
    if _ORG_NOISE.match(org):
        return ""
    return cleaned(re.sub(r" (?:now|currently|full-time|part-time|remotely|again|today|recently|yesterday)$", "", org))


def works(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "Work at Acme as a nurse", "work in finance", "working on a novel"."""
    if vp.modal or vp.tense in ("past", "future", "former"):
        return []
    if vp.verb == "freelance" and not vp.rest:
        return [Draft(vp.subject, "works_as", vp.word)]
    if vp.rest.startswith("on "):
        return _work(vp, vp.rest)
    rest, org = vp.rest, _organisation(vp.rest)
    if vp.ended or vp.negated:
        return [Draft(vp.subject, "works_at", f"no longer works at {org}")] if vp.ended and org else []
    found = _employment(vp, rest)
    if not any(one.kind == "works_as" for one in found) and (field := _FIELD.search(rest)):
        found.append(Draft(vp.subject, "works_as", field[0]))
    return found or _work(vp, rest)


def _employment(vp: VerbPhrase, rest: str) -> list[Draft]:
    """ "At Acme as a nurse": where and as what."""
    found = []
    if org := _organisation(rest):
        found.append(Draft(vp.subject, "works_at", org))
    if job := _AS.search(rest):
        found.append(Draft(vp.subject, "works_as", re.sub(r"^(?:an?|the) ", "", job["job"])))
    return found


def _work(vp: VerbPhrase, rest: str) -> list[Draft]:
    """Shifts, hours and place of work, or the subject of the work."""
    if rest.startswith("on ") and vp.tense in ("ongoing", "perfect"):
        what = first_piece(rest[3:])
        return [Draft(vp.subject, "project", what)] if _OWN_WORK.match(what) and not _CHORE.search(what) else []
    if not _SHIFT.match(rest):
        return []
    return [Draft(vp.subject, "habit", f"{vp.word} {first_piece(rest)}", key=f"work {first_piece(rest)}")]


def has_job(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """A job or employer after "is" or "am"."""
    if vp.tense in ("past", "future", "former"):
        return []
    rest = vp.rest
    if vp.ended or vp.negated or _DISMISSED.match(rest):
        return _no_job(vp)
    for kind, pattern in (("studies", _IN_YEAR), ("note", _IN_TEAM), ("works_at", _EMPLOYED), ("works_as", _NO_WORK)):
        if match := pattern.match(rest):
            return [Draft(vp.subject, kind, match[0] if kind == "note" else first_piece(match["v"]), key=match["v"])]
    job = _JOB.match(rest)
    if job and (trained := re.match(r" by (?:training|trade|profession|background)", rest[job.end() :])):
        return [Draft(vp.subject, "skill", f"{job['job']}{trained[0]}", key=job["job"])]
    found = _job(vp, job["job"], rest[job.end() :]) if job else []
    if match := BASED.search(rest):
        found.append(Draft(vp.subject, "lives_in", place_in(match["v"])))
    return found


def _no_job(vp: VerbPhrase) -> list[Draft]:
    """A former employer or job."""
    match = _DISMISSED.match(vp.rest) or (_GONE.match(vp.rest) if vp.ended else None)
    if match and not vp.negated:
        return [Draft(vp.subject, "works_at", f"no longer works at {first_piece(match['v'])}")]
    job = _JOB.match(vp.rest) if vp.ended else None
    return [Draft(vp.subject, "works_as", f"no longer {job['job']}")] if job else []


def _job(vp: VerbPhrase, job: str, tail: str) -> list[Draft]:
    """A job with what comes along: "45-year-old accountant from Leeds", "CTO of a fintech called Ledgerly"."""
    if of := _OF.match(tail):
        return [Draft(vp.subject, "works_as", job), Draft(vp.subject, "works_at", of["at_called"] or of["org"])]
    if job.lower().endswith("student"):
        where = re.sub(r" (?:and|but|who|now)\b.*", "", first_piece(tail))
        return [Draft(vp.subject, "studies", cleaned(f"{job} {where}"))]
    found = []
    if field := _FIELD_OF.match(tail):
        job += re.sub(r" (?:there|here|now)$", "", field[0])
    if aged := _AGED.match(job):
        found.append(Draft(vp.subject, "age", aged["v"]))
        job = job[aged.end() :]
    if origin := _ORIGIN.match(tail):
        found.append(Draft(vp.subject, "from", origin["v"]))
    found.append(Draft(vp.subject, "works_as", job))
    if org := _organisation(tail):
        found.append(Draft(vp.subject, "works_at", org))
    return found


def starts(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "Started as head chef at Osteria Luna", "joined Tern", "got a job at"."""
    if vp.tense not in ("past", "perfect") or vp.negated:
        return []
    rest = _NEW_JOB.sub("", vp.rest)
    if vp.verb == "join":
        match = re.match(rf"(?:{_THE_ORG}|(?P<org>(?:the )?[A-Z][\w'&.-]*(?: (?:of )?[A-Z][\w'&.-]*){{0,3}}))", rest)
        if not match:
            return []
        found = [Draft(vp.subject, "works_at", match["at_called"] or match["org"])]
        if job := _AS.search(rest):
            found.append(Draft(vp.subject, "works_as", re.sub(r"^(?:an?|the) ", "", job["job"])))
        return (
            found if not re.search(r"\b(?:call|meeting|channel|chat|server|group|club|zoom)\b", match[0], re.I) else []
        )
    if not re.match(r"(?:at|as|with) ", rest):
        return []
    return _employment(vp, rest)


def leaves(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "Left Acme", "quit my job at Acme"."""
    if vp.tense not in ("past", "perfect") or vp.negated:
        return []
    match = re.match(
        r"(?:(?:my|his|her|their|the) (?:old |previous |last )?(?:job|position|role|post)(?: at| with)?|working "
        r"(?:at|for)) (?P<v>[A-Z].*)",
        vp.rest,
    )
    if not match and vp.verb in ("leave", "quit"):
        match = re.match(
            r"(?P<v>[A-Z][\w&.-]*(?: [A-Z][\w&.-]*){0,2})(?= (?:last|in|on|for|to|after|this|yesterday|and|"
            r"because)\b|[,.;]|$)",
            vp.rest,
        )
    if not match:
        return []
    org = re.split(r" (?:last|in|on|for|to|after|this|and)\b", first_piece(match["v"]))[0]
    return [Draft(vp.subject, "works_at", f"no longer works at {org}")]


def leads(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "Leads the payments team at Kestrel", "runs a bakery", "teaches maths"."""
    # "Found a nice cafe" is rather from "find".
    if not vp.states("present", "perfect", "ongoing") or vp.ended or vp.word == "found":
        return []
    what = re.compile(
        r"(?:(?:the|a|an|my|our|his|her|their) (?:own )?(?:[\w'-]+ ){0,4}?(?:team|group|department|division|"
        r"business|company|shop|store|bakery|restaurant|caf[eé]|studio|practice|agency|farm|firm|startup|school|lab|"
        r"clinic|charity|salon|gym|nonprofit|bookshop|brewery|pub|bar|hotel|guesthouse|nursery|garage|workshop|"
        r"gallery|foundation|consultancy|dairy|vineyard|hostel|shelter|school|blog|unit|squad|office|choir|project|"
        r"kitchen|ward|podcast|club)\b)"
    )
    if vp.verb == "teach" and re.match(r"(?:at|in) [A-Z]", vp.rest):
        org = _organisation(vp.rest.replace("in ", "at ", 1))
        return [Draft(vp.subject, "works_at", org), Draft(vp.subject, "works_as", vp.word)] if org else []
    if vp.verb == "teach":
        match = re.match(r"(?P<v>[\w -]+?)(?= (?:at|in|for|to|on|and)\b|,|$)", vp.rest)
        if (
            not match
            or match["v"] in ("me", "you", "him", "her", "us", "them")
            or match["v"].startswith(("me ", "my ", "you "))
        ):
            return []
        found = [Draft(vp.subject, "works_as", f"{vp.word} {match['v']}")]
    else:
        match = what.match(vp.rest)
        if not match:
            return []
        found = [Draft(vp.subject, "works_as", f"{vp.word} {match[0]}")]
        if named := re.match(
            r"(?: there| here)?,? (?:called|named) (?P<v>[A-Z][\w'&.-]*(?: [A-Z][\w'&.-]*){0,2})",
            vp.rest[match.end() :],
        ):
            return [*found, Draft(vp.subject, "works_at", named["v"])]
    if org := _organisation(vp.rest[match.end() :]):
        found.append(Draft(vp.subject, "works_at", org))
    return found


def gets(vp: VerbPhrase, now: datetime) -> list[Draft]:
    """ "Got promoted to team lead", "got a job at Acme as a cook"."""
    if vp.tense not in ("past", "perfect", "present") or vp.negated or vp.form == "ing":
        return []
    if match := re.match(r"promoted to (?P<v>.+)", vp.rest):
        job = re.split(r" (?:at|last|this|in|on|yesterday|today)\b", first_piece(match["v"]))[0]
        return [Draft(vp.subject, "works_as", job)]
    if match := re.match(
        r"(?:hired|an? (?:new )?(?:[\w-]+ )?(?:job|position|role|gig)) (?P<v>(?:at|as|by|with|for) .+)", vp.rest
    ):
        return starts(vp._replace(verb="start", rest=re.sub(r"^by", "at", match["v"]), tense="past"), now)
    if match := re.match(r"(?P<v>married|engaged|divorced)\b", vp.rest):
        if find_event_date(vp.rest, now, "past"):
            return []
        return [Draft(vp.subject, "marital_status", match["v"])]
    return []


_MADE = re.compile(
    r"(?:an?|my|our|his|her|their) (?:[\w-]+ ){0,3}?(?:book|novel|thesis|dissertation|memoir|cookbook|album|app|"
    r"game|website|boat|treehouse|cabin|house|screenplay|play|paper|grant proposal|newsletter|shed|startup|robot|mod|"
    r"synth|film|podcast)\b"
)


# "Writing a dissertation on soil microbes".
MAKES = Form("project", _MADE, "{word} {rest}", "{rest}", tenses=("ongoing",), unless=("negated",))
VERBS: dict[str, Reader] = {
    "work": works, "freelance": works, "start": starts, "join": starts, "leave": leaves, "quit": leaves,
    "lead": leads, "manage": leads, "run": leads, "head": leads, "teach": leads, "supervise": leads,
    "found": leads, "get": gets,
}  # fmt: skip
