"""Briefings for many tasks at once: each is the one that it would be by itself."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from memory_butler.errors import InvalidInput, TargetUnavailable
from memory_butler.models import Briefing, BriefRequest, Caller, NewEpisode, NewFact, NewRule
from memory_butler.operations.briefing import brief_batch
from memory_butler.operations.briefing.brief import brief
from memory_butler.operations.briefing.brief_batch import BriefResult
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources

PROMPTS = [
    "Which tea does Anna drink?",
    "which tea does anna drink?",
    "Deploy the billing service",
    "What happened yesterday?",
    "",
    "Plan the garden with Ben",
    "Which tea does Anna drink?",
    "Zugfahrt nach Köln",
]


async def fill(resources: Resources) -> None:
    for name, tea in (("Anna", "green tea"), ("Ben", "black tea"), ("Carla", "no tea but coffee")):
        await remember.fact(resources, NewFact(subject=name, predicate="drinks", content=f"{name} drinks {tea}."))
    await remember.fact(
        resources, NewFact(subject="billing", predicate="runs_on", content="Billing runs on Stripe.", scope="coder")
    )
    await remember.rule(resources, NewRule(content="Run the migrations before you deploy the billing service."))
    for number in range(12):
        await remember.episode(
            resources, NewEpisode(content=f"Garden day {number} with Ben: planted beans.", butler="coder")
        )


def patient(resources: Resources) -> Resources:
    """With time enough on a busy machine: it is not the clock that is tested."""
    return replace(resources, settings=resources.settings.model_copy(update={"deadline_seconds": 60.0}))


def outcome(done: BriefResult) -> str:
    return done.problem.error_class if done.problem else "built"


@pytest.mark.parametrize("model", ["without a model", "with the real model"])
async def test_every_text_is_that_of_a_single_call(model: str, resources: Resources, real_resources: Resources) -> None:
    """Byte for byte, receipt included, whoever asks for it and whatever the budget; a bad one harms no other."""
    resources = patient(resources if model == "without a model" else real_resources)
    await fill(resources)
    wanted = [
        BriefRequest(trigger_prompt=prompt, butler=name, token_budget=budget)
        for prompt in PROMPTS
        for name, budget in (("coder", None), ("main", 120))
    ]
    done = await brief_batch.brief_batch(resources, wanted)
    assert [outcome(one) for one in done] == ["built" if one.trigger_prompt else "validation_error" for one in wanted]
    alone = [await brief(resources, one) if one.trigger_prompt else None for one in wanted]
    assert [one.briefing for one in done] == alone
    assert "Anna drinks green tea" in done[0].briefing.text if done[0].briefing else False


async def test_another_butler_is_refused_item_by_item(resources: Resources, agent: Callable[..., Caller]) -> None:
    """An agent gets its own briefing, and no other butler's beside it."""
    await fill(resources)
    wanted = [BriefRequest(trigger_prompt="Deploy the billing service", butler=name) for name in ("health", "coder")]
    done = await brief_batch.brief_batch(resources, wanted, agent("health"))
    assert [outcome(one) for one in done] == ["built", "permission_denied"]
    assert done[0].briefing and "Stripe" not in done[0].briefing.text


async def test_a_store_that_is_away_is_no_list_of_empty_briefings(resources: Resources) -> None:
    """If none can be had for want of the store, the whole call says so, and can be repeated."""

    class Away:
        def __getattr__(self, name: str) -> Any:
            raise TargetUnavailable()

    away: Any = Away()
    with pytest.raises(TargetUnavailable):
        await brief_batch.brief_batch(
            replace(resources, database=away), [BriefRequest(trigger_prompt="tea", butler="main")] * 3
        )


async def test_what_there_is_no_time_for_says_so(resources: Resources, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are begun in time are built; the others say that they can be asked for again."""
    loop = asyncio.get_running_loop()
    asked: list[str] = []

    async def slow(resources: Resources, request: BriefRequest, caller: Caller) -> Briefing:
        asked.append(request.trigger_prompt)
        built = await brief(resources, request, caller)
        began = loop.time()
        monkeypatch.setattr(loop, "time", lambda: began + resources.settings.deadline_seconds)
        return built

    monkeypatch.setattr(brief_batch, "brief", slow)
    monkeypatch.setattr(brief_batch, "CONCURRENCY", 1)
    wanted = [BriefRequest(trigger_prompt=f"tea {number}", butler="main") for number in range(3)]
    done = await brief_batch.brief_batch(resources, wanted)
    assert [outcome(one) for one in done] == ["built", "timeout", "timeout"]
    assert asked == ["tea 0"]


@pytest.mark.parametrize("count", [0, 101])
async def test_a_batch_has_its_bounds(resources: Resources, count: int) -> None:
    """An empty list and one above the limit are refused as a whole."""
    with pytest.raises(InvalidInput, match=r"empty|the limit is 100"):
        await brief_batch.brief_batch(resources, [BriefRequest(trigger_prompt="tea", butler="main")] * count)


async def test_a_fault_leaves_nothing_at_work(resources: Resources, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is raised as it is, and all that was under way beside it has ended; what waited for its turn never comes."""
    begun, ended = list[str](), list[str]()

    async def faulty(resources: Resources, request: BriefRequest, caller: Caller) -> Briefing:
        begun.append(request.trigger_prompt)
        if len(begun) == brief_batch.CONCURRENCY:
            raise ZeroDivisionError
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(request.trigger_prompt)
        raise AssertionError

    monkeypatch.setattr(brief_batch, "brief", faulty)
    wanted = [BriefRequest(trigger_prompt=str(number), butler="main") for number in range(20)]
    with pytest.raises(ZeroDivisionError):
        await brief_batch.brief_batch(resources, wanted)
    broken = begun.pop(brief_batch.CONCURRENCY - 1)
    assert broken not in ended and sorted(ended) == sorted(begun)
    assert len(begun) < len(wanted) // 2
