"""Which addresses are the dashboard's, and how its pages are found. Known before any page is loaded."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    path: str
    title: str
    icon: str


PLACES = (
    Place("/", "Overview", "space_dashboard"),
    Place("/facts", "Facts", "fact_check"),
    Place("/rules", "Rules", "gavel"),
    Place("/episodes", "Episodes", "forum"),
    Place("/playground", "Playground", "travel_explore"),
    Place("/graph", "Graph", "hub"),
    Place("/timeline", "Timeline", "timeline"),
    Place("/consolidation", "Consolidation", "merge_type"),
    Place("/butlers", "Butlers", "groups"),
    Place("/system", "System", "monitor_heart"),
)
LOGIN, LOGOUT, TENANT, PROVIDER, RETURN = "/login", "/logout", "/login/tenant", "/login/provider", "/login/return"
STATIC = "/dashboard/"
# Everything that NiceGUI serves itself: its scripts, and the line to the pages that are open.
LIBRARY, LINE = "/_nicegui/", "/_nicegui_ws/"
MEMORY = "/memory/"
# What programs ask for: they are answered in their own terms, whatever it is.
PROGRAMS = ("/api", "/mcp", "/health", "/metrics", "/hooks")
PLAIN = frozenset({LOGIN, LOGOUT, TENANT, PROVIDER, RETURN})
_PAGES = frozenset(place.path for place in PLACES)


def is_ours(path: str) -> bool:
    return path in _PAGES or path in PLAIN or path.startswith((MEMORY, STATIC, LIBRARY, LINE))


def is_for_everybody(path: str) -> bool:
    """What is served before anybody has said who they are: how to say it, and what pages are made of."""
    return path in PLAIN or path.startswith((STATIC, LIBRARY))


def is_for_programs(path: str) -> bool:
    return any(path == part or path.startswith(f"{part}/") for part in PROGRAMS)


def memory_path(kind: str, ref: str) -> str:
    return f"{MEMORY}{kind}/{ref}"
