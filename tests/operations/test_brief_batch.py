"""Briefings for many tasks at once: each is the one that it would be by itself."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from memory_butler.butler import Butler
from memory_butler.errors import InvalidInput, TargetUnavailable
from memory_butler.models import Briefing, BriefRequest, Caller, NewEpisode, NewFact, NewRule
from memory_butler.operations import brief_batch, remember
from memory_butler.operations.brief import brief
from memory_butler.operations.brief_batch import Briefed

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


async def fill(butler: Butler) -> None:
    for name, tea in (("Anna", "green tea"), ("Ben", "black tea"), ("Carla", "no tea but coffee")):
        await remember.fact(butler, NewFact(subject=name, predicate="drinks", content=f"{name} drinks {tea}."))
    await remember.fact(
        butler, NewFact(subject="billing", predicate="runs_on", content="Billing runs on Stripe.", scope="coder")
    )
    await remember.rule(butler, NewRule(content="Run the migrations before you deploy the billing service."))
    for number in range(12):
        await remember.episode(
            butler, NewEpisode(content=f"Garden day {number} with Ben: planted beans.", butler="coder")
        )


def patient(butler: Butler) -> Butler:
    """With time enough on a busy machine: it is not the clock that is tested."""
    return replace(butler, settings=butler.settings.model_copy(update={"deadline_seconds": 60.0}))


def outcome(done: Briefed) -> str:
    return done.problem.error_class if done.problem else "built"


@pytest.mark.parametrize("model", ["without a model", "with the real model"])
async def test_every_text_is_that_of_a_single_call(model: str, butler: Butler, real_butler: Butler) -> None:
    """Byte for byte, receipt included, whoever asks for it and whatever the budget; a bad one harms no other."""
    butler = patient(butler if model == "without a model" else real_butler)
    await fill(butler)
    wanted = [
        BriefRequest(trigger_prompt=prompt, butler=name, token_budget=budget)
        for prompt in PROMPTS
        for name, budget in (("coder", None), ("main", 120))
    ]
    done = await brief_batch.brief_batch(butler, wanted)
    assert [outcome(one) for one in done] == ["built" if one.trigger_prompt else "validation_error" for one in wanted]
    alone = [await brief(butler, one) if one.trigger_prompt else None for one in wanted]
    assert [one.briefing for one in done] == alone
    assert "Anna drinks green tea" in done[0].briefing.text if done[0].briefing else False


async def test_another_butler_is_refused_item_by_item(butler: Butler, agent: Callable[..., Caller]) -> None:
    """An agent gets its own briefing, and no other butler's beside it."""
    await fill(butler)
    wanted = [BriefRequest(trigger_prompt="Deploy the billing service", butler=name) for name in ("health", "coder")]
    done = await brief_batch.brief_batch(butler, wanted, agent("health"))
    assert [outcome(one) for one in done] == ["built", "permission_denied"]
    assert done[0].briefing and "Stripe" not in done[0].briefing.text


async def test_a_store_that_is_away_is_no_list_of_empty_briefings(butler: Butler) -> None:
    """If none can be had for want of the store, the whole call says so, and can be repeated."""

    class Away:
        def __getattr__(self, name: str) -> Any:
            raise TargetUnavailable()

    away: Any = Away()
    with pytest.raises(TargetUnavailable):
        await brief_batch.brief_batch(
            replace(butler, database=away), [BriefRequest(trigger_prompt="tea", butler="main")] * 3
        )


async def test_what_there_is_no_time_for_says_so(butler: Butler, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are begun in time are built; the others say that they can be asked for again."""
    loop = asyncio.get_running_loop()
    asked: list[str] = []

    async def slow(butler: Butler, request: BriefRequest, caller: Caller) -> Briefing:
        asked.append(request.trigger_prompt)
        built = await brief(butler, request, caller)
        began = loop.time()
        monkeypatch.setattr(loop, "time", lambda: began + butler.settings.deadline_seconds)
        return built

    monkeypatch.setattr(brief_batch, "brief", slow)
    monkeypatch.setattr(brief_batch, "AT_ONCE", 1)
    wanted = [BriefRequest(trigger_prompt=f"tea {number}", butler="main") for number in range(3)]
    done = await brief_batch.brief_batch(butler, wanted)
    assert [outcome(one) for one in done] == ["built", "timeout", "timeout"]
    assert asked == ["tea 0"]


@pytest.mark.parametrize("count", [0, 101])
async def test_a_batch_has_its_bounds(butler: Butler, count: int) -> None:
    """None at all, or more than are taken at once, is refused as a whole."""
    with pytest.raises(InvalidInput, match=r"empty|at most 100"):
        await brief_batch.brief_batch(butler, [BriefRequest(trigger_prompt="tea", butler="main")] * count)


async def test_a_fault_leaves_nothing_at_work(butler: Butler, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is raised as it is, and all that was under way beside it has ended; what waited for its turn never comes."""
    begun, ended = list[str](), list[str]()

    async def faulty(butler: Butler, request: BriefRequest, caller: Caller) -> Briefing:
        begun.append(request.trigger_prompt)
        if len(begun) == brief_batch.AT_ONCE:
            raise ZeroDivisionError
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(request.trigger_prompt)
        raise AssertionError

    monkeypatch.setattr(brief_batch, "brief", faulty)
    wanted = [BriefRequest(trigger_prompt=str(number), butler="main") for number in range(20)]
    with pytest.raises(ZeroDivisionError):
        await brief_batch.brief_batch(butler, wanted)
    broken = begun.pop(brief_batch.AT_ONCE - 1)
    assert broken not in ended and sorted(ended) == sorted(begun)
    assert len(begun) < len(wanted) // 2
