"""Splits a text in any language into sentences, each with its speaker and verbatim."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from memory_butler.english.text.names import is_speaker
from memory_butler.english.text.sentences import sentence_spans
from memory_butler.english.text.speaker_labels import LABEL, Label
from memory_butler.english.text.word_sets import caseless, word_set
from memory_butler.languages.speech.cues import DATES, OPENS_FIRST_PERSON

USER = "user"
ASSISTANT = ""
MAX_SENTENCE_CHARACTERS = 600

_USERS = word_set("""
user human me customer client caller guest visitor student member prompt input ich benutzer benutzerin nutzer nutzerin
usuario usuaria cliente yo utilisateur utilisatrice client moi utilizador usuário eu utente io пользователь клиент я
ユーザー 利用者 私 用户 客户 我
""") | {"the user"}
_ASSISTANTS = word_set("""
assistant ai bot agent system chatbot model claude chatgpt gpt copilot gemini butler tool function assistent
assistentin asistente assistente ассистент помощник アシスタント 助手
""")
_BULLET = re.compile(r"[ \t]{0,40}(?:[-*•+–]|\d{1,2}[.)]|\[[ xX]\])[ \t]{1,40}(?:\[[ xX]\][ \t]{1,40})?")
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)")
_LABEL_MARKS = "*_ \t"
_STAMP = re.compile(r"\[[^\]\n]{1,24}\]\s*")
_LOG = re.compile(
    r"^\s*(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|\[?(?:INFO|WARN|WARNING|ERROR|DEBUG|FATAL|TRACE)\b[\]: ]|"
    r"(?:error|fatal|stderr|stdout): |Traceback |File \"|at [\w.$<>]+ ?\(|\$ |>>> |#!|\w+Error: |make: |npm |"
    r"diff --git|[+-]{3} |@@ |import \w+$|from \w+ import|def \w+\(|class \w+[(:]|[{}<\[(|])"
)
_SERVED = caseless(r"\[\s*(?:fact|rule|episode)s?\s*:")
# Closing marks of Spanish and of Japanese questions stay with their sentence.
_ASKS = re.compile(r"[?？؟][.!?…)\"'”’\]]*\s*$")
_ORDINAL = re.compile(r"\b\d{1,2}\.$")


class Utterance(NamedTuple):
    """One sentence as it was written. The speaker is USER, ASSISTANT or the name in the label; `label` is that name as
    written, empty for the user and where there is no label."""

    text: str
    start: int
    speaker: str
    label: str
    asks: bool

    @property
    def quoted(self) -> str:
        """The sentence with the name of its speaker, if that is not the user."""
        return f"{self.label}: {self.text}" if self.label else self.text


def utterances(content: str) -> list[Utterance]:
    """The sentences of a text in order, without code, logs, headings, quoted lines and text served by the memory."""
    found: list[Utterance] = []
    is_conversation = _count_labels(content) >= 2
    speaker, label = USER, ""
    for start, line in _lines(content):
        at, text = start, line
        given = _label(line, is_conversation)
        if given:
            speaker, label = _speaker(given[0])
            at, text = start + given[1], line[given[1] :]
        found += _sentences(text, at, speaker, label)
    return found


def is_conversation(content: str) -> bool:
    """True if the text is a transcript: two labelled turns, or one of the user or of an assistant."""
    labels = [given[0] for _, line in _lines(content) if (given := _label(line, True))]
    return len(labels) >= 2 or any(_role(name) is not None for name in labels)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    at, fenced = 0, False
    for whole in text.splitlines(keepends=True):
        start, line = at, whole.rstrip()
        at += len(whole)
        if _FENCE.match(line):
            fenced = not fenced
            continue
        if fenced or not line.strip() or line.lstrip()[0] in ">#" or _LOG.match(line) or _SERVED.search(line):
            continue
        bullet = _BULLET.match(line)
        begin = bullet.end() if bullet else len(line) - len(line.lstrip())
        if line[begin:]:
            yield start + begin, line[begin:]


def _count_labels(text: str) -> int:
    return sum(_label(line, True) is not None for _, line in _lines(text))


def _label(line: str, is_conversation: bool) -> tuple[str, int] | None:
    """The speaker that a line names, and where its words begin. A name alone may be the heading of a note."""
    stamp = _STAMP.match(line)
    skipped = stamp.end() if stamp else 0
    while skipped < len(line) and line[skipped] in _LABEL_MARKS:
        skipped += 1
    plain = line[skipped : skipped + 60].replace("**:", ":", 1).replace(":**", ":", 1)
    match = LABEL.match(plain)
    if not match:
        return None
    name = match[1]
    is_role = _role(name) is not None
    end = skipped + match.end() + (len(line[skipped : skipped + 60]) - len(plain))
    # A name before "I" is somebody else, also on a single line.
    may_speak = is_conversation or OPENS_FIRST_PERSON.match(line[end:])
    if not is_role and not (may_speak and is_speaker(Label(0, match.end(), name, False))):
        return None
    return (name, end) if line[end:].strip() else None


def _role(name: str) -> str | None:
    word = name.casefold()
    return USER if word in _USERS else ASSISTANT if word in _ASSISTANTS else None


def _speaker(name: str) -> tuple[str, str]:
    role = _role(name)
    return (name, name) if role is None else (role, "")


def _sentences(line: str, at: int, speaker: str, label: str) -> list[Utterance]:
    kept = []
    for first, last in _joined(line):
        piece = line[first:last]
        text = piece.strip()
        if not any(letter.isalpha() for letter in text) or len(text) > MAX_SENTENCE_CHARACTERS:
            continue
        start = at + first + len(piece) - len(piece.lstrip())
        kept.append(Utterance(text, start, speaker, label, _ASKS.search(text) is not None))
    return kept


def _joined(line: str) -> list[tuple[int, int]]:
    """The spans of the sentences. "am 14. Mai" is no end of one."""
    found: list[tuple[int, int]] = []
    for first, last in sentence_spans(line):
        if found and _ORDINAL.search(line, *found[-1]) and DATES.match(line[first:last].lstrip()):
            found[-1] = (found[-1][0], last)
        else:
            found.append((first, last))
    return found
