"""A real browser that looks at a real server: one browser for all tests, a server for each, at addresses and in pages
that they share.

What a page writes to the browser's console as an error fails its test.
"""

import shutil
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from urllib.parse import urljoin, urlsplit

import pytest
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Error, Page, async_playwright, expect
from tests.support.service import Door, Service, on_loopback, with_service

from memory_butler.adapters.dashboard.server.middleware import build_dashboard
from memory_butler.adapters.http.app import listening
from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.policy.memories import validation
from memory_butler.resources import Resources
from memory_butler.settings import load_settings

# Long enough for a busy machine; every wait ends as soon as what is waited for is there.
PATIENCE_MS = 20_000
expect.set_options(timeout=PATIENCE_MS)
DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}


@pytest.fixture
def text_of_older_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes store hidden characters, as earlier versions did: pages show such rows safely."""
    monkeypatch.setattr(validation, "visible_text", lambda text: text)


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
    from memory_butler.adapters.dashboard.server.nicegui_setup import running

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


@dataclass
class Errors:
    """What a page complained about in the console."""

    said: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> None:
        page.on("console", self._hear)
        page.on("pageerror", self._fail)

    def leave(self, page: Page) -> None:
        page.remove_listener("console", self._hear)
        page.remove_listener("pageerror", self._fail)

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.said.append(f"{message.text} ({message.location.get('url')})")

    def _fail(self, problem: Error) -> None:
        self.said.append(str(problem))


@dataclass
class Tabs:
    """Pages, each in a window of its own, that one test after the other looks at: to open one takes two to four times
    the processor time of going elsewhere in it."""

    browser: Browser
    stack: AsyncExitStack
    idle: list[Page] = field(default_factory=list)

    @asynccontextmanager
    async def one(self, errors: Errors) -> AsyncIterator[Page]:
        page = self.idle.pop() if self.idle else await self._opened()
        errors.watch(page)
        yield page
        errors.leave(page)
        await self._tidy(page)
        self.idle.append(page)

    async def _opened(self) -> Page:
        return await (await self.stack.enter_async_context(shown(self.browser))).new_page()

    async def _tidy(self, page: Page) -> None:
        """Nothing is left of the test before but what the browser keeps of our files."""
        for other in page.context.pages:
            if other is not page:
                await other.close()
        if urlsplit(page.url).hostname:
            # A file of the same server, so that the process that shows it stays.
            await page.goto(urljoin(page.url, "/dashboard/icon.svg"))
            await page.evaluate("localStorage.clear(); sessionStorage.clear()")
        await page.context.clear_cookies()
        await page.set_viewport_size(DESKTOP)  # type: ignore[arg-type]
        await page.mouse.move(0, 0)


@pytest.fixture(scope="session")
async def tabs(chromium: Browser) -> AsyncIterator[Tabs]:
    async with AsyncExitStack() as stack:
        yield Tabs(chromium, stack)


Serve = Callable[[Resources], AbstractAsyncContextManager[Door]]


@pytest.fixture(scope="session")
def serve(pages_stay_loaded: None) -> Iterator[Serve]:
    """Run the dashboard of a butler, at an address where another test's was: a browser has compiled its scripts."""
    idle: list[socket.socket] = []

    @asynccontextmanager
    async def served(resources: Resources) -> AsyncIterator[Door]:
        listener = idle.pop() if idle else listening(load_settings(host="127.0.0.1", port=0))
        try:
            async with on_loopback(LazyResources.already_open(resources), listener.dup(), build_dashboard) as door:
                yield door
        finally:
            idle.append(listener)

    yield served
    for listener in idle:
        listener.close()


@pytest.fixture
async def dashboard(resources: Resources, serve: Serve) -> AsyncIterator[Door]:
    """The dashboard of the test's own store in the local shape: whoever looks is the person at this machine."""
    async with serve(resources) as door:
        yield door


@pytest.fixture
async def page(dashboard: Door, tabs: Tabs) -> AsyncIterator[Page]:
    """A page of the browser; an error in its console fails the test."""
    errors = Errors()
    async with tabs.one(errors) as opened:
        yield opened
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
async def service(resources: Resources, serve: Serve) -> AsyncIterator[Service]:
    """The dashboard as a service: whoever looks has to log in. Tenants other than the test's own are there, too."""
    ours = with_service(resources)
    # Agents may change memories, too, as far as their role goes.
    dashboard = ours.settings.dashboard.model_copy(update={"changes": "role"})
    ours = replace(ours, settings=ours.settings.model_copy(update={"dashboard": dashboard}))
    async with serve(ours) as door:
        yield Service(door.url, ours)


@pytest.fixture
async def log_in(service: Service, tabs: Tabs, tenant: str) -> AsyncIterator[LogIn]:
    """Log in with a token of a role, in a window of its own, and open a page."""
    errors = Errors()
    async with AsyncExitStack() as stack:

        async def opened(role: str, path: str = "/", *, token: str | None = None, butler: str = "chef") -> Page:
            page = await stack.enter_async_context(tabs.one(errors))
            await page.goto(service.url + path)
            await page.fill("#token", token or await service.token(tenant, role, butler, label=f"{role} Robin"))
            await page.click("button[type=submit]")
            await page.wait_for_selector("h1.mb-title")
            return page

        yield opened
    assert errors.said == []
