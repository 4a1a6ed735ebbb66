"""Pages that nobody looks at: other sites cannot open them, and they take a bounded amount of memory."""

import httpx
import pytest
from nicegui import Client
from tests.support.service import on_loopback

from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.resources import Resources

PATIENCE_SECONDS = 60
EMBEDDED = [("cross-site", "no-cors", "image"), ("cross-site", "navigate", "iframe"), ("same-site", "cors", "empty")]
LINKED = [("cross-site", "navigate", "document"), ("none", "navigate", "document"), ("same-origin", "cors", "empty")]


def fetched(site: str, mode: str, dest: str) -> dict[str, str]:
    return {"sec-fetch-site": site, "sec-fetch-mode": mode, "sec-fetch-dest": dest}


async def test_other_sites_can_link_to_a_page_but_not_load_it(resources: Resources) -> None:
    async with (
        on_loopback(LazyResources.already_open(resources)) as door,
        httpx.AsyncClient(base_url=door.url, timeout=PATIENCE_SECONDS) as web,
    ):
        before = set(Client.instances)
        for how in EMBEDDED:
            assert (await web.get("/facts", headers=fetched(*how))).status_code == 403
        assert set(Client.instances) <= before
        for how in LINKED:
            assert (await web.get("/facts", headers=fetched(*how))).status_code == 200


@pytest.mark.parametrize("pages", [5])
async def test_pages_that_no_browser_shows_make_room(resources: Resources, pages: int) -> None:
    dashboard = resources.settings.dashboard.model_copy(update={"open_pages": pages + len(Client.instances)})
    lazy = LazyResources.already_open(resources)
    lazy.settings = resources.settings.model_copy(update={"dashboard": dashboard})
    async with on_loopback(lazy) as door, httpx.AsyncClient(base_url=door.url, timeout=PATIENCE_SECONDS) as web:
        for _ in range(3 * pages):
            assert (await web.get("/facts")).status_code == 200
            assert len(Client.instances) <= dashboard.open_pages


async def test_a_page_too_many_is_refused(resources: Resources, monkeypatch: pytest.MonkeyPatch) -> None:
    """If browsers show all of them, none is closed."""
    dashboard = resources.settings.dashboard.model_copy(update={"open_pages": 2 + len(Client.instances)})
    lazy = LazyResources.already_open(resources)
    lazy.settings = resources.settings.model_copy(update={"dashboard": dashboard})
    monkeypatch.setattr(Client, "has_socket_connection", True)
    async with on_loopback(lazy) as door, httpx.AsyncClient(base_url=door.url, timeout=PATIENCE_SECONDS) as web:
        # Pages of earlier tests may end meanwhile and make room.
        answers = [(await web.get("/facts")).status_code for _ in range(dashboard.open_pages + 2)]
        assert answers[:2] == [200, 200] and answers[-1] == 429
        assert len(Client.instances) <= dashboard.open_pages
