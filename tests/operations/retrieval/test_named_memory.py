"""The memory that a caller names, with and without its type."""

from collections.abc import Callable

import pytest

from memory_butler.errors import InvalidInput, NotFound
from memory_butler.models import Caller, MemoryChanges, NewEpisode, NewFact, NewRule
from memory_butler.operations.retrieval import get
from memory_butler.operations.writing import feedback, forget, pin, remember, restore, update
from memory_butler.resources import Resources


async def test_a_reference_without_its_type_is_enough(resources: Resources) -> None:
    """References are unique in a tenant, so every operation finds the type by itself; an id works as well."""
    fact = await remember.fact(resources, NewFact(subject="Ana", predicate="tea", content="green"))
    rule = await remember.rule(resources, NewRule(content="Offer tea."))
    episode = await remember.episode(resources, NewEpisode(content="Drank tea.", butler="main"))
    for stored in (fact, rule, episode):
        for named in (stored.ref, f"[{stored.ref.upper()}]", str(stored.id)):
            assert (await get.get(resources, None, named, bump=False)).memory.id == stored.id
    assert (await feedback.confirm(resources, None, rule.ref)).type == "rule"
    assert (await pin.pin(resources, None, episode.ref)).outcome == "pinned"
    assert (await update.update(resources, None, fact.ref, MemoryChanges(importance=9))).outcome == "updated"
    assert (await forget.forget(resources, None, rule.ref)).outcome == "retracted"
    assert (await restore.restore(resources, None, rule.ref)).outcome == "restored"


async def test_an_unknown_reference_without_type_is_not_found(
    resources: Resources, agent: Callable[..., Caller]
) -> None:
    """The error names it as it was given. Others' memories are as unknown as none."""
    for unknown in ("zzzz", "018f0000-0000-7000-8000-000000000001"):
        with pytest.raises(NotFound, match=f"There is no memory {unknown}"):
            await get.get(resources, None, unknown)
    private = await remember.rule(resources, NewRule(content="Mine alone.", scope="main"))
    with pytest.raises(NotFound, match=f"There is no memory {private.ref}"):
        await forget.forget(resources, None, private.ref, agent("chef"))
    with pytest.raises(InvalidInput, match="neither an id nor a short reference"):
        await get.get(resources, None, "the one about tea")
