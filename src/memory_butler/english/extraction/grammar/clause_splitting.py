"""A sentence as clauses: compound sentences are taken apart where a new statement begins."""

import re
from typing import NamedTuple

from memory_butler.english.extraction.grammar.noise import is_unsure
from memory_butler.english.extraction.grammar.person_names import NAME
from memory_butler.english.extraction.grammar.verbs import ADVERBS, FORMS, FREQUENT, word_at
from memory_butler.english.text.word_sets import caseless, word_set

_OPENERS = caseless(
    r"(?:(?:me(?= i\b)|g'day|alright\??|right then|and|but|so|also|plus|anyway|anyways|btw|oh|well|ok|okay|yeah|yes|"
    r"yep|no|nope|nah|hi|hiya|hello|hey|hmm|lol|haha|actually|correction|fyi|update|by the way|just so you know|"
    r"for the record|to be honest|honestly|tbh|in fact|wait|sorry|please note(?: that)?|note(?: that| to self)?|"
    r"it turns out(?: that)?|turns out(?: that)?|first of all|as i (?:said|mentioned)|like i said|i (?:just |"
    r"also )?(?:wanted|want) to (?:say|mention|let you know|tell you)(?: that)?|i should (?:mention|say|add|"
    r"note)(?: that)?|i (?:already )?told you(?: that)?|for context|context|before i forget|one more thing|"
    r"another thing|quick (?:thing|note|update|one)(?: for (?:you|your records))?|good (?:morning|evening|afternoon)|"
    r"thanks|thank you|cool|great|nice|sure|right|good news|bad news|big news|news|small update|psa|ps|p\.s\.|"
    r"in case (?:it helps|you need it|it matters)|heads up|summary|notes?|background|about me|unfortunately|sadly|"
    r"luckily|happily|fortunately|though|however|meanwhile|besides|additionally|moreover|separately|incidentally|then|"
    r"since then|not really|for what it's worth|fwiw|you should know(?: that)?|you know|i mean|look|listen|guess what|"
    r"also remember|even so|i forgot to (?:say|mention)(?: that)?|did i mention(?: that)?|can confirm|it's official|"
    r"yay|ugh|hooray|finally|for your (?:records|information|notes)|user (?:has )?changed (?:his|her|their) mind|"
    r"i(?:'ve| have)? changed my mind|user corrected me(?: again)?|user clarified|user update|new info|intake form|"
    r"these days|nowadays|at the moment|right now|for now|at present|currently|as of (?:today|now|this week)|(?:both|"
    r"all) of us know)(?:[ ]?[,:!.–—-]+[ ]?| (?=\w)))"
)
# "Well known people say" begins with none of the words above: these want a mark after them.
_MARKED = word_set("no note notes right cool great nice look sure thanks update context news summary background")
_BREAK = caseless(
    r"(?=[ ,;:—])(?:[ ]?(?:[;:]| [–—-]{1,2}(?= )|—)[ ]?|[ ]?,? (?:and|but|so|because|since|though|although|while|"
    r"whereas|plus|or|as) (?:also |then )?|[ ]?, (?:also |then )?|[ ]?,? (?=who(?:'s| )))"
)
_BRACKETED = re.compile(r"[ ]?[(\[]([^()\[\]]{0,200})[)\]]")
_BE_WORDS = word_set("""
is are was were am 's 're 'm has have had will can can't cannot doesn't don't didn't isn't aren't
""")
_SUBJECT = re.compile(
    r"(?:I|i|we|We|he|she|they|He|She|They|it|It|you|(?:the )?[Uu]ser|there|that|this|everyone|everybody|nobody|"
    r"(?:both|all|some|one|most) of (?:them|us|you)|the (?:kids|twins|children)|[Mm]um|[Dd]ad|[Mm]om|[Gg]randma|"
    r"[Gg]randpa|fav(?:ou?rite)? \w+(?= is))(?=[ '])"
)
# "Wife: Hannah, kids: Ollie and Bea".
_CARD = re.compile(r"[a-z]+: [A-Z]")
_POSSESSIVE = re.compile(
    rf"(?:my|our|his|her|their|your|My|Our|His|Her|Their|(?:the )?[Uu]ser's|the|The|an?|{NAME}'s) "
)
_WORD = re.compile(r"'s\b|[,;.]|[^\W_](?:[\w-]|'(?!s\b))*")
_NAMED = re.compile(rf"{NAME}(?P<sep> |(?='s ))(?P<verb>'s|[\w']+)(?= |$)")
_IF = caseless(r"(?:if|unless|assuming|provided|in case|were i|had i|whether)\b")
_BACK = caseless(r"(?:but|;|however|anyway)")
# Words that are nouns as often as verbs open a phrase only with what a verb has after it.
NOUNLIKE = word_set("""
train work walk travel cook run swim drive date plan hope love play practice garden journal surf ski hike jog cycle
climb smoke fast head lead coach code design program paint book host watch drink use need report focus value trust
fear support visit start change share order call name tear cut set light text email phone message test check help
answer chat stand hold ride fly fall rise win sleep study major bake lift review bank look nap save handle worry
""")
_DETERMINER = re.compile(
    r"(?:an?|the|my|our|in|at|on|to|for|from|every|with|as|two|three|twice|once|daily|it|up|most|all|and)$|\d"
)
_ALONE = word_set("freelance smoke vape drink swim cycle run meditate cook climb journal")
# A plan after a comma: ", starting at Wise in May".
_GOING_ON = word_set("start move fly travel return leave arrive join go head aim plan hope work train look live")
_ONWARD = word_set("at to in on for as from with back")
_SINCE = re.compile(r"working (?:at|for|with) [A-Z].{1,40} since ")
_NAMING = ("called", "named", "based", "used")
_AUXILIARY = word_set("am 'm is are was has have don't doesn't didn't can't cannot isn't won't")
_PHRASES = {("no", "longer"), ("back", "on"), ("back", "by")}
MOST_CLAUSES = 24


class Clause(NamedTuple):
    """A statement of its own; `leads` says whether a subject of its own opens it."""

    text: str
    leads: bool
    relative: bool


def without_openers(text: str) -> str:
    """The words that only lead in: "Actually,", "by the way", "quick thing for your records,"."""
    for _ in range(5):
        match = _OPENERS.match(text)
        if not match:
            break
        word = match[0].strip().lower()
        if word in _MARKED or (word == "no" and match[0].endswith(" ")):
            break
        text = text[match.end() :]
    return text


_AND_ALLERGIC = caseless(r",? and (?=(?:also |severely |mildly |highly |very )?allergic to\b)")


def clauses(sentence: str) -> list[Clause]:
    """The statements of a sentence in order, without those under an "if" and those that are only considered."""
    text = without_openers(_BRACKETED.sub("", sentence) if "(" in sentence or "[" in sentence else sentence)
    # Allergies form a list of their own.
    text = _AND_ALLERGIC.sub("; ", text) if "allergic" in text else text
    found: list[Clause] = []
    conditional = _IF.match(text) is not None
    for piece, mark, leads, relative in _pieces(text):
        body = without_openers(piece)
        if _IF.match(body):
            conditional = True
        elif mark and _BACK.match(mark):
            conditional = False
        if conditional or not body or is_unsure(body):
            continue
        found.append(Clause(body, leads, relative))
    return found


def _pieces(text: str) -> list[tuple[str, str, bool, bool]]:
    """Text between the breaks that a new statement follows, with the mark before it."""
    found: list[tuple[str, str, bool, bool]] = []
    begin, mark, leads, relative, third = 0, "", True, False, _third_person(text)
    for match in _BREAK.finditer(text):
        if len(found) >= MOST_CLAUSES:
            break
        sign = match[0].strip(" ,").lower()
        right = text[match.end() :]
        is_relative = right[:3].lower() == "who"
        opens = _opens_subject(right)
        if not opens and not is_relative and not _hard(sign) and not _opens_phrase(right, third, sign):
            continue
        if sign == "as" and not opens:
            continue
        if sign == "and" and text[: match.start()].endswith("orn") and right.startswith("raised"):
            continue
        found.append((text[begin : match.start()].strip(), mark, leads, relative))
        begin, mark, leads, relative = match.end(), sign, opens, is_relative
        if opens:
            third = _third_person(right)
    found.append((text[begin:].strip(), mark, leads, relative))
    return found


def _hard(sign: str) -> bool:
    return sign in (";", "—", "–", "--")


_FIRST_PERSON = re.compile(r"(?:\w+ ){0,3}?(?:I|i|we|We|[Tt]hey|my \w+(?: [A-Z]\w+)? and I)\b")


def _third_person(text: str) -> bool:
    return not _FIRST_PERSON.match(text)


def _opens_subject(text: str) -> bool:
    """Does a statement with its own subject begin here?"""
    text = without_openers(text)
    if _SUBJECT.match(text) or _CARD.match(text):
        return True
    if match := _POSSESSIVE.match(text):
        words = [word.lower() for word in _WORD.findall(text[match.end() : match.end() + 80])[1:7]]
        return any(_is_verb(word) and word not in _NAMING for word in words)
    named = _NAMED.match(text)
    return named is not None and _is_verb(named["verb"])


def _is_verb(word: str) -> bool:
    lower = word.lower()
    return lower in _BE_WORDS or FORMS.get(lower, ("", ""))[1] in ("s", "past")


def _opens_phrase(text: str, third: bool, sign: str) -> bool:
    """Does a verb phrase begin here that goes on about the same subject, in the same person?"""
    at = 0
    for _ in range(4):
        word, end = word_at(text, at)
        following = word_at(text, end)[0]
        if word not in ADVERBS and word not in FREQUENT and word != "never":
            break
        at = end
    else:
        return False
    base, form = FORMS.get(word, ("", ""))
    onward = form == "ing" and sign in (",", "") and base in _GOING_ON and following in _ONWARD
    if onward or word in _AUXILIARY or (word, following) in _PHRASES or (sign == "and" and _SINCE.match(text)):
        return True
    agrees = form == ("s" if third else "base")
    if following in ("", ",", "and", "or", ".", ";", "over"):
        return agrees and not following and base in _ALONE
    if form == "past":
        return sign != "," or following in ("to", "at", "in", "a", "an", "the", "my", "their", "from")
    is_noun = base in NOUNLIKE and form == "base" and not _DETERMINER.match(following)
    return agrees and not (is_noun and not text[end:].lstrip()[:1].isupper())
