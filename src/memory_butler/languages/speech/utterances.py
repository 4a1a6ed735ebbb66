"""Splits a text in any language into sentences, each with its speaker and verbatim."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from memory_butler.english.extraction.grammar import speakers
from memory_butler.english.extraction.grammar.turns import is_item
from memory_butler.english.text.chat_stamps import stamped_label
from memory_butler.english.text.chat_threads import NO_THREAD, Thread, thread
from memory_butler.english.text.names import is_speaker
from memory_butler.english.text.sentences import sentence_spans
from memory_butler.english.text.speaker_labels import LABEL, Label
from memory_butler.english.text.word_sets import caseless, word_set
from memory_butler.languages.speech.answers import ANSWERED, asked, is_answer, is_hedged, puts_straight
from memory_butler.languages.speech.cues import DATES, OPENS_FIRST_PERSON
from memory_butler.languages.speech.questions import is_question

USER = "user"
ASSISTANT = ""
# The author of a mail or a report without a name that can be used.
SOMEBODY = speakers.SOMEBODY
MAX_SENTENCE_CHARACTERS = 600
MIN_TURNS = 2

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
_LOG = re.compile(
    r"^\s*(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|\[?(?:INFO|WARN|WARNING|ERROR|DEBUG|FATAL|TRACE)\b[\]: ]|"
    r"(?:[Ee]rror|ERROR|[Ff]atal|[Pp]anic|stderr|stdout): |[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d |Traceback |"
    r"File \"|at [\w.$<>]+ ?\(|\$ |>>> |#!|\w+Error: |make(?:\[\d+\])?: |npm |"
    r"(?:GET|POST|PUT|PATCH|DELETE) /|[\w./-]+\[\d+\]: |\w+=\S+ \w+=\S+(?: |$)|"
    r"[\w.]+: (?:warning|error|command not found)\b|"
    r"(?:WARN|WARNING|warning|npm ERR!|FAILED|PASSED|E {3}) |"
    r"(?:Collecting|Downloading|Compiling|Successfully installed) |"
    r"diff --git|[+-]{3} |@@ |import \w+$|from \w+ import|def \w+\(|class \w+[(:]|[{}<\[(|])"
)
_SERVED = caseless(r"\[\s*(?:fact|rule|episode)s?\s*:")
# Closing marks of Spanish and of Japanese questions stay with their sentence.
_ASKS = re.compile(r"[?？؟][.!?…)\"'”’\]]*\s*$")
QUOTE = ">"
# "Mittwoch 25.11. 14 Uhr"
_DAY_OF_MONTH = re.compile(r"\b\d{1,2}\.\d{1,2}\.$")
_GOES_ON = re.compile(r"\d|[a-zß-öø-ÿ]|[–-]")
_ORDINAL = re.compile(r"\b\d{1,2}\.$")


class Utterance(NamedTuple):
    """One sentence as it was written. The speaker is USER, ASSISTANT, SOMEBODY or a name; `label` is that
    name as written, empty for the user and where there is no label. `question` is what another speaker asked before, if
    the words are a short answer that says nothing alone."""

    text: str
    start: int
    speaker: str
    label: str
    asks: bool
    question: str = ""

    @property
    def told(self) -> str:
        """The sentence, after the question that it answers."""
        return f"{self.question}{ANSWERED}{self.text}" if self.question else self.text

    @property
    def quoted(self) -> str:
        """The same with the name of the speaker, if that is not the user."""
        own = f"{self.label}: {self.text}" if self.label else self.text
        return f"{self.question}{ANSWERED}{own}" if self.question else own


def utterances(content: str) -> list[Utterance]:
    """The sentences of a text in order, without code, logs, headings, headers of mails and text served by the memory.
    Quoted lines are left out unless a line before them names their author."""
    return _Reader(content).read()


class _Reader:
    """Reads the lines of a text and follows who speaks."""

    def __init__(self, content: str) -> None:
        self.content = content
        # Set while the speaker is one whom an item of a list names.
        self.in_item = False
        self.lines = list(_lines(content))
        self.thread = thread(content)
        self.is_conversation = bool(self.thread.headings) or (
            sum(_label(line, True, self.thread) is not None for _, line in self.lines) >= MIN_TURNS
        )
        self.speaker, self.label = USER, ""
        # The author of the mail that the lines belong to, whatever labels they seem to have; empty outside of mails.
        self.author = ""
        # The author of the quoted lines that follow; empty if nobody named them.
        self.quoted_author = ""
        # What the last speaker asked, and who that is; empty if it was answered, or if more was said since.
        self.question, self.asker = "", ""
        # The statements that each speaker was not sure of.
        self.hedged: dict[str, str] = {}
        # The last question with its answer.
        self.answered = ""

    def read(self) -> list[Utterance]:
        found: list[Utterance] = []
        for number, (start, line) in enumerate(self.lines):
            if line[0] == QUOTE:
                words = line.lstrip("> ")
                author = self.quoted_author or self._signed(number, is_quoted=True)
                if words and author and not speakers.closes_mail(words):
                    found += _said_by(author, words, start + len(line) - len(words))
                continue
            is_quoted_next = number + 1 < len(self.lines) and self.lines[number + 1][1][0] == QUOTE
            if not self._heads_mail(number, is_quoted_next=is_quoted_next):
                found += self._said(line, start)
        return found

    def _heads_mail(self, number: int, *, is_quoted_next: bool) -> bool:
        """True for a line that introduces, heads or closes a mail. It is no sentence, and it may name the author."""
        line = self.lines[number][1]
        sender = speakers.forwarded_from(line) if len(self.lines) > 1 or speakers.is_forwarded(line) else None
        if sender is not None:
            signed = self._signed(number) or sender
            self.quoted_author = signed if is_quoted_next else self.quoted_author
            self.author = self.author if is_quoted_next else signed
            return True
        if is_quoted_next and (leader := speakers.leads_quote(line)) is not None:
            self.quoted_author = self._signed(number + 1, is_quoted=True) or leader
            return True
        if (lead := speakers.quote_lead(line)) is not None:
            self.quoted_author = lead
            self.author = self.author if is_quoted_next else lead
            return True
        author = speakers.mail_author(line)
        if author is not None and (author != SOMEBODY or self.author or "@" in line):
            self.author = self._signed(number) or author if author == SOMEBODY else author
            return True
        return bool(self.author) and (speakers.is_header(line) or speakers.closes_mail(line))

    def _signed(self, number: int, *, is_quoted: bool = False) -> str:
        """The name under the lines from this one on; of quoted lines if they are. Empty if there is none."""
        lines = []
        for _, line in self.lines[number:]:
            if is_quoted and line[0] != QUOTE:
                break
            lines.append(line.lstrip("> "))
        return speakers.signature(lines)

    def _said(self, line: str, start: int) -> list[Utterance]:
        if self.author:
            return _said_by(self.author, line, start)
        if (name := self.thread.headings.get(line.strip())) is not None:
            self.speaker, self.label = _speaker(name)
            return []
        given = _label(line, self.is_conversation, self.thread)
        item = is_item(self.content, start)
        if self.in_item and item:
            # The next item of a list is not the words of whom the last one names.
            self.speaker, self.label = USER, ""
        self.in_item = item and (given is not None or self.in_item)
        if given:
            self.speaker, self.label = _speaker(given[0])
            return self._in_turn(line[given[1] :], start + given[1])
        report = speakers.reported(line) if self.speaker != ASSISTANT else None
        if report and report[0] != USER and line[report[1] :].strip("\"'“”„ "):
            begin = len(line) - len(line[report[1] :].lstrip("\"'“„« "))
            close = speakers.end_of_quotation(line, begin)
            own = line[close:].lstrip("\"'“”» ")
            after = self._in_turn(own, start + len(line) - len(own)) if own else []
            return [*_said_by(report[0], line[begin:close], start + begin), *after]
        return self._in_turn(line, start)

    def _in_turn(self, words: str, start: int) -> list[Utterance]:
        """The sentences of a line. The first of a turn may be the answer to the question before it."""
        question = self.question if self.speaker not in (ASSISTANT, self.asker) else ""
        found = _sentences(words, start, self.speaker, self.label)
        asks = [is_question(one.text, marked=one.asks) for one in found]
        if question and is_answer(words) and not any(asks):
            # "6. wide fit" is one answer.
            at = start + len(words) - len(words.lstrip())
            found = [Utterance(words.strip(), at, self.speaker, self.label, False, question)]
        elif question and found and is_answer(found[0].text) and not asks[0]:
            found[0] = found[0]._replace(question=question)
        hedged = self.hedged.get(self.speaker, "")
        if found and hedged and not found[0].question and puts_straight(found[0].text, hedged):
            found[0] = found[0]._replace(question=hedged)
        if self.is_conversation:
            self.hedged[self.speaker] = next((one.text for one in found if is_hedged(one.text)), hedged)
        if found or self.speaker != self.asker:
            self.question = ""
        if found and found[0].question:
            self.answered = found[0].told
        # A question may be followed by one more sentence: "How many are you? I only need a number."
        if self.is_conversation and any(asks[-2:]):
            last = found[-1] if asks[-1] else found[-2]
            self.question, self.asker = asked(last.text, self.answered), self.speaker
        return found


def _said_by(author: str, words: str, start: int) -> list[Utterance]:
    """The sentences of a mail or a report, without its closing."""
    said = _sentences(words, start, author, "" if author == SOMEBODY else author)
    return [one for one in said if not speakers.closes_mail(one.text) and one.text.strip("-–— .,") != author]


def is_conversation(content: str) -> bool:
    """True if the text is a transcript: two labelled turns, or one of the user or of an assistant."""
    found = thread(content)
    if found.headings:
        return True
    labels = [given[0] for _, line in _lines(content) if line[0] != QUOTE and (given := _label(line, True, found))]
    return len(labels) >= MIN_TURNS or any(_role(name) is not None for name in labels)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    at, fenced = 0, False
    for whole in text.splitlines(keepends=True):
        start, line = at, whole.rstrip()
        at += len(whole)
        if _FENCE.match(line):
            fenced = not fenced
            continue
        if fenced or not line.strip() or line.lstrip()[0] == "#" or _is_log(line) or _SERVED.search(line):
            continue
        bullet = _BULLET.match(line)
        begin = bullet.end() if bullet else len(line) - len(line.lstrip())
        if line[begin:]:
            yield start + begin, line[begin:]


def _is_log(line: str) -> bool:
    """Logs and code; a time before the label of a speaker is none."""
    return _LOG.match(line) is not None and stamped_label(line.lstrip()) is None


def _label(line: str, is_conversation: bool, found: Thread = NO_THREAD) -> tuple[str, int] | None:
    """The speaker that a line names, and where its words begin. A name alone may be the heading of a note."""
    if (handle := found.label(line)) is not None:
        return handle
    name, end = stamped_label(line) or _plain_label(line) or ("", 0)
    if not name:
        return None
    # A name before "I" is somebody else, also on a single line.
    may_speak = is_conversation or OPENS_FIRST_PERSON.match(line[end:])
    if _role(name) is None and not (may_speak and is_speaker(Label(0, end, name, False))):
        return None
    return (name, end) if line[end:].strip() else None


def _plain_label(line: str) -> tuple[str, int] | None:
    skipped = len(line) - len(line.lstrip(_LABEL_MARKS))
    plain = line[skipped : skipped + 60].replace("**:", ":", 1).replace(":**", ":", 1)
    match = LABEL.match(plain)
    return (match[1], skipped + match.end() + len(line[skipped : skipped + 60]) - len(plain)) if match else None


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
        following = line[first:last].lstrip()
        is_day = found and _ORDINAL.search(line, *found[-1]) and DATES.match(following)
        if is_day or (found and _DAY_OF_MONTH.search(line, *found[-1]) and _GOES_ON.match(following)):
            found[-1] = (found[-1][0], last)
        else:
            found.append((first, last))
    return found
