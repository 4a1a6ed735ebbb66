"""Runs the action that a user chose for a memory: opens its dialog if it needs input, and offers to undo it."""

from collections.abc import Sequence
from dataclasses import dataclass

from nicegui import ui

from memory_butler.adapters.dashboard.actions import memory_actions
from memory_butler.adapters.dashboard.components.elements import tag, visible_text
from memory_butler.adapters.dashboard.components.undo_bar import UndoBar
from memory_butler.adapters.dashboard.server.page_context import PageContext
from memory_butler.adapters.dashboard.view_models.phrases import count_text, truncate
from memory_butler.errors import InvalidInput
from memory_butler.models import DerivedMemory, Fact, Memory
from memory_butler.policy.memories.text import subject_and_predicate
from memory_butler.policy.memories.validation import FACT_CHARACTERS, REASON_CHARACTERS

PREVIEW_CHARACTERS = 400
SHOWN_DERIVED = 12


@dataclass(frozen=True, slots=True)
class DialogText:
    title: str
    explanation: str
    reason_label: str


_TEXTS = {
    "correct": DialogText(
        "Correct this {type}",
        "The corrected fact replaces it at once. The old version stays in its history.",
        "How do you know? (optional)",
    ),
    "forget": DialogText(
        "Forget this {type}?",
        "It is no longer used. You can {undo}restore it later.",
        "Reason (optional)",
    ),
    "reject": DialogText(
        "Reject this {type}?",
        "It stays out of use, like a forgotten one. You can {undo}restore it later.",
        "Reason (optional)",
    ),
    "harmful": DialogText(
        "Mark this {type} as harmful",
        "One harmful mark outweighs four helpful ones. A rule that keeps doing harm becomes a warning.",
        "What went wrong? (optional)",
    ),
    "restore": DialogText(
        "Replace “{replaced}” with this {type}?",
        "{ref} is in use now. Restoring this one supersedes it; both stay in the history.",
        "Reason (optional)",
    ),
}


class ActionRunner:
    """One per page. `run` returns None if the user cancels."""

    def __init__(self, context: PageContext, bar: UndoBar) -> None:
        self._context = context
        self._bar = bar
        self._dialog = ui.dialog()
        self._is_open = False

    async def run(self, name: str, memory: Memory) -> memory_actions.ActionResult | None:
        action = memory_actions.ACTIONS.get(name)
        if action is None:
            raise InvalidInput(f"There is no action {name[:40]!r}.")
        conflict = await memory_actions.find_conflict(self._context, memory) if name == "restore" else None
        # An identical rule cannot be superseded; the operation's error says what to do instead.
        replaced = conflict if isinstance(conflict, Fact) else None
        derived = await memory_actions.find_derived(self._context, memory) if name == "forget" else ()
        input: memory_actions.ActionInput | None = memory_actions.ActionInput()
        if action.needs or replaced:
            input = await self._ask(action, memory, replaced, derived)
        if input is None:
            return None
        request_id = self._bar.new_request_id()
        result = await memory_actions.run_action(
            self._context, name, memory.type, str(memory.id), input, request_id=request_id
        )
        self._bar.show(result)
        return result

    async def _ask(
        self,
        action: memory_actions.Action,
        memory: Memory,
        replaced: Fact | None,
        derived: Sequence[DerivedMemory],
    ) -> memory_actions.ActionInput | None:
        if self._is_open:
            return None
        self._is_open = True
        try:
            self._dialog.clear()
            with self._dialog:
                self._draw_form(action, memory, replaced, derived)
            answer = await self._dialog
            return answer if isinstance(answer, memory_actions.ActionInput) else None
        finally:
            self._is_open = False

    def _text(self, action: memory_actions.Action, memory: Memory, replaced: Fact | None) -> DialogText:
        text = _TEXTS[action.name]
        values = {
            "type": memory.type,
            "undo": "undo this now, or " if self._context.may("memory_undo") else "",
            "replaced": truncate(replaced.content, memory_actions.QUOTE_CHARACTERS) if replaced else "",
            "ref": f"fact:{replaced.ref}" if replaced else "",
        }
        return DialogText(text.title.format(**values), text.explanation.format(**values), text.reason_label)

    def _draw_form(
        self,
        action: memory_actions.Action,
        memory: Memory,
        replaced: Fact | None,
        derived: Sequence[DerivedMemory],
    ) -> None:
        text = self._text(action, memory, replaced)
        self._dialog.props["aria-label"] = text.title
        with tag("div", "mb-card mb-dialog"):
            tag("h2", "mb-text", text=text.title, dir="auto")
            if isinstance(memory, Fact):
                about = visible_text(subject_and_predicate(memory.subject_label, memory.predicate_label))
                tag("p", "mb-muted mb-text", text=about, dir="auto")
            box: ui.textarea | None = None
            if action.needs == "text":
                box = ui.textarea("New text", value=memory.content)
                box.props("outlined autogrow autofocus").classes("mb-text")
                box.props["maxlength"] = FACT_CHARACTERS
            else:
                tag("blockquote", "mb-text", text=truncate(memory.content, PREVIEW_CHARACTERS), dir="auto")
            tag("p", "mb-muted mb-small", text=text.explanation)
            with_derived = _draw_derived(derived) if derived else None
            reason = ui.input(text.reason_label)
            reason.props("outlined dense")
            reason.props["maxlength"] = REASON_CHARACTERS
            reason.props["autofocus"] = box is None

            def new_text() -> str:
                return str((box.value if box else "") or "").strip()

            def is_ready() -> bool:
                return box is None or new_text() not in ("", memory.content.strip())

            def submit() -> None:
                if is_ready():
                    given_reason = str(reason.value or "").strip() or None
                    self._dialog.submit(
                        memory_actions.ActionInput(
                            new_text(),
                            given_reason,
                            supersede=replaced is not None,
                            derived=bool(with_derived and with_derived.value),
                        )
                    )

            reason.on("keydown.enter", submit)
            if box:
                box.on("keydown.ctrl.enter", submit)
            with tag("div", "mb-dialog-foot"):
                ui.button("Cancel", on_click=lambda: self._dialog.submit(None), color=None).props("outline no-caps")
                button = ui.button(action.label, icon=action.icon, on_click=submit).props("unelevated no-caps")
                button.props["color"] = "primary" if box or replaced else "negative"
                button.set_enabled(is_ready())
            if box:
                box.on_value_change(lambda: button.set_enabled(is_ready()))


def _draw_derived(derived: Sequence[DerivedMemory]) -> ui.checkbox:
    """List what came from the memory alone; the checkbox withdraws it, too."""
    count = len(derived)
    tag("p", "mb-small", text=f"{count_text(count, 'memory', 'memories')} came from it alone:")
    with tag("ul", "mb-small mb-dialog-lines"):
        for one in derived[:SHOWN_DERIVED]:
            tag("li", "mb-text", text=one.line or one.ref, dir="auto")
        if count > SHOWN_DERIVED:
            tag("li", "mb-muted", text=f"and {count - SHOWN_DERIVED} more")
    return ui.checkbox("Forget it, too" if count == 1 else "Forget these, too")
