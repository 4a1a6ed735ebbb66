"""Charts: how they look in light and dark alike. Words of memories are only ever values in them, never keys, because
a key that begins with a colon is evaluated in the browser; and tooltips draw text, not markup."""

from typing import Any

from nicegui import ui

Options = dict[str, Any]

GREEN, BRASS, BLUE, RED, GREY, TEAL, PLUM = "#3f9b7c", "#c2923f", "#5b88c7", "#c8605a", "#8b958f", "#4aa3a8", "#96699c"
OLIVE = "#9aab3c"
PALETTE = [GREEN, BRASS, BLUE, PLUM, TEAL, RED, GREY]
# Readable on both grounds.
QUIET, FAINT = "#828c86", "rgba(130, 140, 134, 0.22)"


def chart(options: Options, *, height: int, label: str) -> ui.echart:
    """A chart with a label for those who do not see it. The height is fixed, so that nothing moves when it comes."""
    drawn = ui.echart({**base(), **options}).style(f"height:{height}px;width:100%")
    drawn.props["role"] = "img"
    drawn.props["aria-label"] = label
    return drawn


def redraw(drawn: ui.echart, options: Options) -> None:
    """Show something else in a chart that is there. One that is taken away before it has come breaks its page."""
    drawn.options.clear()
    drawn.options.update({**base(), **options})
    drawn.update()


def axis(kind: str, **more: Any) -> Options:
    """An axis of type `value`, `category` or `time`, in quiet colours."""
    return {
        "type": kind,
        "axisLabel": {"color": QUIET},
        "axisLine": {"lineStyle": {"color": FAINT}},
        "axisTick": {"show": False},
        "splitLine": {"lineStyle": {"color": FAINT}, "show": kind == "value"},
        **more,
    }


def tooltip(**more: Any) -> Options:
    return {"renderMode": "richText", "confine": True, **more}


def legend(**more: Any) -> Options:
    return {"textStyle": {"color": QUIET}, "icon": "circle", "itemWidth": 9, "itemHeight": 9, "top": 0, **more}


def base() -> Options:
    """What every chart begins with."""
    return {
        "animation": False,
        "color": PALETTE,
        "textStyle": {"fontFamily": "Roboto, system-ui, sans-serif"},
        "grid": {"left": 4, "right": 12, "top": 28, "bottom": 4, "containLabel": True},
        "tooltip": tooltip(),
    }
