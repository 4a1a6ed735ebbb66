"""Confirmation dialog that lists the effects of an action."""

from collections.abc import Sequence

from nicegui import ui

from memory_butler.adapters.dashboard.components.elements import tag


class ConfirmDialog:
    """One per page. A double click opens it once."""

    def __init__(self) -> None:
        self._dialog = ui.dialog()
        self._is_open = False

    async def __call__(self, title: str, effects: Sequence[str], skipped: Sequence[str] = (), *, button: str) -> bool:
        """Returns True if the user confirms. `skipped` lists what the action leaves unchanged."""
        if self._is_open:
            return False
        self._is_open = True
        try:
            self._draw(title, effects, skipped, button)
            return bool(await self._dialog)
        finally:
            self._is_open = False

    def _draw(self, title: str, effects: Sequence[str], skipped: Sequence[str], button: str) -> None:
        self._dialog.clear()
        self._dialog.props["aria-label"] = title
        with self._dialog, tag("div", "mb-card mb-dialog"):
            tag("h2", text=title)
            _draw_list(effects)
            if skipped:
                tag("p", "mb-note mb-note-warn mb-small", text="Changed since, so these stay as they are:")
                _draw_list(skipped)
            with tag("div", "mb-dialog-foot"):
                ui.button("Cancel", on_click=lambda: self._dialog.submit(False), color=None).props("outline no-caps")
                confirm = ui.button(button, on_click=lambda: self._dialog.submit(True))
                confirm.props("unelevated no-caps color=negative autofocus")


def _draw_list(lines: Sequence[str]) -> None:
    with tag("ul", "mb-small mb-dialog-lines"):
        for line in lines:
            tag("li", "mb-text", text=line, dir="auto")
