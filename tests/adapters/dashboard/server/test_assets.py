"""The dashboard's own files: compressed, kept by the browser under the hash of their content, else revalidated."""

import httpx
from tests.support.service import Door

from memory_butler.adapters.dashboard.server.assets import KEEP, STYLES, asset, asset_url


async def test_files_are_small_and_kept(dashboard: Door) -> None:
    """The stylesheet has all parts, the tokens first; its hashed address is kept for good, and a plain one is not."""
    found = asset(STYLES)
    assert found and found.content.index(b":root") < found.content.index(b".mb-shell") and b".mb-card" in found.content
    async with httpx.AsyncClient(base_url=dashboard.url) as client:
        kept = await client.get(asset_url(STYLES), headers={"accept-encoding": "gzip"})
        assert kept.headers["cache-control"] == KEEP and kept.headers["content-encoding"] == "gzip"
        assert int(kept.headers["content-length"]) < len(found.content) / 3
        assert kept.content == found.content
        plain = await client.get(f"/dashboard/{STYLES}", headers={"accept-encoding": "identity"})
        assert plain.headers["cache-control"] == "no-cache" and "content-encoding" not in plain.headers
        again = await client.get(f"/dashboard/{STYLES}", headers={"if-none-match": plain.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        old = await client.get(f"/dashboard/{STYLES}?v=0123456789abcdef")
        assert old.headers["cache-control"] == "no-cache"
        dates = await client.get("/dashboard/dates.js")
        assert dates.headers["content-type"].startswith("text/javascript")
        assert (await client.get("/dashboard/nothing.css")).status_code == 404
