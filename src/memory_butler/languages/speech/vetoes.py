"""Sentences that are never kept as notes: questions, hypotheses, fiction, orders to the reader, small talk."""

import re
from collections.abc import Callable, Sequence
from enum import StrEnum

from memory_butler.english.extraction.grammar.noise import (
    asks,
    gives_orders_to_the_reader,
    hands_over_secrets,
    is_commission,
    is_fiction,
    is_ironic,
    is_public,
    is_role_play,
    speaks_of_software,
)
from memory_butler.english.text.word_sets import caseless
from memory_butler.languages.speech.cues import (
    ALWAYS,
    CHATTER,
    CHATTER_CJK,
    DATES,
    FIRST_PERSON,
    OBLIGATION,
    PREFERENCE,
    RELATIONS,
    ROOT_CAUSES,
    opening,
    spaced,
    unspaced,
)
from memory_butler.languages.speech.utterances import ASSISTANT, Utterance

FEWEST_WORDS = 3
FEWEST_UNSPACED = 6
MAX_WORDS = 40
MAX_UNSPACED = 120
SHORT_CHATTER_WORDS = 6
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")


class Veto(StrEnum):
    """Reason why a sentence is not kept in its own words."""

    ASSISTANT = "said by the assistant"
    QUESTION = "a question"
    HYPOTHESIS = "only supposed"
    FICTION = "fiction or a text to work on"
    ORDER = "an order to the reader of the memory"
    MEMORY = "about the memory itself"
    CODE = "code or output of a program"
    PUBLIC = "general knowledge"
    QUOTATION = "a quotation"
    PROGRESS = "an account of work without a result"
    LENGTH = "too short or too long"
    CHATTER = "small talk"


_ASKING = opening(
    "wer, was, wann, wo, warum, wieso, wie, welche, welcher, welches, kannst du, könntest du, können wir, soll ich",
    "hast du",
    "qué, quién, cuándo, dónde, por qué, cómo, cuál, puedes, podrías, podemos",
    "qui, que, quand, où, pourquoi, comment, quel, quelle, est-ce que, peux-tu, pouvez-vous, tu peux",
    "quem, quando, onde, por que, como, qual, você pode, pode me, podes",
    "chi, che cosa, cosa, quando, dove, perché, come, quale, puoi, potresti",
    "кто, что, когда, где, почему, зачем, как, какой, какая, можешь, можно ли",
)
_ASKING_CJK = re.compile(r"(?:か|かな|の|吗|呢|么)[？?。]*$|^(?:何|誰|どこ|いつ|なぜ|どう|怎么|什么|谁|哪里|为什么)")
_USER = opening("user, users, the user, a user, each user, every user")
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
    r"just kidding|jk)\b"
)
_SUPPOSED_CJK = re.compile(r"^(?:もし|たとえば|例えば|仮に|如果|假如|要是|也许|比如)|かもしれない|だろう")
_FICTION = spaced(
    "in meinem roman, in der geschichte, im film, die hauptfigur, es war einmal, übersetze, fasse zusammen",
    "schreib mir einen, schreibe einen",
    "en mi novela, en la película, érase una vez, el protagonista, la protagonista, traduce, resume este",
    "escribe un, escríbeme",
    "dans mon roman, dans le film, il était une fois, le personnage, l'héroïne, traduis, résume, écris-moi, écris un",
    "no meu romance, no filme, era uma vez, o protagonista, traduz, traduza, resume este, escreve um, escreva um",
    "nel mio romanzo, nel film, c'era una volta, il protagonista, traduci, riassumi, scrivi un, scrivimi",
    "в моём романе, в фильме, жили-были, главный герой, переведи, напиши рассказ, сочини",
)
_FICTION_CJK = unspaced("小説の 主人公 昔々 映画の中 翻訳して 小说里 主角 从前有 电影里 翻译一下 写一篇")
_ORDERS = caseless(
    r"\b(?:ignore|disregard|override|bypass|vergiss|ignoriere|ignora|ignorez|ignore|игнорируй)\b[^.!?\n]{0,50}"
    r"\b(?:instructions?|prompts?|rules|anweisungen|instrucciones|instruções|istruzioni|инструкци\w+)\b"
    r"|(?:以前|上記|前)の指示を無視|忽略(?:以上|之前|前面)"
    r"|\b(?:save|store|remember|write)\b[^.!?\n]{0,40}\b(?:as a rule|to (?:your|the) memory that the user)\b"
    r"|\b(?:dear|attention,?|note to) (?:ai|assistant|llm|model|agent)s?\b|<\/?(?:system|instructions?)>"
)
_MEMORY = caseless(
    r"\b(?:memory[ -]butler|memory_\w+|(?:the|your|my|its|from|in|to) memory (?:has|says|already|contains|returned|"
    r"search|store)|"
    r"(?:stored|saved|noted|recorded|recalled|added) (?:it |this |that )?(?:as|in|into|to|from) (?:a |the |my |your )?"
    r"(?:memory|memories|note|fact|rule|episode)s?|(?:fact|rule|episode):\w{3,}|"
    r"i(?:'ve| have)? (?:stored|noted|saved|recalled)|"
    r"i(?:'ll| will) remember|according to (?:my|the) memor\w+|as an ai\b|context window|system prompt)\b"
)
_CODE = re.compile(
    r"[{};]\s*$|=>|->|\(\)|</?\w+>|^\s*(?:const|let|var|def|class|import|return|SELECT|INSERT|UPDATE|sudo|git|pip|npm|"
    r"docker|curl) "
    r"|^\W*(?:https?://\S+)\W*$|\b\w+\.\w+\(|^[\w./-]+:\d+:|[=+*/<>|&]{2,}"
)
_QUOTED = re.compile(r"[\"“„«»「『][^\"“”„«»」』]{12,}[\"”“»«」』]")
MOSTLY = 0.4
_BIOGRAPHY = re.compile(
    r"(?:Also asked about |Asked about )?[A-Z]\w+ (?:[A-Z]\w+ )?"
    r"(?:was born in|was an? \w+ (?:who|that|and)|wrote|invented|composed|painted|"
    r"discovered|founded|died in|lived in)\b"
)
# Openings of notes about work. They are kept if the sentence also says a cause, a rule, a preference or a date.
_ACCOUNT = opening(
    "suggested, recommended, translated, generated, brainstorm*, compared, explained, discussed, talked about",
    "talked through, talked to, chatted",
    "debugged, walked through, went through, went over, went back, helped, answered, practised, practiced, drafted",
    "polished, reviewed, looked up, looked at",
    "looked into, read about, read through, long discussion, long talk, long back, weekly sync, weekly check-in",
    "call with, met with, notes from",
    "lunch with, catch-up, quick sync, quick chat, user asked, the user asked, asked for, asked about, asked what",
    "asked how, asked whether",
    "worked on, worked through, continued, started working, spent, tested, tried, checked, wrote a, wrote the",
    "summarized, summarised, searched, listed",
    "besprochen, haben über, habe erklärt, hablamos, revisamos, expliqué, on a parlé, nous avons parlé",
    "j'ai expliqué, falamos, expliquei, abbiamo parlato",
    "ho spiegato, обсуждали, обсудили, объяснил, объяснила",
)


def veto(utterance: Utterance) -> Veto | None:
    """The reason why a sentence is not kept as a note; None if it may be."""
    if utterance.speaker == ASSISTANT:
        return Veto.ASSISTANT
    text = utterance.text
    # In this order: text that could do harm comes first.
    checks: tuple[tuple[Veto, Callable[[str], object]], ...] = (
        (Veto.ORDER, _is_order),
        (Veto.MEMORY, _MEMORY.search),
        (Veto.CODE, _is_code),
        (Veto.LENGTH, _has_odd_length),
        (Veto.QUESTION, lambda text: utterance.asks or _asks(text)),
        (Veto.FICTION, _is_fiction),
        (Veto.PUBLIC, lambda text: is_public(text) or _BIOGRAPHY.match(text)),
        (Veto.HYPOTHESIS, _is_supposed),
        (Veto.QUOTATION, _is_quotation),
        (Veto.PROGRESS, _is_progress),
        (Veto.CHATTER, _is_chatter),
    )
    return next((reason for reason, applies in checks if applies(text)), None)


def vetoes(said: Sequence[Utterance]) -> list[Veto | None]:
    """The veto of each sentence, in the light of the others: an order to the reader taints the whole text, a role play
    all that follows, and irony the sentence before it."""
    if any(_is_order(one.text) and one.speaker != ASSISTANT for one in said):
        return [Veto.ORDER] * len(said)
    found: list[Veto | None] = []
    plays, handed_over, is_general = False, "", False
    of_software = any(speaks_of_software(one.text) for one in said)
    for one in said:
        plays = plays or (one.speaker != ASSISTANT and is_role_play(one.text))
        handed_over = handed_over if handed_over == one.speaker else ""
        reason = Veto.FICTION if plays or handed_over else veto(one)
        # "Who wrote Dune?" is followed by more of the kind.
        is_general = is_general or (one.speaker != ASSISTANT and is_public(one.text))
        if is_general and reason is None and not FIRST_PERSON.search(one.text):
            reason = Veto.PUBLIC
        if of_software and reason is None and _USER.match(one.text):
            reason = Veto.CODE
        if is_ironic(one.text):
            reason = Veto.FICTION
            found[-1:] = [found[-1] or Veto.FICTION] if found else []
        if (
            one.speaker != ASSISTANT
            and is_commission(one.text)
            and re.search(r":|\b(?:this|following|below)\b", one.text)
        ):
            handed_over = one.speaker
        found.append(reason)
    return found


def word_count(text: str) -> int:
    """Words of a text; in a script without spaces two characters count as one."""
    unspaced_characters = len(_CJK.findall(text))
    return len(_WORD.findall(_CJK.sub(" ", text))) + (unspaced_characters + 1) // 2


def _has_odd_length(text: str) -> bool:
    if len(_CJK.findall(text)) > len(text) / 3:
        return not FEWEST_UNSPACED <= len(text) <= MAX_UNSPACED
    return not FEWEST_WORDS <= len(_WORD.findall(text)) <= MAX_WORDS


def _is_order(text: str) -> bool:
    return bool(_ORDERS.search(text)) or gives_orders_to_the_reader(text) or hands_over_secrets(text)


def _is_code(text: str) -> bool:
    return bool(_CODE.search(text)) or speaks_of_software(text)


def _is_fiction(text: str) -> bool:
    return is_fiction(text) or is_commission(text) or bool(_FICTION.search(text) or _FICTION_CJK.search(text))


def _asks(text: str) -> bool:
    if _CJK.search(text):
        return bool(_ASKING_CJK.search(text.rstrip("。. ")))
    return asks(text)


def _is_supposed(text: str) -> bool:
    return bool(_SUPPOSED.match(text) or _SUPPOSED_ANYWHERE.search(text) or _SUPPOSED_CJK.search(text))


def _is_quotation(text: str) -> bool:
    """Most of it is between quotation marks."""
    return sum(len(match[0]) for match in _QUOTED.finditer(text)) >= MOSTLY * len(text)


def _is_progress(text: str) -> bool:
    if not _ACCOUNT.match(text):
        return False
    says_more = (ALWAYS, DATES, OBLIGATION, PREFERENCE, RELATIONS, ROOT_CAUSES)
    return not any(pattern.search(text) for pattern in says_more)


def _is_chatter(text: str) -> bool:
    """Short, and it begins with a greeting, thanks or an exclamation."""
    if _CJK.search(text):
        return bool(CHATTER_CJK.match(text)) and len(text) <= 14
    return len(_WORD.findall(text)) <= SHORT_CHATTER_WORDS and bool(CHATTER.match(text))
