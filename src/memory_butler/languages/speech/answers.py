"""Questions and the short answers to them: "Which city? – Porto" says something, "Porto" alone does not."""

import re

from memory_butler.languages.speech.cues import OPENS_FIRST_PERSON, STATES, opening, spaced

# A longer answer is a sentence of its own, and so is one of this length with a verb.
MOST_WORDS = 12
MOST_WITH_VERB = 8
FEWEST_OWN = 4
MOST_QUESTION_WORDS = 30
MOST_FOLLOWING = 5
# Between a question and the answer to it.
ANSWERED = " – "
_WORD = re.compile(r"[^\W_]+(?:['’.:/-][^\W_]+)*")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_ASKS = re.compile(r"[?？؟]")
# "And for Callum?" is understood only after the question before it.
_FOLLOWS = opening("and, what about, how about, und, et, y, e, и, a")
# Questions that open or continue a conversation. Whatever answers them says what it says alone.
_GENERIC = opening(
    "how can i, how may i, what can i, how are you, how's it, how is it going, what's up, what would you like",
    "what do you need, what do you think, what else, anything else, is there anything, any other, does that",
    "does this",
    "did that, did this, did it, do you see, can you see, can you share, can you paste, can you send",
    "could you share",
    "could you paste, could you send, could you clarify, can you tell me more, could you tell me more, tell me, have",
    "have you tried, what happens, what error, what does, is that ok, is this ok, is that right, is this what, sound",
    "how does that, how does this, ready, shall we, should we, shall i continue, should i continue, make sense",
    "wie kann ich, was kann ich, wie geht, sonst noch, noch etwas, passt das, soll ich weiter, comment puis-je",
    "autre chose, ça va, en qué te, en qué puedo, en qué le, wobei kann, womit kann, was steht an",
    "qu'est-ce que je peux",
    "em que posso, em que te, no que posso, in cosa posso, come ti posso, чем помочь, cómo puedo, algo más",
    "qué tal, como posso, mais alguma, altro, come posso, чем могу, что ещё",
)
# Offers and requests for leave: "yes" to them is no fact.
_OFFER = opening(
    "did anyone, did anybody, has anyone, has anybody, can anyone, anyone for",
    "anyone up, can somebody, can someone, who is up, who wants, who is in, shall i, should i, do you want",
    "would you like, want me, can i, may i, could i, would it help, is it ok",
    "is it okay, do we, are you ready, are you sure, soll ich, möchtest du, darf ich, quieres que, puedo",
    "veux-tu que",
    "voulez-vous que, puis-je, posso, vuoi che, queres que, quer que, мне, хочешь, можно",
)
_LASTING = spaced("always, never, usually, from now on, immer, nie, siempre, nunca, toujours, jamais, sempre, всегда")
_BARE = re.compile(
    r"(?:(?:yes|no|yep|yeah|ya|nope|nah|ok|okay|sure|please|pls|thanks|thank you|thx|ta|"
    r"not (?:now|yet|really|today|sure)|later|maybe|go ahead|go on|do it|do that|sounds good|perfect|great|fine|good|"
    r"correct|right|exactly|of course|"
    r"i (?:do|don't|think so|guess so|am|will)|i don't know|dunno|idk|no idea|never mind|nevermind|skip(?: it)?|both|"
    r"whatever|up to you|you (?:decide|choose)|don't care|no preference|any|either|nothing|none|all good|that's all|"
    r"not that i know(?: of)?|let me (?:check|think)|one sec|hmm+|well|it (?:is|does|did|was|works)|"
    r"ja|nein|klar|gern|bitte|danke|genau|weiß nicht|keine ahnung|egal|später|oui|non|merci|bien sûr|je ne sais pas|"
    r"aucune idée|plus tard|sí|si|vale|claro|gracias|no sé|luego|sim|não|obrigad[oa]|não sei|sì|grazie|non so|certo|"
    r"да|нет|хорошо|конечно|спасибо|не знаю|потом)[\s,.!;…:)(-]*)+",
    re.IGNORECASE,
)
_HEDGED = opening(
    "i think, i guess, i believe, i assume, i suppose, pretty sure, afaik, if i remember right, ich glaube, ich denke",
    "ich meine, glaub, creo que, pienso que, je crois, je pense, acho que, penso que, credo che, penso che, кажется",
    "я думаю, думаю",
)
_LEARNT = opening(
    "ah then, ah ok, ah so, ah right, ah it's, ah, oh then, oh ok, oh so, oh right, oh it's, oh, ok then, ok so it's",
    "so it's, right then, ach, ach so, ach dann, ah dann, oh dann, aha, also doch, ah vale, ah entonces, ah d'accord",
    "ah donc, ah então, ah allora, ah quindi, а, тогда",
)
FEWEST_LETTERS = 2
_YES_OR_NO = re.compile(r"\W{0,4}(?:yes|no|yep|yeah|nope|ja|nein|oui|non|s[ií]|sim|não|sì|да|нет)\b", re.IGNORECASE)
# "Are you coming on Saturday?", "did you lock the door?"
_OF_THE_MOMENT = re.compile(
    r"\b(?:are|is) (?:you|he|she|they|we|it) \w+ing\b|"
    r"\b(?:can|could|will|would|did|have|has) (?:you|u|he|she|they|we|it)\b",
    re.IGNORECASE,
)
_UNDECIDED = re.compile(
    r"(?:.{0,12}\b)?(?:i don't know|dunno|idk|no idea|not sure|up to you|you (?:decide|choose)|whatever|don't care|"
    r"never ?mind|skip|let me (?:check|think)|one sec|weiß nicht|keine ahnung|egal|je ne sais pas|aucune idée|no sé|"
    r"não sei|non so|не знаю)\b",
    re.IGNORECASE,
)


def is_hedged(words: str) -> bool:
    """ "I think Postgres 16 is what we run": what the speaker is not sure of."""
    return _HEDGED.match(words) is not None


def puts_straight(words: str, hedged: str) -> bool:
    """ "Ah then it's 15": the same speaker knows better now, and speaks of the same thing."""
    if not _LEARNT.match(words):
        return False
    return bool(_long_words(words) & _long_words(hedged))


def _long_words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text) if len(word) > FEWEST_LETTERS}


def is_answer(words: str) -> bool:
    """True for words that say little without the question before them."""
    count = _count(words)
    if not count or count > MOST_WORDS or _ASKS.search(words):
        return False
    if count >= FEWEST_OWN and OPENS_FIRST_PERSON.match(words):
        return False
    return count <= MOST_WITH_VERB or STATES.search(words) is None


def asked(question: str, before: str) -> str:
    """A question as it can be quoted: with what was asked and answered before if it is only understood after that;
    empty if it asks for nothing that a short answer would tell."""
    question = question.strip()
    if _count(question) <= MOST_FOLLOWING and before and _FOLLOWS.match(question):
        question = f"{before}{ANSWERED}{question}"
    return "" if _GENERIC.match(question.rpartition("¿")[2]) or _count(question) > MOST_QUESTION_WORDS else question


def tells_nothing(question: str, answer: str) -> bool:
    """An answer to an offer, which passes with it, "ok", and "no idea"."""
    if _UNDECIDED.match(answer):
        return True
    if _OFFER.match(question):
        return not _LASTING.search(answer)
    return bool(_BARE.fullmatch(answer.strip())) and not (
        _YES_OR_NO.match(answer) and not _OF_THE_MOMENT.search(question)
    )


def _count(text: str) -> int:
    unspaced = len(_CJK.findall(text))
    return len(_WORD.findall(_CJK.sub(" ", text))) + (unspaced + 1) // 2
