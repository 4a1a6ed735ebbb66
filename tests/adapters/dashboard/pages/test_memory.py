"""The page of one memory: what it says, where it came from, what becomes of it, and doing something about it."""

import re
from dataclasses import replace
from typing import Any

import pytest
from playwright.async_api import expect
from tests.adapters.dashboard.conftest import PHONE, LogIn, Visit
from tests.support.service import Service

from memory_butler.adapters.dashboard.components.memory_view import MAX_GROUP_SIZE
from memory_butler.errors import NotFound
from memory_butler.models import Caller, MemoryType, NewEpisode, NewFact, NewRule, Outcome, Principal, Role
from memory_butler.models.listings import Listing
from memory_butler.operations.browse import listings
from memory_butler.operations.lifecycle import sweep
from memory_butler.operations.retrieval import get
from memory_butler.operations.trust import forget_about
from memory_butler.operations.writing import correct, feedback, forget, pin, remember
from memory_butler.resources import Resources

# Hidden characters can only be in rows of earlier versions.
pytestmark = pytest.mark.usefixtures("text_of_older_versions")

HOSTILE = (
    "<img src=x onerror='window.hacked=1'><script>window.hacked=1</script> {{ 1 + 1 }} \u202egnp.exe 🦊 " + "w" * 300
)


async def test_a_fact_shows_all_that_is_known_of_it(visit: Visit, resources: Resources, clock: Any) -> None:
    """Its words, what becomes of it, its source, how it changed, its decay and its history; looking leaves no trace."""
    source = await remember.episode(resources, NewEpisode(content="Put me on the aisle from now on.", butler="main"))
    old = await remember.fact(
        resources, NewFact(subject="Ana", predicate="seat", content="a window seat near the front")
    )
    clock.move(days=3)
    new = NewFact(
        subject="Ana",
        predicate="seat",
        content="an aisle seat near the front",
        source_episode=source.ref,
        tags=("flights",),
        aliases=("Anita",),
        metadata={"airline": "TAP"},
    )
    fact = await remember.fact(resources, new)
    page = await visit(f"/memory/fact/{fact.ref}")
    assert await page.title() == "Ana's seat: an aisle seat near the front · Memory Butler"
    await expect(page.locator("h1.mb-title")).to_have_text("Ana's seat: an aisle seat near the front")
    await expect(page.locator(".mb-forecast")).to_contain_text(
        re.compile(r"Fades in \d+ \w+ \(\d+ \w{3,4} 20\d\d\) unless confirmed, and expires on")
    )
    await expect(page.locator(".mb-hero")).to_contain_text("#flights")
    assert await page.get_attribute(".mb-nav-entry[aria-current]", "href") == "/memories"
    sources = page.locator("#sources")
    await expect(sources).to_contain_text("Learned from")
    await expect(sources).to_contain_text("Put me on the aisle from now on.")
    await expect(sources.locator(f'a[href="/memory/episode/{source.ref}"]')).to_be_visible()
    chain = page.locator("#chain li")
    await expect(chain).to_have_count(2)
    assert await chain.nth(1).locator("del").all_inner_texts() == ["a window"]
    assert await chain.nth(1).locator("ins").all_inner_texts() == ["an aisle"]
    # Whose memory it is; who wrote it down is told by its history.
    await expect(chain.nth(1)).to_contain_text("learned by main")
    await expect(page.locator("#details")).to_contain_text("Learned by")
    await expect(page.locator("#decay svg")).to_be_visible()
    await expect(page.locator("#decay")).to_contain_text("100%")
    await expect(page.locator("#details")).to_contain_text("Anita")
    await expect(page.locator("#details pre")).to_contain_text('"airline": "TAP"')
    await expect(page.locator(".mb-entries-line").last).to_contain_text("Stored by")
    await chain.nth(0).get_by_role("link").click()
    await expect(page.locator(".mb-hero")).to_contain_text("Replaced by “Ana's seat: an aisle")
    await expect(page.locator("h1.mb-title")).to_have_text("Ana's seat: a window seat near the front")
    seen = await get.get(resources, "fact", old.ref, bump=False)
    assert seen.memory.reference_count == 0


async def test_acting_and_taking_back(visit: Visit, resources: Resources) -> None:
    """What is done is seen at once in words, and taken back from the bar or from the history, where it is struck."""
    fact = await remember.fact(resources, NewFact(subject="Ana", predicate="tea", content="green tea"))
    page = await visit(f"/memory/fact/{fact.ref}")
    await page.get_by_role("button", name="Pin").click()
    await expect(page.locator(".mb-forecast")).to_contain_text("pinned")
    await expect(page.locator("#decay")).to_contain_text("It is pinned, so it does not decay.")
    await expect(page.get_by_role("button", name="Unpin")).to_be_focused()
    await page.get_by_role("button", name="Undo").filter(visible=True).last.click()
    await expect(page.locator(".mb-forecast")).to_contain_text("Fades in")
    await expect(page.locator(".mb-entry-undone")).to_contain_text("Pinned by")
    await expect(page.get_by_role("button", name="Pin")).to_be_focused()
    await page.get_by_role("button", name="Correct").click()
    await page.get_by_label("New text").fill("white tea")
    await page.locator(".mb-dialog").get_by_role("button", name="Correct").click()
    # The page is that of the new fact at once, and nothing on it brings the wrong one back by Enter.
    await expect(page.locator("h1.mb-title")).to_have_text("Ana's tea: white tea")
    await expect(page.locator(".mb-actions [data-act=correct]")).to_be_focused()
    await expect(page.locator("#chain ins")).to_have_text("white")
    await page.wait_for_url(lambda url: not url.endswith(fact.ref))
    # The correction is undone from the history: with the supersession that belongs to it.
    history = page.locator(".mb-entries-line").last
    await history.get_by_role("button", name="Undo").click()
    await expect(page.locator("h1.mb-title")).to_have_text("Ana's tea: green tea")
    await page.wait_for_url(lambda url: url.endswith(fact.ref))
    await expect(page.get_by_role("button", name="Confirm")).to_be_focused()
    restored = await get.get(resources, "fact", fact.ref, bump=False)
    assert (restored.memory.validity, restored.memory.content) == ("active", "green tea")
    assert [found.validity for found in restored.chain] == ["active", "retracted"]


async def test_forgetting_a_source_offers_what_came_from_it(visit: Visit, resources: Resources) -> None:
    """The dialog lists it with a checkbox; one undo brings back both."""
    source = await remember.episode(resources, NewEpisode(content="Ana likes green tea.", butler="main"))
    new = NewFact(subject="Ana", predicate="tea", content="green tea", source_episode=source.ref)
    fact = await remember.fact(resources, new)
    page = await visit(f"/memory/episode/{source.ref}")
    await page.get_by_role("button", name="Forget").click()
    dialog = page.locator(".mb-dialog")
    await expect(dialog).to_contain_text("1 memory came from it alone:")
    await expect(dialog.locator("li")).to_have_text("Ana · tea: green tea")
    await dialog.get_by_role("checkbox", name="Forget it, too").click()
    await dialog.get_by_role("button", name="Forget").click()
    await expect(page.locator(".q-notification").last).to_contain_text("Forgotten with 1 more memory")
    assert (await get.get(resources, "fact", fact.ref, bump=False)).memory.validity == "retracted"
    await page.get_by_role("button", name="Undo").filter(visible=True).last.click()
    await expect(page.get_by_role("button", name="Forget")).to_be_visible()
    assert (await get.get(resources, "fact", fact.ref, bump=False)).memory.validity == "active"


async def test_what_another_client_writes_is_seen(visit: Visit, resources: Resources) -> None:
    """Also while a question is tried out, which stays as it is."""
    rule = await remember.rule(resources, NewRule(content="Book the cheapest flight"))
    page = await visit(f"/memory/rule/{rule.ref}?q=cheapest+flight")
    await expect(page.locator(".mb-hero")).to_contain_text("candidate")
    for _ in range(3):
        await feedback.mark(resources, rule.ref, Outcome.HARMFUL, reason="it could not be changed")
    await expect(page.locator(".mb-forecast")).to_contain_text("It is a warning")
    await expect(page.locator("#details")).to_contain_text("3 harmful")
    await expect(page.locator("#scores input")).to_have_value("cheapest flight")


async def test_the_keyboard_stays_where_it_is(visit: Visit, resources: Resources) -> None:
    """When somebody else's change has the page drawn anew: on a button, on links, on the words, and in the middle of
    what is typed. Whoever is on something that is gone is put nowhere else."""
    source = await remember.episode(resources, NewEpisode(content="Ana likes green tea.", butler="main"))
    new = NewFact(subject="Ana", predicate="tea", content="green tea", source_episode=source.ref)
    fact = await remember.fact(resources, new)
    page = await visit(f"/memory/fact/{fact.ref}")
    used = 0

    async def drawn_anew() -> None:
        nonlocal used
        used += 1
        await page.evaluate("document.querySelector('.mb-hero').dataset.old = 'yes'")
        await feedback.confirm(resources, "fact", fact.ref)
        await expect(page.locator(".mb-entries-line li")).to_have_count(1 + used)
        await expect(page.locator(".mb-hero[data-old]")).to_have_count(0)

    for name, place in (
        ("episode", page.locator("#sources a")),
        ("Ana", page.locator("#details a")),
        ("Correct", page.locator('[data-act="correct"]')),
    ):
        await place.focus()
        await drawn_anew()
        await expect(place, name).to_be_focused()
    await page.keyboard.press("Tab")
    assert await page.evaluate("document.activeElement.dataset.act") == "pin"

    box = page.get_by_label("Question")
    await box.fill("which tea")
    await box.evaluate("one => one.setSelectionRange(5, 5)")
    await drawn_anew()
    await page.keyboard.type(" green")
    await expect(box).to_have_value("which green tea")

    await page.locator('[data-act="pin"]').focus()
    await pin.pin(resources, "fact", fact.ref)
    await expect(page.locator('[data-act="unpin"]')).to_be_visible()
    assert await page.evaluate("document.activeElement === document.body")


async def test_every_score_for_a_question(visit: Visit, resources: Resources) -> None:
    """Each part of the score with what it adds, or why it would not be found; the question is in the address. It
    is asked as the butler whose memory it is."""
    tea = await remember.fact(resources, NewFact(subject="Ana", predicate="tea", content="green tea"))
    page = await visit(f"/memory/fact/{tea.ref}")
    scores = page.locator("#scores")
    await scores.get_by_label("Question").fill("green tea")
    await scores.get_by_role("button", name="Test").click()
    await expect(scores.locator(".mb-note")).to_contain_text("Returned, 1st of 1.")
    assert await scores.locator(".mb-terms").first.locator("tbody td:first-child").all_inner_texts() == [
        "Fit",
        "Importance",
        "Recency",
        "Confidence",
    ]
    added = [float(text) for text in await scores.locator(".mb-terms").first.locator("td:last-child").all_inner_texts()]
    assert abs(sum(added) - float(await scores.locator(".mb-score strong").inner_text())) < 0.003
    await page.wait_for_url(lambda url: url.endswith("?q=green+tea"))
    await forget.forget(resources, "fact", tea.ref)
    await expect(page.locator(".mb-hero")).to_contain_text("forgotten")
    await scores.get_by_label("Question").fill("which tea")
    await scores.get_by_role("button", name="Test").click()
    await expect(scores.locator(".mb-note")).to_contain_text("Not returned")
    await expect(scores.locator(".mb-step-failed").first).to_contain_text("Filter")
    await page.go_back()
    await expect(scores.get_by_label("Question")).to_have_value("green tea")
    chef = Caller(replace(resources.local_caller().principal, butler="chef"))
    mine = await remember.fact(
        resources, NewFact(subject="soup", predicate="salt", content="no salt", scope="chef"), chef
    )
    await visit(f"/memory/fact/{mine.ref}?q=no+salt")
    await expect(scores.locator(".mb-note")).to_contain_text("Returned, 1st of 1.")


async def test_expired_evidence_and_what_is_not_there(visit: Visit, resources: Resources, clock: Any) -> None:
    """A source that was deleted is said to be expired and leads nowhere; its own page says when it was deleted."""
    source = await remember.episode(resources, NewEpisode(content="Ana likes tea.", butler="main"))
    new = NewFact(subject="Ana", predicate="tea", content="yes", source_episode=source.ref, permanence="stable")
    fact = await remember.fact(resources, new)
    clock.move(days=30)
    await sweep.sweep(resources)
    page = await visit(f"/memory/fact/{fact.ref}")
    await expect(page.locator("#sources")).to_contain_text("The episode has expired and was deleted.")
    assert await page.locator("#sources a").count() == 0
    page = await visit(f"/memory/episode/{source.ref}")
    await expect(page.get_by_role("alert")).to_contain_text("was deleted on 2026-03-31")
    last = await remember.episode(resources, NewEpisode(content="It is deleted while somebody looks.", butler="main"))
    page = await visit(f"/memory/episode/{last.ref}")
    await expect(page.locator("#sources")).to_contain_text("No facts or rules have been learned from it yet.")
    clock.move(days=30)
    await sweep.sweep(resources)
    await expect(page.get_by_role("alert")).to_contain_text(f"episode:{last.ref} was deleted on 2026-04-30")
    await expect(page.locator("#sources")).to_have_count(0)
    page = await visit("/memory/fact/zzzz")
    await expect(page.get_by_role("alert")).to_contain_text("There is no fact:zzzz.")
    page = await visit("/memory/dream/zzzz")
    await expect(page.get_by_role("alert")).to_contain_text("dream")


async def test_hostile_words_are_words(visit: Visit, resources: Resources) -> None:
    """As content, names, tags, metadata, reasons and evidence: shown as text, within the width of a phone."""
    source = await remember.episode(
        resources, NewEpisode(content=HOSTILE, butler="main", metadata={":onclick": HOSTILE})
    )
    new = NewFact(subject=HOSTILE[:120], predicate="{{ 7 * 7 }}", content="short", source_episode=source.ref)
    fact = await remember.fact(resources, new)
    await correct.correct(resources, fact.ref, HOSTILE, reason=HOSTILE[:200])
    page = await visit(f"/memory/fact/{fact.ref}")
    await page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    await expect(page.locator("#chain ins")).to_contain_text("<script>window.hacked=1</script> {{ 1 + 1 }} ⟨U+202E⟩gnp")
    await expect(page.locator("h1.mb-title")).to_contain_text("<script>window.hacked=1</script> {{ 1 + 1 }}")
    await expect(page.locator("#sources")).to_contain_text("<img src=x onerror=")
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page = await visit(f"/memory/episode/{source.ref}")
    await expect(page.locator("#details pre")).to_contain_text('":onclick"')
    assert await page.evaluate("typeof window.hacked") == "undefined"
    await page.set_viewport_size({"width": 1280, "height": 900})


async def test_who_may_only_look_is_offered_nothing_to_change(log_in: LogIn, service: Service, tenant: str) -> None:
    """A reader sees the memory and how many links are another butler's; an agent may act but not undo."""
    other = Caller(Principal(tenant, "travel", Role.AGENT))
    source = await remember.episode(service.resources, NewEpisode(content="A secret.", butler="travel"), other)
    new = NewFact(subject="Ana", predicate="tea", content="green", source_episode=source.ref)
    fact = await remember.fact(service.resources, new, other)
    await pin.pin(service.resources, "fact", fact.ref, other)
    page = await log_in("reader", f"/memory/fact/{fact.ref}")
    await expect(page.locator("h1.mb-title")).to_have_text("Ana's tea: green")
    await expect(page.locator("#sources")).to_contain_text("1 more link to memories of other butlers.")
    assert await page.locator(".mb-actions button").count() == 0
    assert await page.locator(".mb-entry-actions button").count() == 0
    assert "A secret." not in await page.content()
    await page.goto(f"{service.url}/memory/episode/{source.ref}")
    await expect(page.get_by_role("alert")).to_contain_text("There is no episode:")
    page = await log_in("agent", f"/memory/fact/{fact.ref}")
    await page.get_by_role("button", name="Unpin").click()
    await expect(page.locator(".mb-forecast")).to_contain_text("Fades in")
    assert await page.locator(".mb-entry-actions button").count() == 0


async def test_one_of_very_many_changes_is_taken_back_alone(visit: Visit, resources: Resources) -> None:
    """What belongs together is taken back together if it is little; of much only what is seen here."""
    for number in range(MAX_GROUP_SIZE + 1):
        await remember.fact(resources, NewFact(subject="Ana", predicate=f"p{number}", content=f"her {number}"))
    fact = await remember.fact(resources, NewFact(subject="Bob", predicate="tea", content="green"))
    await forget_about.forget_about(resources, subject="Bob", dry_run=False)
    page = await visit(f"/memory/fact/{fact.ref}")
    undo = page.locator(".mb-entries-line").get_by_role("button", name="Undo")
    await expect(undo).to_have_attribute("title", "Undo this change")
    await forget_about.forget_about(resources, subject="Ana", dry_run=False)
    [listed, *_] = (await listings.memories(resources, Listing(type=MemoryType.FACT, subject="Ana"))).items
    await visit(f"/memory/fact/{listed.memory.ref}")
    await undo.click()
    await expect(page.locator(".mb-entry-undone")).to_have_count(1)
    in_use = Listing(type=MemoryType.FACT, subject="Ana", validity=("active",))
    assert [one.memory.id for one in (await listings.memories(resources, in_use)).items] == [listed.memory.id]


async def test_a_memory_is_erased_for_good(visit: Visit, resources: Resources) -> None:
    """A dialog lists everything that goes; cancelling changes nothing; afterwards the page says that it was purged."""
    old = await remember.fact(resources, NewFact(subject="Ana", predicate="seat", content="a window seat"))
    new = await remember.fact(resources, NewFact(subject="Ana", predicate="seat", content="an aisle seat"))
    page = await visit(f"/memory/fact/{new.ref}")
    await page.get_by_role("button", name="Erase for good").click()
    dialog = page.locator(".mb-dialog")
    await expect(dialog).to_contain_text("This cannot be undone")
    await expect(dialog).to_contain_text(f"fact:{old.ref}")
    await dialog.get_by_role("button", name="Cancel").click()
    await expect(dialog).to_have_count(0)
    await expect(page.locator("h1.mb-title")).to_have_text("Ana's seat: an aisle seat")
    await page.get_by_role("button", name="Erase for good").click()
    await dialog.get_by_role("button", name="Erase for good").click()
    await expect(page.locator(".mb-memory")).to_contain_text(f"fact:{new.ref} was purged on")
    await expect(page.locator("h1.mb-title")).to_have_text("Memory")
    with pytest.raises(NotFound, match="was purged"):
        await get.get(resources, "fact", old.ref, bump=False)
