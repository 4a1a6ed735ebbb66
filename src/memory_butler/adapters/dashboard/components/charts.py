"""ECharts options shared by all charts, for light and dark mode. Text of memories is only ever a value, never a key:
NiceGUI evaluates a key that begins with a colon as JavaScript. Tooltips draw text, not markup."""

from typing import Any

from nicegui import ui

Options = dict[str, Any]

GREEN, BRASS, BLUE, RED, GREY, TEAL, PLUM = "#3f9b7c", "#c2923f", "#5b88c7", "#c8605a", "#8b958f", "#4aa3a8", "#96699c"
OLIVE, VIOLET = "#9aab3c", "#8f6cc9"
PALETTE = [GREEN, BRASS, BLUE, PLUM, TEAL, RED, GREY]
# Drawn as SVG, so that the stylesheet gives the words of these colours those of the theme.
MUTED, FAINT = "#828c86", "rgba(130, 140, 134, 0.22)"


def chart(options: Options, *, height: int, label: str) -> ui.echart:
    """A chart with a label for screen readers. The height is fixed, so that the layout does not shift when it loads."""
    element = ui.echart({**base(), **options}, renderer="svg").style(f"height:{height}px;width:100%")
    element.props["role"] = "img"
    element.props["aria-label"] = label
    return element


def redraw(element: ui.echart, options: Options) -> None:
    """Replace the options of an existing chart. Removing a chart that is still loading would break the page."""
    element.options.clear()
    element.options.update({**base(), **options})
    element.update()


def axis(kind: str, **more: Any) -> Options:
    """An axis of type `value`, `category` or `time`, in muted colours."""
    return {
        "type": kind,
        "axisLabel": {"color": MUTED},
        "axisLine": {"lineStyle": {"color": FAINT}},
        "axisTick": {"show": False},
        "splitLine": {"lineStyle": {"color": FAINT}, "show": kind == "value"},
        **more,
    }


def tooltip(**more: Any) -> Options:
    look = {"backgroundColor": "#24302b", "borderColor": "#24302b", "textStyle": {"color": "#f3f6f4"}}
    return {"renderMode": "richText", "confine": True, **look, **more}


def legend(**more: Any) -> Options:
    return {"textStyle": {"color": MUTED}, "icon": "circle", "itemWidth": 9, "itemHeight": 9, "top": 0, **more}


def base() -> Options:
    """Default options of every chart."""
    return {
        "animation": False,
        "color": PALETTE,
        "textStyle": {"fontFamily": "Roboto, system-ui, sans-serif"},
        "grid": {"left": 4, "right": 12, "top": 28, "bottom": 4, "containLabel": True},
        "tooltip": tooltip(),
    }
