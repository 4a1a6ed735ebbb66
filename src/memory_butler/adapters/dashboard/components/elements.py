"""Basic elements. Every text of a memory reaches the page through this module as plain text, so none becomes markup.

`Element.props` parses strings, and Vue evaluates a prop whose name begins with a colon as JavaScript. So values are
only ever assigned one by one, under names written in this code base.
"""

import unicodedata
from datetime import datetime
from typing import Any, TypeVar

from nicegui.element import Element
from nicegui.elements.mixins.text_element import TextElement

AnyElement = TypeVar("AnyElement", bound=Element)

# Invisible characters that change the reading direction: shown as their code point.
_BIDI_CONTROLS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c")


def tag(name: str, classes: str = "", /, text: str | None = None, **attributes: str) -> Element:
    """An HTML element, optionally with text. `aria_label` becomes `aria-label`."""
    return _with_attributes(Element(name) if text is None else TextElement(tag=name, text=text), classes, attributes)


def text_tag(name: str, classes: str = "", /, text: str = "", **attributes: str) -> TextElement:
    """An HTML element whose text can be changed later with `set_text`."""
    return _with_attributes(TextElement(tag=name, text=text), classes, attributes)


def _with_attributes(element: AnyElement, classes: str, attributes: dict[str, str]) -> AnyElement:
    if classes:
        element.classes(classes)
    for key, value in attributes.items():
        element.props[key.replace("_", "-")] = value
    return element


def visible_text(text: str) -> str:
    """Text with control and bidirectional characters replaced by their visible code points."""
    return "".join(_visible(character) for character in text)


def _visible(character: str) -> str:
    if character in _BIDI_CONTROLS or (unicodedata.category(character) == "Cc" and character not in "\n\t"):
        return f"⟨U+{ord(character):04X}⟩"
    return character


def card(title: str, classes: str = "", /, **attributes: str) -> Element:
    """A section with a heading."""
    with tag("section", f"mb-card {classes}", **attributes) as section:
        tag("h2", text=title)
    return section


def chip(text: str, kind: str = "") -> Element:
    """A coloured label for a state, a tag or a type."""
    return tag("span", f"mb-chip {f'mb-chip-{kind}' if kind else ''}", text=visible_text(text), dir="auto")


class VueComponent(Element):
    """A Vue component that is drawn from its props alone."""

    def __init__(self, **props: Any) -> None:
        super().__init__()
        self.set_props(**props)

    def set_props(self, **props: Any) -> None:
        """Set props and redraw the component."""
        for name, value in props.items():
            self.props[name] = value
        self.update()


class Timestamp(VueComponent, component="timestamp.js"):
    """A time in the viewer's time zone, with the exact time as tooltip. `format` is `short`, `day` or `ago`."""

    def __init__(self, at: datetime | None, *, format: str = "short", placeholder: str = "never") -> None:
        super().__init__(at=at.isoformat() if at else None, format=format, placeholder=placeholder)
