"""The block at the start of a session: open ends, the project's facts, and rules for this kind of work."""

from datetime import timedelta
from pathlib import Path

import pytest
from tests.adapters.hooks.conftest import (
    BUTLER,
    Hook,
    compacting,
    context_in,
    prompted,
    started,
)
from tests.support.service import Switch

from memory_butler.models import NewEpisode, NewFact, NewRule
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources
from memory_butler.settings import HookSettings

OPEN = (
    "User: add refunds. Assistant: The endpoint is written; the migration is still missing. Next step: write it.",
    "User: speed up the search. Assistant: Added an index; the cache is not yet done, blocked by the Redis upgrade.",
)
DONE = (
    "User: move invoices to Stripe. Assistant: Moved the invoices to Stripe and all tests pass.",
    "User: correct the landing page. Assistant: Corrected the typo and pushed.",
    "User: update dependencies. Assistant: Updated all packages, the build is green.",
)
CODING = (
    "Run the linter before every commit.",
    "Never commit directly to main.",
    "Use type hints in Python code.",
    "Write commit messages in the imperative.",
)
STYLE = ("Always answer in German.", "Keep it short and skip the pleasantries.")
ELSEWHERE = ("Book aisle seats on flights.", "Use metric units in recipes.", "Water the plants on Mondays.")
PEOPLE = (
    ("Ana", "allergy", "Ana is allergic to peanuts."),
    ("Tom", "birthday", "Tom's birthday is on 4 May."),
    ("dentist", "name", "The dentist is Dr. Weber."),
)


async def a_life(resources: Resources) -> None:
    now = resources.clock()
    for days, content in enumerate((DONE[0], OPEN[0], DONE[1], OPEN[1], DONE[2]), start=1):
        await remember.episode(
            resources, NewEpisode(content=content, butler=BUTLER, observed_at=now - timedelta(days=days))
        )
    for number in range(4):
        await remember.fact(
            resources,
            NewFact(subject="shop", predicate=f"part:{number}", content=f"Part {number} is in src.", scope=BUTLER),
        )
    for content in (*CODING, *STYLE, *ELSEWHERE):
        await remember.rule(resources, NewRule(content=content))
    for subject, predicate, content in PEOPLE:
        new = NewFact(subject=subject, predicate=predicate, content=content, importance=9)
        await remember.fact(resources, new)


async def test_a_session_starts_with_open_ends_facts_and_rules(
    resources: Resources, port: int, hook: Hook, project: Path
) -> None:
    """Rules for coding and for answers are there; people and rules for other work are not."""
    await a_life(resources)
    text = context_in((await hook("session-start", port, started(project))).stdout)
    missing = [content for content in (*OPEN, "Part 0 is in src.", *CODING, *STYLE) if content not in text]
    assert missing == []
    assert [content for content in (*ELSEWHERE, *(fact[2] for fact in PEOPLE)) if content in text] == []
    assert max(map(text.index, OPEN)) < min(map(text.index, DONE))


async def test_open_ends_stay_when_the_budget_is_small(
    resources: Resources, served: tuple[Switch, int], hook: Hook, project: Path
) -> None:
    """Finished work goes first."""
    await a_life(resources)
    switch, port = served
    small = resources.settings.model_copy(update={"hooks": HookSettings(session_start_tokens=350)})
    switch.resources, switch.settings = resources, small
    text = context_in((await hook("session-start", port, started(project))).stdout)
    assert all(content in text for content in OPEN)
    assert not all(content in text for content in DONE)


@pytest.mark.parametrize("setting", ["session_start_tokens", "first_prompt_tokens", "pre_compact_tokens"])
async def test_each_hook_has_a_token_budget(
    resources: Resources, served: tuple[Switch, int], hook: Hook, *, project: Path, transcript: Path, setting: str
) -> None:
    """Every setting shortens the block of its own hook and of no other."""
    for number in range(8):
        new = NewFact(subject="invoices", predicate=f"p:{number}", content=f"Invoices {number} use Stripe.")
        await remember.fact(resources, new)
        await remember.rule(resources, NewRule(content=f"Check part {number} of the shop.", scope=BUTLER))
    switch, port = served
    switch.resources = resources

    async def blocks() -> dict[str, str]:
        task = prompted(project, "Please move the invoices to Stripe.")
        return {
            "session_start_tokens": (await hook("session-start", port, started(project))).stdout,
            "first_prompt_tokens": (await hook("user-prompt", port, task)).stdout,
            "pre_compact_tokens": (await hook("pre-compact", port, compacting(project, transcript))).stdout,
        }

    switch.settings = resources.settings
    usual = await blocks()
    assert all(usual.values())
    for tokens in (60, 0):
        hooks = HookSettings.model_validate({setting: tokens})
        switch.settings = resources.settings.model_copy(update={"hooks": hooks})
        changed = await blocks()
        assert {name for name in usual if changed[name] != usual[name]} == {setting}
        assert len(changed[setting]) < len(usual[setting])
    assert changed[setting] == ""
