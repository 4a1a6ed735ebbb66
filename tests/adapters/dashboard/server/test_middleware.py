"""The front: who gets to which page, and what every page has."""

import re

import httpx
import pytest
from tests.adapters.dashboard.conftest import LogIn, Visit
from tests.support.service import Door, Service, on_loopback

from memory_butler.adapters.dashboard.actions.error_texts import DEFAULT_ADVICE, user_text
from memory_butler.adapters.dashboard.server.routes import NAVIGATION
from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.errors import (
    ERROR_CLASSES,
    Conflict,
    DeadlinePassed,
    InvalidInput,
    MemoryButlerError,
    NotFound,
    PermissionDenied,
)
from memory_butler.resources import Resources


async def test_the_person_at_the_machine_needs_no_login(visit: Visit) -> None:
    """In the local shape the first page is there at once, with its name and the way to all others."""
    page = await visit("/")
    assert await page.inner_text("h1.mb-title") == "Home"
    names = [await entry.inner_text() for entry in await page.query_selector_all(".mb-nav-entry .mb-nav-title")]
    assert names == [place.title for place in NAVIGATION]
    assert await page.get_attribute(".mb-nav-entry[aria-current]", "href") == "/"
    for name in ("Menu", "Theme: system. Switch to light"):
        # Light on the dark side.
        colour = await page.locator(f"[aria-label='{name}']").evaluate("button => getComputedStyle(button).color")
        assert min(int(part) for part in re.findall(r"\d+", colour)[:3]) > 200


async def test_a_service_asks_who_it_is_and_leads_back(log_in: LogIn) -> None:
    """Whoever is not logged in comes to the login, and from there to the page they wanted."""
    page = await log_in("admin", "/?from=mail")
    await page.wait_for_url(lambda url: url.endswith("/?from=mail"))
    assert await page.inner_text(".mb-user-name") == "admin Robin"


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


BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"


MISTYPED = [
    ("/nosuch", BROWSER, True),
    ("/consolidation/zzz", BROWSER, True),
    ("/nosuch", "*/*", False),
    ("/nosuch", "application/json", False),
    ("/nosuch", "application/json, text/html", False),
    ("/nosuch", "text/html;q=0.5, */*", False),
    ("/nosuch", "text/html;q=x", False),
    ("/api/v1/nosuch", BROWSER, False),
    ("/mcp/nosuch", BROWSER, False),
]


async def test_who_mistypes_an_address_finds_home(resources: Resources) -> None:
    """A person gets a page with the way home, a program the problem in its own terms; it is 404 for both."""
    async with (
        on_loopback(LazyResources.already_open(resources)) as door,
        httpx.AsyncClient(base_url=door.url) as web,
    ):
        for path, accept, is_page in MISTYPED:
            reply = await web.get(path, headers={"accept": accept})
            assert reply.status_code == 404
            assert reply.headers["content-type"].startswith("text/html") is is_page, (path, accept)
            assert ("content-security-policy" in reply.headers) is is_page
            assert '<a href="/">' in reply.text if is_page else reply.json()["error"] == "not_found"


async def test_plain_pages_have_the_letters_of_all_others(dashboard: Door) -> None:
    """Also before NiceGUI is loaded, and nothing else of its folder is given away."""
    async with httpx.AsyncClient(base_url=dashboard.url) as web:
        sheet = await web.get("/dashboard/fonts.css")
        named = re.search(r'"Roboto".*?url\((fonts/[^)]+)\)', sheet.text, re.DOTALL)
        assert named and (await web.get(f"/dashboard/{named[1]}")).headers["content-type"] == "font/woff2"
        for other in ("fonts/..%2Fnicegui.js", "fonts/0.woff2", "nicegui.js"):
            assert (await web.get(f"/dashboard/{other}")).status_code == 404


ID = "0198f3c2-7a10-7c3e-8f4b-2d9f5a6b7c8d"


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (NotFound(f"There is no fact {ID}."), f"There is no fact 0198f3c2…. {DEFAULT_ADVICE['not_found']}"),
        (InvalidInput("That is no day."), "That is no day."),
        (
            InvalidInput("That is no day.", recovery="Use ISO 8601, e.g. 2026-03-31."),
            "That is no day. Use ISO 8601, e.g. 2026-03-31.",
        ),
        (InvalidInput("time_from is not before time_to."), "The first day is not before the last."),
        (InvalidInput("as_of is ahead.", recovery="Leave out as_of to read what holds now."), "The date is ahead."),
        (
            Conflict("Not undone.", recovery="Undo the later changes first. Or pass skip_changed (--skip-changed)."),
            "Not undone. Undo the later changes first.",
        ),
        (
            PermissionDenied("No.", recovery="Ask for one: `memory-butler token create`."),
            "No. Ask for one: memory-butler token create.",
        ),
        (DeadlinePassed("Too slow."), "Too slow. Try again."),
    ],
)
def test_people_hear_nothing_of_tools_and_arguments(problem: MemoryButlerError, said: str) -> None:
    """What is advice for agents is left out or said in other words; what helps a person stays."""
    assert user_text(problem) == said


def test_there_is_advice_for_every_kind_of_trouble() -> None:
    """None is left over, and none of it speaks of tools."""
    assert set(DEFAULT_ADVICE) == set(ERROR_CLASSES)
    assert not any("memory_" in advice or "`" in advice for advice in DEFAULT_ADVICE.values())
