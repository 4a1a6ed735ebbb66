"""The page of the machinery: what it says, to whom, and tokens end to end."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.async_api import Page, expect
from tests.adapters.dashboard.conftest import DESKTOP, PHONE, LogIn, Visit
from tests.conftest import MovingClock
from tests.support.service import Service

from memory_butler.adapters.dashboard.pages import system
from memory_butler.adapters.dashboard.view_models import system_tables as system_view
from memory_butler.adapters.doctor.findings import Finding
from memory_butler.models import NewEpisode, NewFact
from memory_butler.operations.access import tokens
from memory_butler.operations.lifecycle import job_status
from memory_butler.operations.system.system_info import Coverage, IndexedGroup, Sizes, TableSize
from memory_butler.operations.writing import remember
from memory_butler.policy.lifecycle.schedule import JobState
from memory_butler.resources import Resources
from memory_butler.store.gate.migrate import HEAD

NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)


async def test_the_page_says_how_everything_stands(
    visit: Visit, resources: Resources, clock: MovingClock, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jobs, checks, versions, index and database are there; what a worker did meanwhile is shown by itself."""
    await remember.fact(resources, NewFact(subject="Anna", predicate="color", content="green"))
    clock.move(minutes=5)
    monkeypatch.setattr(system, "REFRESH_SECONDS", 0.5)
    page = await visit("/system")
    jobs = page.get_by_role("table", name="Jobs")
    await expect(jobs.locator("tbody tr")).to_have_count(3)
    await expect(jobs.locator("tr", has_text="sweep").locator(".mb-chip")).to_have_text("never ran")
    checks = page.get_by_role("table", name="Checks")
    await expect(checks.locator("tr", has_text="embedding")).to_contain_text("384 dimensions")
    await expect(checks.locator("tr", has_text="pgvector").locator(".mb-chip")).to_have_text("ok")
    await expect(page.locator("dl")).to_contain_text(f"revision {HEAD}")
    await expect(page.locator("text=100% of 1 memories have current embeddings.")).to_be_visible()
    await expect(page.get_by_role("table", name="Tables")).to_contain_text("memory events")
    levels = page.get_by_role("table", name="Service levels")
    await expect(levels.locator("tbody tr")).to_have_count(5)
    await expect(levels.locator("tr", has_text="Briefing latency")).to_contain_text("p95 ≤ 250 ms")
    await expect(page.locator(".mb-sys-status")).to_have_text("3 jobs need attention.")
    shard = job_status.shard_of(tenant, "main")
    for job in ("sweep", "consolidation", "cleanup"):
        await job_status.put_on_record(resources, shard, job, clock.now, {"note": "<b>nothing</b> was due"})
    await expect(page.locator(".mb-sys-status")).to_have_text("Everything is OK.")
    await expect(jobs.locator("tr", has_text="sweep")).to_contain_text("<b>nothing</b> was due")
    await expect(page.get_by_role("table", name="Indexes")).to_contain_text("facts")
    for room in await page.locator(".mb-rows-scroll").all():
        assert await room.evaluate("room => room.scrollWidth <= room.clientWidth"), "a table is wider than its card"
    await page.get_by_role("button", name="Check again").click()
    await expect(page.locator("text=Checked")).to_be_visible()


async def test_on_a_phone_the_parts_are_folded(visit: Visit, resources: Resources, page: Page) -> None:
    """All of it fits on little more than a screen; each part says beside its title how it stands, opens by the
    keyboard, and stays open when it is brought up to date."""
    await remember.fact(resources, NewFact(subject="Anna", predicate="color", content="green"))
    await page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    await visit("/system")
    jobs, checks = (
        page.locator(".mb-collapsible", has=page.get_by_role("heading", name=name)) for name in ("Jobs", "Health")
    )
    await expect(jobs.locator(".mb-collapsible-note")).to_have_text("3 need attention")
    await expect(checks.locator(".mb-collapsible-note")).to_have_text("ok")
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
    assert (await tokens.authenticate(service.resources, secret))[0].name == "<b>Night</b> shift"
    await page.get_by_role("button", name="Done").click()
    await expect(page.locator(".mb-secret")).to_have_count(0)
    assert secret not in await page.content()
    row = page.get_by_role("table", name="Tokens").locator("tr", has_text="<b>Night</b> shift")
    await expect(row).to_contain_text("by admin Robin")
    await page.get_by_role("button", name="Revoke <b>Night</b> shift").click()
    await page.get_by_role("button", name="Cancel").click()
    await expect(row.locator(".mb-chip")).to_have_text("valid")
    await page.get_by_role("button", name="Revoke <b>Night</b> shift").click()
    await page.get_by_role("button", name="Revoke", exact=True).click()
    await expect(row.locator(".mb-chip")).to_have_text("revoked")
    found = await tokens.list_tokens(service.resources, tenant, service.resources.local_operator())
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


async def test_everybody_sees_what_they_may(log_in: LogIn, service: Service, resources: Resources, tenant: str) -> None:
    """Readers see whether upkeep keeps up and nothing to change; administrators not what is about all tenants."""
    await remember.fact(resources, NewFact(subject="Anna", predicate="color", content="green"))
    reader = await log_in("reader", "/system")
    await expect(reader.locator("text=Administrators see more")).to_be_visible()
    assert await reader.locator(".mb-main button").count() == 0
    assert await reader.locator(".mb-sys-line").count() == 3
    admin = await log_in("admin", "/system")
    await expect(admin.locator("text=Only an operator may see information about all tenants")).to_have_count(2)
    await expect(admin.get_by_role("table", name="Checks")).to_have_count(0)
    offered = await admin.get_by_label("Role").locator("option").all_inner_texts()
    assert [words.partition(":")[0] for words in offered] == ["reader", "agent", "admin"]


def job(status: JobState = JobState.OK, **more: Any) -> job_status.JobStatus:
    usual: dict[str, Any] = {
        "job": "sweep", "butler": "main", "last_run": NOW, "outcome": "succeeded", "seconds": 1.5,
        "next_run": NOW + timedelta(hours=1), "overdue_seconds": None, "failures": 0,
    }  # fmt: skip
    return job_status.JobStatus(status=status, **{**usual, **more})


STANDS = [
    (job(), ("ok", "good")),
    (job(JobState.NEVER, last_run=None), ("never ran", "warn")),
    (job(JobState.NEVER, overdue_seconds=7200.0), ("never ran, overdue by 2 hours", "bad")),
    (job(JobState.OVERDUE, overdue_seconds=200_000.0), ("overdue by 2 days", "bad")),
    (job(JobState.FAILING, failures=3), ("failed 3×", "bad")),
]


@pytest.mark.parametrize(("one", "said"), STANDS)
def test_how_a_job_stands_in_words(one: job_status.JobStatus, said: tuple[str, str]) -> None:
    """Late, failing and never run are loud."""
    (line,) = system_view.job_rows([one], NOW)
    assert (line["cells"][2]["text"], line["cells"][2]["tone"]) == said


def stood(*jobs: job_status.JobStatus, more: int = 0, unwell: int = 0) -> job_status.WorstJobs:
    """These, and more of which some are not well."""
    unwell += sum(one.status is not JobState.OK for one in jobs)
    return job_status.WorstJobs(jobs=jobs, total=len(jobs) + more, unwell=unwell)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (stood(), ""),
        (stood(job(), job(JobState.NEVER)), ""),
        (stood(job(JobState.FAILING), more=1200), "1,200 more, on time."),
        (stood(job(JobState.FAILING), more=9, unwell=1), "9 more, 1 of them needs attention."),
        (stood(job(JobState.FAILING), more=9, unwell=9), "9 more, 9 of them need attention."),
    ],
)
def test_jobs_that_do_not_fit_are_counted(found: job_status.WorstJobs, said: str) -> None:
    """With how they stand, and where all of them are listed."""
    words = system_view.more_jobs_text(found)
    assert words.startswith(said) and bool(said) == ("memory-butler jobs" in words)


async def test_of_many_jobs_the_worst_are_shown_and_the_rest_is_counted(
    visit: Visit, resources: Resources, clock: MovingClock, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What fails is at the top, though its butler comes last."""
    monkeypatch.setattr(system_view, "MAX_JOBS", 4)
    for name in ("ada", "bob", "zoe"):
        await remember.episode(resources, NewEpisode(content="Arrived.", butler=name))
    zoe = job_status.shard_of(tenant, "zoe")
    begun = await job_status.begin(resources, zoe, "sweep", timedelta(days=1))
    assert begun and await job_status.finish(resources, zoe, begun, job_status.FAILED, {"error": "No room."})
    page = await visit("/system")
    rows = page.get_by_role("table", name="Jobs").locator("tbody tr")
    await expect(rows).to_have_count(4)
    await expect(rows.first).to_contain_text("zoe")
    await expect(page.locator("text=5 more, 5 of them need attention.")).to_be_visible()
    await expect(page.locator(".mb-sys-status")).to_contain_text("9 jobs need attention")


OK, ODD, WRONG = Finding("disk", "ok", "x"), Finding("role", "warning", "x"), Finding("clock", "problem", "x")


@pytest.mark.parametrize(
    ("jobs", "findings", "said"),
    [
        (stood(job()), [OK], ("good", "Everything is OK.")),
        (stood(job()), None, ("good", "Everything is OK.")),
        (stood(job()), [OK, ODD], ("warn", "1 warning.")),
        (stood(job(JobState.OVERDUE), job(JobState.NEVER)), [OK], ("warn", "2 jobs need attention.")),
        (stood(job(JobState.OVERDUE)), [WRONG, ODD], ("bad", "1 failed check, 1 job needs attention, 1 warning.")),
    ],
)
def test_the_verdict_counts_what_is_wrong(
    jobs: job_status.WorstJobs, findings: list[Finding] | None, said: tuple[str, str]
) -> None:
    """In one line, the worst first."""
    found = system_view.overall_status(jobs, findings)
    assert (found.tone, found.text) == said


def test_a_folded_part_says_whether_it_is_worth_opening() -> None:
    """In two words, as loud as the worst in it."""
    assert system_view.jobs_note(stood()) == ("", "")
    assert system_view.jobs_note(stood(job(), job())) == ("on time", "good")
    assert system_view.jobs_note(stood(job(), job(JobState.NEVER))) == ("1 needs attention", "warn")
    assert system_view.health_note([OK]) == ("ok", "good")
    assert system_view.health_note([OK, ODD]) == ("1 needs attention", "warn")
    assert system_view.health_note([WRONG, ODD]) == ("2 need attention", "bad")


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (123_456, "123 kB"), (5_400_000_000, "5.4 GB"),
     (7e15, "7000.0 TB")],
)  # fmt: skip
def test_sizes_in_words(count: float, said: str) -> None:
    """As people say them."""
    assert system_view.size_text(count) == said


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.0, "< 0.1 s"), (0.04, "< 0.1 s"), (0.06, "0.1 s"), (9.9, "9.9 s"), (12.3, "12 s")]
)
def test_spans_in_words(seconds: float, said: str) -> None:
    """What was quick took some time nevertheless."""
    assert system_view.duration_text(seconds) == said


def coverage(current: int, old: int = 0, bare: int = 0) -> Coverage:
    parts = (("new", current, True), ("old", old, False), (None, bare, False))
    return Coverage(
        model="new",
        dimensions=384,
        memories=current + old + bare,
        current=current,
        parts=tuple(
            IndexedGroup(model=model, passage_policy=1, memories=count, is_current=now)
            for model, count, now in parts
            if count
        ),
    )


@pytest.mark.parametrize(
    ("found", "said", "advice"),
    [
        (coverage(0), "Nothing is stored yet", None),
        (coverage(7), "100% of 7", None),
        (coverage(1, old=1), "50% of 2", "1 have embeddings of another model or passage size, and"),
        (coverage(9_999_999, bare=1), "99.9% of", "1 have none yet: only"),
        (
            coverage(2, old=1, bare=1),
            "50% of 4",
            "1 have embeddings of another model or passage size, and are compared with those.",
        ),
    ],
)
def test_how_much_is_indexed_in_words(found: Coverage, said: str, advice: str | None) -> None:
    """Rounding hides nobody, and what is behind comes with what to do."""
    assert system_view.coverage_text(found).startswith(said)
    told = system_view.coverage_advice(found)
    assert told is None if advice is None else told and told.startswith(advice)


def test_small_tables_are_counted_together() -> None:
    """The largest by name, the others in one line, and bars against the largest."""
    tables = tuple(TableSize(name=f"t_{n}", rows=n or None, bytes=1000 * (10 - n), index_bytes=0) for n in range(10))
    lines = system_view.size_rows(Sizes(whole_bytes=1, tables=tables))
    assert [line["key"] for line in lines] == [*(f"t_{n}" for n in range(8)), "rest"]
    assert (lines[0]["cells"][0]["share"], lines[5]["cells"][0]["share"]) == (100.0, 50.0)
    assert [cell["text"] for cell in lines[-1]["cells"]] == ["2 others", "17", "3.0 kB", "0 bytes"]
