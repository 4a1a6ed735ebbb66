"""The parts that the overview and the timeline are drawn with: a list is a few values, not a few elements a row."""

from collections.abc import Sequence
from typing import Any

from nicegui.element import Element

Drawn = dict[str, Any]


class Figures(Element, component="parts/figures.js"):
    """A card for each thing that is counted."""

    def __init__(self, cards: Sequence[Drawn]) -> None:
        super().__init__()
        self.props["cards"] = list(cards)


class AttentionList(Element, component="parts/attention.js"):
    """What somebody should look at. Says `act` with the key of an item whose button was pressed."""

    def __init__(self, items: Sequence[Drawn]) -> None:
        super().__init__()
        self.props["items"] = list(items)


class Bars(Element, component="parts/bars.js"):
    def __init__(self, bars: Sequence[Drawn]) -> None:
        super().__init__()
        self.props["bars"] = list(bars)


class Story(Element, component="parts/story.js"):
    """What happened, day by day. Says `undo` with the key of an entry that is to be taken back."""

    def __init__(self, entries: Sequence[Drawn], *, compact: bool = False) -> None:
        super().__init__()
        self.props["entries"] = list(entries)
        self.props["compact"] = compact


class Tale(Element, component="parts/tale.js"):
    """Which part of what happened is told. Says `choose` with what was chosen."""

    def __init__(self, wanted: Drawn, actions: Sequence[Drawn], kinds: Sequence[Drawn]) -> None:
        super().__init__()
        self.props["wanted"] = wanted
        self.props["actions"] = list(actions)
        self.props["kinds"] = list(kinds)


class LookBack(Element, component="parts/lookback.js"):
    """A day of the past. Says `day` with the day that was chosen, and `ask` with what is searched for in it."""

    def __init__(self) -> None:
        super().__init__()
        self.props.update(first="", last="", day="", kinds=[], since="", query="", rows=[], notes=[])
        self.props.update(asked=False, busy=False)
