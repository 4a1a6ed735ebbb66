"""The dashboard's paths and navigation. Imports nothing of NiceGUI, so that the server can route before loading it."""

from dataclasses import dataclass

# The path of the link that lets a browser into the dashboard of the local shape.
from memory_butler.adapters.http.local_access import START


@dataclass(frozen=True, slots=True)
class NavEntry:
    path: str
    title: str
    icon: str
    group: str = ""


NAVIGATION = (
    NavEntry("/", "Home", "home"),
    NavEntry("/memories", "Memories", "psychology", "Memory"),
    NavEntry("/subjects", "Subjects", "people", "Memory"),
    NavEntry("/review", "Review", "inbox", "Memory"),
    NavEntry("/graph", "Map", "hub", "Memory"),
    NavEntry("/playground", "Playground", "travel_explore", "Agents"),
    NavEntry("/calls", "Calls", "receipt_long", "Agents"),
    NavEntry("/butlers", "Butlers", "groups", "Agents"),
    NavEntry("/timeline", "Timeline", "timeline", "Upkeep"),
    NavEntry("/consolidation", "Consolidation", "merge_type", "Upkeep"),
    NavEntry("/system", "System", "monitor_heart", "Upkeep"),
)
LOGIN, LOGOUT, TENANT, PROVIDER, RETURN = "/login", "/logout", "/login/tenant", "/login/provider", "/login/return"
STATIC = "/dashboard/"
# NiceGUI's own paths: its scripts, and the websocket of open pages.
NICEGUI_STATIC, WEBSOCKET = "/_nicegui/", "/_nicegui_ws/"
MEMORY = "/memory/"
# Paths for programs: errors there are JSON, never an HTML page.
API_PREFIXES = ("/api", "/mcp", "/health", "/metrics", "/hooks")
LOGIN_PATHS = frozenset({LOGIN, LOGOUT, TENANT, PROVIDER, RETURN, START})
MEMORIES, REVIEW, SUBJECTS = "/memories", "/review", "/subjects"
# The same list, of one type each.
TYPES = ("/facts", "/rules", "/episodes")
_PAGES = frozenset((*(entry.path for entry in NAVIGATION), *TYPES))


def is_dashboard_path(path: str) -> bool:
    return path in _PAGES or path in LOGIN_PATHS or path.startswith((MEMORY, STATIC, NICEGUI_STATIC, WEBSOCKET))


def is_public(path: str) -> bool:
    """Paths that need no login: the login itself, and static files."""
    return path in LOGIN_PATHS or path.startswith((STATIC, NICEGUI_STATIC))


def is_api_path(path: str) -> bool:
    return any(path == prefix or path.startswith(f"{prefix}/") for prefix in API_PREFIXES)


def memory_path(kind: str, ref: str) -> str:
    return f"{MEMORY}{kind}/{ref}"
