"""Sentences that are never kept as notes: questions, hypotheses, fiction, orders to the reader, small talk."""

import re
from collections.abc import Callable, Sequence
from enum import StrEnum

from memory_butler.english.extraction.grammar.noise import (
    gives_orders_to_the_reader,
    hands_over_secrets,
    is_automatic,
    is_commission,
    is_fiction,
    is_ironic,
    is_laughed_at,
    is_public,
    is_recipe,
    is_role_play,
    is_saying,
    speaks_of_software,
)
from memory_butler.english.text.word_sets import caseless
from memory_butler.languages.speech.answers import is_hedged, tells_nothing
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
    SECOND_PERSON,
    VITAL,
    opening,
    spaced,
    unspaced,
)
from memory_butler.languages.speech.general_knowledge import is_general, is_status
from memory_butler.languages.speech.questions import BREAK, is_question, is_supposed, tells
from memory_butler.languages.speech.utterances import ASSISTANT, SOMEBODY, Utterance

FEWEST_WORDS = 3
FEWEST_OWN_WORDS = 2
FEWEST_UNSPACED = 5
MAX_WORDS = 40
FEWEST_TOLD = 4
MAX_UNSPACED = 120
SHORT_CHATTER_WORDS = 6
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")


class Veto(StrEnum):
    """Reason why a sentence is not kept in its own words."""

    ASSISTANT = "said by the assistant"
    SOMEBODY = "said of themselves, or as an order, by somebody without a name"
    QUESTION = "a question"
    HYPOTHESIS = "only supposed"
    FICTION = "fiction or a text to work on"
    ORDER = "an order to the reader of the memory"
    MEMORY = "about the memory itself"
    CODE = "code or output of a program"
    PUBLIC = "general knowledge"
    SAYING = "a saying"
    QUOTATION = "a quotation"
    PROGRESS = "an account of work without a result"
    MOMENT = "a state of the moment"
    LENGTH = "too short or too long"
    CHATTER = "small talk"


_ORDERED = opening(
    "never, always, do not, don't, please, use, keep, send, call, make sure, remember, avoid, stop, nie, niemals, "
    "immer",
    "bitte, nunca, siempre, no, por favor, jamais, toujours, merci de, ne, veuillez, sempre, non, mai, никогда",
    "всегда",
    "не, пожалуйста",
)
_USER = opening("user, users, the user, a user, each user, every user")
_FICTION = spaced(
    "in meinem roman, in der geschichte, im film, die hauptfigur, es war einmal, übersetze, fasse zusammen",
    "schreib mir einen, schreibe einen",
    "en mi novela, en la película, érase una vez, el protagonista, la protagonista, traduce, resume este",
    "escribe un, escríbeme, reescribe, redacta, corrige este, resume esto",
    "dans mon roman, dans le film, il était une fois, le personnage, l'héroïne, traduis, résume, écris-moi, écris un",
    "réécris, reformule, rédige, corrige ce, corrige cette, schreib mir, schreibe mir, formuliere, korrigiere",
    "no meu romance, no filme, era uma vez, o protagonista, traduz, traduza, resume este, escreve um, escreva um",
    "nel mio romanzo, nel film, c'era una volta, il protagonista, traduci, riassumi, scrivi un, scrivimi, riscrivi",
    "reescreve, reescreva, corrige este texto, corrija, перепиши, исправь текст, переформулируй",
    "в моём романе, в фильме, жили-были, главный герой, переведи, напиши рассказ, сочини",
)
_LETTER = caseless(
    r"\b(?:e-?mail|mail|letter|message|note|reply|answer|invitation) (?:to|for)\b|\bwrite (?:back )?to\b"
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
    r"(?:stored|saved|noted|recorded|recalled|added) (?:it |this |that )?(?:as|in|into|to|from) (?:a |the |my |"
    r"your )?"
    r"(?:memory|memories|note|fact|rule|episode)s?|(?:fact|rule|episode):\w{3,}|"
    r"i(?:'ve| have)? (?:stored|noted|saved|recalled)|"
    r"i(?:'ll| will) remember|according to (?:my|the) memor\w+|as an? (?:ai|language model|assistant)\b|"
    r"i(?:'m| am) (?:an?|your|the) (?:ai|assistant|language model|chatbot|bot)\b|context window|system prompt)\b"
)
_CODE = re.compile(
    r"[{};]\s*$|=>|->|\(\)|</?\w+>|^\s*(?:const|let|var|def|class|import|return|SELECT|INSERT|UPDATE|sudo|git|"
    r"pip|npm|"
    r"docker|curl) "
    r"|^\W*(?:https?://\S+)\W*$|\b\w+\.\w+\(|^[\w./-]+:\d+:|[=+*/<>|&]{2,}"
)
_QUOTED = re.compile(r"[\"“„«»「『][^\"“”„«»」』]{12,}[\"”“»«」』]|(?<!\w)['‘][^'‘’\n]{12,}['’](?!\w)")
MOSTLY = 0.4
# States of a moment: "my kids are watching TV".
_MOMENT = caseless(
    r"\b(?:is|are|am|'m|'s|'re|was|were) (?:just |still |currently |already |now |all )?(?:watching|barking|meowing|"
    r"crying|screaming|"
    r"laughing|sleeping|asleep|yawning|typing|loading|booting|compiling|ringing|drilling|snoring|raining|snowing|"
    r"waiting|pairing|"
    r"standing|sitting|lying|calling(?! (?:him|her|it|them|the|our|my)\b)|knocking|singing|shouting|smiling|"
    r"coughing|sneezing|cooking dinner|making (?:tea|"
    r"coffee|"
    r"dinner|lunch)|having (?:lunch|dinner|breakfast|coffee)|on (?:the phone|hold|mute|the line|the other line)|"
    r"at the door|"
    r"(?:running |a bit |\d+ minutes |slightly )?late|on (?:his|her|their|my|our) way|out for lunch|in a meeting|"
    r"afk)\b"
)
_LASTING = caseless(
    r"\b(?:every|always|usually|often|never|each|until|on (?:mon|tues|wednes|thurs|fri|satur|sun)days|most)\b"
)
# Orders about how a text is stored, and to the agent that reads it. They concern this sentence; text that tries to
# replace the agent's instructions taints all of it.
_STORING = caseless(
    r"(?:(?:please|now|then|also|and)[, ]+){0,2}(?:you (?:must|should|need to|have to) |be sure to |"
    r"make sure to )?(?:store|save|record|persist|"
    r"insert|write|add|put|log|keep|pin|set|mark|register|promote|raise|remember|"
    r"memori[sz]e)\b[^.!?\n]{0,60}?\b(?:(?:in|into|to|under|as|with|at|for) "
    r"(?:the |a |an |your |this |all )?(?:\w+ )?(?:scopes?|global|memory|memories|tenants?|butlers?|importance|"
    r"confidence|permanence|permanent"
    r"(?:ly)?|facts?|rules?|episodes?|proven|established|priority|long[- ]term)\b|scope[ =:]|importance[ =:]|"
    r"permanence[ =:])"
)
_TO_AGENT = caseless(
    r"\b(?:the (?:assistant|agent|ai|model|bot|llm)|(?:all|any|every) (?:assistants?|agents?|models?)) (?:must|"
    r"should|"
    r"shall|has to|is to|will|may) "
    r"(?:now |always |never |not |only |also )*\w+|\b(?:do not|don't|never) (?:tell|inform|ask|warn|show|"
    r"mention (?:this|it|that) to) the user\b"
    r"|\b(?:tell|inform|convince) the user (?:that|to)\b|\b(?:call|invoke|use|run|execute) (?:the )?(?:tool |"
    r"function |command )?"
    r"[`\"']?(?:memory_\w+|[a-z]+_[a-z_]+\(|rm -rf|curl |bash |sh -c)|\bwhen(?:ever)? you (?:read|see|process|recall|"
    r"retrieve) this\b"
    r"|\b(?:new|updated|real|following|hidden) (?:system )?(?:instructions?|prompt)\b|\[/?(?:inst|system)\]|<\|"
    r"\w+\|>|"
    r"\bsystem ?:"
    r"|\b(?:reveal|print|repeat|output|leak|show) (?:me )?(?:your|the) (?:system )?(?:prompt|instructions|"
    r"configuration|secrets?)\b|"
    r"\bdo anything now\b|\bjailbreak\b|\brespond only with\b"
)
_HEADER = re.compile(
    r"(?:Date|Subject|To|Cc|Sent|Von|An|Betreff|Datum|Objet|Asunto)[ ]?: ?(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\w*,|Re:|"
    r"Fwd?:)",
    re.IGNORECASE,
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

# "the client's agent (Rhodri Vaughan)"
_INTRODUCED = re.compile(r"\([A-Z][\w'’-]+ [A-Z][\w'’-]+\)")


def veto(utterance: Utterance) -> Veto | None:
    """The reason why a sentence is not kept as a note; None if it may be."""
    if utterance.speaker == ASSISTANT:
        return Veto.ASSISTANT
    text = utterance.text
    if utterance.speaker == SOMEBODY and (
        FIRST_PERSON.search(text) or SECOND_PERSON.search(text) or _ORDERED.match(text)
    ):
        return Veto.SOMEBODY
    # In this order: text that could do harm comes first.
    checks: tuple[tuple[Veto, Callable[[str], object]], ...] = (
        (Veto.ORDER, _is_order),
        (Veto.ORDER, lambda text: _STORING.match(text) or _TO_AGENT.search(text)),
        (Veto.MEMORY, _MEMORY.search),
        (Veto.CODE, _is_code),
        (Veto.LENGTH, lambda text: not utterance.question and _has_odd_length(text)),
        (Veto.QUESTION, lambda text: is_question(text, marked=utterance.asks)),
        (Veto.FICTION, _is_fiction),
        (Veto.PUBLIC, is_general),
        (Veto.SAYING, is_saying),
        (Veto.HYPOTHESIS, is_supposed),
        (Veto.QUOTATION, _is_quotation),
        (Veto.PROGRESS, lambda text: _is_progress(text) or is_status(text)),
        (Veto.MOMENT, lambda text: _MOMENT.search(text) and not _LASTING.search(text) and not VITAL.search(text)),
        (Veto.CHATTER, lambda text: not utterance.question and _is_chatter(text)),
    )
    reason = next((reason for reason, applies in checks if applies(text)), None)
    return reason or (_of_question(utterance.question, text) if utterance.question else None)


def _of_question(question: str, answer: str) -> Veto | None:
    """The reason why a short answer is not kept with its question."""
    if tells_nothing(question, answer):
        return Veto.CHATTER
    checks: tuple[tuple[Veto, Callable[[str], object]], ...] = (
        (Veto.ORDER, _is_order),
        (Veto.MEMORY, _MEMORY.search),
        (Veto.CODE, _is_code),
        (Veto.FICTION, _is_fiction),
        (Veto.PUBLIC, is_general),
        (Veto.HYPOTHESIS, is_supposed),
    )
    return next((reason for reason, applies in checks if applies(question)), None)


def vetoes(said: Sequence[Utterance]) -> list[Veto | None]:
    """The veto of each sentence, in the light of the others: an order to the reader taints the whole text, a role play
    all that follows, and irony the sentence before it."""
    if any(_is_order(one.text) and one.speaker != ASSISTANT for one in said):
        return [Veto.ORDER] * len(said)
    if any(is_automatic(one.text) for one in said):
        return [Veto.PUBLIC] * len(said)
    found: list[Veto | None] = []
    plays, handed_over, is_general, is_manual = False, "", False, False
    put_straight = {(one.speaker, one.question) for one in said if one.question and is_hedged(one.question)}
    of_software = any(speaks_of_software(one.text) for one in said)
    for one in said:
        plays = plays or (one.speaker != ASSISTANT and is_role_play(one.text))
        handed_over = handed_over if handed_over == one.speaker else ""
        reason = Veto.FICTION if plays or handed_over else veto(one)
        # "Who wrote Dune?" is followed by more of the kind.
        is_general = is_general or (one.speaker != ASSISTANT and is_public(one.text))
        if is_general and reason is None and not FIRST_PERSON.search(one.text):
            reason = Veto.PUBLIC
        is_manual = is_manual or is_recipe(one.text)
        if is_manual and reason is None and not FIRST_PERSON.search(one.text):
            reason = Veto.PUBLIC
        if of_software and reason is None and _USER.match(one.text):
            reason = Veto.CODE
        if (one.speaker, one.text) in put_straight:
            reason = reason or Veto.HYPOTHESIS
        if found and one.speaker != said[len(found) - 1].speaker and is_laughed_at(one.text):
            begin = next(
                (at for at in range(len(found), 0, -1) if said[at - 1].speaker != said[len(found) - 1].speaker), 0
            )
            found[begin:] = [kept or Veto.FICTION for kept in found[begin:]]
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
    # "I'm left-handed" and "Soy zurda" are whole statements.
    fewest = FEWEST_OWN_WORDS if FIRST_PERSON.search(text) or VITAL.search(text) else FEWEST_WORDS
    return not fewest <= len(_WORD.findall(text)) <= MAX_WORDS


def _is_order(text: str) -> bool:
    return bool(_ORDERS.search(text)) or gives_orders_to_the_reader(text) or hands_over_secrets(text)


def _is_code(text: str) -> bool:
    return bool(_CODE.search(text) or _HEADER.match(text)) or speaks_of_software(text)


def _is_commission(text: str) -> bool:
    """A text to write, unless it is a letter, and the request also tells something: "write to Mrs Ortiz, she …"."""
    if not is_commission(text):
        return False
    return not (_LETTER.search(text) and any(tells(text[match.end() :]) for match in BREAK.finditer(text)))


def _is_fiction(text: str) -> bool:
    return is_fiction(text) or _is_commission(text) or bool(_FICTION.search(text) or _FICTION_CJK.search(text))


def _is_quotation(text: str) -> bool:
    """Most of it is between quotation marks."""
    return sum(len(match[0]) for match in _QUOTED.finditer(text)) >= MOSTLY * len(text)


def _is_progress(text: str) -> bool:
    account = _ACCOUNT.match(text)
    if account is None:
        return False
    says_more = (ALWAYS, DATES, OBLIGATION, PREFERENCE, RELATIONS, ROOT_CAUSES, _INTRODUCED)
    return not any(pattern.search(text, account.end()) for pattern in says_more)


def _is_chatter(text: str) -> bool:
    """Short, and it begins with a greeting, thanks or an exclamation."""
    if _CJK.search(text):
        return bool(CHATTER_CJK.match(text)) and len(text) <= 14
    return len(_WORD.findall(text)) <= SHORT_CHATTER_WORDS and bool(CHATTER.match(text))
