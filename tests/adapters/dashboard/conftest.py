"""A real browser that looks at a real server: one browser for all tests, a server and a page for each.

What a page writes to the browser's console as an error fails its test.
"""

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import pytest
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, async_playwright, expect
from tests.service import Door, Service, on_loopback, with_service

from memory_butler.adapters.dashboard.front import build_dashboard
from memory_butler.adapters.opening import LateButler
from memory_butler.butler import Butler

# Long enough for a busy machine; every wait ends as soon as what is waited for is there.
PATIENCE_MS = 20_000
expect.set_options(timeout=PATIENCE_MS)
DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="session")
async def chromium() -> AsyncIterator[Browser]:
    where = shutil.which("chromium")
    assert where, "the pages are tested in Debian's Chromium: apt-get install chromium"
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=where, args=["--no-sandbox"])
        yield browser
        await browser.close()


@pytest.fixture(scope="session")
async def pages_stay_loaded() -> AsyncIterator[None]:
    """NiceGUI starts with the first server and stops with the last: here it stays between tests."""
    from memory_butler.adapters.dashboard.running import running

    async with running():
        yield


@asynccontextmanager
async def shown(browser: Browser, **options: object) -> AsyncIterator[BrowserContext]:
    """A browser window of its own: nobody is logged in there yet."""
    usual = {"viewport": DESKTOP, "timezone_id": "Europe/Lisbon", "locale": "en-GB"}
    context = await browser.new_context(**{**usual, **options})  # type: ignore[arg-type]
    context.set_default_timeout(PATIENCE_MS)
    try:
        yield context
    finally:
        await context.close()


@pytest.fixture(scope="session")
async def shared_window(chromium: Browser) -> AsyncIterator[BrowserContext]:
    """A window that keeps its cache from test to test."""
    async with shown(chromium) as window:
        yield window


@dataclass
class Errors:
    """What a page complained about in the console."""

    said: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> None:
        page.on("console", self._hear)
        page.on("pageerror", lambda problem: self.said.append(str(problem)))

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.said.append(f"{message.text} ({message.location.get('url')})")


@pytest.fixture
async def dashboard(butler: Butler, pages_stay_loaded: None) -> AsyncIterator[Door]:
    """The dashboard of the test's own store in the local shape: whoever looks is the person at this machine."""
    async with on_loopback(LateButler.already_open(butler), build=build_dashboard) as door:
        yield door


@pytest.fixture
async def page(shared_window: BrowserContext) -> AsyncIterator[Page]:
    """A page of the browser; an error in its console fails the test."""
    errors = Errors()
    opened = await shared_window.new_page()
    errors.watch(opened)
    yield opened
    await opened.close()
    assert errors.said == []


Visit = Callable[[str], Awaitable[Page]]


@pytest.fixture
def visit(dashboard: Door, page: Page) -> Visit:
    """Open a page of the dashboard and wait until it is there."""

    async def opened(path: str) -> Page:
        await page.goto(dashboard.url + path)
        await page.wait_for_selector("h1.mb-title")
        return page

    return opened


LogIn = Callable[..., Awaitable[Page]]


@pytest.fixture
async def service(butler: Butler, pages_stay_loaded: None) -> AsyncIterator[Service]:
    """The dashboard as a service: whoever looks has to log in. Tenants other than the test's own are there, too."""
    ours = with_service(butler)
    async with on_loopback(LateButler.already_open(ours), build=build_dashboard) as door:
        yield Service(door.url, ours)


@pytest.fixture
async def log_in(service: Service, chromium: Browser, tenant: str) -> AsyncIterator[LogIn]:
    """Log in with a token of a role, in a window of its own, and open a page."""
    errors = Errors()
    async with AsyncExitStack() as stack:

        async def opened(role: str, path: str = "/", *, token: str | None = None, butler: str = "chef") -> Page:
            window = await stack.enter_async_context(shown(chromium))
            page = await window.new_page()
            errors.watch(page)
            await page.goto(service.url + path)
            await page.fill("#token", token or await service.token(tenant, role, butler, label=f"{role} Robin"))
            await page.click("button[type=submit]")
            await page.wait_for_selector("h1.mb-title")
            return page

        yield opened
    assert errors.said == []
