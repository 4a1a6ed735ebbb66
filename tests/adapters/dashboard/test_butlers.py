"""The butlers of one store and of several."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from playwright.async_api import Page, expect
from pydantic import SecretStr
from tests.adapters.dashboard.conftest import LogIn, Serve, Visit
from tests.service import Door

from memory_butler.butler import Butler
from memory_butler.models import Caller, NewEpisode, NewFact, Principal, Role
from memory_butler.operations import butlers, remember
from memory_butler.settings import Source
from memory_butler.store.embedded import EmbeddedPostgres


def as_butler(butler: Butler, name: str, tenant: str | None = None) -> Caller:
    return Caller(Principal(tenant or butler.settings.tenant, name, Role.ADMIN))


async def some_memories(butler: Butler, tenant: str | None = None) -> None:
    for name, number in (("chef", 2), ("nurse", 1)):
        caller = as_butler(butler, name, tenant)
        for place in range(number):
            await remember.fact(butler, NewFact(subject="Ana", predicate=f"{name} {place}", content="known"), caller)
        await remember.episode(butler, NewEpisode(content="Ana came by", butler=name), caller)


async def test_each_butler_is_counted_for_itself(butler: Butler) -> None:
    """Facts, rules, episodes and what waits, butler by butler; an agent sees only itself."""
    await some_memories(butler)
    found = {one.butler: (one.facts, one.episodes, one.waiting) for one in await butlers.standings(butler)}
    assert found == {"chef": (2, 1, 1), "nurse": (1, 1, 1)}
    agent = Caller(Principal(butler.settings.tenant, "nurse", Role.AGENT))
    assert [one.butler for one in await butlers.standings(butler, agent)] == ["nurse"]


async def test_the_page_counts_them_and_hears_of_another_one(visit: Visit, butler: Butler) -> None:
    """Every butler has its card and leads to its memories; one that another client brings appears by itself."""
    page = await visit("/butlers")
    await expect(page.get_by_text("No butler has been here yet")).to_be_visible()
    await some_memories(butler)
    chef = page.locator(".mb-butler", has_text="chef")
    await expect(chef.locator("dd").first).to_have_text("2")
    assert await chef.get_by_role("link", name="Facts").get_attribute("href") == "/facts?butler=chef"
    await expect(page.locator("h2", has_text="2 butlers")).to_be_visible()


@pytest.fixture
async def several(butler: Butler, server: EmbeddedPostgres, serve: Serve) -> AsyncIterator[Door]:
    """The dashboard with two stores more: one that answers, and one at a port where nothing is."""
    sources = {
        "kitchen": Source(database_url=SecretStr(butler.database.dsn()), tenant=f"{butler.settings.tenant}-k"),
        "cellar": Source(database_url=SecretStr("postgresql://nobody@127.0.0.1:1/none")),
    }
    own = butler.settings.dashboard.model_copy(update={"sources": sources})
    ours = replace(butler, settings=butler.settings.model_copy(update={"dashboard": own, "deadline_seconds": 4}))
    async with serve(ours) as door:
        yield door


async def test_a_store_that_does_not_answer_is_named_and_the_others_are_shown(
    several: Door, page: Page, butler: Butler
) -> None:
    """The page over several stores shows what came, and says which store is missing."""
    await some_memories(butler)
    await some_memories(butler, f"{butler.settings.tenant}-k")
    await page.goto(several.url + "/butlers")
    await expect(page.get_by_role("alert")).to_contain_text("cellar did not answer")
    await expect(page.locator("h2", has_text="4 butlers in 2 of 3 stores")).to_be_visible()
    await expect(page.locator("h2", has_text=f"kitchen · {butler.settings.tenant}-k")).to_be_visible()


async def test_other_stores_are_not_for_everybody(log_in: LogIn, tenant: str) -> None:
    """An administrator of a tenant sees the tenant's own butlers."""
    page = await log_in("admin", "/butlers")
    await expect(page.get_by_text("No butler has been here yet")).to_be_visible()


@pytest.mark.parametrize(
    ("auth", "principal", "may"),
    [
        ("off", Principal("t", "main", Role.ADMIN), True),
        ("off", Principal("t", "main", Role.AGENT), False),
        ("tokens", Principal("t", "main", Role.ADMIN), False),
        ("tokens", Principal("t", "main", Role.OPERATOR), True),
        ("tokens", Principal("t", "main", Role.OPERATOR, home="elsewhere"), False),
    ],
)
def test_who_looks_after_all_sees_other_stores_at_home(
    butler: Butler, auth: str, principal: Principal, may: bool
) -> None:
    """The person at the machine, and an operator who does not work in somebody else's tenant."""
    service = butler.settings.service.model_copy(update={"auth": auth})
    set_so = replace(butler, settings=butler.settings.model_copy(update={"service": service}))
    assert butlers.may_see_other_stores(set_so, Caller(principal)) is may
