"""Doing what a person chose for a memory: ask what has to be said first, do it, and offer to take it back."""

from dataclasses import dataclass

from nicegui import ui

from memory_butler.adapters.dashboard.acting import ACTIONS, Action, Done, Given, act
from memory_butler.adapters.dashboard.elements import tag, text_of
from memory_butler.adapters.dashboard.saying import short_of
from memory_butler.adapters.dashboard.undoing import UndoBar
from memory_butler.adapters.dashboard.visitor import Visitor
from memory_butler.errors import InvalidInput
from memory_butler.models import Fact, Memory
from memory_butler.policy.admission import FACT_CHARACTERS, REASON_CHARACTERS
from memory_butler.policy.wording import spoken

QUOTED = 400


@dataclass(frozen=True, slots=True)
class Words:
    """What a dialog says."""

    title: str
    explained: str
    reason: str


_WORDS = {
    "correct": Words(
        "Correct this {type}",
        "The corrected fact takes its place at once; the old one is kept in its history.",
        "How do you know? (may be left out)",
    ),
    "forget": Words(
        "Forget this {type}?",
        "It is withdrawn from use. You can undo this now, or restore it later.",
        "Why? (may be left out)",
    ),
    "harmful": Words(
        "This {type} did harm",
        "It counts four times as much as helping once; a rule that keeps doing harm becomes a warning.",
        "What went wrong? (may be left out)",
    ),
}


class Doing:
    """One for a page. `do` answers None if the person thought better of it."""

    def __init__(self, visitor: Visitor, bar: UndoBar) -> None:
        self._visitor = visitor
        self._bar = bar
        self._dialog = ui.dialog()
        self._is_asking = False

    async def do(self, name: str, memory: Memory) -> Done | None:
        action = ACTIONS.get(name)
        if action is None:
            raise InvalidInput(f"There is no action {name[:40]!r}.")
        given = await self._filled_in(action, memory) if action.asks else Given()
        if given is None:
            return None
        done = await act(self._visitor, name, memory.type, str(memory.id), given, request_id=self._bar.new_id())
        self._bar.offer(done)
        return done

    async def _filled_in(self, action: Action, memory: Memory) -> Given | None:
        if self._is_asking:
            return None
        self._is_asking = True
        try:
            self._dialog.clear()
            with self._dialog:
                self._form(action, memory)
            answer = await self._dialog
            return answer if isinstance(answer, Given) else None
        finally:
            self._is_asking = False

    def _form(self, action: Action, memory: Memory) -> None:
        words = _WORDS[action.name]
        title = words.title.format(type=memory.type)
        self._dialog.props["aria-label"] = title
        with tag("div", "mb-card mb-dialog"):
            tag("h2", text=title)
            if isinstance(memory, Fact):
                about = text_of(f"{spoken(memory.subject_label)} · {spoken(memory.predicate_label)}")
                tag("p", "mb-muted mb-words", text=about, dir="auto")
            box: ui.textarea | None = None
            if action.asks == "words":
                box = ui.textarea("It should say", value=memory.content)
                box.props("outlined autogrow autofocus").classes("mb-words")
                box.props["maxlength"] = FACT_CHARACTERS
            else:
                tag("blockquote", "mb-words", text=short_of(memory.content, QUOTED), dir="auto")
            tag("p", "mb-muted mb-small", text=words.explained)
            reason = ui.input(words.reason)
            reason.props("outlined dense")
            reason.props["maxlength"] = REASON_CHARACTERS
            reason.props["autofocus"] = box is None

            def submit() -> None:
                filled = str((box.value if box else "") or "").strip()
                if box is None or filled:
                    self._dialog.submit(Given(filled, str(reason.value or "").strip() or None))

            reason.on("keydown.enter", submit)
            if box:
                box.on("keydown.ctrl.enter", submit)
            with tag("div", "mb-dialog-foot"):
                ui.button("Cancel", on_click=lambda: self._dialog.submit(None)).props("flat no-caps color=grey")
                do = ui.button(action.label, icon=action.icon, on_click=submit).props("unelevated no-caps")
                do.props["color"] = "primary" if box else "negative"
