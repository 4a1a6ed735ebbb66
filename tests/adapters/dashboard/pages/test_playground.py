"""The playground: what is asked is in the address, what is shown is what an agent gets, and nothing counts as used."""

from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest
from playwright.async_api import Page, expect
from tests.adapters.dashboard.conftest import PHONE, LogIn, Visit
from tests.support.service import Service

from memory_butler.adapters.dashboard.view_models.phrases import sentence
from memory_butler.adapters.dashboard.view_models.playground_results import (
    PlaygroundQuery,
    explanation_props,
    query_from,
    receipt_props,
    result_rows,
    score_bar,
    url_params,
)
from memory_butler.errors import InvalidInput
from memory_butler.models import (
    BriefingLine,
    BriefRequest,
    NewEpisode,
    NewFact,
    NewRule,
    Question,
    Receipt,
    SectionReceipt,
)
from memory_butler.models.explanation import Term
from memory_butler.operations.briefing import brief
from memory_butler.operations.retrieval import explain, search
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources

# Hidden characters can only be in rows of earlier versions.
pytestmark = pytest.mark.usefixtures("text_of_older_versions")

HOSTILE = 'Green tea. Green tea <img src=x onerror="window.hacked=1"> {{ 7 * 7 }} \u202egnp.exe'


async def _some_tea(resources: Resources, whose: str = "main") -> list[str]:
    """A few memories about tea, one of them hostile; their references."""
    stored = [
        await remember.fact(resources, NewFact(subject="Anna", predicate="likes", content="green tea", importance=9)),
        await remember.fact(resources, NewFact(subject="Bruno", predicate="said", content=HOSTILE)),
        await remember.rule(resources, NewRule(content="Offer green tea before coffee.")),
        await remember.episode(resources, NewEpisode(content="Green tea was served at four.", butler=whose)),
    ]
    return [f"{one.type}:{one.ref}" for one in stored]


def _asked(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


# --- in a browser ---------------------------------------------------------------------------------


async def test_asking_shows_what_an_agent_gets_and_why(
    visit: Visit, resources: Resources, owner: psycopg.Connection[Any], tenant: str
) -> None:
    """Enter asks; the block is byte for byte an agent's; bars have the parts of the scores; nothing was referenced."""
    refs = await _some_tea(resources)
    page = await visit("/playground")
    await expect(page.locator(".mb-empty a")).to_have_count(4)
    await page.fill("textarea", "green tea")
    await page.press("textarea", "Enter")
    rows = page.locator(".mb-result-list > li")
    await expect(rows).to_have_count(len(refs))
    assert _asked(page) == {"prompt": "green tea"}

    question = Question(query="green tea", butler="main")
    found = await search.search(resources, question, bump=False)
    for at, entry in enumerate(found.results):
        row = rows.nth(at)
        assert await row.locator("a").first.get_attribute("href") == f"/memory/{entry.hit.type}/{entry.hit.ref}"
        shares = await row.locator(".mb-bar > span").evaluate_all(
            "all => all.map((one) => parseFloat(one.style.width))"
        )
        terms = search.score_terms(resources, entry)
        assert shares == [round(100 * term.contribution, 2) for term in terms]
        assert sum(term.contribution for term in terms) == pytest.approx(entry.parts.score, abs=1e-5)
    await rows.first.locator("summary").click()
    first = await rows.first.locator("dl").inner_text()
    assert f"{found.results[0].parts.relevance:.3f}" in first and "Keyword rank" in first

    whole = await brief.brief(resources, BriefRequest(trigger_prompt="green tea", butler="main"))
    assert await page.locator(".mb-context").evaluate("one => one.textContent") == whole.text
    await page.get_by_role("button", name="Copy").click()
    await expect(page.locator(".mb-block-head button")).to_have_text("Copied")
    await page.fill("textarea", "")
    await page.press("textarea", "Control+v")
    assert await page.input_value("textarea") == whole.text
    await page.fill("textarea", "green tea")
    assert "⟨U+202E⟩" in await rows.filter(has_text="7 * 7").inner_text()
    assert await page.evaluate("window.hacked") is None
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    await page.fill(".mb-playground-budget input", "40")
    await page.press(".mb-playground-budget input", "Enter")
    cut = await brief.brief(resources, BriefRequest(trigger_prompt="green tea", butler="main", token_budget=40))
    await expect(page.locator(".mb-left-out li")).to_have_count(len(cut.receipt.left_out))
    assert cut.receipt.left_out and await page.locator(".mb-context").evaluate("one => one.textContent") == cut.text
    missed = cut.receipt.left_out[0]["ref"]
    await page.locator(".mb-left-out button", has_text="Why?").first.click()
    told = await explain.explain(resources, question, missed, token_budget=40)
    assert told.briefing
    await expect(page.locator(".mb-explain")).to_contain_text(told.briefing.verdict)
    await expect(page.locator(".mb-explain-verdict")).to_contain_text(told.verdict)
    assert _asked(page) == {"prompt": "green tea", "budget": "40", "why": missed}

    await page.fill(".mb-explain input", "fact:zzzz")
    await page.press(".mb-explain input", "Enter")
    await expect(page.locator(".mb-explain .mb-note-bad")).to_contain_text("There is no")
    bumped = owner.execute("SELECT count(*) FROM memory.facts WHERE tenant_id = %s AND reference_count > 0", [tenant])
    assert bumped.fetchone() == (0,)


async def test_every_choice_is_in_the_address(visit: Visit, resources: Resources) -> None:
    """A page that is opened by its address shows what it says; going back shows what was there before; on a phone one
    side is shown at a time."""
    refs = await _some_tea(resources, whose="home")
    page = await visit("/playground?prompt=green+tea&types=rule&mode=keyword&butler=home")
    await expect(page.locator(".mb-result-list > li")).to_have_count(1)
    await expect(page.locator(".mb-result-list > li")).to_contain_text(refs[2])
    assert await page.locator("select").nth(1).input_value() == "keyword"
    await page.get_by_label("Episodes").check()
    await expect(page.locator(".mb-result-list > li")).to_have_count(2)
    assert _asked(page) == {"prompt": "green tea", "types": "rule,episode", "mode": "keyword", "butler": "home"}
    await page.go_back()
    await expect(page.locator(".mb-result-list > li")).to_have_count(1)
    await expect(page.get_by_label("Episodes")).not_to_be_checked()

    await page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    await expect(page.locator(".mb-pane-block")).to_be_hidden()
    await page.get_by_role("tab", name="Context block").click()
    await expect(page.locator(".mb-pane-block")).to_be_visible()
    await expect(page.locator(".mb-pane-results")).to_be_hidden()
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await page.set_viewport_size({"width": 1280, "height": 900})

    await page.goto(page.url.split("?")[0] + "?prompt=green+tea&budget=much")
    await expect(page.locator("[role=alert]")).to_contain_text("is not a number of tokens")
    await page.goto(page.url.split("?")[0] + "?prompt=green+tea&as_of=2026-03-01T08:00:00Z")
    await expect(page.locator(".mb-empty-text").first).to_contain_text("No memory is relevant to this")
    await expect(page.locator(".mb-explain")).to_contain_text("only available for the present")


async def test_a_reader_asks_as_its_own_butler_and_of_today(log_in: LogIn, service: Service, tenant: str) -> None:
    """No other butler and no date is offered; a date in the address is refused in words, and so is another butler."""
    ours = replace(service.resources, settings=service.resources.settings.model_copy(update={"tenant": tenant}))
    await _some_tea(ours)
    page = await log_in("reader", "/playground?prompt=green+tea")
    await expect(page.locator(".mb-result-list > li")).to_have_count(3)
    assert await page.locator("select").first.locator("option").all_inner_texts() == ["chef"]
    await expect(page.locator(".mb-playground-date")).to_have_count(0)
    await page.goto(page.url + "&as_of=2026-03-01T08:00:00Z")
    await expect(page.locator("[role=alert]")).to_contain_text("Only an administrator may read as of a past moment")
    await page.goto(page.url.split("?")[0] + "?prompt=green+tea&butler=home")
    await expect(page.locator("[role=alert]")).to_contain_text("cannot act as 'home'")


# --- what is shown --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "wish"),
    [
        ({}, PlaygroundQuery(prompt="", butler="main")),
        ({"prompt": " tea ", "butler": "main"}, PlaygroundQuery(prompt="tea", butler="main")),
        (
            {
                "prompt": "tea",
                "butler": "home",
                "mode": "keyword",
                "types": "fact,rule",
                "budget": "9",
                "why": "fact:a",
            },
            PlaygroundQuery(
                prompt="tea", butler="home", mode="keyword", types=("fact", "rule"), budget="9", explain="fact:a"
            ),
        ),
    ],
)
def test_an_address_and_a_wish_are_the_same(query: dict[str, str], wish: PlaygroundQuery) -> None:
    """What is as usual is left out of the address, and comes back from it."""
    assert query_from(query, "main") == wish
    kept = {name: value for name, value in url_params(wish, "main").items() if value}
    assert query_from(kept, "main") == wish
    assert kept.get("butler") != "main"


@pytest.mark.parametrize("wrong", [{"budget": "-1"}, {"budget": "many"}, {"budget": "9" * 12}, {"as_of": "yesterday"}])
def test_what_makes_no_sense_is_said(wrong: dict[str, str]) -> None:
    """A budget that is no number and a date that is none are named."""
    wish = query_from({"prompt": "tea", **wrong}, "main")
    with pytest.raises(InvalidInput, match="is no"):
        wish.request()


def test_a_bar_is_as_long_as_the_score() -> None:
    """Its full length is the best score there can be, whatever the weights are."""
    terms = [
        Term(name="fit", value=1.0, weight=1.0, contribution=1.0),
        Term(name="recency", value=0.5, weight=1.0, contribution=0.5),
    ]
    assert [(piece["share"], piece["sum"]) for piece in score_bar(terms)] == [
        (50.0, "1.000 × 1 = 1.000"),
        (25.0, "0.500 × 1 = 0.500"),
    ]


def test_a_receipt_is_told_in_words() -> None:
    """Shares of the budget, why things were cut, what was hidden and what the search had to do without."""
    section = SectionReceipt(section="facts", quota_tokens=50, used_tokens=25, lines=1, left_out={"budget": 1})
    receipt = Receipt(
        token_budget=100,
        used_tokens=30,
        tokenizer="wordpiece",
        sections=(section, replace(section, section="rules", lines=2)),
        lines=(BriefingLine(ref="fact:dddd", claim="vital", usefulness=0.9),),
        left_out=(
            {"ref": "fact:aaaa", "reason": "says the same as fact:dddd"},
            {"ref": "rule:bbbb", "reason": "budget"},
            {"ref": "rule:cccc", "reason": "budget"},
        ),
        hidden={"confidence": 1, "scope": 10, "other": 0},
        degraded=("searched by words only: no model",),
        request_id=None,
    )
    shape = receipt_props(receipt, {"fact:aaaa": "tea"})
    assert (shape["share"], shape["sections"][0]["share"]) == (30.0, 25.0)
    assert [part["text"] for part in shape["sections"]] == [
        "25 tokens in 1 line",
        "25 tokens in 2 lines",
    ]
    assert [(one["ref"], one["claim"], one["reason"]) for one in shape["told"]] == [
        ("fact:dddd", "vital", "a warning or vital fact that the task could run into")
    ]
    assert [(one["ref"], one["text"], one["reason"]) for one in shape["left_out"]] == [
        ("fact:aaaa", "tea", "says the same as fact:dddd"),
        ("rule:bbbb", "", "the budget is used up"),
        ("rule:cccc", "", "it ranks below rule:bbbb, which did not fit"),
    ]
    assert shape["notes"] == [
        "1 close match is below the minimum confidence.",
        "10 close matches are private to another butler.",
        "Searched by words only: no model.",
    ]


async def test_every_step_of_an_explanation_is_told(resources: Resources) -> None:
    """Whether it is returned, what hides it, and on which lists it stands."""
    refs = await _some_tea(resources)
    told = explanation_props(await explain.explain(resources, Question(query="green tea", types=("rule",)), refs[0]))
    steps = {step["name"]: step["ok"] for step in told["steps"]}
    assert not told["returned"] and told["verdict"].startswith("Not returned")
    assert [name for name, ok in steps.items() if ok is False and name.startswith("Filter")] == ["Filter: type"]
    told = explanation_props(await explain.explain(resources, Question(query="green tea"), refs[0]))
    assert told["returned"] and len(told["terms"]) == 4 and {"Relevance", "Score"} <= {s["name"] for s in told["steps"]}


async def test_a_memory_is_explained_by_its_words(visit: Visit, resources: Resources) -> None:
    """Nobody needs to know a reference; words that no memory has are refused, and a result lights its line."""
    await remember.fact(resources, NewFact(subject="Ana", predicate="tea", content="green"))
    await remember.fact(resources, NewFact(subject="Ana", predicate="car", content="a red one"))
    page = await visit("/playground?prompt=Which+tea+does+Ana+drink&butler=main")
    await page.fill(".mb-explain input", "red car")
    await page.press(".mb-explain input", "Enter")
    await expect(page.locator(".mb-explain-verdict a")).to_have_text("Ana's car: a red one")
    await page.locator(".mb-result-list li", has_text="Ana's tea: green").hover()
    await expect(page.locator(".mb-context .mb-lit")).to_contain_text("green")
    await page.fill(".mb-explain input", "xylophone")
    await page.press(".mb-explain input", "Enter")
    await expect(page.locator(".q-notification").last).to_contain_text("No memory has these words")


async def test_results_have_plain_words_and_own_paths(resources: Resources) -> None:
    """What steers a text is made visible, and every link is one of ours."""
    await _some_tea(resources)
    found = await search.search(resources, Question(query="green tea"), bump=False)
    rows = result_rows(found, [search.score_terms(resources, one) for one in found.results])
    assert any("⟨U+202E⟩" in row["text"] for row in rows)
    assert all(row["href"].startswith("/memory/") for row in rows)


@pytest.mark.parametrize(("said", "told"), [("it is 1st", "It is 1st."), ("Why?", "Why?"), ("", ".")])
def test_words_become_a_sentence(said: str, told: str) -> None:
    """A capital, and a full stop unless there is one."""
    assert sentence(said) == told
