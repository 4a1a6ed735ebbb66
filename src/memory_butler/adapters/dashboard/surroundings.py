"""A neighbourhood as the graph page shows it: as a picture, and as the same in plain lists. Pure functions."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from memory_butler.adapters.dashboard import charts, columns
from memory_butler.adapters.dashboard.address import address
from memory_butler.adapters.dashboard.elements import text_of
from memory_butler.adapters.dashboard.entries import Group
from memory_butler.adapters.dashboard.places import memory_path
from memory_butler.adapters.dashboard.portrait import spot_entry
from memory_butler.models import EVERY_SCOPE, Hit, Question
from memory_butler.models.neighbourhood import Neighbourhood, Spot, SpotKind, Subject, Tie, TieKind
from memory_butler.policy.wording import one_line, spoken

PATH = "/graph"
Nodes = list[dict[str, Any]]
KINDS = (SpotKind.SUBJECT, SpotKind.FACT, SpotKind.RULE, SpotKind.EPISODE)
COLOURS = {
    SpotKind.SUBJECT: charts.PLUM,
    SpotKind.FACT: charts.GREEN,
    SpotKind.RULE: charts.BRASS,
    SpotKind.EPISODE: charts.BLUE,
}
NAMES = {SpotKind.SUBJECT: "Subjects", SpotKind.FACT: "Facts", SpotKind.RULE: "Rules", SpotKind.EPISODE: "Episodes"}
# What a tie says, read from its source to its target, and the other way round.
TIES = {
    TieKind.ABOUT: ("is about", "is what this is about"),
    TieKind.FOLLOWS: ("came after", "came before"),
    "derived_from": ("was learned from", "led to"),
    "supports": ("supports", "is supported by"),
    "contradicts": ("contradicts", "is contradicted by"),
    "supersedes": ("took the place of", "was replaced by"),
    "related_to": ("is related to", "is related to"),
}
# A correction that was undone leaves its trace, but what it replaced is in use again.
LAPSED = ("took for a while the place of", "was replaced for a while by")
LABEL_CHARACTERS = 34
FOUND = 6
FURTHER = "Further away"
RING = 170.0
# In a picture narrower than this the words stand in two columns.
NARROW_PIXELS = 520
WORDS_PIXELS = 132
NARROW = {"left": 2, "right": 2, "top": 34, "bottom": 6, "label": {"width": 86, "fontSize": 10.5}}
WORDS = {"width": WORDS_PIXELS, "fontSize": 11}
WIDE = {"left": "center", "right": None, "top": "center", "bottom": None, "label": WORDS}
# What stands behind another needs less room than what stands beside it.
CROWDED = 0.7
ROOMY = 11
# Of a picture of the usual width, ECharts fills four fifths; beside each spot its words have to end before the edge.
PICTURE_PIXELS, FILLED, SPOT_PIXELS, LETTER_PIXELS = 590, 0.8, 16, 5.8


def wanted_center(query: Mapping[str, str]) -> str | None:
    """What the address asks for, as the key of a spot: a memory, or a subject by its name."""
    center, subject = query.get("center", "").strip()[:300], query.get("subject", "").strip()[:300]
    if center:
        return center
    return f"{SpotKind.SUBJECT}:{subject}" if subject else None


def in_address(key: str | None) -> dict[str, str | None]:
    kind, _, rest = (key or "").partition(":")
    if kind == SpotKind.SUBJECT:
        return {"subject": rest}
    return {"center": key}


def label_of(spot: Spot) -> str:
    """A spot in few words."""
    if spot.kind is SpotKind.SUBJECT:
        return text_of(one_line(spoken(spot.subject_label or spot.subject or ""), LABEL_CHARACTERS))
    if spot.is_gone:
        return f"expired {spot.kind}"
    about = f"{spoken(spot.predicate_label)}: " if spot.predicate_label else ""
    return text_of(one_line(f"{about}{spot.content or ''}", LABEL_CHARACTERS))


# --- the picture ----------------------------------------------------------------------------------


def options(shown: Neighbourhood) -> charts.Options:
    """The neighbourhood as a graph. Words are values in it, and numbers of ours name its nodes."""
    numbers = {spot.key: str(place) for place, spot in enumerate(shown.spots)}
    spots = {spot.key: spot for spot in shown.spots}
    steps = distances(shown)
    wide, narrow = layout(shown), columns.columns(shown.center.key, tree(shown))

    def nodes(places: Mapping[str, tuple[float, float]], *, roomy: bool) -> list[dict[str, Any]]:
        return [_node(spot, numbers[spot.key], places[spot.key], steps[spot.key], roomy=roomy) for spot in shown.spots]

    around = nodes(wide, roomy=True)
    rings: Nodes = [*around, *_corners(around)]
    beside: Nodes = [*nodes(narrow, roomy=False), *_pinned(columns.HALF_WIDTH, columns.HALF_HEIGHT)]
    return {
        "legend": charts.legend(data=[NAMES[kind] for kind in KINDS], top=4, left="center"),
        "tooltip": charts.tooltip(trigger="item", formatter="{b}"),
        "media": [
            {"query": {"maxWidth": NARROW_PIXELS}, "option": {"series": [{"data": beside, **NARROW}]}},
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
                "links": [_edge(tie, numbers, words_of(tie, spots)[0]) for tie in shown.ties],
                "label": {"show": True, "color": charts.QUIET, "overflow": "truncate"},
                "labelLayout": {"hideOverlap": True},
                "edgeSymbol": ["none", "arrow"],
                "edgeSymbolSize": 6,
                # Nothing fades under the mouse: it stays after a click, and so would what faded in the next picture.
                "emphasis": {"focus": "none", "scale": 1.1},
                "lineStyle": {"color": charts.QUIET, "opacity": 0.4, "width": 1.1, "curveness": 0.06},
            }
        ],
    }


def _node(spot: Spot, number: str, place: tuple[float, float], step: int, *, roomy: bool) -> dict[str, Any]:
    """Where it is narrow, what stands further away is a point without words: one walks there to read it."""
    size = 46 if step == 0 else 24 if spot.kind is SpotKind.SUBJECT else 18 if step == 1 else 12
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
            # In columns, the line to what comes behind it runs below its words.
            **({} if roomy or step == 0 else {"verticalAlign": "bottom"}),
        },
    }


def _corners(nodes: Nodes) -> Nodes:
    """Two points that nobody sees: the chosen one stands in the middle between them, with room for words around."""
    wide = max(RING, *(abs(node["x"]) for node in nodes)) + 1.15 * RING
    high = max(RING, *(abs(node["y"]) for node in nodes)) + 0.25 * RING
    return _pinned(max(wide, *(_reach(node) for node in nodes)), high)


def _reach(node: Mapping[str, Any]) -> float:
    """How far from the middle the picture has to reach for the words of a spot to end within it."""
    words = min(WORDS_PIXELS, LETTER_PIXELS * len(node["name"]))
    half = PICTURE_PIXELS / 2
    return float(abs(node["x"]) * FILLED * half / (half - SPOT_PIXELS - words))


def _pinned(wide: float, high: float) -> list[dict[str, Any]]:
    unseen = {"symbolSize": 0, "silent": True, "label": {"show": False}, "tooltip": {"show": False}}
    return [
        {"id": f"corner {sign}", "name": "", "x": round(sign * wide, 1), "y": round(sign * high, 1), **unseen}
        for sign in (-1, 1)
    ]


def _edge(tie: Tie, numbers: Mapping[str, str], words: str) -> dict[str, Any]:
    return {
        "source": numbers[tie.source],
        "target": numbers[tie.target],
        "name": words,
        "lineStyle": {"type": "dashed" if tie.relation in ("contradicts", "supersedes") else "solid"},
    }


def distances(shown: Neighbourhood) -> dict[str, int]:
    """How many ties lead from the middle to each spot."""
    beside = _beside(shown)
    found = {shown.center.key: 0}
    line = [shown.center.key]
    for key in line:
        for other in beside[key]:
            if other not in found:
                found[other] = found[key] + 1
                line.append(other)
    return {spot.key: found.get(spot.key, 1) for spot in shown.spots}


def tree(shown: Neighbourhood) -> dict[str, list[str]]:
    """Which spots one comes to from each, on the shortest way from the middle; what hangs loose stands beside it."""
    beside, center = _beside(shown), shown.center.key
    children: dict[str, list[str]] = defaultdict(list)
    seen, line = {center}, [center]
    for key in line:
        for other in beside[key]:
            if other not in seen:
                seen.add(other)
                children[key].append(other)
                line.append(other)
    children[center] += [spot.key for spot in shown.spots if spot.key not in seen]
    return children


def _from_outside(center: str, children: Mapping[str, list[str]]) -> list[str]:
    line = [center]
    for key in line:
        line += children[key]
    return line[::-1]


def layout(shown: Neighbourhood) -> dict[str, tuple[float, float]]:
    """Where each spot stands: the chosen one in the middle, the others on rings around it, each in the sector of the
    one that leads to it. The same neighbourhood always gives the same picture."""
    children, center = tree(shown), shown.center.key
    weights: dict[str, float] = {}
    for key in _from_outside(center, children):
        weights[key] = max(1.0, CROWDED * sum(weights.get(child, 1.0) for child in children[key]))
    places = {center: (0.0, 0.0)}
    # The more stand on the first ring, the wider it is: so their words do not meet.
    first = RING * max(1.0, len(children[center]) / ROOMY)
    _spread(center, (-math.pi / 2, 1.5 * math.pi), first, (children, weights, places))
    return places


def _spread(
    key: str,
    sector: tuple[float, float],
    radius: float,
    found: tuple[Mapping[str, list[str]], Mapping[str, float], dict[str, tuple[float, float]]],
) -> None:
    children, weights, places = found
    start, width = sector[0], sector[1] - sector[0]
    whole = sum(weights[child] for child in children[key]) or 1.0
    for child in children[key]:
        share = width * weights[child] / whole
        angle = start + share / 2
        # Higher than wide: the words beside the spots take the rest of the width.
        places[child] = (radius * math.cos(angle), 1.2 * radius * math.sin(angle))
        _spread(child, (start, start + share), radius + RING, found)
        start += share


def _beside(shown: Neighbourhood) -> dict[str, list[str]]:
    """The neighbours of each spot, kinds together."""
    kinds = {spot.key: KINDS.index(spot.kind) for spot in shown.spots}
    found: dict[str, set[str]] = defaultdict(set)
    for tie in shown.ties:
        found[tie.source].add(tie.target)
        found[tie.target].add(tie.source)
    order = {spot.key: place for place, spot in enumerate(shown.spots)}
    return defaultdict(
        list, {key: sorted(ends, key=lambda end: (kinds[end], order[end])) for key, ends in found.items()}
    )


# --- the same in lists ----------------------------------------------------------------------------


def lists(shown: Neighbourhood) -> list[Group]:
    """What the picture shows, under how it belongs to the middle: for whoever reads rather than looks."""
    spots = {spot.key: spot for spot in shown.spots}
    center = shown.center.key
    groups: dict[str, list[Spot]] = defaultdict(list)
    told = {center}
    for tie in shown.ties:
        if center not in (tie.source, tie.target):
            continue
        outbound = tie.source == center
        other = tie.target if outbound else tie.source
        words = words_of(tie, spots)
        title = f"This {words[0]}" if outbound else _inbound(tie.relation, words[1])
        groups[title].append(spots[other])
        told.add(other)
    further = [spot for spot in shown.spots if spot.key not in told]
    if further:
        groups[FURTHER] = further
    return [{"title": title, "entries": [walkable(spot) for spot in found]} for title, found in groups.items()]


def words_of(tie: Tie, spots: Mapping[str, Spot]) -> tuple[str, str]:
    if tie.relation == "supersedes" and spots[tie.target].validity in ("active", "fading"):
        return LAPSED
    return TIES.get(tie.relation, (tie.relation, tie.relation))


def _inbound(relation: str, words: str) -> str:
    return "Facts about it" if relation == TieKind.ABOUT else f"This {words}"


def walkable(spot: Spot) -> dict[str, Any]:
    """A spot that one can walk to, with the way to its page."""
    href = address(PATH, in_address(spot.key))
    if spot.kind is SpotKind.SUBJECT:
        name = text_of(spoken(spot.subject_label or spot.subject or ""))
        return {"key": spot.key, "kind": "subject", "name": name, "href": href, "walks": True, "label": ""}
    entry = spot_entry(spot)
    if spot.is_gone:
        return {**entry, "chips": [["expired", "expired"]], "note": "The episode itself was deleted."}
    return {**entry, "href": href, "walks": True, "page": memory_path(spot.kind, spot.ref or str(spot.id))}


def subject_entries(found: Sequence[Subject]) -> list[dict[str, Any]]:
    """Subjects to begin with, each with how much is known of it."""
    return [
        {
            "key": f"{SpotKind.SUBJECT}:{one.subject}",
            "kind": "subject",
            "name": text_of(spoken(one.label)),
            "href": address(PATH, {"subject": one.subject}),
            "walks": True,
            "label": "",
            "chips": [["1 fact" if one.facts == 1 else f"{one.facts:,} facts", "fact"]],
        }
        for one in found
    ]


def question_of(words: str, *, governs: bool) -> Question:
    """What the search box asks for. Whoever governs may walk among all memories, so all of them are looked through."""
    return Question(query=words, scope=EVERY_SCOPE if governs else None, limit=FOUND)


def hit_entry(hit: Hit) -> dict[str, Any]:
    """A memory that a search found."""
    return walkable(
        Spot(
            kind=SpotKind(hit.type),
            id=hit.id,
            ref=hit.ref,
            content=hit.content[:300],
            subject_label=hit.subject_label,
            predicate_label=hit.predicate_label,
            validity=hit.validity,
            at=hit.observed_at or hit.created_at,
        )
    )
