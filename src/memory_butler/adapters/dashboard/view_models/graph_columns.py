"""Graph layout for narrow screens: two curved columns with one label per line, no two labels at the same height."""

from collections.abc import Mapping, Sequence

Place = tuple[float, float]
# In pixels from the centre of a narrow chart; the chart scales them to its size.
HALF_WIDTH, HALF_HEIGHT = 160.0, 190.0
COLUMN, BOW, EDGE = 56.0, 14.0, 152.0
# Maximum distance between neighbours, so that they still look related.
MAX_SPACING = 56.0


def columns(center: str, children: Mapping[str, Sequence[str]]) -> dict[str, Place]:
    """The position of each node: the centre in the middle, its neighbours in the right and left column from the top
    down, and their descendants at the edges, slightly below their parent."""
    neighbours = children.get(center, ())
    half = (len(neighbours) + 1) // 2
    spacing = min(MAX_SPACING, 2 * (HALF_HEIGHT - 10) / max(1, half))
    positions = {center: (0.0, 0.0)}
    for sign, column in ((1, neighbours[:half]), (-1, neighbours[half:][::-1])):
        for number, key in enumerate(column):
            y = (number - (len(column) - 1) / 2) * spacing
            positions[key] = (sign * (COLUMN - BOW * (y / HALF_HEIGHT) ** 2), y)
            descendants = _descendants(key, children)
            for index, other in enumerate(descendants, start=1):
                positions[other] = (sign * EDGE, y + spacing * (index / (len(descendants) + 1)))
    return positions


def _descendants(key: str, children: Mapping[str, Sequence[str]]) -> list[str]:
    descendants = list(children.get(key, ()))
    for one in descendants:
        descendants += children.get(one, ())
    return descendants
