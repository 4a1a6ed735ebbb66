"""The head of the home page: a sentence, lines of the last weeks, and what changed."""

from datetime import date

import pytest
from playwright.async_api import expect
from tests.adapters.dashboard.conftest import Visit
from tests.conftest import MovingClock

from memory_butler.adapters.dashboard.view_models import home_summary
from memory_butler.models import NewFact
from memory_butler.models.days import Day, Growth
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources


def _growth(*created: int) -> Growth:
    days = [Day(day=date(2026, 3, 1 + at), happened={"created": count, "expired": 1}, in_use={"fact": count})
            for at, count in enumerate(created)]  # fmt: skip
    return Growth(days=tuple(days))


@pytest.mark.parametrize(
    ("growth", "subjects", "to_review", "said"),
    [
        (_growth(0, 3), 17, 4, "Knows 59 facts about 17 subjects; 3 learned today; 4 to review."),
        (_growth(), 1, 0, "Knows 59 facts about 1 subject."),
        (_growth(0), 100, 0, "Knows 59 facts about over 100 subjects."),
    ],
)
def test_one_sentence_says_it(growth: Growth, subjects: int, to_review: int, said: str) -> None:
    report = {"memories": {"facts": {"active": 50, "fading": 9, "expired": 3}}}
    assert home_summary.sentence(report, growth, subjects, 100, to_review) == said


def test_figures_have_the_last_days() -> None:
    growth = _growth(*range(1, 11))
    assert home_summary.sparks(growth)["facts"] == [*range(1, 11)]
    changes = home_summary.change_card(growth)
    assert (changes["count"], changes["note"]) == (sum(range(4, 11)), "7 replaced, expired or forgotten")


async def test_the_home_page_tells_what_changed(visit: Visit, resources: Resources, clock: MovingClock) -> None:
    """Since the last visit of this browser, which a reload does not end."""
    await remember.fact(resources, NewFact(subject="Ana", predicate="tea", content="green"))
    page = await visit("/")
    await expect(page.locator(".mb-home-sentence")).to_have_text("Knows 1 fact about 1 subject; 1 learned today.")
    await expect(page.locator(".mb-spark").first).to_be_visible()
    assert await page.locator(".mb-visit").count() == 0
    await page.goto(page.url + "dashboard/icon.svg")
    await page.evaluate(
        "localStorage.setItem('memory-butler-visit', JSON.stringify({seen: '2020-01-01T00:00:00Z', since: ''}))"
    )
    clock.move(minutes=1)
    await remember.fact(resources, NewFact(subject="Ana", predicate="tea", content="white"))
    await visit("/")
    await expect(page.locator(".mb-visit")).to_contain_text("2 stored, 1 replaced.")
    await page.reload()
    await expect(page.locator(".mb-visit")).to_contain_text("2 stored, 1 replaced.")
