"""The front: who gets to which page, and what every page has."""

import httpx
import pytest
from tests.adapters.dashboard.conftest import LogIn, Visit
from tests.service import Door, Service

from memory_butler.adapters.dashboard.places import PLACES


async def test_the_person_at_the_machine_needs_no_login(visit: Visit) -> None:
    """In the local shape the first page is there at once, with its name and the way to all others."""
    page = await visit("/")
    assert await page.inner_text("h1.mb-title") == "Overview"
    names = [await entry.inner_text() for entry in await page.query_selector_all(".mb-entry span")]
    assert names == [place.title for place in PLACES]
    assert await page.get_attribute(".mb-entry[aria-current]", "href") == "/"


async def test_a_service_asks_who_it_is_and_leads_back(log_in: LogIn) -> None:
    """Whoever is not logged in comes to the login, and from there to the page they wanted."""
    page = await log_in("admin", "/?from=mail")
    assert page.url.endswith("/?from=mail")
    assert await page.inner_text(".mb-who-name") == "admin Robin"


async def test_nobody_gets_a_page_or_a_line_without_a_login(service: Service) -> None:
    """Pages lead to the login, and the line that pages are drawn through is refused."""
    async with httpx.AsyncClient(base_url=service.url) as web:
        reply = await web.get("/")
        assert (reply.status_code, reply.headers["location"]) == (303, "/login")
        assert (await web.get("/_nicegui_ws/socket.io/?EIO=4&transport=polling")).status_code == 403


@pytest.mark.parametrize("headers", [{"host": "evil.example"}, {"origin": "http://evil.example"}, {"origin": "null"}])
async def test_other_sites_are_kept_out(dashboard: Door, headers: dict[str, str]) -> None:
    """A page of another site, or one that pretends to be this machine, gets nothing."""
    async with httpx.AsyncClient(base_url=dashboard.url) as web:
        assert (await web.get("/", headers=headers)).status_code in (403, 421)
