"""Briefings with `with_own`: the butler's own memories regardless of the task."""

from memory_butler.models import BriefRequest, NewEpisode
from memory_butler.operations.briefing.brief import brief
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources

OPEN = "The refund endpoint is written; the migration is not yet done."
DONE = "Planted tulips and watered the lawn."
TASK = "Change the code and run the tests. What was left open, is not yet done?"


async def test_an_own_episode_of_the_task_comes_before_an_unrelated_one(resources: Resources) -> None:
    """Both have the same claim, and the more useful one gets the place."""
    for content in (OPEN, DONE):
        await remember.episode(resources, NewEpisode(content=content, butler="acme.shop"))
    asked = BriefRequest(trigger_prompt=TASK, butler="acme.shop", with_own=True)
    both = await brief(resources, asked)
    assert OPEN in both.text and DONE in both.text
    small = BriefRequest(
        trigger_prompt=TASK, butler="acme.shop", with_own=True, token_budget=both.receipt.used_tokens - 1
    )
    assert OPEN in (await brief(resources, small)).text
    assert DONE not in (await brief(resources, small)).text
