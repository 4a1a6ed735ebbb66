"""Asking whether somebody is sure, with what would be done before their eyes."""

from collections.abc import Sequence

from nicegui import ui

from memory_butler.adapters.dashboard.elements import tag


class MakingSure:
    """One for a page. Whoever clicks twice is asked once, and what was asked is done once."""

    def __init__(self) -> None:
        self._dialog = ui.dialog()
        self._is_asking = False

    async def __call__(self, title: str, lines: Sequence[str], stays: Sequence[str] = (), *, button: str) -> bool:
        """Whether the person wants it, knowing what it does and what it leaves as it is."""
        if self._is_asking:
            return False
        self._is_asking = True
        try:
            self._draw(title, lines, stays, button)
            return bool(await self._dialog)
        finally:
            self._is_asking = False

    def _draw(self, title: str, lines: Sequence[str], stays: Sequence[str], button: str) -> None:
        self._dialog.clear()
        self._dialog.props["aria-label"] = title
        with self._dialog, tag("div", "mb-card mb-dialog"):
            tag("h2", text=title)
            _listed(lines)
            if stays:
                tag("p", "mb-note mb-note-warn mb-small", text="This was changed since and stays as it is:")
                _listed(stays)
            with tag("div", "mb-dialog-foot"):
                ui.button("Cancel", on_click=lambda: self._dialog.submit(False), color=None).props("outline no-caps")
                sure = ui.button(button, on_click=lambda: self._dialog.submit(True))
                sure.props("unelevated no-caps color=negative autofocus")


def _listed(lines: Sequence[str]) -> None:
    with tag("ul", "mb-small mb-dialog-lines"):
        for line in lines:
            tag("li", "mb-words", text=line, dir="auto")
