"""Rewrites the first person in the third: "my" becomes "the user's", or names the speaker."""

import re

from memory_butler.english.extraction.grammar.turns import USER
from memory_butler.english.extraction.grammar.verbs import ADVERBS, FORMS, FREQUENT, third_person
from memory_butler.english.text.word_sets import caseless, word_set

RULE_CHARACTERS = 300

# Not a part of an address, a path or an option: /i.sh, ?u=me, my-repo, i@example.org.
_PERSON = re.compile(
    r"(?<![\w/\\@.~=&?#%+-])(I'm|I've|I'll|I'd|I|i'm|i|me|my|My|mine|myself)\b(?![/\\@=&%]|[.:-]\w)(?: ([a-z]+)\b)?"
)
_HELPERS = {"i'm": "is", "i've": "has", "i'll": "will", "i'd": "would"}
_MODALS = word_set(
    "can will might should would could may must did was had never not only and or ever to with for in on at"
)
_SPOKEN = caseless(r"^(?:please|pls|to|and|so|also|then) ")


def rule_text(text: str, speaker: str) -> str:
    """A rule as a standalone sentence, without "please" and with the speaker by name."""
    for _ in range(3):
        text = _SPOKEN.sub("", text)
    text = re.sub(r",? (?:please|pls|thanks|thank you|ok|okay)[ ]?$|(?<=,) please\b", "", text, flags=re.I)
    text = in_third_person(text, speaker)
    text = re.sub(r" ", " ", text).strip(" ,;:–—-")[:RULE_CHARACTERS]
    text = re.sub(r"^(never|always|not) to ", r"\1 ", text, flags=re.I)
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!")) else ".")


def in_third_person(text: str, speaker: str) -> str:
    who = "the user" if speaker in (USER, "") else speaker
    return _PERSON.sub(lambda match: _third_person(match, who), text)


def _third_person(match: re.Match[str], who: str) -> str:
    word, verb = match[1].lower(), match[2]
    tail = f" {verb}" if verb else ""
    if word in ("my", "mine"):
        return f"{who}'s{tail}"
    if word in ("me", "myself"):
        return f"{who}{tail}"
    if word != "i":
        return f"{who} {_HELPERS[word]}{tail}"
    if verb is None:
        return who
    changed = {"am": "is", "have": "has", "do": "does", "don": "doesn", "was": "was"}.get(verb)
    if changed is None:
        known = FORMS.get(verb)
        same = verb in ADVERBS or verb in FREQUENT or verb in _MODALS or verb.endswith("ed")
        changed = verb if same or (known is not None and known[1] != "base") else third_person(verb)
    return f"{who} {changed}"
