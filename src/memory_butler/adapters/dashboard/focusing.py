"""Where the keyboard goes on when what it was on has been drawn anew."""

from collections.abc import Sequence

from nicegui.element import Element

_OPPOSITES = {"pin": "unpin", "unpin": "pin", "forget": "restore", "restore": "forget"}


class Focus(Element, component="parts/focus.js"):
    """One for a page; nothing of it is seen."""

    def put(self, places: Sequence[str]) -> None:
        """On the first of these places that is there; each is a selector of ours, without a memory's words in it."""
        self.run_method("put", list(places))


class Keep(Element, component="parts/keep.js"):
    """One for a page, too: what was drawn anew for somebody else's change gets the keyboard back."""


def buttons(within: str, action: str) -> list[str]:
    """The button of an action, or the one that has taken its place."""
    names = (action, _OPPOSITES.get(action, action))
    return [f'{within} [data-act="{name}"]' for name in dict.fromkeys(names)]
