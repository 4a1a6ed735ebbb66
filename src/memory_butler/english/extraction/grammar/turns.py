"""Splits an episode into turns and sentences, with the speaker and the position of each."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memory_butler.english.extraction.grammar import speakers
from memory_butler.english.extraction.grammar.speakers import ASSISTANT, SOMEBODY, USER
from memory_butler.english.text.chat_stamps import stamped_label
from memory_butler.english.text.chat_threads import thread
from memory_butler.english.text.sentences import sentence_spans
from memory_butler.english.text.word_sets import caseless, words_in

__all__ = ["ASSISTANT", "SOMEBODY", "USER", "Sentence", "Turn", "turns"]

# Labels of a list from which on it is a report of several people.
MIN_REPORTS = 2
# A longer sentence is pasted data.
SENTENCE_CHARACTERS = 600
_STRAIGHT = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "\u00a0": " ", "\t": " "})
_FENCE = re.compile(r"^[ ]*(?:```|~~~)")
_BULLET = re.compile(r"[ ]{0,80}(?:[-*•+–]|\d{1,2}[.)]|\[[ xX]\])[ ]+(?:\[[ xX]\][ ]+)?")
_ASKS = re.compile(r"\?[.!?…]*[)\"'\]]*(?=\s|$)")
_LOG = re.compile(
    r"^\s*(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|(?:INFO|WARN|WARNING|ERROR|DEBUG|FATAL|TRACE)\b[: ]|"
    r"(?:[Ee]rror|ERROR|[Ff]atal|[Pp]anic|stderr|stdout): |[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d |Traceback |"
    r"File \"|at [\w.$<>]+ ?\(|\$ |>>> |#!|\w+Error: |make(?:\[\d+\])?: |npm |"
    r"(?:GET|POST|PUT|PATCH|DELETE) /|[\w./-]+\[\d+\]: |\w+=\S+ \w+=\S+(?: |$)|"
    r"[\w.]+: (?:warning|error|command not found)\b|"
    r"(?:WARN|WARNING|warning|npm ERR!|FAILED|PASSED|E {3}) |"
    r"(?:Collecting|Downloading|Compiling|Successfully installed) |"
    r"diff --git|[+-]{3} |@@ |import \w+$|def \w+\(|[{}<\[(]|\|)"
)
# Code with a comment after it, and lines that are a comment.
_COMMENTED = re.compile(r"^[ ]*(?://|/\*|\*/|<!--|--[ ])|[;{}()\]]\s{0,4}(?://|#)[ ]|^[ ]{2,8}\w+[ ]{2,4}#[ ]")
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
    reader = _Reader(content.translate(_STRAIGHT))
    yield from reader.read()


class _Reader:
    """Reads the lines of an episode and follows who speaks."""

    def __init__(self, text: str) -> None:
        self.text = text
        lines = [line.lstrip() for line in text.splitlines()]
        labels = [label for line in lines if (label := speakers.label_at(line)) is not None]
        labels += _labels_of_items(lines)
        named = [label for label in labels if speakers.is_known(label) or not speakers.is_heading(label)]
        self.assisted = speakers.has_assistant(labels)
        self.conversation = len([label for label in named if speakers.is_known(label) or label.name[0].isupper()]) >= 2
        self.thread = thread(text)
        self.conversation = self.conversation or bool(self.thread.headings or self.thread.handles)
        self.speaker, self.labelled, self.held = USER, False, list[Sentence]()
        # Set while a mail goes on: its lines are its author's whatever labels they seem to have.
        self.in_mail = False

    def read(self) -> Iterator[Turn]:
        after_label = after_item = False
        for start, line, quoted_next in _lines(self.text):
            if after_item and is_item(self.text, start):
                # The next item of a list is not the words of whom the last one names.
                yield from self._switch(USER, labelled=False)
                after_item = False
            if not line:
                after_label = False
                if not self.conversation and not self.in_mail:
                    yield from self._switch(USER, labelled=False)
                continue
            if (author := self._mail(line, quoted_next=quoted_next)) is not None:
                yield from self._switch(author, labelled=True)
                continue
            if self.in_mail:
                self.held += [] if speakers.is_header(line) else _sentences(line, start, self.speaker)
                continue
            label, who = self._label(line)
            if label is not None and who is not None and label.end == len(line):
                yield from self._switch(who, labelled=True)
                continue
            words = line[label.end :] if label else line
            if label is not None and who is not None:
                yield from self._switch(who, labelled=True)
                after_label, after_item = True, is_item(self.text, start)
            elif after_label and not self.conversation and self.speaker not in (USER, ASSISTANT):
                # A line below a single label can be the user's or the speaker's.
                yield from self._switch(SOMEBODY, labelled=True)
            yield from self._words(*((words, start + label.end) if label and who is not None else (line, start)))
        if self.held:
            yield Turn(self.speaker, self.held, self.labelled)

    def _label(self, line: str) -> tuple[speakers.Label | None, str | None]:
        """The label of a line and its speaker; a heading of a thread is a label as a whole."""
        if (name := self.thread.headings.get(line.strip())) is not None:
            label = speakers.Label(name[:1].upper() + name[1:], len(line))
        elif (handle := self.thread.label(line)) is not None:
            label = speakers.Label(handle[0].capitalize(), handle[1])
        elif speakers.reported(line) is None and (plain := speakers.label_at(line)) is not None:
            label = plain
        else:
            return None, None
        words = line[label.end :]
        return label, speakers.speaker_of(label, words, self.conversation, self.assisted)

    def _mail(self, line: str, *, quoted_next: bool) -> str | None:
        """The author from here on, if the line begins or heads a forwarded mail."""
        if speakers.is_forwarded(line):
            self.in_mail = True
            return SOMEBODY
        lead = speakers.forwarded_from(line) if self.text.rstrip() != line else None
        lead = lead or speakers.quote_lead(line)
        if lead is not None:
            self.in_mail = not quoted_next
            return self.speaker if quoted_next else lead
        author = speakers.mail_author(line)
        if author is None or (author == SOMEBODY and not self.in_mail and "@" not in line):
            return None
        self.in_mail = True
        return author

    def _switch(self, speaker: str, *, labelled: bool) -> Iterator[Turn]:
        if self.held:
            yield Turn(self.speaker, self.held, self.labelled)
        self.speaker, self.labelled, self.held = speaker, labelled, []

    def _words(self, line: str, start: int) -> Iterator[Turn]:
        """The sentences of a line, with what it reports as the words of another."""
        report = speakers.reported(line) if self.speaker != ASSISTANT else None
        if report is None or report[0] == USER:
            self.held += _sentences(line, start, self.speaker)
            return
        who, end = report
        before, labelled = self.speaker, self.labelled
        yield from self._switch(who, labelled=True)
        words = line[end:].lstrip("\"'")
        begin = len(line) - len(words)
        close = speakers.end_of_quotation(line, begin)
        self.held += _sentences(line[begin:close], start + begin, who)
        if line[end:].strip():
            yield from self._switch(before, labelled=labelled)
        self.held += _sentences(line[close:].lstrip("\"'"), start + len(line) - len(line[close:].lstrip("\"'")), before)


def _labels_of_items(lines: Sequence[str]) -> list[speakers.Label]:
    """The labels of a list in which people report: at least two, one of them the user's or before "I"."""
    items = [line[bullet.end() :] for line in lines if (bullet := _BULLET.match(line))]
    found = [(label, item) for item in items if (label := speakers.label_at(item)) is not None]
    named = [(label, item) for label, item in found if speakers.is_known(label) or speakers.looks_named(label.name)]
    speaks = any(speakers.is_known(label) or speakers.opens_first_person(item[label.end :]) for label, item in named)
    return [label for label, _ in named] if speaks and len(named) >= MIN_REPORTS else []


def is_item(text: str, start: int) -> bool:
    """True if what begins here is an item of a list: there is a bullet before it."""
    line = text.rfind("\n", 0, start) + 1
    return bool(text[line:start].strip())


def _lines(text: str) -> Iterator[tuple[int, str, bool]]:
    """Lines of prose with where they begin, without their bullets, and whether a quoted line follows. Empty for a
    blank line."""
    at, fenced = 0, False
    lines = text.splitlines(keepends=True)
    for number, whole in enumerate(lines):
        start, line = at, whole.rstrip()
        at += len(whole)
        if _FENCE.match(line):
            fenced = not fenced
            continue
        if not line:
            yield start, "", False
            continue
        if fenced or line.lstrip()[0] in ">#" or _is_log(line) or _SERVED.search(line):
            continue
        bullet = _BULLET.match(line)
        begin = bullet.end() if bullet else len(line) - len(line.lstrip())
        if line[begin:]:
            following = next((one.lstrip() for one in lines[number + 1 : number + 3] if one.strip()), "")
            yield start + begin, line[begin:], following.startswith(">")


def _is_log(line: str) -> bool:
    """Logs and code; a time before the label of a speaker is none."""
    if _COMMENTED.search(line):
        return True
    return _LOG.match(line) is not None and stamped_label(line.lstrip()) is None


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
        # The patterns of the grammar know single spaces only: runs of white space make them slow.
        text = " ".join(text.split())
        typed = _HASTE.sub(lambda match: _TYPED[match[0].lower()], text) if hasty else text
        kept.append(Sentence(typed.rstrip(".!?… "), start, end, speaker, asks))
    return kept
