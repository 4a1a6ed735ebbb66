"""The dashboard's own static files, served without NiceGUI: the stylesheet, date formats and the icon.

The stylesheet is all `assets/*.css` in one file, the tokens first. Its address carries a hash of its content, so that
browsers keep it for good; other files are revalidated.
"""

import functools
import gzip
import hashlib
from dataclasses import dataclass
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

from memory_butler.adapters.dashboard.server import routes

STYLES = "dashboard.css"
TOKENS = "tokens.css"
_TYPES = {
    STYLES: "text/css",
    "icon.svg": "image/svg+xml",
    "dates.js": "text/javascript",
    "map_layout.js": "text/javascript",
}
REVALIDATE = "no-cache"
KEEP = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class Asset:
    content: bytes
    compressed: bytes
    tag: str
    media_type: str


@functools.cache
def asset(name: str) -> Asset | None:
    if name not in _TYPES:
        return None
    folder = files("memory_butler.adapters.dashboard") / "assets"
    names = [name]
    if name == STYLES:
        names = sorted((one.name for one in folder.iterdir() if one.name.endswith(".css")), key=_tokens_first)
    content = b"\n".join((folder / one).read_bytes() for one in names)
    tag = hashlib.sha256(content).hexdigest()[:16]
    return Asset(content, gzip.compress(content, 9, mtime=0), tag, _TYPES[name])


def asset_url(name: str) -> str:
    """The address of a file, with the hash of its content."""
    found = asset(name)
    assert found
    return f"{routes.STATIC}{name}?v={found.tag}"


async def serve_asset(request: Request) -> Response:
    found = asset(request.path_params["name"])
    if found is None:
        return Response(status_code=404)
    is_versioned = request.query_params.get("v") == found.tag
    headers = {
        "etag": f'"{found.tag}"',
        "cache-control": KEEP if is_versioned else REVALIDATE,
        "vary": "accept-encoding",
    }
    if found.tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(found.content, media_type=found.media_type, headers=headers)
    return Response(found.compressed, media_type=found.media_type, headers={**headers, "content-encoding": "gzip"})


def _tokens_first(name: str) -> tuple[bool, bool, str]:
    return name != TOKENS, name != STYLES, name
