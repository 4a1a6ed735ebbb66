"""A Claude Code transcript: one JSON object per line.

Only the first or the last part of the file is read. Text that neither the user nor the agent wrote is left out: text of
the client, subagents, tool results, thinking.
"""

import json
import os
from typing import Any, NamedTuple

TAIL_BYTES = 512 * 1024
HEAD_BYTES = 256 * 1024
LONG_CHARACTERS = 20_000
# Tools that change a file, and the arguments that name it.
EDITS = ("Edit", "MultiEdit", "NotebookEdit", "Write")
PATHS = ("file_path", "notebook_path")
_NOT_SAID = ("isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage")


class Turn(NamedTuple):
    role: str
    text: str
    tools: tuple[str, ...]
    files: tuple[str, ...] = ()


def turns_at_end(path: str, limit_bytes: int = TAIL_BYTES) -> list[Turn]:
    """Return the turns in the last part of a transcript, oldest first; none if it cannot be read."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - limit_bytes))
            read = file.read(limit_bytes)
    except OSError:
        return []
    # The first line of a partial read is incomplete.
    lines = read.split(b"\n")[1 if size > limit_bytes else 0 :]
    return [turn for line in lines if (turn := _turn_in(line)) is not None]


def has_earlier_turns(path: str, prompt: str) -> bool:
    """Return True if a transcript has turns before this prompt, also ones that were compacted.

    Claude Code creates the file after the first prompt. A file that is long, or that cannot be read, counts as begun.
    """
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            read = file.read(HEAD_BYTES)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    if len(read) == HEAD_BYTES or b'"isCompactSummary":' in read:
        return True
    turns = filter(None, map(_turn_in, read.split(b"\n")))
    return any(turn.role == "assistant" or (_is_said(turn) and turn.text.strip() != prompt) for turn in turns)


def last_of(turns: list[Turn], most: int, characters: int) -> list[Turn]:
    """Return the last turns within both limits; a long turn is cut to its beginning and end."""
    kept: list[Turn] = []
    for turn in reversed(turns[-most:]):
        text = turn.text
        if len(text) > LONG_CHARACTERS:
            text = f"{text[: LONG_CHARACTERS // 2]}\n{text[-LONG_CHARACTERS // 2 :]}"
        characters -= len(text)
        if characters < 0:
            break
        kept.append(turn._replace(text=text))
    return kept[::-1]


def last_words_of_person(turns: list[Turn], longest: int) -> str:
    """Return the user's last message."""
    for turn in reversed(turns):
        if _is_said(turn):
            return " ".join(turn.text.split())[:longest]
    return ""


def _is_said(turn: Turn) -> bool:
    """Return True for a message of the user; one that begins with a tag is a command and its output."""
    return turn.role == "user" and bool(turn.text.strip()) and not turn.text.lstrip().startswith("<")


def _turn_in(line: bytes) -> Turn | None:
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    if not isinstance(entry, dict) or entry.get("type") not in ("user", "assistant"):
        return None
    message = entry.get("message")
    if any(entry.get(mark) for mark in _NOT_SAID) or not isinstance(message, dict):
        return None
    text, tools, files = _said(message.get("content"))
    return Turn(str(entry["type"]), text, tools, files) if text or tools else None


def _said(content: Any) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    if isinstance(content, str):
        return content, (), ()
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    texts = [str(block.get("text") or "") for block in blocks if block.get("type") == "text"]
    calls = [block for block in blocks if block.get("type") == "tool_use" and block.get("name")]
    given = [call.get("input") for call in calls if call["name"] in EDITS]
    files = [str(one[name]) for one in given if isinstance(one, dict) for name in PATHS if one.get(name)]
    return "\n".join(text for text in texts if text), tuple(str(call["name"]) for call in calls), tuple(files)
