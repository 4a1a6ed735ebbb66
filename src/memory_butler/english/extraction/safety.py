"""Safety check: does a fact or rule contradict its sentence, or drop what denies, limits or conditions it?

"I'm allergic to cats, dogs are fine" must not become an allergy to dogs, nor "I might move to Rome" a move. The check
finds the words of the value in the sentence and looks at the words that govern them. Whatever denies ("not"), limits
("except", "only") or conditions ("if", "might") the value has to be in the value as well. It is pure, and the same for
the grammar and for proposals of language models.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from memory_butler.english.extraction.grammar.clause_splitting import NOUNLIKE
from memory_butler.english.extraction.grammar.verbs import FORMS
from memory_butler.english.text.stems import IDIOMS, STRAIGHT_MARKS, stem
from memory_butler.english.text.stop_words import FUNCTION_WORDS
from memory_butler.english.text.word_sets import caseless, word_set, words_in

MOST_TOKENS = 200
SUBJECT_WORDS = 4
_TOKEN = re.compile(r"[^\W_]+(?:['.@/&+-][^\W_]+)*|[,;:()—–!?\n]|-(?=\s)")
_HARD = frozenset(";:()—–!?\n-")
_ENDING = word_set("but however although though whereas yet because so otherwise while which")
_JOINING = word_set("and or & plus nor")
_LEADING = _JOINING | word_set("then also now just please")
_ORDERS = word_set("use try call text ask")
_SUBJECTS = word_set(
    "i i'm i've i'd i'll we we're we've he he's she she's they they're it it's my our his her their you"
)

_DENIALS = word_set("""
not never no cannot without except neither nor nobody none hardly rarely barely seldom nothing excluding minus cant dont
doesnt didnt isnt arent wasnt wont apart ain't nope unlike besides nie nicht kein keine pas jamais nunca non sin ohne
""")
_HEDGES = word_set("""
might maybe perhaps possibly probably presumably supposedly allegedly apparently almost nearly wish wished wishes
could would may hopefully unsure doubt wonder imagine suppose pretend whether rumour rumor
""")
_CONDITIONS = word_set("if unless until till whenever provided assuming lest")
_LIMITS = word_set("only except unless until")
_SAID_SO = word_set("not never no cannot without neither nor none hardly rarely seldom off free stopped quit former")
_WISHES = word_set("prefer rather like love recommend appreciate want say need")
_IDLE_CONDITIONS = caseless(
    r"\b(?:if (?:that|it|this|you|possible|needed|necessary|anyone|anybody|anything|not)(?:'s|'re| is| are)?\b"
    r"(?: (?:matters?|helps?|need|wondering|curious|wonder|wondered|want|ask|asked|like|must know|know|"
    r"remember|relevant|useful|important))*|what if|as if|even if|if only|only child|only (?:one|two|son|daughter|"
    r"sister|brother)|not sure (?:why|how)|no idea why|no longer than|not long ago|not far|no later than|"
    r"nothing like)\b"
)
_CEASED = caseless(r"\b(?:used to|no longer|any ?more|any longer)\b")
_SAYS_CEASED = caseless(
    r"\b(?:no longer|no|not|never|former(?:ly)?|used to|stopped|quit|gave up|ex|anymore|any more|previous(?:ly)?|left|"
    r"ended|does not|doesn't|don't|without|off|free|until|cancelled)\b"
)
_FINITE = word_set("""
is are was were 's isn't aren't wasn't weren't am has have had hasn't haven't do does did don't doesn't didn't will
won't can can't cannot fine ok okay never not no works work bother bothers scare scares agree agrees goes go suits suit
tastes taste smell smells makes make gives give need needs seem seems feel feels stays stay too only dont doesnt isnt
arent acceptable allowed good great safe harmless tolerated
""")
_RELATIVE = word_set("that which who whom whose where when of in on at for with from to by about than as and or")
# Classes whose value stands in a list of things: its segment has no verb of its own.
_LISTED = word_set("likes dislikes allergic_to uses owns speaks prefers diet drives pet skill health")
_LIMITED = _LISTED | word_set("habit works_at works_as lives_in studies plan event")
_AVERSE = re.compile(
    r"\b(?:n't|not|never|cannot)\s+(?:really\s+|actually\s+)?(?:hate|dislike|mind|loathe|detest|despise|afraid|scared)\b"
)
# "I can't eat nuts" is how people say that they must not have them.
_BODILY = word_set("health diet allergic_to habit")
_BODILY_VERBS = word_set("eat drink have tolerate stomach digest touch handle stand take do cope agree sit")
_CONTENT_FREE = FUNCTION_WORDS | word_set("longer does user uses used takes has")
_CUES = _DENIALS | _HEDGES | _CONDITIONS | _LIMITS | word_set("used longer anymore more")
_SHORT_NOT = re.compile(r"n['’]t\b")
_LISTING = re.compile(r",| (?:and|or|&|plus|nor) ")


class _Token(NamedTuple):
    low: str
    text: str
    stem: str


class _Sentence(NamedTuple):
    """The tokens of a sentence; `clause` and `segment` number the stretches between hard and soft breaks."""

    text: str
    tokens: tuple[_Token, ...]
    clause: tuple[int, ...]
    segment: tuple[int, ...]


def objection(sentence: str, predicate: str, content: str) -> str | None:
    """The reason why a fact must not be taken from this sentence; None if it is safe. For a rule the predicate is
    empty."""
    kind = predicate.partition(":")[0]
    has_cue = not _CUES.isdisjoint(words_in(sentence)) or _SHORT_NOT.search(sentence) is not None
    if not has_cue and not (kind in _LISTED and _LISTING.search(sentence)):
        return None
    read = _read(sentence)
    places = _places(read, content)
    if not places:
        return None
    found = [_at(read, first, last, kind, content) for first, last in places]
    return None if None in found else found[0]


def is_safe(sentence: str, predicate: str, content: str) -> bool:
    return objection(sentence, predicate, content) is None


@lru_cache(maxsize=64)
def _read(sentence: str) -> _Sentence:
    text = IDIOMS.sub(" ", sentence.translate(STRAIGHT_MARKS))
    text = _IDLE_CONDITIONS.sub(" ", text)
    tokens = [_Token(one.lower(), one, _stem(one)) for one in _TOKEN.findall(text)[:MOST_TOKENS]]
    clause = segment = 0
    clauses, segments = [], []
    for at, token in enumerate(tokens):
        if token.low in _HARD or token.low in _ENDING:
            clause, segment = clause + 1, segment + 1
        elif token.low in _JOINING or token.low == ",":
            segment += 1
            after = next((one.low for one in tokens[at + 1 : at + 4] if one.low not in _LEADING), "")
            clause += after in _SUBJECTS or after in _ORDERS or _is_verb(after) or after in ("works", "lives")
        clauses.append(clause)
        segments.append(segment)
    return _Sentence(text, tuple(tokens), tuple(clauses), tuple(segments))


def _stem(token: str) -> str:
    low = token.lower()
    return stem(low.removesuffix("'s")) if token[0].isalnum() else low


def _places(read: _Sentence, content: str) -> list[tuple[int, int]]:
    """Where the value stands: the first and last token of each stretch with most of its words."""
    own = [_Token(one.lower(), one, _stem(one)) for one in _TOKEN.findall(content.translate(STRAIGHT_MARKS))]
    wanted = {one.stem for one in own if one.text[0].isalnum() and one.low not in _CONTENT_FREE}
    wanted = wanted or {one.stem for one in own if one.text[0].isalnum()}
    by_segment: dict[int, list[int]] = {}
    for at, token in enumerate(read.tokens):
        if token.stem in wanted:
            by_segment.setdefault(read.segment[at], []).append(at)
    if not by_segment:
        return []
    most = max(len({read.tokens[at].stem for at in places}) for places in by_segment.values())
    return [
        (min(places), max(places))
        for places in by_segment.values()
        if len({read.tokens[at].stem for at in places}) == most
    ]


def _at(read: _Sentence, first: int, last: int, kind: str, content: str) -> str | None:
    own = {token.lower() for token in _TOKEN.findall(content.translate(STRAIGHT_MARKS))}
    if kind in _LISTED and _is_own_clause(read, first):
        return "Its words have a statement of their own."
    clause = [at for at, number in enumerate(read.clause) if number in (read.clause[first], read.clause[last])]
    cue = (
        _denial(read, [at for at in clause if at <= last], kind, own)
        or next((read.tokens[at].low for at in clause if _is_hedge(read, at) and read.tokens[at].low not in own), "")
        or _condition(read, first, last, kind, own)
    )
    if cue:
        return f'It drops "{cue}".'
    if (
        kind
        and kind not in _BODILY
        and _CEASED.search(" ".join(read.tokens[at].low for at in clause))
        and not _SAYS_CEASED.search(content)
    ):
        return "It states what has ended."
    return None


def _is_own_clause(read: _Sentence, first: int) -> bool:
    """ "…, dogs are fine": after a comma or "and", the value is the subject of another verb."""
    number = read.segment[first]
    if number == 0 or number == read.segment[0]:
        return False
    begin = read.segment.index(number)
    if read.clause[begin] != (read.clause[begin - 1] if begin else -1):
        return False
    words = [
        at for at in range(begin, len(read.tokens)) if read.segment[at] == number and read.tokens[at].text[0].isalnum()
    ]
    words = [at for at in words if read.tokens[at].low not in _JOINING]
    for count, at in enumerate(words[: SUBJECT_WORDS + 1]):
        low = read.tokens[at].low
        if count == 0 and (low in FORMS or low in _FINITE or low in _SUBJECTS):
            return False
        if low in _RELATIVE:
            return False
        if count and (low in _FINITE or _is_verb(low)):
            return first < at
    return False


def _is_verb(word: str) -> bool:
    base, form = FORMS.get(word, ("", ""))
    return form in ("s", "past") and base not in NOUNLIKE


def _denial(read: _Sentence, places: Sequence[int], kind: str, own: set[str]) -> str:
    """The word that denies the value, if the value does not say so itself."""
    denied = [read.tokens[at].low for at in places if _is_denial(read, at)]
    if kind == "dislikes":
        clause = " ".join(read.tokens[at].low for at in places).replace("n't", " n't")
        return "not" if _AVERSE.search(clause) else ""
    if not denied or denied[-1] in own or not own.isdisjoint(_SAID_SO) or any(word.endswith("n't") for word in own):
        return ""
    if kind in _BODILY and any(read.tokens[at].low in _BODILY_VERBS for at in places):
        return ""
    return denied[-1]


def _is_denial(read: _Sentence, at: int) -> bool:
    low = read.tokens[at].low
    following = read.tokens[at + 1].low if at + 1 < len(read.tokens) else ""
    if low == "no" and (following in (",", "") or (at == 0 and following in _SUBJECTS)):
        return False
    return low in _DENIALS or low.endswith("n't")


def _is_hedge(read: _Sentence, at: int) -> bool:
    token = read.tokens[at]
    if token.low not in _HEDGES or (token.low == "may" and token.text != "may"):
        return False
    following = {read.tokens[place].low for place in range(at + 1, min(at + 3, len(read.tokens)))}
    return token.low not in ("would", "could") or (following.isdisjoint(_WISHES) and "you" not in following)


def _condition(read: _Sentence, first: int, last: int, kind: str, own: set[str]) -> str:
    """A condition, an exception or a limit next to the value that the value leaves out."""
    for at, token in enumerate(read.tokens):
        if token.low in own:
            continue
        near = abs(read.clause[at] - read.clause[first]) <= 1 and not any(
            read.tokens[place].low in (";", "\n", "—", "but", "because")
            for place in range(min(at, last), max(at, first) + 1)
        )
        same = read.clause[at] == read.clause[first]
        if token.low in _CONDITIONS and near and (same or token.low not in ("until", "till")):
            return token.low
        is_limit = (
            kind in _LIMITED
            and token.low in _LIMITS
            and at + 1 < len(read.tokens)
            and read.segment[at] == read.segment[at + 1]
        )
        if is_limit and read.clause[at] == read.clause[last] and last < at <= last + 2:
            return token.low
    return ""
