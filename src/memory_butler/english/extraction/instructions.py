"""Extracts rules for the agent: "always run the tests before you push"."""

import re
from typing import NamedTuple

from memory_butler.english.extraction.conventions import is_convention, wanted
from memory_butler.english.extraction.grammar.person import rule_text
from memory_butler.english.extraction.grammar.verbs import FORMS
from memory_butler.english.text.word_sets import caseless, word_set

_ACTIONS = word_set("""
double double-check triple-check alphabetise alphabetize give use ask run write add answer reply send show include
keep check call say tell remind prefer avoid convert format merge quarantine open create tag notify stop wait suggest
put set start skip leave make treat remember update bump rebase restart escalate copy cc log mark assign pin default
assume respond explain summarise summarize link quote cite confirm verify test review read look consult refuse
translate round deploy push squash commit close label provide offer be do try go back remove delete purge flush
restrict import export ship address speak talk phrase stick follow mention propose recommend book order schedule share
store save document comment name prefix sign lock unlock archive encrypt redact mask escape validate lint build
compile install upgrade downgrade revert roll rotate request require reboot fetch pull clone branch split limit cap
shorten expand spell capitalise capitalize reserve turn switch hide print post publish forward attach bring take pack
feed water clean charge wear contact text email phone ring message alert warn inform consider count measure track
record report file raise flag list sort group batch cache index migrate seed mock stub pass prioritise prioritize seat
play pick pay move get touch edit change modify rename interrupt disturb disclose reveal guess invent refer cook serve
eat drop force bother speculate promise apologise apologize repeat end begin finish approve accept decline reject
block drive fold iron wash mix buy sell invite knock park enter let hardcode hard-code rely expose trust truncate
disable enable indent align wrap throw catch return load parse render upload download sync force-push rebuild retry page
""")
_NOT_ACTS = word_set("""
mind a an the nice good happy heard been seen again had thought knew went fun worth great so too really wanted
""")
_LEADING = caseless(
    r"(?:(?:and|but|so|also|ok|okay|hey|hi|btw|oh|well|right|yes|sure|thanks|one more thing|another thing|important|"
    r"reminder|note|rule|new rule|house rule|lesson(?: learned| learnt)?|convention|policy|team rule|general rule|tip|"
    r"instruction|instructions|feedback|correction|please note|note to self|takeaway|guideline|"
    r"process)\b[ ]?[,:!–—-]* (?=\S))*"
)
_DECLARED = caseless(
    r"(?:(?:new|house|team|hard|general|golden) )?(?P<kind>rule|lesson|policy|convention|guideline)(?: learned|"
    r" learnt)?(?: (?:for|from|of) [^:]{1,30})?[ ]?:[ ]?(?P<rest>\S+ \S+ .+)"
)
_ASK_FIRST = re.compile(
    r"(?:please )?(?:(?:ask|check with|consult|tell|warn|notify|confirm with|run it by|get approval "
    r"from|ping|message|cc|copy) (?:me|us|the user|him|her|them|[A-Z]\w+) "
    r"(?:first )?(?:before|whenever|when|every time|each time|if|prior to) .+|only (?P<verb>\w+) .+)"
)
_TITLED = caseless(
    r"[^:.]{0,60}:[ ]?(?=(?:please )?(?:always|never|don't|do not|when|whenever|make sure|from now on|if|"
    r"before|after)\b)"
)
_STANDING = caseless(
    r"(?P<lead>from now on|going forward|moving forward|in (?:the )?future|as a (?:general )?rule|from here on(?: out|"
    r" in)?|henceforth|at all times|by default|for (?:all )?future \w+|in all (?:replies|emails|messages|code)|"
    r"next time|from today(?: on)?|as of now|in general)[ ]?,? (?P<rest>.+)"
)
_WISH = caseless(
    r"(?:(?:i|we)(?:'d| would)?(?: really)? (?:like|want|need|expect|prefer|ask|love)(?: it if)? (?:for )?you(?: to)?|"
    r"you(?: really)? (?:should|must|need to|have to|ought to|are to|can)|(?:the )?(?:user|client|customer|he|she|"
    r"they|team)(?: has| have)? (?:wants?|wanted|asked|asks|expects?|told|tells|requested|requests|prefers?|insists?|"
    r"insisted|demands?|demanded|instructed|would like|reminded|said)(?: that)? (?:me|us|you|we|the assistant|"
    r"the agent|i|claude)(?: (?:to|should|must))?|(?:the )?(?:user|client|customer) (?:asked|asks|wants?|wanted|"
    r"requested|prefers?|insists?|insisted) (?:us |me )?to(?= (?:always|never|only|not|avoid|stop)\b)|"
    r"i (?:should|must)) (?P<rest>.+)"
)
_ALWAYS = caseless(r"(?:please )?(?:to )?(?P<word>always|never) (?:ever |again |please )?(?P<verb>[\w'-]+)\b")
_DONT = caseless(
    r"(?:please |pls |just )?(?:don't|do not|dont|not to|stop|avoid|refrain from|no more|"
    r"never) (?:ever |you ever )?(?P<verb>[\w'-]+)\b(?P<rest>.*)"
)
# No orders: comfort ("don't worry"), or a note without its subject ("don't have a car").
_IDLE = word_set("""
worry forget know think mind care hesitate panic bother understand believe feel want need like love remember have
live work smoke own see sweat fret matter get
""")
# "Don't eat meat" can be a note without its subject; with a circumstance it is a rule.
_PERHAPS = word_set("eat drink")
_CONDITION = caseless(
    r"(?P<when>(?:when(?:ever)?|if|before|after|once|every time|each time|any ?time|as soon as|unless|in case|for|on|"
    r"in|during|until|while)\b[^,]{2,140}?)[ ]?,[ ]?(?:then |please |you should |i want you to |"
    r"you must )*(?P<neg>always |never |don't |do not |only |first |just |"
    r"also )*(?P<verb>[a-z][\w'-]*)\b(?P<rest>.*)$"
)
_ONE_OFF = caseless(
    r"(?:if|when|once|after) (?:you(?:'re| are| have|'ve)?|that|this|it|so|not|needed|possible|necessary)(?: (?:done|"
    r"ready|free|finished|get|have|can|could|want|like|need|don't|think|feel)\b|'s|,| is|$)|before (?:that|you go|"
    r"i forget)|after that|if (?:i|we) (?:could|had|were|won|was|moved|lived)|(?:in|on|for) (?:that|this|my|the|our|a|"
    r"an|one|\d|some|fact|short|case|summary|example)\b|(?:in|on|for) (?:[A-Z]|\w+day|january|june|july|me)"
)
_KEPT = caseless(
    r"(?:please )?(?:always )?(?:(?:keep|make) (?:your |all |the )?(?:answers?|replies|responses?|messages?|"
    r"explanations?|emails?|summar(?:y|ies)|commit messages|code|functions|comments|prs?|pull requests) .+|"
    r"keep (?:the |your |all |any )?(?:[\w-]+ ){0,2}[\w-]+s (?:small|short|simple|brief|minimal|concise|"
    r"under \d+\b.*)|be (?:concise|brief|direct|polite|formal|informal|honest|blunt)\b.*|"
    r"(?:answer|reply|respond|write) (?:me )?(?:much |a bit |more )?(?:shorter|briefly|concisely)\b.*|"
    r"(?:answer|reply|respond|write|speak|talk|address me|communicate) (?:to me |me )?(?:only |always |back )?in .+|"
    r"(?:use|give|"
    r"stick to|prefer|include|format|show|quote|spell) (?:me |all |only |prices |dates |times |"
    r"everything )?(?:[\w'-]+ ){0,3}?(?:units|spelling|english|celsius|fahrenheit|metric|snake_case|camelcase|"
    r"tabs|spaces|type hints|docstrings|bullet points|markdown|emojis?|24-hour|iso dates|kilomet(?:re|er)s|euros|"
    r"dollars|pronouns|conventional commits|dark mode|sources|plain text|plain language)\b.*)$"
)
_CHOSEN = caseless(
    r"(?:please )?(?:only use|use only|only ever use) .+|prefer .+ (?:over|to|rather than|instead of) .+|"
    r"no ['\"]?[\w. -]{1,24}['\"]?, (?:use|write|say|call it|take) \S.*|"
    r"(?:use|write|say|choose|pick) [^,]{2,50}?(?:,? (?:not|instead of|rather than|over|and not|never)) .+"
)
# "Commit messages should be in German": what is made is to be made so.
_SHOULD_BE = caseless(
    r"(?:(?:my|our|all|the|your|any|every) )?(?:[\w-]+ ){0,2}?(?:messages?|comments?|answers?|replies|reply|"
    r"responses?|docs|docstrings|reports?|emails?|charts?|plots?|graphs?|summar(?:y|ies)|prs?|pull requests|tests|"
    r"functions|names|dates|prices|times|units|recipes|invoices|tickets|branches|migrations|titles|slides|"
    r"translations|letters|lists) (?:should|must|shouldn't|mustn't|need to|have to|may|can)(?: (?:not|never|"
    r"always|only|all))* (?:be|use|have|start|end|contain|include|follow|rely|go|come|fit|mention|say)\b.+"
)
_MUST = caseless(r"\b(?:should|must|shouldn't|mustn't|need to|have to|may not|may only|can only|can't|cannot)\b")
_FOR_ALL = caseless(
    r"for (?!me\b|now\b|this\b|that\b|example\b|instance\b|the\b|my\b|your\b|an?\b)(?P<what>(?:[\w-]+ "
    r"){0,2}[\w-]+s),? (?P<verb>[a-z]+) \S+ .*"
)
_PLEASE_NO = caseless(
    r"(?:please,? no|no) (?P<what>(?:[\w-]+ ){0,3}?[a-z-]+(?:s|jargon|slang|small talk))\b(?P<rest> (?:with|in|"
    r"at|before|after|without|unless|during|containing|on) .+)?(?P<please>,? please)?$"
)
_WE_ALSO = caseless(r"whenever (?:we|i) .{3,80}, (?:we|i) (?:also|always|never|then) .+")
_SURE = caseless(r"(?:please )?(?:make sure|be sure|ensure|see to it|take care) (?:that |to |you )*(?P<rest>.+)")
_RECURRING = caseless(
    r"\b(?:always|never|whenever|when|before|after|every|each|any|all|unless|without|first|only|from now on)\b"
)
_FIRST_WORD = caseless(r"(?:please )?(?:always |never |don't |only |just |to |stop |avoid )*(?P<v>[\w'-]+)")
_THIS_ONE = re.compile(r"\bit (?:short|brief)\b|\bthis\b")
_STOPPING = caseless(r"(?:please )?(?:stop|avoid|refrain)\b")
_NO_ORDER = caseless(r"no more|not to")
_CIRCUMSTANCE = re.compile(r" [\w' ]{3,60}\b(?:in|before|after|when|without|because|unless|on|for|with)\b")
_MERE_PRONOUN = re.compile(r" (?:it|that|this|them|so|any|one|some|any of (?:it|that|them))[ ]?$")
_PASSING = caseless(r"\b(?:yet|for now|today|this time|right now|tonight|tomorrow|this week|just now|this one)\b")
_NONE_OF = caseless(
    r"no (?P<what>(?:\w+ )?[a-z-]+s) (?:on (?:fridays|weekends|mondays|sundays|saturdays)|in (?!this|the "
    r"(?:meantime|morning))\w+|before|after|without|unless|during)\b"
)
_NO_RULE = word_set("""
problems issues changes errors results replies thanks worries plans news questions bugs siblings kids allergies
ideas complaints tests
""")
_BREAK = re.compile(
    r"[ ]?;[ ]?| [–—-] |—|, (?=(?:I|i|my|we|we're|i'm|I'm|it's|he|she|they)\b)|,? (?:and|so|"
    r"but) (?=(?:please )?(?:always|never|don't|do not|from now on)\b)|, (?=(?:please|so please)\b)|"
    r",? (?:so|but) (?=please\b|no\b|keep\b|(?:\w+ ){1,3}(?:should|must)\b)"
)
# "To squash commits and to write tests": the second "to" is none of an order.
_AND_TO = re.compile(r" and to (?=[a-z])")


class Rules(NamedTuple):
    """The rules of a sentence and what is left of it for facts."""

    rules: list[str]
    left: list[str]


def rules_in(sentence: str, speaker: str) -> Rules:
    """The rules that a sentence gives."""
    text = _LEADING.sub("", sentence, count=1)
    if is_convention(text, _ACTIONS) and not _BREAK.search(text):
        return Rules([rule_text(text, speaker)], [])
    if (whole := _conditional(text, speaker)) or _WE_ALSO.match(text):
        return Rules([whole or rule_text(text, speaker)], [])
    if (declared := _DECLARED.match(sentence)) and (declared["kind"].lower() != "lesson" or _acts(declared["rest"])):
        return Rules([rule_text(declared["rest"], speaker)], [])
    titled = _TITLED.match(text)
    before = [text[: titled.end()].rstrip(": ")] if titled else []
    text = text[titled.end() :] if titled else text
    if titled and (whole := _conditional(text, speaker)):
        return Rules([whole], before)
    found, left = [], []
    for piece in _BREAK.split(text):
        rule = _rule(piece.strip(), speaker)
        if rule:
            found.append(rule)
        elif piece.strip():
            left.append(piece)
    return Rules(found, before + left) if found else Rules([], [sentence])


def _conditional(text: str, speaker: str) -> str:
    """ "When the user asks for a recipe, give metric units"."""
    match = _CONDITION.match(text)
    if not match or _ONE_OFF.match(text) or not _is_action(match["verb"], match["rest"]):
        return ""
    first = text.split(maxsplit=1)[0].lower()
    if first in ("for", "in", "on", "during", "while", "until") and not match["neg"]:
        return ""
    if re.search(r"\b(?:would|could|might)\b", match["when"]) or _PASSING.search(match["when"]):
        return ""
    return rule_text(text, speaker)


def _is_action(verb: str, rest: str) -> bool:
    word = verb.lower()
    return word in _ACTIONS and not re.match(r" (?:is|are|was|were|has|will|it's)\b", rest)


def _rule(piece: str, speaker: str) -> str:
    text = _LEADING.sub("", piece, count=1)
    standing = _STANDING.match(text)
    if standing:
        text = standing["rest"]
    wish = _WISH.match(text)
    if wish and (
        standing or _RECURRING.search(wish["rest"]) or re.match(r"(?:not|stop|avoid|don't)\b", wish["rest"], re.I)
    ):
        text = _AND_TO.sub(" and ", re.sub(r"^not (?:to )?", "don't ", wish["rest"], flags=re.I))
        if not _acts(text):
            return ""
        if not wish[0].lower().startswith(("i ", "we ", "you ", "i'd", "we'd")):
            return rule_text(text, speaker)
    elif wish:
        return ""
    if (condition := _conditional(text, speaker)) and not condition.startswith(("For", "In", "On")):
        return condition
    is_order = bool(standing and (_acts(text) or _DONT.match(text))) or _is_rule(text)
    asked = text if is_order or is_convention(text, _ACTIONS) else wanted(text)
    return rule_text(asked, speaker) if asked else ""


def _acts(text: str) -> bool:
    """True if the text is an instruction to act."""
    match = _FIRST_WORD.match(text)
    if not match:
        return False
    word = match["v"].lower()
    return word in _ACTIONS or FORMS.get(word, ("", ""))[1] in ("base", "ing") or word.endswith("ing")


def _is_rule(text: str) -> bool:
    """One of the forms in which people say how to act, always and not just now."""
    if match := _ALWAYS.match(text):
        return _is_always(match["verb"].lower(), text)
    if match := _DONT.match(text):
        return _is_forbidden(match["verb"].lower(), match["rest"], text)
    asked = _ASK_FIRST.match(text[:1].lower() + text[1:])
    none = _NONE_OF.match(text)
    sure = _SURE.match(text)
    asked_off = _PLEASE_NO.match(text)
    for_all = _FOR_ALL.match(text)
    is_order = bool(
        (_MUST.search(text) and _SHOULD_BE.match(text))
        or (for_all and for_all["verb"] in _ACTIONS and not re.search(r"\d{3}|@", text))
        or (asked_off and (text.lower().startswith("please") or asked_off["please"]))
        or (asked and (not asked["verb"] or asked["verb"] in _ACTIONS))
        or _CHOSEN.match(text)
        or (sure and _RECURRING.search(sure["rest"]))
        or (_KEPT.match(text) and not _THIS_ONE.search(text))
        or (none and none["what"].split()[-1].lower() not in _NO_RULE)
    )
    return is_order and not _PASSING.search(text)


def _is_always(verb: str, text: str) -> bool:
    form = FORMS.get(verb, ("", ""))[1]
    if verb in _NOT_ACTS or (form in ("past", "s", "ing") and verb not in _ACTIONS):
        return False
    known = verb in _ACTIONS or form == "base"
    return known or (not verb.endswith(("s", "ed", "ing", "ly", "n")) and len(text.split()) > 4)


def _is_forbidden(verb: str, rest: str, text: str) -> bool:
    if verb in ("just", "ever", "simply") and (inner := re.match(r" (?P<verb>[\w'-]+)(?P<rest>.*)", rest)):
        verb, rest = inner["verb"].lower(), inner["rest"]
    doing = verb.endswith("ing")
    if _STOPPING.match(text) and not doing:
        return False
    if verb in _IDLE or not (doing or verb in _ACTIONS or verb in FORMS) or _NO_ORDER.match(text):
        return False
    if verb in _PERHAPS and not _CIRCUMSTANCE.match(rest):
        return False
    return not _PASSING.search(rest) and bool(rest.strip() or doing) and not _MERE_PRONOUN.match(rest)


# An imperative that a person stores by hand is a rule if it says how something is done; "buy milk" is a task.
_MANNER = caseless(
    r"(?:please )?(?P<verb>[a-z-]+) (?:(?:the |all |any |your )?(?:[\w./'-]+ ){0,3}?[\w./'-]+s |(?:[\w./'-]+ ){0,2}?)"
    r"(?:in|with|without|as|at|on|under|by|using|before|after|when|instead|rather|for all|for every|per)\b.+"
)
_FORM_VERBS = word_set("""
use prefer avoid indent format name write answer reply respond spell sign prefix quote type put keep log comment
document run test check lint align wrap round sort group cite explain summarise summarize show commit squash validate
escape cache mock pin tag label report include store translate call address
""")
_TASK = caseless(
    r"\b(?:tomorrow|today|tonight|(?:mon|tues|wednes|thurs|fri|satur|sun)day|this (?:week|month|evening|morning)|"
    r"next (?:week|month|time)|at (?:noon|\d)|by \d|\d{1,2}(?:st|nd|rd|th)\b)"
)
_NAMED = re.compile(r"\s(?:to|from|with|for|by|at) [A-Z][a-z]+")


def standing_order(text: str, speaker: str) -> str:
    """The rule that an imperative stored by hand gives: "Indent with two spaces", "Run the tests before committing"."""
    text = text.strip().rstrip(".!… ")
    match = _MANNER.fullmatch(text)
    if match is None or match["verb"].lower() not in _FORM_VERBS or "?" in text or "\n" in text:
        return ""
    return "" if _TASK.search(text) or _NAMED.search(text) else rule_text(text, speaker)


def recurs(text: str) -> bool:
    """Is this to be done again and again?"""
    return bool(_RECURRING.search(text) or _KEPT.match(text) or _CHOSEN.match(text))
