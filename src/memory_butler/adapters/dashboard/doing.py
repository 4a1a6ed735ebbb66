"""Doing what a person chose for a memory: ask what has to be said first, do it, and offer to take it back."""

from dataclasses import dataclass

from nicegui import ui

from memory_butler.adapters.dashboard.acting import ACTIONS, NAMED, Action, Done, Given, act, in_its_place, with_words
from memory_butler.adapters.dashboard.elements import tag, text_of
from memory_butler.adapters.dashboard.saying import short_of
from memory_butler.adapters.dashboard.undoing import UndoBar
from memory_butler.adapters.dashboard.visitor import Visitor
from memory_butler.errors import InvalidInput
from memory_butler.models import Fact, Memory
from memory_butler.policy.admission import FACT_CHARACTERS, REASON_CHARACTERS
from memory_butler.policy.wording import about_of

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
        "It is withdrawn from use. You can {undo}restore it later.",
        "Why? (may be left out)",
    ),
    "harmful": Words(
        "This {type} did harm",
        "It counts four times as much as helping once; a rule that keeps doing harm becomes a warning.",
        "What went wrong? (may be left out)",
    ),
    "restore": Words(
        "Bring it back instead of “{now_there}”?",
        "{ref} stands in its place now. It is then superseded, and kept in the history of both.",
        "Why? (may be left out)",
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
        now_there = await in_its_place(self._visitor, memory) if name == "restore" else None
        # A rule that says the same cannot be made to give way; the operation says what to do instead.
        taken = now_there if isinstance(now_there, Fact) else None
        given = await self._filled_in(action, memory, taken) if action.asks or taken else Given()
        if given is None:
            return None
        done = await act(self._visitor, name, memory.type, str(memory.id), given, request_id=self._bar.new_id())
        self._bar.offer(with_words(done, given.words or memory.content))
        return done

    async def _filled_in(self, action: Action, memory: Memory, taken: Fact | None) -> Given | None:
        if self._is_asking:
            return None
        self._is_asking = True
        try:
            self._dialog.clear()
            with self._dialog:
                self._form(action, memory, taken)
            answer = await self._dialog
            return answer if isinstance(answer, Given) else None
        finally:
            self._is_asking = False

    def _words(self, action: Action, memory: Memory, taken: Fact | None) -> Words:
        words = _WORDS[action.name]
        said = {
            "type": memory.type,
            "undo": "undo this now, or " if self._visitor.may("memory_undo") else "",
            "now_there": short_of(taken.content, NAMED) if taken else "",
            "ref": f"fact:{taken.ref}" if taken else "",
        }
        return Words(words.title.format(**said), words.explained.format(**said), words.reason)

    def _form(self, action: Action, memory: Memory, taken: Fact | None) -> None:
        words = self._words(action, memory, taken)
        title = words.title
        self._dialog.props["aria-label"] = title
        with tag("div", "mb-card mb-dialog"):
            tag("h2", "mb-words", text=title, dir="auto")
            if isinstance(memory, Fact):
                about = text_of(about_of(memory.subject_label, memory.predicate_label))
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

            def filled() -> str:
                return str((box.value if box else "") or "").strip()

            def is_ready() -> bool:
                return box is None or filled() not in ("", memory.content.strip())

            def submit() -> None:
                if is_ready():
                    why = str(reason.value or "").strip() or None
                    self._dialog.submit(Given(filled(), why, supersede=taken is not None))

            reason.on("keydown.enter", submit)
            if box:
                box.on("keydown.ctrl.enter", submit)
            with tag("div", "mb-dialog-foot"):
                ui.button("Cancel", on_click=lambda: self._dialog.submit(None), color=None).props("outline no-caps")
                do = ui.button(action.label, icon=action.icon, on_click=submit).props("unelevated no-caps")
                do.props["color"] = "primary" if box or taken else "negative"
                do.set_enabled(is_ready())
            if box:
                box.on_value_change(lambda: do.set_enabled(is_ready()))
