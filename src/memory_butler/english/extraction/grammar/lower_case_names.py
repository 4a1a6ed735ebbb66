"""Names without a capital, as people write them in chat: "sam (my son, 6) is allergic to nuts".

A lower-case word is a name if brackets or commas say who it is, after "my" and a relation, or before a statement that
is only made of living beings. Without this, such a sentence would be read as one about the user.
"""

import re

from memory_butler.english.extraction.grammar.person_names import RELATION, is_name
from memory_butler.english.extraction.grammar.verbs import FORMS
from memory_butler.english.extraction.grammar.word_lists import EVENTS, PETS, RELATIONS
from memory_butler.english.text.stop_words import GENERAL, NO_NAMES, STOP_WORDS
from memory_butler.english.text.word_sets import alternatives, caseless, word_set

_WORD = r"(?P<name>[a-zà-öø-ÿ]{2,14})"
_OWN = r"(?:my|our|his|her|their)"
_KIN = rf"(?:{_OWN} (?:{RELATION}|au pair|nanny|tenant|lodger)|{alternatives(RELATIONS)})"
_LEAD = r"(?:(?:and|but|also|so|btw|oh|ps|nb|fyi|reminder|update)[:,]? )?"
_LIVING = (
    r"(?:is|isn't|isnt|was|'s) (?:also |very |really |badly |severely |highly |now |not )?(?:allergic to|scared of|"
    r"afraid of|terrified of|diabetic|coeliac|celiac|lactose|gluten|epileptic|asthmatic|pregnant|autistic|dyslexic|"
    r"deaf|colou?r ?blind|intolerant)|(?:has|had|hasn't) (?:\w+ )?(?:type \d|epilepsy|diabetes|asthma|eczema|arthritis|"
    r"migraines?|dementia|adhd|allerg\w+|coeliac|celiac|hay fever|an? (?:\w+ )?allergy)|(?:doesn't|doesnt|can't|cant|"
    r"won't|wont|cannot) (?:eat|drink|tolerate|have|swim|stand)|(?:hates|loves|likes|dislikes|adores) \w+"
)
# "sam (my son, 6) …", "tove (9) …", "anna, my sister, …".
_EXPLAINED = caseless(rf"{_LEAD}{_WORD}(?: \((?:{_KIN}|\d{{1,2}}\b)[^()\n]{{0,40}}\)|, {_KIN},)(?= |'s )")
# "my colleague ben is …", "our au pair lucía is …".
_RELATED = caseless(
    rf"{_LEAD}{_OWN} (?:{RELATION}|au pair|nanny|tenant|lodger),? {_WORD}(?=,? (?:is|isn't|isnt|was|has|hasn't|had|"
    r"doesn't|doesnt|can't|cant|cannot|won't|takes|carries|lives|works|hates|loves|likes|prefers|eats|drinks|needs|"
    r"wants|moved|plays|speaks)\b)"
)
_STATED = caseless(rf"{_LEAD}{_WORD}(?: |(?='))(?:{_LIVING})\b")
_IN_LAW = caseless(r"(?:(?<=mother)|(?<=father)|(?<=sister)|(?<=brother)|(?<=\bson)|(?<=daughter)) in law\b")
_NO_NAMES = word_set("""
kid kids baby child children boy girl man woman lady guy person people patient guest guests client customer user teacher
student teenager toddler everyone everybody someone somebody nobody anyone anybody one other others neither both each
half most some many all none team staff crew family class group neighbour neighbours household company office
it he she they this that these those who which what there here my our his her their your me you we us mine hers
doctor dentist nurse vet physio therapist optician gp food cake bread milk cheese lunch dinner breakfast soup sauce
house flat room garden car bike bus train plane work weather today tomorrow yesterday tonight still also really just
maybe never always nope yes no not please well anyway turns apparently
""")


def with_capitals(sentence: str) -> str:
    """The sentence with a capital for the name that it opens with, and with hyphens in "mother in law". Its length
    stays the same."""
    sentence = _IN_LAW.sub("-in-law", sentence)
    if sentence[:1].isupper() and " " in sentence and not _RELATED.match(sentence):
        return sentence
    for pattern in (_EXPLAINED, _RELATED, _STATED):
        match = pattern.match(sentence)
        if match and _is_free(match["name"]):
            at = match.start("name")
            return f"{sentence[:at]}{sentence[at].upper()}{sentence[at + 1 :]}"
    return sentence


_RIGHT = re.compile(
    r"\b(?i:not|isn't|isnt|wasn't|wasnt|ain't)\b[^.;!?\n]{0,80}(?:\b(?i:but|that's|thats|it's|its|rather)[ ]"
    r"(?P<other>[A-ZÀ-Þ][\w'-]*)|\b(?P<twin>[A-ZÀ-Þ][\w'-]*)[ ]is(?=$|[.!,;]))|"
    r"^(?P<first>[A-ZÀ-Þ][\w'-]*),[ ](?i:not (?:me|him|her|us|[a-z]+)),"
)
_ANOTHER = caseless(
    r"(?!(?:he|she|they|it|who)\b)[^\W\d_][\w'-]*(?: \([^()\n]{1,60}\))? (?:is|isn't|isnt|was|has|hasn't|had|takes|"
    r"carries|doesn't|doesnt|can't|cant|cannot|hates|loves|likes)\b"
)
_OF_SPEAKER = caseless(r"\b(?:i|i'm|im|we|we're|my name|call me|user)\b")
_OWN_WORDS = caseless(r"\b(?:i|i'm|im|i've|ive|i'd|me|my|mine|myself|we|we're|our|us|user)\b")


def puts_right(sentence: str) -> str:
    """The person of a sentence that says whom something is true of instead of another, empty if it is no such
    sentence: "Bastien is NOT the one with the allergy, that's Ilyes". What follows without a subject may be about
    either of them."""
    match = _RIGHT.search(sentence)
    if match is None or _OF_SPEAKER.search(sentence, 0, match.start()):
        return ""
    name = match["other"] or match["twin"] or match["first"]
    return name if is_name(name) else ""


def is_of_another(sentence: str) -> bool:
    """True if a sentence opens with a noun or name as its subject, and has no word for the speaker. Pronouns are
    resolved elsewhere."""
    match = _ANOTHER.match(sentence)
    return match is not None and _OWN_WORDS.search(re.sub(r"\([^()\n]{0,60}\)", "", sentence)) is None


def _is_free(word: str) -> bool:
    """True for a word that has no other meaning here."""
    key = word.casefold()
    known = STOP_WORDS | GENERAL | NO_NAMES
    if not word.islower() or key in known or key in _NO_NAMES or key in RELATIONS or key in PETS or key in EVENTS:
        return False
    return key not in FORMS and is_name(word.capitalize())
