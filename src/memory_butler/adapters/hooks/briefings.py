"""Server side of the briefing hooks: budgets by settings, and each memory once per agent session."""

import re
from collections import OrderedDict
from dataclasses import dataclass, field
from itertools import pairwise

from memory_butler.models import Principal
from memory_butler.policy.briefing.composition import NOTHING, TITLE
from memory_butler.settings import HookSettings

SESSION_START, USER_PROMPT, PRE_COMPACT = EVENTS = ("session-start", "user-prompt", "pre-compact")
# Claude Code writes longer output to a file instead of the session.
LONGEST_BLOCK = 9_000
MOST_SESSIONS = 1_000
HEADING = "#"
# The reference at the end of a line, before its confidence or maturity.
_REFERENCE = re.compile(r"\[((?:fact|rule|episode):\w+)\](?: confidence [\d.]+| [a-z]+)?$")

Session = tuple[Principal | None, str]


def budget_of(event: str, settings: HookSettings) -> int:
    budgets = {
        SESSION_START: settings.session_start_tokens,
        USER_PROMPT: settings.first_prompt_tokens,
        PRE_COMPACT: settings.pre_compact_tokens,
    }
    return budgets[event]


@dataclass(slots=True)
class _Told:
    references: frozenset[str] = frozenset()
    was_started: bool = False
    was_prompted: bool = False


@dataclass(slots=True)
class ToldSessions:
    """The references told at the start of the latest agent sessions, and which of them had their first prompt.

    Claude Code creates the transcript after the first prompt, or never. So the transcript alone cannot tell a second
    prompt that follows quickly from the first.
    """

    _sessions: OrderedDict[Session, _Told] = field(default_factory=OrderedDict)

    def at_start(self, session: Session, block: str) -> None:
        told = self._of(session)
        told.references, told.was_started = references_in(block), True

    def was_started(self, session: Session) -> bool:
        return self._of(session).was_started

    def is_first_prompt(self, session: Session) -> bool:
        """Return True once per session."""
        told = self._of(session)
        was_prompted, told.was_prompted = told.was_prompted, True
        return not was_prompted

    def references(self, session: Session) -> frozenset[str]:
        return self._of(session).references

    def _of(self, session: Session) -> _Told:
        told = self._sessions.setdefault(session, _Told())
        self._sessions.move_to_end(session)
        while len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return told


def references_in(block: str) -> frozenset[str]:
    return frozenset(found for line in block.splitlines() if (found := _reference(line)))


def trimmed(block: str, told: frozenset[str] = frozenset()) -> str:
    """Drop the lines that were told already, and the last lines of a block that is too long.

    Headings without lines go, too. Empty if no line is left.
    """
    lines = [line for line in block.splitlines() if line != NOTHING and _reference(line) not in told]
    while len("\n".join(lines)) > LONGEST_BLOCK:
        lines.pop()
    kept = [
        line
        for line, after in pairwise([*lines, HEADING])
        if not line.startswith(HEADING) or line == TITLE or not after.startswith(HEADING)
    ]
    return "\n".join(kept) if kept and kept != [TITLE] else ""


def _reference(line: str) -> str | None:
    found = _REFERENCE.search(line)
    return found[1] if found else None
