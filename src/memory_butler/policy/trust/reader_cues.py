"""Cues of text that addresses agents: "assistants reading this must …", "tell your AI to …", "agent, send …".

Patterns for folded text, each with bounded gaps. People who are called agents or assistants are taken out first.
"""

import re

AGENTS = (
    r"(?:(?:the |any |all |every |dear |your |this |los |las |les |die |alle )?(?:(?:ai|ki|ia|llm|language"
    r"|coding|chat|virtual"
    r"|digital|automated|virtuelle[nr]?)[ -])?"
    r"(?:ai|a\.i\.|ki|ia|assistants?|agents?|llms?|bots?|chatbots?|claude|chatgpt|gpt|copilot|gemini|language models?"
    r"|(?:ai|ki|llm) (?:models?|readers?|systems?|tools?|contributors?|reviewers?)|(?:automated|llm|ai"
    r"|gpt) (?:readers?|crawlers?|users?)|reviewer models?|sprachmodelle?n?|modelos? de lenguaje"
    r"|modeles? de langage|assistente?n?"
    r"|ki-agenten?|ki-assistente?n?|asistentes?|agentes?|assistenti?|agenti|assistentes?)(?: (?:de )?ia"
    r"| virtuales| virtuali| virtuels)?)"
)
_PEOPLE = re.compile(
    r"\b(?:estate|travel|insurance|booking|ticket|customs|shipping|press|sales|letting|literary|transfer|secret|gate"
    r"|support|field|free|cleaning|user|station|shop|teaching|dental|medical|research|personal|executive|shipping"
    r"|customer service|bleaching|foaming|human|immobilien|reise) (?:agents?|assistants?)\b"
    r"|\b(?:car|phone|fashion|3d|data|business|price|base|scale|role|old|new|older|newer|this|the|that) models?\b"
)
_MODAL = (
    r"(?:must|should|shall|has to|have to|needs? to|are (?:required|asked|expected|allowed|told|instructed) to"
    r"|is (?:required|asked|expected|allowed|told|instructed) to|(?:may|can) (?:spend|approve|access|act"
    r"|proceed|buy|skip"
    r"|share|transfer|ignore|delete|sign|read|send)|agrees? to|(?:has|have) (?:permission|authori[sz]ation"
    r"|the right|access) to|consents? to|accepts?|will (?:now|always|never)"
    r"|sollen|sollten|mussen|muss|soll|deben?|tienen? que|debera[n]?|devono|deve|dovete|doivent|doit|devez"
    r"|devem|moeten)"
)
# What the agents do or are, between their name and the verb: no other clause begins there.
_WHICH = r"(?:,? (?:[a-z]+ing|that|who|which|die|que|che|qui)\b[^\n.!?]{0,60}?)?"
_TELLING = (
    r"(?:tell|have|ask|let|get|make|instruct|order|allow|lassen sie|sagen sie|sag|bitten sie|dile a|diga a"
    r"|pida a|haga que|dites a|demandez a|dis a|dica al|di al|chieda al|diga ao|vraag)"
)
_POSSESSIVE = r"(?:your|the user's|their|ihr(?:en|em)?|dein(?:en|em)?|tu|su|votre|ton|tuo|suo|seu|je|uw)"
_THIRD = (
    r"(?:asks?|orders?|tells?|instructs?|requests?|wants?|expects?|urges?|demands?)(?: that)? (?:the|your|any"
    r"|all|every)"
)
ORDERS_TO_AGENTS = (
    rf"\b{_TELLING} {_POSSESSIVE} (?:\w+ )?{AGENTS}\b"
    rf"|\b{AGENTS}{_WHICH},? {_MODAL}\b"
    rf"|(?:^|[.!?\n\"'>(#:;*-] ?)(?:note (?:to|for) |attention,? )?{AGENTS} ?(?:,|:)"
    rf"|\b{_THIRD} (?:\w+ )?{AGENTS} (?:to\b|[a-z]+s\b)"
    rf"|\b(?:to|for|fur|para|pour|des|an) {AGENTS} ?(?::|,| -)"
    rf"|\b{AGENTS}'s? (?:memory|notes|instructions|context)\b"
    r"|\byour user\b|\bon the user's behalf\b|\bthe user has (?:asked|agreed|approved|authori[sz]ed|consented"
    r"|confirmed)\b"
    r"|\b(?:copy|paste|enter|include|attach|add|send|write|submit|forward)\b[^\n.!?]{0,60}?\bthe user's\b"
    r"|\b(?:when|if|whoever|whenever|while|before|after)(?: you)? (?:summari[sz]\w+|translat\w+|index\w*"
    r"|pars\w+|crawl\w*"
    r"|quot\w+) (?:this|the page|the text|the document|it)\b"
    r"|\bmake sure (?:that )?(?:the|your) (?:summary|answer|reply|review)\b"
    r"|\b(?:do|perform|execute) (?:the following|this|these|it) (?:quietly|silently|secretly)\b"
    r"|\b(?:ai|ki|ia|llm) (?:readers?|assistants?|agents?|models?) ?:"
)


def without_people(sentence: str) -> str:
    """The sentence with people and things that are called agents, assistants or models as plain words."""
    return _PEOPLE.sub("somebody", sentence)
