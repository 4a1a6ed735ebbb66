"""The graph where there is little room beside it: two bowed columns with a line of words for each, and no two lines
at the same height. Pure functions."""

from collections.abc import Mapping, Sequence

Place = tuple[float, float]
# In pixels of a narrow picture, from its middle; the picture stretches them to what it has.
HALF_WIDTH, HALF_HEIGHT = 160.0, 190.0
COLUMN, BOW, EDGE = 56.0, 14.0, 152.0
# Further apart they would not look as if they belonged together.
MOST_APART = 56.0


def columns(center: str, children: Mapping[str, Sequence[str]]) -> dict[str, Place]:
    """Where each spot stands: the chosen one in the middle, its neighbours right and left of it from the top down, and
    what comes behind them at the edges, a little below the one that leads there."""
    beside = children.get(center, ())
    half = (len(beside) + 1) // 2
    apart = min(MOST_APART, 2 * (HALF_HEIGHT - 10) / max(1, half))
    places = {center: (0.0, 0.0)}
    for sign, column in ((1, beside[:half]), (-1, beside[half:][::-1])):
        for number, key in enumerate(column):
            y = (number - (len(column) - 1) / 2) * apart
            places[key] = (sign * (COLUMN - BOW * (y / HALF_HEIGHT) ** 2), y)
            behind = _behind(key, children)
            for place, other in enumerate(behind, start=1):
                places[other] = (sign * EDGE, y + apart * (place / (len(behind) + 1)))
    return places


def _behind(key: str, children: Mapping[str, Sequence[str]]) -> list[str]:
    found = list(children.get(key, ()))
    for one in found:
        found += children.get(one, ())
    return found
