"""The page of calls: what agents asked, what they got, and the way to repeat it as of then."""

import re

from playwright.async_api import expect
from tests.adapters.dashboard.conftest import LogIn, Service, Visit
from tests.conftest import MovingClock

from memory_butler.models import BriefRequest, Caller, NewFact, Principal, Question, Role
from memory_butler.operations.briefing.brief import brief
from memory_butler.operations.retrieval.search import search
from memory_butler.operations.system import call_log
from memory_butler.operations.writing import forget, remember
from memory_butler.resources import Resources


async def asked(resources: Resources, prompt: str, *, butler: str = "main", briefing: bool = False) -> None:
    caller = Caller(Principal(resources.settings.tenant, butler, Role.ADMIN), client="claude-code")
    if briefing:
        await brief(resources, BriefRequest(trigger_prompt=prompt, butler=butler), caller)
    else:
        await search(resources, Question(query=prompt), caller)
    await call_log.store_waiting(resources)


async def known(resources: Resources, clock: MovingClock) -> str:
    """Ana's allergy, and three calls of agents; returns the reference of the fact."""
    stored = await remember.fact(
        resources, NewFact(subject="Ana", predicate="allergic_to:peanuts", content="peanuts", importance=9)
    )
    await asked(resources, "Dinner for Ana: peanuts or not?", briefing=True)
    clock.move(minutes=5)
    await asked(resources, "xylophone", butler="work")
    clock.move(minutes=5)
    await asked(resources, "who is allergic to peanuts")
    return stored.ref


async def test_calls_are_shown_with_the_words_of_what_they_returned(
    visit: Visit, resources: Resources, clock: MovingClock
) -> None:
    ref = await known(resources, clock)
    page = await visit("/calls")
    prompts = page.locator(".mb-call-prompt")
    await expect(prompts).to_have_text(["who is allergic to peanuts", "xylophone", "Dinner for Ana: peanuts or not?"])
    first = page.locator(".mb-calls > li").first
    await expect(first).to_contain_text("main · claude-code")
    await expect(first.locator(".mb-call-memories")).to_contain_text("Ana is allergic to peanuts")
    assert await first.locator(".mb-call-memories a").get_attribute("href") == f"/memory/fact/{ref}"
    await expect(page.locator(".mb-calls > li").nth(1)).to_contain_text("Returned nothing")
    await expect(page.locator(".mb-calls > li").nth(2)).to_contain_text("of 3,000 tokens")
    await expect(page.locator(".mb-call-numbers")).to_contain_text("Calls in 30 days3")
    await expect(page.locator(".mb-call-numbers")).to_contain_text("67%")
    await expect(page.locator(".mb-call-days li")).to_have_count(30)


async def test_filters_are_in_the_address_and_unknown_ones_are_ignored(
    visit: Visit, resources: Resources, clock: MovingClock
) -> None:
    await known(resources, clock)
    page = await visit("/calls?answered=no&utm_source=mail&kind=nonsense")
    prompts = page.locator(".mb-call-prompt")
    await expect(prompts).to_have_text(["xylophone"])
    await page.get_by_role("button", name="Clear filters").click()
    await expect(prompts).to_have_count(3)
    await page.get_by_label("Prompt contains").fill("ALLERGIC")
    await expect(prompts).to_have_text(["who is allergic to peanuts"])
    await expect(page).to_have_url(re.compile("q=ALLERGIC"))
    await page.get_by_label("Prompt contains").fill("")
    await expect(prompts).to_have_count(3)
    await page.get_by_label("Butler").select_option("work")
    await expect(prompts).to_have_text(["xylophone"])
    await page.go_back()
    await expect(prompts).to_have_count(3)
    await page.get_by_label("Prompt contains").fill("zzz")
    await expect(page.get_by_text("No call matches the filters above.")).to_be_visible()


async def test_a_replay_shows_the_answer_of_then(visit: Visit, resources: Resources, clock: MovingClock) -> None:
    """Also after the memory was forgotten."""
    ref = await known(resources, clock)
    clock.move(minutes=5)
    await forget.forget(resources, "fact", ref)
    page = await visit("/calls")
    row = page.locator(".mb-calls > li").nth(2)
    await expect(row).to_contain_text("forgotten")
    await row.get_by_role("link", name="Replay").click()
    await expect(page.locator(".mb-block").first).to_contain_text("peanuts")


async def test_a_new_call_appears_by_itself(visit: Visit, resources: Resources, clock: MovingClock) -> None:
    await known(resources, clock)
    page = await visit("/calls")
    await expect(page.locator(".mb-call-prompt")).to_have_count(3)
    clock.move(minutes=1)
    await asked(resources, "peanuts again")
    await expect(page.locator(".mb-call-prompt").first).to_have_text("peanuts again", timeout=15_000)


async def test_hostile_prompts_are_only_text(visit: Visit, resources: Resources, clock: MovingClock) -> None:
    await known(resources, clock)
    clock.move(minutes=1)
    await asked(resources, "<img src=x onerror=alert(1)> {{ 7 * 7 }} peanuts")
    page = await visit("/calls")
    await expect(page.locator(".mb-call-prompt").first).to_contain_text("<img src=x onerror=alert(1)> {{ 7 * 7 }}")


async def test_without_calls_the_page_says_how_they_come(visit: Visit) -> None:
    page = await visit("/calls")
    await expect(page.get_by_text("No calls yet.")).to_be_visible()


async def test_an_agent_sees_the_calls_of_its_own_butler(log_in: LogIn, service: Service, clock: MovingClock) -> None:
    await known(service.resources, clock)
    await asked(service.resources, "peanuts in the kitchen", butler="chef")
    page = await log_in("agent", "/calls")
    await expect(page.locator(".mb-call-prompt")).to_have_text(["peanuts in the kitchen"])
