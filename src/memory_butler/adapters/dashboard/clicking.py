"""Clicks that a person makes twice and means once."""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from nicegui import events


class Clicks:
    """One for a page: what was clicked and is still under way. What a second click on the same would do again is not
    always noticed by the store, since to mark a rule twice is a thing that one may want."""

    def __init__(self) -> None:
        self._under_way: set[tuple[Hashable, ...]] = set()

    @contextmanager
    def once(self, *what: Hashable) -> Iterator[bool]:
        """Whether this is to be done now; not if the same is under way."""
        if what in self._under_way:
            yield False
            return
        self._under_way.add(what)
        try:
            yield True
        finally:
            self._under_way.discard(what)


def is_second_of_two(event: events.GenericEventArguments) -> bool:
    """Whether the browser counts a click as the second of a double click, for which the first may be over already."""
    detail = event.args.get("detail") if isinstance(event.args, dict) else None
    return isinstance(detail, int) and detail > 1
