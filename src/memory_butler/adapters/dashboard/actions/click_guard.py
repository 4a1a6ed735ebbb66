"""Protection against double clicks."""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from nicegui import events


class ClickGuard:
    """The actions in progress on one page. The store cannot detect every repeated click: marking a rule as helpful
    twice, for example, is legitimate."""

    def __init__(self) -> None:
        self._in_progress: set[tuple[Hashable, ...]] = set()

    @contextmanager
    def once(self, *action: Hashable) -> Iterator[bool]:
        """Yields False if the same action is already in progress."""
        if action in self._in_progress:
            yield False
            return
        self._in_progress.add(action)
        try:
            yield True
        finally:
            self._in_progress.discard(action)


def is_double_click(event: events.GenericEventArguments) -> bool:
    """True if the browser counts this click as the second of a double click; the first may have finished already."""
    detail = event.args.get("detail") if isinstance(event.args, dict) else None
    return isinstance(detail, int) and detail > 1
