"""Logging in through an identity provider, and what a login is worth."""

import re
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from joserfc.jwk import ECKey
from playwright.async_api import expect
from pydantic import SecretStr
from tests.adapters.dashboard.conftest import Errors, Serve, Tabs
from tests.adapters.dashboard.provider import AUDIENCE, CLIENT, CLIENT_SECRET, Provider, one_each, running_provider
from tests.support.service import Service, on_loopback, with_service

from memory_butler.adapters.dashboard.server import oidc
from memory_butler.adapters.dashboard.server.login import COOKIE
from memory_butler.adapters.dashboard.server.middleware import build_dashboard
from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.resources import Resources
from memory_butler.settings import DashboardSettings, JwtSettings, LoginSettings


@pytest.fixture(scope="module")
def provider_process() -> Iterator[Provider]:
    with running_provider() as provider:
        yield provider


@pytest.fixture
def provider(provider_process: Provider, tenant: str) -> Provider:
    """The provider as it is with nothing wrong: it knows Anna, an administrator of the test's tenant."""
    fresh = Provider()
    for name in ("refusal", "access_claims", "late_seconds", "status", "signing"):
        setattr(provider_process, name, getattr(fresh, name))
    provider_process.claims = {"tenant": tenant, "role": "admin", "butler": "chef", "name": "Anna <Lisbon>"}
    return provider_process


def through(resources: Resources, provider: Provider, **dashboard: Any) -> Resources:
    """A service whose people log in through the provider."""
    jwt = JwtSettings(issuer=provider.url, audience=AUDIENCE, key_set=provider.url + "/keys", name_claim="name",
                      algorithms=("ES256",))  # fmt: skip
    login = LoginSettings(
        authorize_url=provider.url + "/authorize",
        token_url=provider.url + "/token",
        client_id=CLIENT,
        client_secret=SecretStr(CLIENT_SECRET),
        name="Acme & Co",
    )
    ours = with_service(resources, jwt=jwt)
    settings = ours.settings.model_copy(update={"dashboard": DashboardSettings(login=login, **dashboard)})
    return replace(ours, settings=settings)


@pytest.fixture
async def service(resources: Resources, provider: Provider, serve: Serve) -> AsyncIterator[Service]:
    ours = through(resources, provider)
    async with serve(ours) as door:
        yield Service(door.url, ours)


@pytest.fixture
async def web(service: Service) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=service.url, timeout=20) as opened:
        yield opened


async def sent_there(web: httpx.AsyncClient, back: str = "/") -> str:
    """Begin a login; the address at the provider."""
    reply = await web.post("/login/provider", data={"next": back})
    assert reply.status_code == 303
    return reply.headers["location"]


async def sent_back(web: httpx.AsyncClient, back: str = "/") -> str:
    """Begin a login and let the provider do its part; the address of ours it leads back to."""
    reply = await web.get(await sent_there(web, back))
    return str(reply.headers["location"])


def said(reply: httpx.Response) -> str:
    """What the login page has to say."""
    found = re.search(r'role="alert">(.*?)</p>', reply.text)
    return found[1] if found else ""


async def test_a_person_logs_in_through_the_provider(
    service: Service, provider: Provider, tabs: Tabs, tenant: str
) -> None:
    """One button leads to the provider and back to the page that was wanted, as the person the provider names."""
    errors = Errors()
    async with tabs.one(errors) as page:
        await page.goto(service.url + "/?from=mail")
        await page.click("text=Log in with Acme & Co")
        await page.wait_for_selector("h1.mb-title")
        assert page.url == service.url + "/?from=mail"
        await expect(page.locator(".mb-user-name")).to_have_text("Anna <Lisbon>")
        await expect(page.locator(".mb-user .mb-muted")).to_have_text(f"admin of {tenant}")
        kept = {cookie["name"]: cookie for cookie in await page.context.cookies()}
        # What tied the answer to its question is gone.
        assert set(kept) == {COOKIE}
        assert (kept[COOKIE]["httpOnly"], kept[COOKIE]["sameSite"]) == (True, "Lax")
        await page.click("text=Log out")
        await expect(page.locator("text=Log in with Acme & Co")).to_be_visible()
    assert errors.said == []


async def test_what_is_asked_gives_nothing_away(web: httpx.AsyncClient, service: Service) -> None:
    """The provider hears hashes of the browser's secret: neither it nor a log of addresses can finish the login."""
    address = await sent_there(web, "/facts?query=x")
    asked = one_each(address.partition("?")[2])
    (name,) = web.cookies
    secret = web.cookies[name].partition(".")[0]
    assert asked["code_challenge_method"] == "S256" and asked["response_type"] == "code"
    assert asked["redirect_uri"] == service.url + "/login/return" and secret not in address
    assert len({asked["state"], asked["nonce"], asked["code_challenge"]}) == 3
    assert oidc.is_state_of(secret, asked["state"]) and not oidc.is_state_of(secret, asked["nonce"])


async def test_two_windows_may_log_in_at_once(web: httpx.AsyncClient) -> None:
    """The answer to the first login is not spoiled by a second one, and each leads to its own page."""
    first, second = await sent_back(web, "/facts"), await sent_back(web, "/rules")
    for address, back in ((first, "/facts"), (second, "/rules")):
        reply = await web.get(address)
        assert (reply.status_code, reply.headers["location"]) == (303, back)
        assert COOKIE in reply.cookies


async def test_a_pasted_token_is_a_login_until_it_ends(web: httpx.AsyncClient, provider: Provider, owner: Any) -> None:
    """Nobody can be asked later whether it still holds; a login through the provider holds for its usual hours."""
    ends_at = int(time.time()) + 240
    for exp in (ends_at, 10**18):
        assert (await web.post("/login", data={"token": provider.access_token(exp=exp)})).status_code == 303
    assert (await web.get(await sent_back(web))).status_code == 303
    found = owner.execute(
        "SELECT extract(epoch FROM expires_at)::float8, extract(epoch FROM expires_at - created_at)::float8"
        " FROM memory.sessions WHERE tenant_id = %s ORDER BY created_at",
        (provider.claims["tenant"],),
    ).fetchall()
    assert found[0][0] == ends_at
    assert [held for _, held in found[1:]] == [12 * 3600] * 2


async def test_a_token_that_is_just_over_is_no_login(web: httpx.AsyncClient, provider: Provider) -> None:
    """Also while calls with it are still let in, for clocks that differ."""
    reply = await web.post("/login", data={"token": provider.access_token(exp=int(time.time()) - 1)})
    assert (reply.status_code, said(reply)) == (403, "The token has expired. Log in with a new one.")


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a nonce of another login": ({"claims": {"nonce": "other"}}, "issued for another login"),
    "no nonce": ({"claims": {"nonce": None}}, "issued for another login"),
    "a token for another program": ({"claims": {"aud": "another"}}, "aud does not fit"),
    "a token that others asked for": ({"claims": {"azp": "another"}}, "issued for another client"),
    "a token of another provider": ({"claims": {"iss": "https://evil.example"}}, "iss does not fit"),
    "a token that is over": ({"claims": {"exp": 1_700_000_000}}, "has expired"),
    "a role that is none": ({"claims": {"role": "king"}}, "names no role"),
    "no tenant anywhere": ({"claims": {"tenant": None}}, "lacks the claim tenant"),
    "another person's access token": (
        {"claims": {"tenant": None}, "access_claims": {"sub": "bert", "tenant": "acme"}},
        "lacks the claim tenant",
    ),
    "a key of somebody else's": ({"signing": ECKey.generate_key("P-256", {"kid": "one"})}, "signature is not"),
    "a code that came too late": ({"late_seconds": 61.0}, "invalid_grant"),
    "a person who said no": (
        {"refusal": {"error": "access_denied", "error_description": "<img src=x onerror=alert(1)>"}},
        "access_denied &lt;img",
    ),
    "an answer without a code": ({"refusal": {"hint": "none"}}, "it sent no code"),
    "a provider in trouble": ({"status": 503}, "cannot be reached (status 503)"),
}


@pytest.mark.parametrize(("fault", "words"), WRONG.values(), ids=WRONG)
async def test_whatever_is_wrong_is_said_and_nobody_gets_in(
    web: httpx.AsyncClient, provider: Provider, fault: dict[str, Any], words: str
) -> None:
    """The login page says what it was, as text; it can be tried again at once."""
    for name, value in fault.items():
        setattr(provider, name, {**provider.claims, **value} if name == "claims" else value)
    reply = await web.get(await sent_back(web))
    assert reply.status_code in (403, 503) and words in said(reply)
    assert COOKIE not in web.cookies and "Log in with Acme &amp; Co" in reply.text


async def test_an_answer_belongs_to_the_browser_that_asked(service: Service, web: httpx.AsyncClient) -> None:
    """Without the cookie, with a changed state, from another issuer, or a second time, an answer is worth nothing."""
    address = await sent_back(web)
    async with httpx.AsyncClient(base_url=service.url) as other:
        reply = await other.get(address)
        assert reply.status_code == 403 and "not started in this browser" in said(reply)
    given = one_each(address.partition("?")[2])
    for change, words in (
        ({"state": given["state"][:12] + "x" * 31}, "does not belong"),
        ({"state": "x"}, "not started"),
        ({"iss": "https://evil.example"}, "another identity provider"),
    ):
        query = urlencode({**given, **change})
        # Each try ends the login that was begun; a new one is begun for the next.
        reply = await web.get(f"/login/return?{query}")
        assert reply.status_code == 403 and words in said(reply)
        given = one_each((await sent_back(web)).partition("?")[2])
    again = "/login/return?" + urlencode(given)
    assert (await web.get(again)).status_code == 303
    assert "not started in this browser" in said(await web.get(again))


async def test_the_access_token_speaks_where_the_id_token_names_no_tenant(
    web: httpx.AsyncClient, provider: Provider, tenant: str
) -> None:
    """Many providers put such claims into the token for the service only."""
    provider.claims = {}
    provider.access_claims = {"tenant": tenant, "role": "reader", "butler": "chef", "name": "Anna"}
    reply = await web.get(await sent_back(web))
    assert reply.status_code == 303
    assert f"reader of {tenant}" in (await web.get("/")).text


async def test_a_provider_that_is_away_is_said_to_be(
    web: httpx.AsyncClient, resources: Resources, provider: Provider
) -> None:
    """Nobody hears of tokens or tracebacks: try later, or log in with a token."""
    login = through(resources, provider).settings.dashboard.login.model_copy(
        update={"token_url": "http://127.0.0.1:9/token"}
    )
    ours = through(resources, provider)
    ours = replace(ours, settings=ours.settings.model_copy(update={"dashboard": DashboardSettings(login=login)}))
    async with (
        on_loopback(LazyResources.already_open(ours), build=build_dashboard) as door,
        httpx.AsyncClient(base_url=door.url) as there,
    ):
        reply = await there.get(await sent_back(there))
    assert reply.status_code == 503 and "cannot be reached (ConnectError)" in said(reply)


async def test_behind_https_cookies_are_secure(resources: Resources, provider: Provider) -> None:
    """public_url says how people reach the service: cookies are Secure, the provider leads back there, its pages may
    post, and those of other sites may not."""
    ours = through(resources, provider, public_url="https://memory.example.org")
    async with (
        on_loopback(LazyResources.already_open(ours), build=build_dashboard) as door,
        httpx.AsyncClient(base_url=door.url, headers={"host": "inside:1"}) as web,
    ):
        reply = await web.post("/login/provider", headers={"origin": "https://memory.example.org"})
        back = one_each(reply.headers["location"].partition("?")[2])["redirect_uri"]
        assert back == "https://memory.example.org/login/return"
        assert "; Secure" in reply.headers["set-cookie"] and "HttpOnly" in reply.headers["set-cookie"]
        assert (await web.post("/login/provider", headers={"origin": "https://evil.example"})).status_code == 403
