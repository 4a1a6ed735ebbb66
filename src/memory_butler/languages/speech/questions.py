"""Questions, requests and suppositions, unless they tell something as well."""

import re

from memory_butler.english.extraction.grammar.noise import asks
from memory_butler.english.text.word_sets import caseless
from memory_butler.languages.speech.cues import FIRST_PERSON, RELATIONS, STATES, opening

FEWEST_TOLD = 4
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_ASKING = opening(
    "wer, was, wann, wo, warum, wieso, wie, welche, welcher, welches, kannst du, könntest du, können wir, soll ich",
    "hast du",
    "qué, quién, cuándo, dónde, por qué, cómo, cuál, puedes, podrías, podemos",
    "qui, que, quand, où, pourquoi, comment, quel, quelle, est-ce que, peux-tu, pouvez-vous, tu peux",
    "quem, quando, onde, por que, como, qual, você pode, pode me, podes",
    "chi, che cosa, cosa, quando, dove, perché, come, quale, puoi, potresti",
    "кто, что, когда, где, почему, зачем, как, какой, какая, можешь, можно ли",
)
_ASKING_CJK = re.compile(r"(?:か|かな|吗|呢|么)[？?。]*$|^(?:何|誰|どこ|いつ|なぜ|どう|怎么|什么|谁|哪里|为什么)")
# What follows a request or a statement, and the question after a statement.
BREAK = re.compile(r"[,;]\s+|\s[-–—]\s")
_TAIL = caseless(
    r"[,;–—-]\s{0,4}(?:so |and |but |then |also )?(?:what|where|how|which|who|when|why|can|could|would|should|do|does|"
    r"is|are|any|will|shall|wie|was|wo|wann|kann|soll|que|qué|cómo|comment|quel|quelle|est-ce|come|quale|как|что|"
    r"где)\b"
    r"[^,;]{0,120}[?？][^,;]{0,4}$"
)
_AMOUNT = re.compile(r"\d")
_OF_OTHERS = opening(
    "he, she, they, his, her, their, he's, she's, they're, hes, shes, elle, il, ella, él, sie, er, lei, lui"
)
_SUPPOSED = opening(
    "if i, if we, if only, what if, imagine, suppose, supposing, pretend, let's say, hypothetically, in theory",
    "say i, i wish",
    "maybe i, maybe we should, perhaps i, i might, i wonder, i was wondering, one day i, someday, would i, could i",
    "for example, e.g., if you were",
    "wenn ich, falls ich, stell dir vor, angenommen, vielleicht sollte, ich wünschte, was wäre, zum beispiel",
    "eines tages",
    "si yo, si pudiera, si tuviera, imagina, supongamos, quizás, quizá, tal vez, ojalá, por ejemplo, algún día",
    "si j'étais, si j'avais, si je, imagine, imaginons, supposons, peut-être, par exemple, un jour",
    "se eu, imagina, imagine, suponha, talvez, quem me dera, por exemplo, um dia",
    "se io, se fossi, se avessi, immagina, supponiamo, forse, magari, per esempio, un giorno",
    "если бы, представь, допустим, предположим, может быть, может, возможно, вот бы, например, когда-нибудь",
)
_SUPPOSED_ANYWHERE = caseless(
    r"\b(?:hypothetically|if i (?:were|was|had|moved|could|won)|would be (?:nice|cool|great|fun)|wouldn't it|"
    r"just kidding|jk|would(?:n't| not| never)? (?:never )?have \w+)\b"
    r"|\b(?:hätte(?:n|st)?|wäre(?:n|st)?) nie\b|\bn'aura\w+ jamais\b|\bnunca (?:lo )?(?:habría|teria)\b|"
    r"\bavre\w+ mai\b|"
    r"\bникогда бы\b"
)
_SUPPOSED_CJK = re.compile(r"^(?:もし|たとえば|例えば|仮に|如果|假如|要是|也许|比如)|かもしれない|だろう")


def is_question(text: str, *, marked: bool) -> bool:
    """A question or a request, unless it tells as much: "can you write to Mrs Ortiz, she hates her first name"."""
    if marked:
        head = _TAIL.search(text)
        return head is None or not tells(text[: head.start()])
    if not _asks(text):
        return False
    return not any(tells(text[match.end() :]) for match in BREAK.finditer(text))


def tells(part: str) -> bool:
    """A statement about a person, or one in the first person."""
    is_own = FIRST_PERSON.search(part) or RELATIONS.search(part) or _OF_OTHERS.match(part)
    enough = len(_WORD.findall(part)) >= FEWEST_TOLD
    says = STATES.search(part) or _AMOUNT.search(part)
    return bool(enough and is_own and says) and not (_asks(part) or is_supposed(part))


def _asks(text: str) -> bool:
    if _CJK.search(text):
        return bool(_ASKING_CJK.search(text.rstrip("。. ")))
    return asks(text)


def is_supposed(text: str) -> bool:
    return bool(_SUPPOSED.match(text) or _SUPPOSED_ANYWHERE.search(text) or _SUPPOSED_CJK.search(text))
