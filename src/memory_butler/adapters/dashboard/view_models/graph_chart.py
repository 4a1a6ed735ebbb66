"""A neighbourhood of the graph as an ECharts graph, and as plain lists with the same content."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from memory_butler.adapters.dashboard.components import charts
from memory_butler.adapters.dashboard.components.elements import visible_text
from memory_butler.adapters.dashboard.components.vue_components import Group
from memory_butler.adapters.dashboard.server.page_url import url_for
from memory_butler.adapters.dashboard.server.routes import memory_path
from memory_butler.adapters.dashboard.view_models.memory_details import spot_entry
from memory_butler.english.text.normalize import as_words
from memory_butler.models import EVERY_SCOPE, Hit, Question
from memory_butler.models.graph import Edge, EdgeKind, MemoryGraph, Node, NodeKind, Subject
from memory_butler.policy.memories.text import one_line

PATH = "/graph"
Nodes = list[dict[str, Any]]
KINDS = (NodeKind.SUBJECT, NodeKind.FACT, NodeKind.RULE, NodeKind.EPISODE)
COLOURS = {
    NodeKind.SUBJECT: charts.PLUM,
    NodeKind.FACT: charts.TEAL,
    NodeKind.RULE: charts.VIOLET,
    NodeKind.EPISODE: charts.BLUE,
}
NAMES = {NodeKind.SUBJECT: "Subjects", NodeKind.FACT: "Facts", NodeKind.RULE: "Rules", NodeKind.EPISODE: "Episodes"}
# Labels of relations, read from source to target and from target to source.
TIES = {
    EdgeKind.ABOUT: ("is about", "is the subject of"),
    EdgeKind.FOLLOWS: ("came after", "came before"),
    "derived_from": ("was learned from", "led to"),
    "supports": ("supports", "is supported by"),
    "contradicts": ("contradicts", "is contradicted by"),
    "supersedes": ("replaced", "was replaced by"),
    "related_to": ("is related to", "is related to"),
}
# For a correction that was undone: the replaced fact is in use again.
UNDONE_LABELS = ("temporarily replaced", "was temporarily replaced by")
LABEL_CHARACTERS = 34
MAX_RESULTS = 6
FURTHER = "Indirectly related"
RING = 170.0
# Charts narrower than this use the layout with two columns.
NARROW_PIXELS = 520
LABEL_PIXELS = 132
NARROW = {"left": 2, "right": 2, "top": 34, "bottom": 6, "label": {"width": 86, "fontSize": 10.5}}
LABEL = {"width": LABEL_PIXELS, "fontSize": 11}
WIDE = {"left": "center", "right": None, "top": "center", "bottom": None, "label": LABEL}
# Weight of a child relative to its siblings' parent: descendants need less room than neighbours.
CHILD_WEIGHT = 0.7
FIRST_RING_NODES = 11
# ECharts fills four fifths of a chart of the usual width; the label beside each node must end before the edge.
CHART_PIXELS, FILLED_SHARE, NODE_PIXELS, CHARACTER_PIXELS = 590, 0.8, 16, 5.8
# Layout for narrow screens: two curved columns with one label per line. In pixels from the centre of the chart, which
# scales them to its size.
HALF_WIDTH, HALF_HEIGHT = 160.0, 190.0
COLUMN, BOW, EDGE = 56.0, 14.0, 152.0
# Maximum distance between neighbours, so that they still look related.
MAX_SPACING = 56.0


def center_from(query: Mapping[str, str]) -> str | None:
    """The key of the centre node in a URL: a memory's handle, or a subject by its name."""
    center, subject = query.get("center", "").strip()[:300], query.get("subject", "").strip()[:300]
    if center:
        return center
    return f"{NodeKind.SUBJECT}:{subject}" if subject else None


def url_params(key: str | None) -> dict[str, str | None]:
    kind, _, rest = (key or "").partition(":")
    if kind == NodeKind.SUBJECT:
        return {"subject": rest}
    return {"center": key}


def label_of(spot: Node) -> str:
    if spot.kind is NodeKind.SUBJECT:
        return visible_text(one_line(as_words(spot.subject_label or spot.subject or ""), LABEL_CHARACTERS))
    if spot.is_gone:
        return f"deleted {spot.kind}"
    about = f"{as_words(spot.predicate_label)}: " if spot.predicate_label else ""
    return visible_text(one_line(f"{about}{spot.content or ''}", LABEL_CHARACTERS))


# --- chart ----------------------------------------------------------------------------------------


def chart_options(neighbourhood: MemoryGraph) -> charts.Options:
    """Chart options. Text of memories is only ever a value; nodes have numbers as ids."""
    neighbourhood = _without_gone(neighbourhood)
    numbers = {spot.key: str(place) for place, spot in enumerate(neighbourhood.nodes)}
    spots = {spot.key: spot for spot in neighbourhood.nodes}
    steps = distances(neighbourhood)
    wide, narrow = layout(neighbourhood), columns(neighbourhood.center.key, tree(neighbourhood))

    def nodes(places: Mapping[str, tuple[float, float]], *, roomy: bool) -> list[dict[str, Any]]:
        return [
            _node(spot, numbers[spot.key], places[spot.key], steps[spot.key], roomy=roomy)
            for spot in neighbourhood.nodes
        ]

    ring_nodes = nodes(wide, roomy=True)
    rings: Nodes = [*ring_nodes, *_corners(ring_nodes)]
    if len(tree(neighbourhood)[neighbourhood.center.key]) > FIRST_RING_NODES:
        # Labels around a full ring would cover each other.
        column_nodes = nodes(narrow, roomy=True)
        wide_enough = max(1.5 * HALF_WIDTH, *(_reach(node) for node in column_nodes))
        rings = [*column_nodes, *_pinned(wide_enough, HALF_HEIGHT)]
    neighbours: Nodes = [*nodes(narrow, roomy=False), *_pinned(HALF_WIDTH, HALF_HEIGHT)]
    return {
        "legend": charts.legend(data=[NAMES[kind] for kind in KINDS], top=4, left="center"),
        "tooltip": charts.tooltip(trigger="item", formatter="{b}"),
        "media": [
            {"query": {"maxWidth": NARROW_PIXELS}, "option": {"series": [{"data": neighbours, **NARROW}]}},
            {"option": {"series": [{"data": rings, **WIDE}]}},
        ],
        "series": [
            {
                "type": "graph",
                "layout": "none",
                "roam": True,
                "draggable": True,
                "scaleLimit": {"min": 0.4, "max": 6},
                "categories": [{"name": NAMES[kind], "itemStyle": {"color": COLOURS[kind]}} for kind in KINDS],
                "data": rings,
                "links": [_edge(tie, numbers, relation_labels(tie, spots)[0]) for tie in neighbourhood.edges],
                "label": {"show": True, "color": charts.MUTED, "overflow": "truncate"},
                "labelLayout": {"hideOverlap": True},
                "edgeSymbol": ["none", "arrow"],
                "edgeSymbolSize": 6,
                # No fading on hover: after a click the pointer stays, and the next chart would begin faded.
                "emphasis": {"focus": "none", "scale": 1.1},
                "lineStyle": {"color": charts.MUTED, "opacity": 0.4, "width": 1.1, "curveness": 0.06},
            }
        ],
    }


def _without_gone(neighbourhood: MemoryGraph) -> MemoryGraph:
    """Deleted episodes are drawn beside the centre only; the lists name all of them."""
    steps = distances(neighbourhood)
    nodes = tuple(spot for spot in neighbourhood.nodes if not spot.is_gone or steps[spot.key] < 2)
    shown = {spot.key for spot in nodes}
    edges = tuple(tie for tie in neighbourhood.edges if {tie.source, tie.target} <= shown)
    return replace(neighbourhood, nodes=nodes, edges=edges)


def _node(spot: Node, number: str, place: tuple[float, float], step: int, *, roomy: bool) -> dict[str, Any]:
    """On narrow screens, distant nodes have no label."""
    size = 46 if step == 0 else 24 if spot.kind is NodeKind.SUBJECT else 18 if step == 1 else 12
    faded = spot.is_gone or spot.validity not in (None, "active", "fading")
    return {
        "id": number,
        "name": label_of(spot),
        "category": KINDS.index(spot.kind),
        "x": round(place[0], 1),
        "y": round(place[1], 1),
        "symbolSize": size if roomy else round(0.8 * size),
        "itemStyle": {"opacity": 0.4 if faded else 1.0},
        "label": {
            "position": "bottom" if step == 0 else "right" if place[0] >= 0 else "left",
            "fontWeight": "bold" if step == 0 else "normal",
            "show": roomy or step < 2,
            # In columns, the edge to a descendant runs below the label.
            **({} if roomy or step == 0 else {"verticalAlign": "bottom"}),
        },
    }


def _corners(nodes: Nodes) -> Nodes:
    """Two invisible nodes that keep the centre node in the middle, with room for labels around."""
    wide = max(RING, *(abs(node["x"]) for node in nodes)) + 1.15 * RING
    high = max(RING, *(abs(node["y"]) for node in nodes)) + 0.25 * RING
    return _pinned(max(wide, *(_reach(node) for node in nodes)), high)


def _reach(node: Mapping[str, Any]) -> float:
    """The distance from the centre that a node needs for its label to end inside the chart."""
    label_width = min(LABEL_PIXELS, CHARACTER_PIXELS * len(node["name"]))
    half = CHART_PIXELS / 2
    return float(abs(node["x"]) * FILLED_SHARE * half / (half - NODE_PIXELS - label_width))


def _pinned(wide: float, high: float) -> list[dict[str, Any]]:
    invisible = {"symbolSize": 0, "silent": True, "label": {"show": False}, "tooltip": {"show": False}}
    return [
        {"id": f"corner {sign}", "name": "", "x": round(sign * wide, 1), "y": round(sign * high, 1), **invisible}
        for sign in (-1, 1)
    ]


def _edge(tie: Edge, numbers: Mapping[str, str], words: str) -> dict[str, Any]:
    return {
        "source": numbers[tie.source],
        "target": numbers[tie.target],
        "name": words,
        "lineStyle": {"type": "dashed" if tie.relation in ("contradicts", "supersedes") else "solid"},
    }


def distances(neighbourhood: MemoryGraph) -> dict[str, int]:
    """The number of edges from the centre to each node."""
    return _depths(neighbourhood.center.key, tree(neighbourhood))


def _depths(center: str, children: Mapping[str, list[str]]) -> dict[str, int]:
    """The depth of each node in the tree, from the centre outwards."""
    result, queue = {center: 0}, [center]
    for key in queue:
        result |= dict.fromkeys(children[key], result[key] + 1)
        queue += children[key]
    return result


def tree(neighbourhood: MemoryGraph) -> dict[str, list[str]]:
    """The children of each node in the tree of shortest paths; unconnected nodes are children of the centre."""
    neighbours, center = _beside(neighbourhood), neighbourhood.center.key
    children: dict[str, list[str]] = defaultdict(list)
    seen, queue = {center}, [center]
    for key in queue:
        for other in neighbours[key]:
            if other not in seen:
                seen.add(other)
                children[key].append(other)
                queue.append(other)
    children[center] += [spot.key for spot in neighbourhood.nodes if spot.key not in seen]
    return children


def layout(neighbourhood: MemoryGraph) -> dict[str, tuple[float, float]]:
    """The position of each node: the centre in the middle, the others on rings around it, each in the sector of its
    parent. The layout is deterministic."""
    children, center = tree(neighbourhood), neighbourhood.center.key
    weights: dict[str, float] = {}
    for key in reversed(_depths(center, children)):
        weights[key] = max(1.0, CHILD_WEIGHT * sum(weights.get(child, 1.0) for child in children[key]))
    places = {center: (0.0, 0.0)}
    # The first ring grows with its number of nodes, so that labels do not overlap.
    first = RING * max(1.0, len(children[center]) / FIRST_RING_NODES)
    _spread(center, (-math.pi / 2, 1.5 * math.pi), first, (children, weights, places))
    return places


def _spread(
    key: str,
    sector: tuple[float, float],
    radius: float,
    result: tuple[Mapping[str, list[str]], Mapping[str, float], dict[str, tuple[float, float]]],
) -> None:
    children, weights, places = result
    start, width = sector[0], sector[1] - sector[0]
    whole = sum(weights[child] for child in children[key]) or 1.0
    for child in children[key]:
        share = width * weights[child] / whole
        angle = start + share / 2
        # Taller than wide: the labels beside the nodes take the rest of the width.
        places[child] = (radius * math.cos(angle), 1.2 * radius * math.sin(angle))
        _spread(child, (start, start + share), radius + RING, result)
        start += share


def columns(center: str, children: Mapping[str, Sequence[str]]) -> dict[str, tuple[float, float]]:
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


def _beside(neighbourhood: MemoryGraph) -> dict[str, list[str]]:
    """The neighbours of each node, ordered by type."""
    kinds = {spot.key: KINDS.index(spot.kind) for spot in neighbourhood.nodes}
    result: dict[str, set[str]] = defaultdict(set)
    for tie in neighbourhood.edges:
        result[tie.source].add(tie.target)
        result[tie.target].add(tie.source)
    order = {spot.key: place for place, spot in enumerate(neighbourhood.nodes)}
    return defaultdict(
        list, {key: sorted(ends, key=lambda end: (kinds[end], order[end])) for key, ends in result.items()}
    )


# --- lists ----------------------------------------------------------------------------------------


def text_lists(neighbourhood: MemoryGraph) -> list[Group]:
    """The content of the chart as text, grouped by relation to the centre, for example for screen readers."""
    spots = {spot.key: spot for spot in neighbourhood.nodes}
    center = neighbourhood.center.key
    groups: dict[str, list[Node]] = defaultdict(list)
    listed = {center}
    for tie in neighbourhood.edges:
        if center not in (tie.source, tie.target):
            continue
        outbound = tie.source == center
        other = tie.target if outbound else tie.source
        labels = relation_labels(tie, spots)
        title = "Facts" if tie.relation == EdgeKind.ABOUT and not outbound else f"This {labels[not outbound]}"
        groups[title].append(spots[other])
        listed.add(other)
    further = [spot for spot in neighbourhood.nodes if spot.key not in listed]
    if further:
        groups[FURTHER] = further
    return [{"title": title, "entries": [node_entry(spot) for spot in result]} for title, result in groups.items()]


def relation_labels(tie: Edge, spots: Mapping[str, Node]) -> tuple[str, str]:
    if tie.relation == "supersedes" and spots[tie.target].validity in ("active", "fading"):
        return UNDONE_LABELS
    return TIES.get(tie.relation, (tie.relation, tie.relation))


def node_entry(spot: Node) -> dict[str, Any]:
    """A node as a list entry that moves the graph there, with a link to its page."""
    href = url_for(PATH, url_params(spot.key))
    if spot.kind is NodeKind.SUBJECT:
        name = visible_text(as_words(spot.subject_label or spot.subject or ""))
        return {"key": spot.key, "kind": "subject", "name": name, "href": href, "navigates": True, "label": ""}
    entry = spot_entry(spot)
    if spot.is_gone:
        return {**entry, "chips": [["deleted", "expired"]], "note": "The episode was deleted."}
    return {**entry, "href": href, "navigates": True, "page": memory_path(spot.kind, spot.ref or str(spot.id))}


def subject_entries(result: Sequence[Subject]) -> list[dict[str, Any]]:
    return [
        {
            "key": f"{NodeKind.SUBJECT}:{one.subject}",
            "kind": "subject",
            "name": visible_text(as_words(one.label)),
            "href": url_for(PATH, {"subject": one.subject}),
            "navigates": True,
            "label": "",
            "chips": [["1 fact" if one.facts == 1 else f"{one.facts:,} facts", "fact"]],
        }
        for one in result
    ]


def question_of(text: str, *, governs: bool) -> Question:
    """The question of the search box. Admins may open all memories, so theirs searches all scopes."""
    return Question(query=text, scope=EVERY_SCOPE if governs else None, limit=MAX_RESULTS)


def hit_entry(hit: Hit) -> dict[str, Any]:
    return node_entry(
        Node(
            kind=NodeKind(hit.type),
            id=hit.id,
            ref=hit.ref,
            content=hit.content[:300],
            subject_label=hit.subject_label,
            predicate_label=hit.predicate_label,
            validity=hit.validity,
            at=hit.observed_at or hit.created_at,
        )
    )
