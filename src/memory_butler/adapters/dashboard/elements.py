"""What pages are made of. Words of memories become text here and nowhere else, so none of them ever becomes markup.

`props` takes a text that is parsed, and a key that begins with a colon is evaluated in the browser: values are only
ever put in one by one, under names that are written here.
"""

import unicodedata
from datetime import datetime
from typing import Any

from nicegui.element import Element

# Characters that steer how a text runs rather than being seen: they are shown as what they are.
_STEERING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c")


def tag(kind: str, classes: str = "", /, text: str | None = None, **attributes: str) -> Element:
    """An element of the page with a text in it. `aria_label` becomes `aria-label`."""
    element = Element(kind)
    if classes:
        element.classes(classes)
    for key, value in attributes.items():
        element.props[key.replace("_", "-")] = value
    if text is not None:
        # There is no public way to give plain text to an element that is no label.
        element._text = text
    return element


def text_of(words: str) -> str:
    """Words as they can be shown: what cannot be seen in them is made visible."""
    return "".join(_shown(character) for character in words)


def _shown(character: str) -> str:
    if character in _STEERING or (unicodedata.category(character) == "Cc" and character not in "\n\t"):
        return f"⟨U+{ord(character):04X}⟩"
    return character


class Moment(Element, component="parts/moment.js"):
    """A point in time in the viewer's own zone; the exact one on hover."""

    def __init__(self, at: datetime | None, *, form: str = "short", otherwise: str = "never") -> None:
        super().__init__()
        self.props["at"] = at.isoformat() if at else None
        self.props["form"] = form
        self.props["otherwise"] = otherwise


def chip(text: str, kind: str = "", title: str = "") -> Element:
    """A short word on a coloured ground: a state, a tag, a type."""
    element = tag("span", f"mb-chip {f'mb-chip-{kind}' if kind else ''}", text=text_of(text), dir="auto")
    if title:
        element.props["title"] = title
    return element


class Part(Element):
    """A component of ours that is drawn from values alone."""

    def __init__(self, **values: Any) -> None:
        super().__init__()
        props_of(self, **values)


def props_of(element: Element, **values: Any) -> Element:
    """Give values to a component of ours and draw it again."""
    for name, value in values.items():
        element.props[name] = value
    element.update()
    return element


def say(element: Element, text: str) -> None:
    """Give an element other words."""
    element._text = text
    element.update()
