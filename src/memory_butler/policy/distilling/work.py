"""Work: where, as what, and on what."""

import re
from datetime import datetime

from memory_butler.policy.distilling.dates import moment_in
from memory_butler.policy.distilling.found import Draft
from memory_butler.policy.distilling.home import BASED, place_in
from memory_butler.policy.distilling.values import cleaned, first_piece
from memory_butler.policy.distilling.verbs import Said
from memory_butler.policy.distilling.words import PROFESSIONS, alternatives

_STOP = r"(?=\s+(?:as|for|in|on|at|with|and|since|from|near|where|doing|until|last|this|next)\b|,|;|\.|$)"
_THE_ORG = (
    r"(?:a|an|the|my|our)\s+(?:[\w'-]+\s+){0,4}?(?:called|"
    r"named)\s+(?P<at_called>[A-Z][\w'&.-]*(?:\s[A-Z][\w'&.-]*){0,3})"
)
_AT = re.compile(
    rf"\b(?:at|for|with)\s+(?:{_THE_ORG}|(?P<org>(?:the\s+|a\s+|an\s+|my\s+)?[\w'&.-]+(?:\s+(?:of\s+|&\s+|"
    r"and\s+(?=[A-Z]))?(?!as\b|for\b|in\b|on\b|at\b|with\b|and\b|since\b|from\b|near\b|until\b|last\b|this\b|"
    rf"next\b|where\b)[\w'&.-]+){{0,5}}))"
    rf"{_STOP}",
)
_OWN_CLAUSE = re.compile(
    r",?\s+(?:and|but|so|because)\s+|,\s+(?=\w+ing\b)|\s+(?:that|which|who|managed|built|made|written)\s"
)
_AS = re.compile(
    r"\bas\s+(?P<job>(?:an?\s+|the\s+|their\s+)?(?!part\b|well\b|soon\b|usual\b)[\w/'&+#-]+(?:\s+(?!at\b|"
    rf"for\b|in\b|on\b|with\b|and\b|since\b|from\b|near\b)[\w/'&+#-]+){{0,4}}){_STOP}"
)
_JOB = re.compile(
    rf"(?:(?:an?|the|their|our|now|currently|also|still|just|new)\s+){{0,3}}"
    r"(?P<job>(?:(?!at\b|for\b|in\b|of\b|and\b|to\b|with\b|bit\b|big\b|good\b|great\b|bad\b|terrible\b|huge\b|"
    rf"better\b|fan\b|not\b|like\b)[\w/&+#'.-]+[\s]){{0,4}}?"
    rf"(?:{alternatives(PROFESSIONS)}))(?=\s+(?:at|for|in|with|of|on|and|from|by|based|who|working|"
    r"specialising|specializing|living|now|but|to)\b|[,;]|$)",
    re.IGNORECASE,
)
_NO_WORK = re.compile(
    r"(?P<v>(?:(?:semi-)?retired|self-employed|unemployed|between jobs|out of work|freelance|freelancing|on "
    r"parental leave|on maternity leave|on paternity leave|a stay-at-home (?:mom|mum|dad|parent)))\b",
    re.I,
)
_OWN_WORK = re.compile(r"(?:an?|my|our|the [A-Z]|[A-Z]|his|her|their)\s*\w")
_CHORE = re.compile(r"\b(?:bug|issue|fix|error|ticket|task|it|file|function|script)\b", re.I)
_SHIFT = re.compile(
    r"(?:from home|remotely|nights|night shifts|shifts|weekends|part[- ]time|full[- ]time|four days|"
    r"mostly (?:from home|nights|remotely)|the (?:night|early|late) shift)\b"
)
_GONE = re.compile(r"(?:with|at)\s+(?P<v>[A-Z].*)")
_DISMISSED = re.compile(
    r"(?:made redundant|laid off|fired|sacked|let go|retired) (?:from|by|at) (?P<v>[A-Z][\w'&.-]*(?: [A-Z][\w'&.-]*)*)"
)
_IN_YEAR = re.compile(r"in (?:my|his|her|their) (?P<v>\w+ year (?:of|at|studying) .+)")
_IN_TEAM = re.compile(r"(?:on|in|part of) the (?P<v>[\w -]{2,30}? team)\b")
_EMPLOYED = re.compile(r"employed (?:at|by)\s+(?P<v>[A-Z].*)")
_FIELD_OF = re.compile(
    r"\s+(?:of|in|for)\s+(?:the )?(?!(?:an?|my|training|now)\b)[a-z][\w-]*(?: [a-z][\w-]*)?(?=\s+(?:at|for|"
    r"with|in)\b|[,;]|$)"
)
_AGED = re.compile(r"(?P<v>\d{1,3})[- ]year[- ]old\s+")
_ORIGIN = re.compile(r"\s+(?:originally )?from\s+(?P<v>[A-ZÀ-Þ][\w'-]*(?: [A-ZÀ-Þ][\w'-]*)*)")
_OF = re.compile(rf"\s+of\s+(?:{_THE_ORG}|(?P<org>[A-Z][\w'&.-]*(?:\s[A-Z][\w'&.-]*){{0,3}}))")
_ORG_NOISE = re.compile(
    r"(?:it|this|that|you|me|him|her|them|free|fun|now|home|night|least|all|once|first|a living|a while|hours|"
    r"days|weeks|months|years|\d+|my own|myself)\b",
    re.I,
)
_FIELD = re.compile(
    r"in\s+(?P<v>(?:(?:the )?[\w-]+\s){0,3}?(?:finance|marketing|sales|hr|human resources|it|tech|technology|"
    r"healthcare|education|construction|retail|publishing|insurance|banking|logistics|law|advertising|"
    r"hospitality|consulting|research|journalism|film|fashion|theatre|theater|security|accounting|advertising|"
    r"biotech|pharma|agriculture|engineering|design|cybersecurity|government|politics|real estate|customer "
    r"(?:support|service|success)|product|procurement|operations|games?|music|media|industry|sector|field|"
    r"department))\b",
    re.I,
)


def _organisation(text: str) -> str:
    """Where somebody works: "with" only right after the verb, and nothing behind a comma or a verb of its own."""
    match = _AT.search(_OWN_CLAUSE.split(text)[0])
    if not match or (match[0].startswith("with") and match.start() > 1):
        return ""
    org = match["at_called"] or match["org"]
    if _ORG_NOISE.match(org):
        return ""
    return cleaned(
        re.sub(r"\s+(?:now|currently|full-time|part-time|remotely|again|today|recently|yesterday)$", "", org)
    )


def works(said: Said, now: datetime) -> list[Draft]:
    """ "Work at Acme as a nurse", "work in finance", "working on a novel"."""
    if said.modal or said.tense in ("past", "future", "former"):
        return []
    if said.verb == "freelance" and not said.rest:
        return [Draft(said.subject, "works_as", _word(said))]
    if said.rest.startswith("on "):
        return _work(said, said.rest)
    rest, org = said.rest, _organisation(said.rest)
    if said.ended or said.negated:
        return [Draft(said.subject, "works_at", f"no longer works at {org}")] if said.ended and org else []
    found = _employment(said, rest)
    if not any(one.kind == "works_as" for one in found) and (field := _FIELD.search(rest)):
        found.append(Draft(said.subject, "works_as", field[0]))
    return found or _work(said, rest)


def _employment(said: Said, rest: str) -> list[Draft]:
    """ "At Acme as a nurse": where and as what."""
    found = []
    if org := _organisation(rest):
        found.append(Draft(said.subject, "works_at", org))
    if job := _AS.search(rest):
        found.append(Draft(said.subject, "works_as", re.sub(r"^(?:an?|the)\s+", "", job["job"])))
    return found


def _work(said: Said, rest: str) -> list[Draft]:
    """What somebody works on, or when and from where."""
    if rest.startswith("on ") and said.tense in ("ongoing", "perfect"):
        what = first_piece(rest[3:])
        return [Draft(said.subject, "project", what)] if _OWN_WORK.match(what) and not _CHORE.search(what) else []
    if not _SHIFT.match(rest):
        return []
    return [Draft(said.subject, "habit", f"{_word(said)} {first_piece(rest)}", key=f"work {first_piece(rest)}")]


def _word(said: Said) -> str:
    return said.phrase.split()[0] if said.phrase else said.verb


def has_job(said: Said, now: datetime) -> list[Draft]:
    """What stands after "is" or "am" and names a job or a place of work."""
    if said.tense in ("past", "future", "former"):
        return []
    rest = said.rest
    if said.ended or said.negated or _DISMISSED.match(rest):
        return _no_job(said)
    for kind, pattern in (("studies", _IN_YEAR), ("note", _IN_TEAM), ("works_at", _EMPLOYED), ("works_as", _NO_WORK)):
        if match := pattern.match(rest):
            return [Draft(said.subject, kind, match[0] if kind == "note" else first_piece(match["v"]), key=match["v"])]
    job = _JOB.match(rest)
    if job and (trained := re.match(r"\s+by (?:training|trade|profession|background)", rest[job.end() :])):
        return [Draft(said.subject, "skill", f"{job['job']}{trained[0]}", key=job["job"])]
    found = _job(said, job["job"], rest[job.end() :]) if job else []
    if match := BASED.search(rest):
        found.append(Draft(said.subject, "lives_in", place_in(match["v"])))
    return found


def _no_job(said: Said) -> list[Draft]:
    """Where somebody no longer works, or as what."""
    match = _DISMISSED.match(said.rest) or (_GONE.match(said.rest) if said.ended else None)
    if match and not said.negated:
        return [Draft(said.subject, "works_at", f"no longer works at {first_piece(match['v'])}")]
    job = _JOB.match(said.rest) if said.ended else None
    return [Draft(said.subject, "works_as", f"no longer {job['job']}")] if job else []


def _job(said: Said, job: str, tail: str) -> list[Draft]:
    """A job with what comes along: "45-year-old accountant from Leeds", "CTO of a fintech called Ledgerly"."""
    if of := _OF.match(tail):
        return [Draft(said.subject, "works_as", job), Draft(said.subject, "works_at", of["at_called"] or of["org"])]
    if job.lower().endswith("student"):
        where = re.sub(r"\s+(?:and|but|who|now)\b.*", "", first_piece(tail))
        return [Draft(said.subject, "studies", cleaned(f"{job} {where}"))]
    found = []
    if field := _FIELD_OF.match(tail):
        job += re.sub(r"\s+(?:there|here|now)$", "", field[0])
    if aged := _AGED.match(job):
        found.append(Draft(said.subject, "age", aged["v"]))
        job = job[aged.end() :]
    if origin := _ORIGIN.match(tail):
        found.append(Draft(said.subject, "from", origin["v"]))
    found.append(Draft(said.subject, "works_as", job))
    if org := _organisation(tail):
        found.append(Draft(said.subject, "works_at", org))
    return found


def starts(said: Said, now: datetime) -> list[Draft]:
    """ "Started as head chef at Osteria Luna", "joined Tern", "got a job at"."""
    if said.tense not in ("past", "perfect") or said.negated:
        return []
    rest = re.sub(
        r"^(?:working|my new (?:job|role|position)|a (?:new )?(?:job|role|position)|a (?:new )?\w+ (?:job|role))\s+",
        "",
        said.rest,
    )
    if said.verb == "join":
        match = re.match(
            rf"(?:{_THE_ORG}|(?P<org>(?:the\s+)?[A-Z][\w'&.-]*(?:\s(?:of\s)?[A-Z][\w'&.-]*){{0,3}}))", rest
        )
        if not match:
            return []
        found = [Draft(said.subject, "works_at", match["at_called"] or match["org"])]
        if job := _AS.search(rest):
            found.append(Draft(said.subject, "works_as", re.sub(r"^(?:an?|the)\s+", "", job["job"])))
        return (
            found if not re.search(r"\b(?:call|meeting|channel|chat|server|group|club|zoom)\b", match[0], re.I) else []
        )
    if not re.match(r"(?:at|as|with)\s", rest):
        return []
    return _employment(said, rest)


def leaves(said: Said, now: datetime) -> list[Draft]:
    """ "Left Acme", "quit my job at Acme"."""
    if said.tense not in ("past", "perfect") or said.negated:
        return []
    match = re.match(
        r"(?:(?:my|his|her|their|the) (?:old |previous |last )?(?:job|position|role|post)(?: at| with)?|working "
        r"(?:at|for))\s+(?P<v>[A-Z].*)",
        said.rest,
    )
    if not match and said.verb in ("leave", "quit"):
        match = re.match(
            r"(?P<v>[A-Z][\w&.-]*(?: [A-Z][\w&.-]*){0,2})(?=\s+(?:last|in|on|for|to|after|this|yesterday|and|"
            r"because)\b|[,.;]|$)",
            said.rest,
        )
    if not match:
        return []
    org = re.split(r"\s+(?:last|in|on|for|to|after|this|and)\b", first_piece(match["v"]))[0]
    return [Draft(said.subject, "works_at", f"no longer works at {org}")]


def leads(said: Said, now: datetime) -> list[Draft]:
    """ "Leads the payments team at Kestrel", "runs a bakery", "teaches maths"."""
    if said.tense not in ("present", "perfect", "ongoing") or said.negated or said.modal or said.ended:
        return []
    what = re.compile(
        r"(?:(?:the|a|an|my|our|his|her|their)\s+(?:own\s+)?(?:[\w'-]+\s+){0,4}?(?:team|group|department|division|"
        r"business|company|shop|store|bakery|"
        r"restaurant|caf[eé]|studio|practice|agency|farm|firm|startup|school|lab|clinic|charity|salon|gym|"
        r"nonprofit|bookshop|brewery|"
        r"pub|bar|hotel|guesthouse|nursery|garage|workshop|gallery|foundation|consultancy|dairy|vineyard|hostel|"
        r"shelter|school|blog|unit|squad|office|choir|project|"
        r"kitchen|ward|podcast|club)\b)"
    )
    if said.verb == "teach" and re.match(r"(?:at|in)\s+[A-Z]", said.rest):
        org = _organisation(said.rest.replace("in ", "at ", 1))
        return [Draft(said.subject, "works_at", org), Draft(said.subject, "works_as", _word(said))] if org else []
    if said.verb == "teach":
        match = re.match(r"(?P<v>[\w -]+?)(?=\s+(?:at|in|for|to|on|and)\b|,|$)", said.rest)
        if (
            not match
            or match["v"] in ("me", "you", "him", "her", "us", "them")
            or match["v"].startswith(("me ", "my ", "you "))
        ):
            return []
        found = [Draft(said.subject, "works_as", f"{_word(said)} {match['v']}")]
    else:
        match = what.match(said.rest)
        if not match:
            return []
        found = [Draft(said.subject, "works_as", f"{_word(said)} {match[0]}")]
        if named := re.match(
            r"(?: there| here)?,? (?:called|named) (?P<v>[A-Z][\w'&.-]*(?: [A-Z][\w'&.-]*){0,2})",
            said.rest[match.end() :],
        ):
            return [*found, Draft(said.subject, "works_at", named["v"])]
    if org := _organisation(said.rest[match.end() :]):
        found.append(Draft(said.subject, "works_at", org))
    return found


def gets(said: Said, now: datetime) -> list[Draft]:
    """ "Got promoted to team lead", "got a job at Acme as a cook"."""
    if said.tense not in ("past", "perfect", "present") or said.negated or said.form == "ing":
        return []
    if match := re.match(r"promoted to\s+(?P<v>.+)", said.rest):
        return [
            Draft(
                said.subject,
                "works_as",
                re.split(r"\s+(?:at|last|this|in|on|yesterday|today)\b", first_piece(match["v"]))[0],
            )
        ]
    if match := re.match(
        r"(?:hired|an? (?:new )?(?:[\w-]+ )?(?:job|position|role|gig))\s+(?P<v>(?:at|as|by|with|for)\s.+)", said.rest
    ):
        return starts(said._replace(verb="start", rest=re.sub(r"^by", "at", match["v"]), tense="past"), now)
    if match := re.match(r"(?P<v>married|engaged|divorced)\b", said.rest):
        if moment_in(said.rest, now, "past"):
            return []
        return [Draft(said.subject, "marital_status", match["v"])]
    return []


_MADE = re.compile(
    r"(?:an?|my|our|his|her|their)\s+(?:[\w-]+\s+){0,3}?(?:book|novel|thesis|dissertation|memoir|cookbook|"
    r"album|app|game|website|"
    r"boat|treehouse|cabin|house|screenplay|play|paper|grant proposal|newsletter|shed|startup|robot|mod|synth|"
    r"film|podcast)\b"
)


def makes(said: Said, now: datetime) -> list[Draft]:
    """ "Writing a dissertation on soil microbes"."""
    if said.tense not in ("ongoing",) or said.negated or not _MADE.match(said.rest):
        return []
    return [
        Draft(said.subject, "project", f"{said.phrase.split()[0]} {first_piece(said.rest)}", key=first_piece(said.rest))
    ]


VERBS = {
    "work": works, "freelance": works, "start": starts, "join": starts, "leave": leaves, "quit": leaves,
    "lead": leads, "manage": leads, "run": leads, "head": leads, "teach": leads, "supervise": leads,
    "found": leads, "get": gets,
}  # fmt: skip
