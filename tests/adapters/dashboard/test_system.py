"""The page of the machinery: what it says, to whom, and tokens end to end."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.async_api import Page, expect
from tests.adapters.dashboard.conftest import DESKTOP, PHONE, LogIn, Visit
from tests.conftest import MovingClock
from tests.service import Service

from memory_butler.adapters.dashboard import standing
from memory_butler.adapters.dashboard.pages import system
from memory_butler.adapters.doctor import Finding
from memory_butler.butler import Butler
from memory_butler.models import NewEpisode, NewFact
from memory_butler.operations import remember, tokens, upkeep
from memory_butler.operations.machinery import Coverage, Indexed, Sizes, TableSize
from memory_butler.policy.schedule import Standing
from memory_butler.store.migrate import HEAD

NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)


async def test_the_page_says_how_everything_stands(
    visit: Visit, butler: Butler, clock: MovingClock, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jobs, checks, versions, index and database are there; what a worker did meanwhile is shown by itself."""
    await remember.fact(butler, NewFact(subject="Anna", predicate="color", content="green"))
    clock.move(minutes=5)
    monkeypatch.setattr(system, "REFRESH_SECONDS", 0.5)
    page = await visit("/system")
    jobs = page.get_by_role("table", name="Jobs")
    await expect(jobs.locator("tbody tr")).to_have_count(3)
    await expect(jobs.locator("tr", has_text="sweep").locator(".mb-chip")).to_have_text("never ran")
    checks = page.get_by_role("table", name="Checks")
    await expect(checks.locator("tr", has_text="embedding")).to_contain_text("vectors of 384 numbers")
    await expect(checks.locator("tr", has_text="pgvector").locator(".mb-chip")).to_have_text("ok")
    await expect(page.locator("dl")).to_contain_text(f"revision {HEAD}")
    await expect(page.locator("text=100 % of 1 memories are indexed with it.")).to_be_visible()
    await expect(page.get_by_role("table", name="Tables")).to_contain_text("memory events")
    await expect(page.locator(".mb-sys-verdict")).to_have_text("3 jobs need a look.")
    shard = upkeep.shard_of(tenant, "main")
    for job in ("sweep", "consolidation", "cleanup"):
        await upkeep.put_on_record(butler, shard, job, clock.now, {"note": "<b>nothing</b> was due"})
    await expect(page.locator(".mb-sys-verdict")).to_have_text("All is well.")
    await expect(jobs.locator("tr", has_text="sweep")).to_contain_text("<b>nothing</b> was due")
    await expect(page.get_by_role("table", name="Indexes")).to_contain_text("facts")
    for room in await page.locator(".mb-rows-room").all():
        assert await room.evaluate("room => room.scrollWidth <= room.clientWidth"), "a table is wider than its card"
    await page.get_by_role("button", name="Check again").click()
    await expect(page.locator("text=Checked")).to_be_visible()


async def test_on_a_phone_the_parts_are_folded(visit: Visit, butler: Butler, page: Page) -> None:
    """All of it fits on little more than a screen; each part says beside its title how it stands, opens by the
    keyboard, and stays open when it is brought up to date."""
    await remember.fact(butler, NewFact(subject="Anna", predicate="color", content="green"))
    await page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    await visit("/system")
    jobs, checks = (page.locator(".mb-fold", has=page.get_by_role("heading", name=name)) for name in ("Jobs", "Health"))
    await expect(jobs.locator(".mb-fold-note")).to_have_text("3 to look at")
    await expect(checks.locator(".mb-fold-note")).to_have_text("ok")
    await expect(page.get_by_role("table")).to_have_count(0)
    assert await page.evaluate("document.documentElement.scrollHeight < 1.2 * innerHeight")
    await checks.locator("summary").press("Enter")
    await expect(page.get_by_role("table", name="Checks")).to_be_visible()
    await page.get_by_role("button", name="Check again").click()
    await expect(page.locator("text=Checked")).to_be_visible()
    await expect(page.get_by_role("table", name="Checks")).to_be_visible()
    await checks.locator("summary").press("Enter")
    await expect(page.get_by_role("table", name="Checks")).to_be_hidden()
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await page.set_viewport_size(DESKTOP)  # type: ignore[arg-type]


async def test_a_token_is_made_shown_once_and_revoked(log_in: LogIn, service: Service, tenant: str) -> None:
    """Its secret works, is nowhere on the page afterwards, and is worth nothing after it was revoked by its maker."""
    page = await log_in("admin", "/system")
    await page.get_by_label("Label").fill("<b>Night</b> shift")
    await page.get_by_role("button", name="Create").click()
    secret = await page.locator(".mb-secret code").inner_text()
    assert (await tokens.recognise(service.butler, secret)).name == "<b>Night</b> shift"
    await page.get_by_role("button", name="I have it").click()
    await expect(page.locator(".mb-secret")).to_have_count(0)
    assert secret not in await page.content()
    row = page.get_by_role("table", name="Tokens").locator("tr", has_text="<b>Night</b> shift")
    await expect(row).to_contain_text("by admin Robin")
    await page.get_by_role("button", name="Revoke <b>Night</b> shift").click()
    await page.get_by_role("button", name="Cancel").click()
    await expect(row.locator(".mb-chip")).to_have_text("good")
    await page.get_by_role("button", name="Revoke <b>Night</b> shift").click()
    await page.get_by_role("button", name="Revoke", exact=True).click()
    await expect(row.locator(".mb-chip")).to_have_text("revoked")
    found = await tokens.listed(service.butler, tenant, service.butler.local_operator())
    newest = found.items[0]
    assert (newest.label, newest.created_by) == ("<b>Night</b> shift", "admin Robin") and newest.revoked_at


async def test_tokens_come_in_pages_with_an_address(log_in: LogIn, service: Service, tenant: str) -> None:
    """Older ones have an address of their own; the way back leads to the newest."""
    for number in range(13):
        await service.token(tenant, label=f"number {number}")
    page = await log_in("admin", "/system")
    rows = page.get_by_role("table", name="Tokens").locator("tbody tr")
    await expect(rows).to_have_count(10)
    await page.get_by_role("button", name="Older").click()
    await expect(rows).to_have_count(4)
    await page.wait_for_url(re.compile(r"tokens="))
    await page.reload()
    await expect(rows).to_have_count(4)
    await page.go_back()
    await expect(rows).to_have_count(10)


async def test_everybody_sees_what_they_may(log_in: LogIn, service: Service, butler: Butler, tenant: str) -> None:
    """Readers see whether upkeep keeps up and nothing to change; administrators not what is about all tenants."""
    await remember.fact(butler, NewFact(subject="Anna", predicate="color", content="green"))
    reader = await log_in("reader", "/system")
    await expect(reader.locator("text=There is more for administrators")).to_be_visible()
    assert await reader.locator(".mb-main button").count() == 0
    assert await reader.locator(".mb-sys-line").count() == 3
    admin = await log_in("admin", "/system")
    await expect(admin.locator("text=Only an operator may see this")).to_have_count(2)
    await expect(admin.get_by_role("table", name="Checks")).to_have_count(0)
    offered = await admin.get_by_label("Role").locator("option").all_inner_texts()
    assert [words.partition(":")[0] for words in offered] == ["reader", "agent", "admin"]


def job(status: Standing = Standing.OK, **more: Any) -> upkeep.JobStanding:
    usual: dict[str, Any] = {
        "job": "sweep", "butler": "main", "last_run": NOW, "outcome": "succeeded", "seconds": 1.5,
        "next_run": NOW + timedelta(hours=1), "overdue_seconds": None, "failures": 0,
    }  # fmt: skip
    return upkeep.JobStanding(status=status, **{**usual, **more})


STANDS = [
    (job(), ("ok", "good")),
    (job(Standing.NEVER, last_run=None), ("never ran", "warn")),
    (job(Standing.NEVER, overdue_seconds=7200.0), ("never ran, overdue by 2 hours", "bad")),
    (job(Standing.OVERDUE, overdue_seconds=200_000.0), ("overdue by 2 days", "bad")),
    (job(Standing.FAILING, failures=3), ("failed 3×", "bad")),
]


@pytest.mark.parametrize(("one", "said"), STANDS)
def test_how_a_job_stands_in_words(one: upkeep.JobStanding, said: tuple[str, str]) -> None:
    """Late, failing and never run are loud."""
    (line,) = standing.job_lines([one], NOW)
    assert (line.cells[2]["text"], line.cells[2]["tone"]) == said


def stood(*jobs: upkeep.JobStanding, more: int = 0, unwell: int = 0) -> upkeep.Worst:
    """These, and more of which some are not well."""
    unwell += sum(one.status is not Standing.OK for one in jobs)
    return upkeep.Worst(jobs=jobs, total=len(jobs) + more, unwell=unwell)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (stood(), ""),
        (stood(job(), job(Standing.NEVER)), ""),
        (stood(job(Standing.FAILING), more=1200), "And 1,200 more, on time."),
        (stood(job(Standing.FAILING), more=9, unwell=1), "And 9 more, 1 of them needs a look."),
        (stood(job(Standing.FAILING), more=9, unwell=9), "And 9 more, 9 of them need a look."),
    ],
)
def test_jobs_that_do_not_fit_are_counted(found: upkeep.Worst, said: str) -> None:
    """With how they stand, and where all of them are listed."""
    words = standing.more_jobs(found)
    assert words.startswith(said) and bool(said) == ("memory-butler jobs" in words)


async def test_of_many_jobs_the_worst_are_shown_and_the_rest_is_counted(
    visit: Visit, butler: Butler, clock: MovingClock, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What fails is at the top, though its butler comes last."""
    monkeypatch.setattr(standing, "MOST_JOBS", 4)
    for name in ("ada", "bob", "zoe"):
        await remember.episode(butler, NewEpisode(content="Arrived.", butler=name))
    zoe = upkeep.shard_of(tenant, "zoe")
    begun = await upkeep.begin(butler, zoe, "sweep", timedelta(days=1))
    assert begun and await upkeep.finish(butler, zoe, begun, upkeep.FAILED, {"error": "No room."})
    page = await visit("/system")
    rows = page.get_by_role("table", name="Jobs").locator("tbody tr")
    await expect(rows).to_have_count(4)
    await expect(rows.first).to_contain_text("zoe")
    await expect(page.locator("text=And 5 more, 5 of them need a look.")).to_be_visible()
    await expect(page.locator(".mb-sys-verdict")).to_contain_text("9 jobs need a look")


OK, ODD, WRONG = Finding("disk", "ok", "x"), Finding("role", "warning", "x"), Finding("clock", "problem", "x")


@pytest.mark.parametrize(
    ("jobs", "findings", "said"),
    [
        (stood(job()), [OK], ("good", "All is well.")),
        (stood(job()), None, ("good", "All is well.")),
        (stood(job()), [OK, ODD], ("warn", "1 warning.")),
        (stood(job(Standing.OVERDUE), job(Standing.NEVER)), [OK], ("warn", "2 jobs need a look.")),
        (stood(job(Standing.OVERDUE)), [WRONG, ODD], ("bad", "1 check has failed, 1 job needs a look, 1 warning.")),
    ],
)
def test_the_verdict_counts_what_is_wrong(
    jobs: upkeep.Worst, findings: list[Finding] | None, said: tuple[str, str]
) -> None:
    """In one line, the worst first."""
    found = standing.verdict(jobs, findings)
    assert (found.tone, found.words) == said


def test_a_folded_part_says_whether_it_is_worth_opening() -> None:
    """In two words, as loud as the worst in it."""
    assert standing.jobs_note(stood()) == ("", "")
    assert standing.jobs_note(stood(job(), job())) == ("on time", "good")
    assert standing.jobs_note(stood(job(), job(Standing.NEVER))) == ("1 to look at", "warn")
    assert standing.health_note([OK]) == ("ok", "good")
    assert standing.health_note([OK, ODD]) == ("1 to look at", "warn")
    assert standing.health_note([WRONG, ODD]) == ("2 to look at", "bad")


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (123_456, "123 kB"), (5_400_000_000, "5.4 GB"),
     (7e15, "7000.0 TB")],
)  # fmt: skip
def test_sizes_in_words(count: float, said: str) -> None:
    """As people say them."""
    assert standing.size(count) == said


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.0, "< 0.1 s"), (0.04, "< 0.1 s"), (0.06, "0.1 s"), (9.9, "9.9 s"), (12.3, "12 s")]
)
def test_spans_in_words(seconds: float, said: str) -> None:
    """What was quick took some time nevertheless."""
    assert standing.span(seconds) == said


def coverage(current: int, old: int = 0, bare: int = 0) -> Coverage:
    parts = (("new", current, True), ("old", old, False), (None, bare, False))
    return Coverage(
        model="new",
        dimensions=384,
        memories=current + old + bare,
        current=current,
        parts=tuple(
            Indexed(model=model, passage_policy=1, memories=count, is_current=now)
            for model, count, now in parts
            if count
        ),
    )


@pytest.mark.parametrize(
    ("found", "said", "advice"),
    [
        (coverage(0), "Nothing is stored yet", None),
        (coverage(7), "100 % of 7", None),
        (coverage(1, old=1), "50 % of 2", "1 with another model or cutting:"),
        (coverage(9_999_999, bare=1), "99.9 % of", "1 not at all yet:"),
        (coverage(2, old=1, bare=1), "50 % of 4", "1 with another model or cutting and 1 not at all yet:"),
    ],
)
def test_how_much_is_indexed_in_words(found: Coverage, said: str, advice: str | None) -> None:
    """Rounding hides nobody, and what is behind comes with what to do."""
    assert standing.coverage_words(found).startswith(said)
    told = standing.coverage_advice(found)
    assert told is None if advice is None else told and told.startswith(advice)


def test_small_tables_are_counted_together() -> None:
    """The largest by name, the others in one line, and bars against the largest."""
    tables = tuple(TableSize(name=f"t_{n}", rows=n or None, bytes=1000 * (10 - n), index_bytes=0) for n in range(10))
    lines = standing.size_lines(Sizes(whole_bytes=1, tables=tables))
    assert [line.key for line in lines] == [*(f"t_{n}" for n in range(8)), "rest"]
    assert (lines[0].cells[0]["share"], lines[5].cells[0]["share"]) == (100.0, 50.0)
    assert [cell["text"] for cell in lines[-1].cells] == ["2 smaller ones", "17", "3.0 kB", "0 bytes"]
