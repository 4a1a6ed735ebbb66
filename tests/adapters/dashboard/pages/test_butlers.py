"""The butlers of one store and of several."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from playwright.async_api import Page, expect
from pydantic import SecretStr
from tests.adapters.dashboard.conftest import LogIn, Serve, Visit
from tests.support.service import Door

from memory_butler.models import Caller, NewEpisode, NewFact, Principal, Role
from memory_butler.operations.browse import butlers
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources
from memory_butler.settings import Source
from memory_butler.store.embedded.server import EmbeddedPostgres


def as_butler(resources: Resources, name: str, tenant: str | None = None) -> Caller:
    return Caller(Principal(tenant or resources.settings.tenant, name, Role.ADMIN))


async def some_memories(resources: Resources, tenant: str | None = None) -> None:
    for name, number in (("chef", 2), ("nurse", 1)):
        caller = as_butler(resources, name, tenant)
        for place in range(number):
            await remember.fact(resources, NewFact(subject="Ana", predicate=f"{name} {place}", content="known"), caller)
        await remember.episode(resources, NewEpisode(content="Ana came by", butler=name), caller)


async def test_each_butler_is_counted_for_itself(resources: Resources) -> None:
    """Facts, rules, episodes and what waits, butler by butler; an agent sees only itself."""
    await some_memories(resources)
    found = {one.butler: (one.facts, one.episodes, one.waiting) for one in await butlers.butler_summaries(resources)}
    assert found == {"chef": (2, 1, 1), "nurse": (1, 1, 1)}
    agent = Caller(Principal(resources.settings.tenant, "nurse", Role.AGENT))
    assert [one.butler for one in await butlers.butler_summaries(resources, agent)] == ["nurse"]


async def test_the_page_counts_them_and_hears_of_another_one(visit: Visit, resources: Resources) -> None:
    """Every butler has its card and leads to its memories; one that another client brings appears by itself."""
    page = await visit("/butlers")
    await expect(page.get_by_text("No butlers yet")).to_be_visible()
    await some_memories(resources)
    chef = page.locator(".mb-butler", has_text="chef")
    await expect(chef.locator("dd").first).to_have_text("2")
    assert await chef.get_by_role("link", name="Facts").get_attribute("href") == "/facts?butler=chef"
    await expect(page.locator("h2", has_text="2 butlers")).to_be_visible()


@pytest.fixture
async def several(resources: Resources, server: EmbeddedPostgres, serve: Serve) -> AsyncIterator[Door]:
    """The dashboard with two stores more: one that answers, and one at a port where nothing is."""
    sources = {
        "kitchen": Source(database_url=SecretStr(resources.database.dsn()), tenant=f"{resources.settings.tenant}-k"),
        "cellar": Source(database_url=SecretStr("postgresql://nobody@127.0.0.1:1/none")),
    }
    own = resources.settings.dashboard.model_copy(update={"sources": sources})
    ours = replace(resources, settings=resources.settings.model_copy(update={"dashboard": own, "deadline_seconds": 4}))
    async with serve(ours) as door:
        yield door


async def test_a_store_that_does_not_answer_is_named_and_the_others_are_shown(
    several: Door, page: Page, resources: Resources
) -> None:
    """The page over several stores shows what came, and says which store is missing."""
    await some_memories(resources)
    await some_memories(resources, f"{resources.settings.tenant}-k")
    await page.goto(several.url + "/butlers")
    await expect(page.get_by_role("alert")).to_contain_text("cellar did not respond")
    await expect(page.locator("h2", has_text="4 butlers in 2 of 3 stores")).to_be_visible()
    await expect(page.locator("h2", has_text=f"kitchen · {resources.settings.tenant}-k")).to_be_visible()


async def test_other_stores_are_not_for_everybody(log_in: LogIn, tenant: str) -> None:
    """An administrator of a tenant sees the tenant's own butlers."""
    page = await log_in("admin", "/butlers")
    await expect(page.get_by_text("No butlers yet")).to_be_visible()


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
    resources: Resources, auth: str, principal: Principal, may: bool
) -> None:
    """The person at the machine, and an operator who does not work in somebody else's tenant."""
    service = resources.settings.service.model_copy(update={"auth": auth})
    set_so = replace(resources, settings=resources.settings.model_copy(update={"service": service}))
    assert butlers.may_see_other_stores(set_so, Caller(principal)) is may
