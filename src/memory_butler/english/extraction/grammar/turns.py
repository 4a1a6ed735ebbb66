"""Splits an episode into turns and sentences, with the speaker and the position of each."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from memory_butler.english.text.sentences import sentence_spans
from memory_butler.english.text.word_sets import caseless, word_set, words_in
from memory_butler.english.time.calendar import WEEKDAYS

# A longer sentence is pasted data.
SENTENCE_CHARACTERS = 600
USER = "user"
ASSISTANT = ""

_STRAIGHT = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "\u00a0": " ", "\t": " "})
_USERS = word_set("user human me customer client caller patient guest visitor student member prompt input")
_ASSISTANTS = word_set("""
assistant ai bot agent system chatbot model claude chatgpt gpt copilot gemini butler tool function
""")
# Headings of notes, not names of speakers.
_HEADINGS = frozenset(WEEKDAYS) | word_set("""
note notes todo summary fyi update correction lesson lessons rule rules remember reminder important ps edit tip
warning context background goal goals decision decisions action actions name email phone address birthday allergies
allergy timezone pronouns job occupation employer company location nickname age languages diet hobbies likes dislikes
preferences also done next step result error subject date re fw today tomorrow yesterday plan plans deadline kids
children pets family wifi plumber dentist doctor gp landlord electrician vet lawyer accountant mobile tel cell
""")
_LABEL = re.compile(
    r"(?:\[[^\]\n]{1,24}\]\s*)?\*{0,2}([A-Z][\w.'-]*(?: [A-Z][\w.'-]*)?|[a-z]+)\*{0,2}:\*{0,2}[ ]+(?=\S)"
)
_LABEL_CHARACTERS = 90
_FENCE = re.compile(r"^[ ]*(?:```|~~~)")
_BULLET = re.compile(r"[ ]*(?:[-*•+–]|\d{1,2}[.)]|\[[ xX]\])[ ]+(?:\[[ xX]\][ ]+)?")
_ASKS = re.compile(r"\?[.!?…]*[)\"'\]]*(?=\s|$)")
_LOG = re.compile(
    r"^\s*(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|(?:INFO|WARN|WARNING|ERROR|DEBUG|FATAL|TRACE)\b[: ]|"
    r"(?:error|fatal|stderr|stdout): |Traceback |File \"|at [\w.$<>]+ ?\(|\$ |>>> |#!|\w+Error: |make: |npm |"
    r"diff --git|[+-]{3} |@@ |import \w+$|def \w+\(|[{}<\[(]|\|)"
)
# Lines served by the memory itself carry a reference in square brackets.
_SERVED = caseless(r"\[\s*(?:fact|rule|episode)s?\s*:")


# Common misspellings and chat spellings. The span of a sentence is still that of the original words.
_TYPED = {
    "im": "I'm", "ive": "I've", "dont": "don't", "doesnt": "doesn't", "didnt": "didn't", "cant": "can't",
    "wont": "won't", "isnt": "isn't", "arent": "aren't", "wasnt": "wasn't", "havent": "haven't", "hasnt": "hasn't",
    "hes": "he's", "shes": "she's", "theyre": "they're", "youre": "you're", "thats": "that's", "whats": "what's",
    "alergic": "allergic", "allergick": "allergic", "realy": "really", "vegitarian": "vegetarian", "bc": "because",
    "w/": "with", "w/o": "without", "pls": "please", "plz": "please", "u": "you", "ppl": "people", "bday": "birthday",
    "wanna": "want to", "gotta": "have to", "kinda": "kind of", "teh": "the", "prefered": "preferred", "luv": "love",
    "definately": "definitely", "recieve": "receive", "adress": "address", "birhday": "birthday", "wich": "which",
}  # fmt: skip
_TYPED_WORDS = frozenset(word for typed in _TYPED for word in words_in(typed))
_HASTE = caseless(r"(?<![\w'./@-])(?:" + "|".join(sorted(_TYPED, key=len, reverse=True)) + r")(?![\w'@-]|\.\w)")


class Sentence(NamedTuple):
    """One sentence with straight quotation marks; the span is that of the same words in the episode."""

    text: str
    start: int
    end: int
    speaker: str
    asks: bool


class Turn(NamedTuple):
    """The sentences of one speaker; the speaker is empty for the assistant, and the user if there is no label."""

    speaker: str
    sentences: list[Sentence]
    labelled: bool


def turns(content: str) -> Iterator[Turn]:
    """The turns of a conversation, or the one turn of a note; code, logs and quoted lines are left out."""
    text = content.translate(_STRAIGHT)
    speaker, labelled = USER, _is_conversation(text)
    held: list[Sentence] = []
    named_so = False
    for start, whole in _lines(text):
        label = _LABEL.match(whole) if labelled or _known_label(whole) else None
        at, line = start, whole
        if label and (named := _speaker(label[1])) is not None:
            if held:
                yield Turn(speaker, held, named_so)
            speaker, held, named_so = named, [], True
            at, line = start + label.end(), whole[label.end() :]
        held += _sentences(line, at, speaker)
    if held:
        yield Turn(speaker, held, named_so)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines of prose with where they begin, without their bullets."""
    at, fenced = 0, False
    for whole in text.splitlines(keepends=True):
        start, line = at, whole.rstrip()
        at += len(whole)
        if _FENCE.match(line):
            fenced = not fenced
            continue
        if fenced or not line or line.lstrip()[0] in ">#" or _LOG.match(line) or _SERVED.search(line):
            continue
        bullet = _BULLET.match(line)
        begin = bullet.end() if bullet else len(line) - len(line.lstrip())
        if line[begin:]:
            yield start + begin, line[begin:]


def _known_label(line: str) -> bool:
    label = _LABEL.match(line) if ":" in line[:_LABEL_CHARACTERS] else None
    return label is not None and label[1].lower() in _USERS | _ASSISTANTS


def _is_conversation(text: str) -> bool:
    """True if there are two labelled lines. One alone may be the heading of a note."""
    found = 0
    for line in text.splitlines():
        label = _LABEL.match(line.lstrip()) if ":" in line[:_LABEL_CHARACTERS] else None
        if label and _speaker(label[1]) is not None:
            found += 1
    return found >= 2


def _speaker(label: str) -> str | None:
    """The speaker that a label names; None if it names none."""
    word = label.lower()
    if word in _USERS or word == "the user":
        return USER
    if word in _ASSISTANTS:
        return ASSISTANT
    if word in _HEADINGS or word.split()[0] in _HEADINGS or not label[0].isupper():
        return None
    return label


def _sentences(line: str, at: int, speaker: str) -> list[Sentence]:
    kept = []
    for first, last in sentence_spans(line):
        piece = line[first:last]
        text = piece.strip()
        if not text or len(text) > SENTENCE_CHARACTERS or not any(letter.isalpha() for letter in text):
            continue
        start = at + first + len(piece) - len(piece.lstrip())
        asks = _ASKS.search(text[-6:]) is not None
        end = start + len(text)
        hasty = not _TYPED_WORDS.isdisjoint(words_in(text))
        typed = _HASTE.sub(lambda match: _TYPED[match[0].lower()], text) if hasty else text
        kept.append(Sentence(typed.rstrip(".!?… "), start, end, speaker, asks))
    return kept
