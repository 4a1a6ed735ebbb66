"""Governing a tenant with the client, against the real server."""

from typing import Any

import pytest
from tests.adapters.conftest import choosing, note

from memory_butler.client import MemoryClient, listings
from memory_butler.errors import Conflict, InvalidInput, NotFound
from memory_butler.models import MemoryType, Role
from memory_butler.models.listings import Listing
from memory_butler.operations.consolidation.consolidate import consolidate
from memory_butler.operations.lifecycle.job_status import shard_of
from memory_butler.resources import Resources

UNKNOWN = "0198f3c2-7a10-7c3e-8f4b-2d9f5a6b7c8d"


async def distil(resources: Resources, text: str) -> str:
    await note(resources, text)
    [report] = await consolidate(resources, shard_of(resources.settings.tenant, "main"))
    return str(report.run)


async def known(memory: MemoryClient) -> list[str]:
    return [one.memory.content async for one in memory.memories(Listing(type=MemoryType.FACT, scope="*"))]


async def test_a_proposal_is_decided_and_taken_back(memory: MemoryClient, resources: Resources) -> None:
    """Item by item or the rest at once; a repeat under the same key is shown the run and changes nothing."""
    run = await distil(choosing(resources, review=True), "I'm allergic to peanuts. I live in Porto.")
    items = (await memory.run(run))["items"]
    porto = next(item["place"] for item in items if item["content"] == "Porto")
    rejected = await memory.reject(run, [porto], idempotency_key="no")
    assert (rejected["state"], await known(memory)) == ("waiting", [])
    assert (await memory.reject(run, [porto], idempotency_key="no"))["state"] == "waiting"
    with pytest.raises(Conflict, match="used before"):
        await memory.approve(run, [porto], idempotency_key="no")
    approved = await memory.approve(run, idempotency_key="yes")
    assert (approved["state"], await known(memory)) == ("applied", ["peanuts"])
    assert (await memory.approve(run, idempotency_key="yes"))["state"] == "applied"
    with pytest.raises(Conflict):
        await memory.approve(run)
    assert (await memory.undo_run(run, dry_run=True)).undone == 1
    done = await memory.undo_run(run, idempotency_key="back")
    assert (done.undone, await memory.undo_run(run, idempotency_key="back")) == (1, done)


async def test_an_episode_is_requeued_once(memory: MemoryClient, resources: Resources) -> None:
    """A repeat under the same key gets the first answer; a new call is told that it is pending already."""
    await distil(resources, "I'm allergic to peanuts.")
    [episode] = [one.memory async for one in memory.memories(Listing(type=MemoryType.EPISODE))]
    with pytest.raises(Conflict, match="is consolidated"):
        await memory.requeue(episode.id)
    first = await memory.requeue(episode.id, again=True, idempotency_key="once")
    assert (first["requeued"], first["count"]) == ([f"episode:{episode.ref}"], 1)
    again = await memory.requeue(episode.id, again=True, idempotency_key="once")
    assert again["requeued"] == first["requeued"]
    requeued = [event.event async for event in memory.history("episode", episode.id)].count("episode.requeued")
    assert requeued == 1
    with pytest.raises(Conflict, match="used before"):
        await memory.requeue(episode.id, idempotency_key="once")
    with pytest.raises(Conflict, match="is already pending"):
        await memory.requeue(episode.id, again=True)


async def test_tokens_are_made_walked_and_revoked(
    memory: MemoryClient, resources: Resources, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The secret comes once; the list comes whole and in order, however small its pages; a second revoking is none."""
    monkeypatch.setattr(listings, "PAGE", 2)
    made = []
    for number in range(5):
        made.append(await memory.create_token("coder", Role.READER, label=f"laptop {number}"))
        # Two of the same moment have an order as well.
        clock.move(minutes=number % 2)
    assert len({secret for _, secret in made}) == 5 and all(secret.startswith("mbt_") for _, secret in made)
    found = [token async for token in memory.tokens()]
    assert sorted(token.label for token in found) == [f"laptop {number}" for number in range(5)]
    assert [token.created_at for token in found] == sorted((token.created_at for token in found), reverse=True)
    first = await memory.revoke_token(made[0][0].id)
    clock.move(hours=1)
    assert first.revoked_at and await memory.revoke_token(first.id) == first
    with pytest.raises(NotFound):
        await memory.revoke_token(UNKNOWN)
    with pytest.raises(InvalidInput):
        await memory.create_token("coder", "king")


async def test_a_look_is_no_use(memory: MemoryClient, resources: Resources) -> None:
    """`get` counts as a reference and `look` does not; otherwise they say the same."""
    ref = await note(resources, "Chose tea.")
    looked = await memory.look("episode", ref)
    assert (await memory.look("episode", ref)).memory == looked.memory
    await memory.get("episode", ref)
    assert (await memory.look("episode", ref)).memory.reference_count == looked.memory.reference_count + 1
